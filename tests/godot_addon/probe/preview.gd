@tool
extends RefCounted
## Drives the path preview as its user does, and prints what it shows as JSON, a line each.

const WAIT_FRAMES: int = 3000
const SOLID: Vector2i = Vector2i(1, 0)

var _tree: SceneTree
var _preview: Node = null


func _init(tree: SceneTree) -> void:
	_tree = tree


## Shows, drags, paints, undoes, switches scenes, loses the sidecar, and ends the editor.
func run() -> void:
	while EditorInterface.get_resource_filesystem().is_scanning():
		await _wait(10)
	EditorInterface.set_main_screen_editor("2D")
	EditorInterface.open_scene_from_path("res://level.tscn")
	await _wait(30)
	_preview = EditorInterface.get_base_control().get_tree().root.find_child(
		"NavserverPreview", true, false
	)
	_preview.call("set_shown", true)
	await _answered("shown")
	await _drag(true, Vector2i(13, 3))
	await _answered("dragged")
	_preview.call("save_case", ProjectSettings.globalize_path("res://case.json"))
	while not FileAccess.file_exists("res://case.json"):
		await _tree.process_frame
	await _paint()
	EditorInterface.open_scene_from_path("res://plain.tscn")
	await _wait(10)
	await _answered("plain")
	EditorInterface.open_scene_from_path("res://level.tscn")
	await _answered("back")
	await _lose_sidecar()
	_preview.call("set_shown", false)
	await _wait(5)
	var canvas: Variant = _preview.get("canvas")
	print("PROBE hidden %s %s" % [canvas == null, _preview.is_processing()])
	_tree.quit()


func _wait(frames: int) -> void:
	for frame: int in frames:
		await _tree.process_frame


## Waits until all is answered, and prints what is shown.
func _answered(step: String) -> void:
	for frame: int in WAIT_FRAMES:
		await _tree.process_frame
		if _preview.call("is_settled"):
			break
	# What follows an answer, such as what would open a way.
	await _wait(20)
	var answer: RefCounted = _preview.call("get_answer")
	var shown: Dictionary = {"step": step, "pairs": [], "answered": answer != null}
	for pair: Vector4i in _preview.call("get_pairs"):
		shown["pairs"].append([pair.x, pair.y, pair.z, pair.w])
	if answer != null:
		for name: String in ["status", "cost", "version", "cells", "openings"]:
			shown[name] = answer.get(name)
		shown["nearest"] = str(answer.get("nearest"))
	var root: Node = EditorInterface.get_edited_scene_root()
	var layer: TileMapLayer = root.get_node("Ground")
	shown["solid"] = []
	for cell: Vector2i in layer.get_used_cells():
		if layer.get_cell_atlas_coords(cell) == SOLID:
			shown["solid"].append([cell.x, cell.y])
	shown["kept"] = root.get_meta(&"_navserver_preview", PackedInt32Array())
	print("PROBE " + JSON.stringify(shown))


## Takes a marker by the mouse and lets it go over a cell.
func _drag(is_goal: bool, cell: Vector2i) -> void:
	var pair: Vector4i = _preview.call("get_pairs")[0]
	var from: Vector2i = Vector2i(pair.z, pair.w) if is_goal else Vector2i(pair.x, pair.y)
	_push_motion(_at(from), 0)
	await _wait(2)
	_push_button(_at(from), true)
	for step: int in range(1, 11):
		_push_motion(_at(from).lerp(_at(cell), step / 10.0))
		await _wait(2)
	_push_button(_at(cell), false)
	await _wait(10)


## Returns where a cell is on the screen.
func _at(cell: Vector2i) -> Vector2:
	var layer: TileMapLayer = EditorInterface.get_edited_scene_root().get_node("Ground")
	var canvas: Control = _preview.get("canvas")
	var view: Transform2D = EditorInterface.get_editor_viewport_2d().global_canvas_transform
	return canvas.get_global_transform() * (view * layer.to_global(layer.map_to_local(cell)))


func _push_button(point: Vector2, is_pressed: bool) -> void:
	var event: InputEventMouseButton = InputEventMouseButton.new()
	event.button_index = MOUSE_BUTTON_LEFT
	event.pressed = is_pressed
	_push(event, point)


func _push_motion(point: Vector2, buttons: int = MOUSE_BUTTON_MASK_LEFT) -> void:
	var event: InputEventMouseMotion = InputEventMouseMotion.new()
	event.button_mask = buttons
	_push(event, point)


func _push(event: InputEventMouse, point: Vector2) -> void:
	event.position = point
	event.global_position = point
	_tree.root.push_input(event, true)


## A wall from top to bottom as one step of the history, then undone.
func _paint() -> void:
	var undo: EditorUndoRedoManager = EditorInterface.get_editor_undo_redo()
	var layer: TileMapLayer = EditorInterface.get_edited_scene_root().get_node("Ground")
	undo.create_action("Paint", UndoRedo.MERGE_DISABLE, layer)
	for y: int in range(1, 19):
		var cell: Vector2i = Vector2i(12, y)
		undo.add_do_method(layer, "set_cell", cell, 0, SOLID)
		undo.add_undo_method(layer, "set_cell", cell, 0, layer.get_cell_atlas_coords(cell))
	undo.commit_action()
	await _wait(5)
	await _answered("painted")
	_press_undo()
	await _wait(5)
	await _answered("undone")


func _press_undo() -> void:
	for is_pressed: bool in [true, false]:
		var key: InputEventKey = InputEventKey.new()
		key.keycode = KEY_Z
		key.ctrl_pressed = true
		key.pressed = is_pressed
		_tree.root.push_input(key)


func _lose_sidecar() -> void:
	var file: String = "res://.godot/editor/navserver_connection.json"
	var fields: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(file))
	var pair: Vector4i = _preview.call("get_pairs")[0]
	var from: Vector2 = _at(Vector2i(pair.z, pair.w))
	_push_motion(from, 0)
	await _wait(2)
	_push_button(from, true)
	_push_motion(from.lerp(_at(Vector2i(11, 5)), 0.5))
	# OS.kill() would also wait for it, which is the addon's to do.
	OS.execute("kill", ["-KILL", str(int(fields["pid"]))])
	for step: int in 20:
		_push_motion(from.lerp(_at(Vector2i(11, 5)), step / 20.0))
		await _wait(2)
	_push_motion(_at(Vector2i(11, 5)))
	_push_button(_at(Vector2i(11, 5)), false)
	for frame: int in WAIT_FRAMES:
		if _preview.get("_is_map_there"):
			var now: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(file))
			if now["pid"] != fields["pid"]:
				break
		await _tree.process_frame
	await _wait(5)
	await _answered("restarted")
