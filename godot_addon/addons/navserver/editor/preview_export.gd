@tool
extends RefCounted
## Saves pictures and case files of the preview.

## What came of it, in words.
signal told(text: String)

const Message := preload("../internal/message.gd")
const PreviewAnswer := preload("preview_answer.gd")
const PreviewCanvas := preload("preview_canvas.gd")
const PreviewCase := preload("preview_case.gd")
const SidecarBackend := preload("../internal/sidecar_backend.gd")
const SidecarRequests := preload("../internal/sidecar_requests.gd")
const WorldState := preload("../internal/world_state.gd")

# The case file that is being saved, empty if none is, and what it is about.
var _case: String = ""
var _backend: SidecarBackend = null
var _world: WorldState = null
var _query: Dictionary = {}
var _parts: Array[Message] = []
# Replies to what was asked before are dropped.
var _round: int = 0


## Lets the user choose a file of a kind and hands its path to [param save].
static func choose_file(parent: Node, extension: String, save: Callable) -> void:
	var dialog: EditorFileDialog = EditorFileDialog.new()
	dialog.file_mode = EditorFileDialog.FILE_MODE_SAVE_FILE
	dialog.access = EditorFileDialog.ACCESS_FILESYSTEM
	dialog.add_filter("*.%s" % extension)
	var root: Node = EditorInterface.get_edited_scene_root()
	var scene: String = "" if root == null else root.scene_file_path.get_file().get_basename()
	dialog.current_file = "%s.%s" % [scene if not scene.is_empty() else "path", extension]
	dialog.file_selected.connect(save)
	dialog.visibility_changed.connect(
		func() -> void:
			if not dialog.visible:
				dialog.queue_free()
	)
	parent.add_child(dialog)
	dialog.popup_file_dialog()


## Saves what the 2D editor shows as a PNG.
func save_picture(canvas: PreviewCanvas, path: String) -> void:
	await RenderingServer.frame_post_draw
	var image: Image = canvas.get_viewport().get_texture().get_image()
	var cut: Rect2i = canvas.get_screen_rect().intersection(Rect2i(Vector2i.ZERO, image.get_size()))
	_tell_saved(path, image.get_region(cut).save_png(path))


## Saves a query, its map and what the sidecar answers to it now as a case file.
func save_case(backend: SidecarBackend, world: WorldState, query: Dictionary, path: String) -> void:
	give_up("another one is saved now")
	_case = path
	_backend = backend
	_world = world
	_query = query
	_ask()


## Nobody answers for the case that is being saved any more.
func give_up(why: String) -> void:
	if not _case.is_empty():
		var path: String = _case
		_forget()
		told.emit("%s was not saved: %s" % [path, why])


func _forget() -> void:
	_case = ""
	_backend = null
	_world = null
	_parts = []
	_round += 1


func _ask() -> void:
	_parts = []
	_round += 1
	var classes: Message = Message.new("map_layer")
	classes.header.merge({"world": _world.name, "layer": "classes"})
	var explored: Message = Message.new("explore")
	explored.header.merge(_query)
	explored.header["arrays"] = []
	var hashed: Message = Message.new("world_hash")
	hashed.header["world"] = _world.name
	for question: Message in [classes, explored, hashed]:
		_backend.ask(question, _take.bind(_round))


func _take(reply: Message, of_round: int) -> void:
	if of_round != _round:
		return
	if reply.is_error:
		give_up(SidecarRequests.say_error(reply))
		return
	_parts.append(reply)
	if _parts.size() < 3:
		return
	for part: Message in _parts:
		if part.get_integer("version") != _parts[0].get_integer("version"):
			# The map has changed meanwhile.
			_ask()
			return
	_write()
	_forget()


func _write() -> void:
	var by_type: Dictionary[String, Message] = {}
	for part: Message in _parts:
		by_type[part.get_type()] = part
	var answer: PreviewAnswer = PreviewAnswer.new(by_type["explore"], _query, false)
	var problems: PackedStringArray = PackedStringArray()
	var map_hash: String = by_type["world_hash"].get_text("hash")
	var text: String = PreviewCase.write(
		_world, _query, answer, by_type["map_layer"], map_hash, problems
	)
	if text.is_empty():
		told.emit("The case was not saved: %s" % problems[0])
		return
	var file: FileAccess = FileAccess.open(_case, FileAccess.WRITE)
	if file != null:
		file.store_string(text)
		file.close()
	_tell_saved(_case, OK if file != null else FileAccess.get_open_error())


func _tell_saved(path: String, error: Error) -> void:
	var text: String = "Saved %s" % path
	if error != OK:
		text = "%s was not saved: %s; choose another folder" % [path, error_string(error)]
	told.emit(text)
