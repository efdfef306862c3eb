@tool
extends RefCounted
## Drives the path preview as its user does, and prints what it shows as JSON, a line each.

# Bounds a hang.
const WAIT_MSEC: int = 120_000
const GROUND: Vector2i = Vector2i(0, 0)
const SOLID: Vector2i = Vector2i(1, 0)
const SWAMP: Vector2i = Vector2i(2, 0)
# Members of the dock, what they are set to, and the step that is told then.
const OPTIONS: Array[Array] = [
	["_diagonal", 1, "always"],
	["_diagonal", 2, "never"],
	["_diagonal", 3, "at least one"],
	["_diagonal", 0, "as the map"],
	["_algorithm", 1, "dijkstra"],
	["_algorithm", 0, "astar"],
	["_heuristic", 2, "manhattan"],
	["_weight", 4.0, "weighted"],
	["_weight", 1.0, "unweighted"],
	["_heuristic", 0, "best"],
	["_profile", 1, "swamp"],
	["_profile", 0, "default"],
	["_size", 2, "large"],
	["_size", 1, "small"],
	["_limit", 20, "limited"],
	["_limit", 0, "unlimited"],
]

var _tree: SceneTree
var _preview: Node = null
# An answer that was cut short was shown while a marker was last dragged.
var _was_coarse: bool = false
# What came of saving a case while the sidecar was lost.
var _told: String = ""


func _init(tree: SceneTree) -> void:
	_tree = tree


## Shows, drags, paints, undoes, switches scenes, loses the sidecar, and ends the editor.
func run() -> void:
	# An editor without focus sleeps most of the time.
	OS.low_processor_usage_mode_sleep_usec = 1000
	while EditorInterface.get_resource_filesystem().is_scanning():
		await _wait(10)
	EditorInterface.set_main_screen_editor("2D")
	await _open("level")
	_find_preview()
	_preview.call("set_shown", true)
	await _answered("shown")
	await _drag(true, Vector2i(13, 3))
	await _answered("dragged")
	_preview.call("save_case", ProjectSettings.globalize_path("res://case.json"))
	while not FileAccess.file_exists("res://case.json"):
		await _tree.process_frame
	await _paint()
	await _change_pairs()
	await _choose_options()
	await _open("plain")
	await _answered("plain")
	await _lose_map()
	await _look_at_diamonds()
	await _search_far()
	await _open("level")
	await _answered("back")
	await _break_connection()
	await _lose_sidecar()
	await _reload_scripts()
	await _switch_plugin()
	_preview.call("set_shown", false)
	await _wait(5)
	var canvas: Variant = _preview.get("canvas")
	var layers: Array = (_preview.call("get_map") as RefCounted).get("layers")
	print("PROBE hidden %s %s %s" % [canvas == null, _preview.is_processing(), layers.size()])
	_tree.quit()


func _find_preview() -> void:
	_preview = _tree.root.find_child("NavserverPreview", true, false)


func _open(scene: String) -> void:
	EditorInterface.open_scene_from_path("res://%s.tscn" % scene)
	await _wait(30)


## Waits until something holds.
func _wait_for(condition: Callable) -> void:
	var until: int = Time.get_ticks_msec() + WAIT_MSEC
	while Time.get_ticks_msec() < until:
		await _tree.process_frame
		if condition.call():
			return


func _wait(frames: int) -> void:
	for frame: int in frames:
		await _tree.process_frame


## Returns the layer of the scene; null if it has none.
func _get_layer() -> TileMapLayer:
	return EditorInterface.get_edited_scene_root().get_node_or_null("Ground")


## Waits until all is answered, and prints what is shown.
func _answered(step: String) -> void:
	await _wait_for(func() -> bool: return _preview.call("is_settled"))
	# What follows an answer, such as what would open a way.
	await _wait(20)
	var answer: RefCounted = _preview.call("get_answer")
	var shown: Dictionary = {"step": step, "pairs": [], "ends": [], "answered": answer != null}
	var layout: RefCounted = (_preview.call("get_map") as RefCounted).get("layout")
	for pair: Vector4i in _preview.call("get_pairs"):
		shown["pairs"].append([pair.x, pair.y, pair.z, pair.w])
		for cell: Vector2i in [Vector2i(pair.x, pair.y), Vector2i(pair.z, pair.w)]:
			var inner: Vector2i = layout.call("to_inner", cell)
			shown["ends"].append([inner.x, inner.y])
	if answer != null:
		for name: String in ["status", "cost", "cells", "openings", "expanded", "truncated"]:
			shown[name] = answer.get(name)
		shown["side"] = str(answer.get("side"))
		shown["area"] = str(answer.get("area"))
		shown["nearest"] = str(answer.get("nearest"))
	shown["tiles"] = []
	shown["was_coarse"] = _was_coarse
	var used: Array[Vector2i] = []
	if _get_layer() != null:
		used = _get_layer().get_used_cells()
	for cell: Vector2i in used:
		var tile: int = _get_layer().get_cell_atlas_coords(cell).x
		var inner: Vector2i = layout.call("to_inner", cell)
		shown["tiles"].append([inner.x, inner.y, 255 if tile == SOLID.x else tile >> 1])
	var root: Node = EditorInterface.get_edited_scene_root()
	shown["kept"] = root.get_meta(&"_navserver_preview", PackedInt32Array())
	print("PROBE " + JSON.stringify(shown))


## Takes a marker by the mouse and lets it go over a cell.
func _drag(is_goal: bool, cell: Vector2i) -> void:
	var from: Vector2 = _take(is_goal)
	_was_coarse = false
	var requests: Array = _preview.get("_requests")
	var request: RefCounted = requests[0]
	request.connect(&"answered", _note_coarse)
	await _wait(2)
	for step: int in range(1, 11):
		_push_motion(from.lerp(_at(cell), step / 10.0))
		await _wait_for(func() -> bool: return request.call("is_idle"))
	request.disconnect(&"answered", _note_coarse)
	_push_button(_at(cell), false)
	await _wait(10)


func _note_coarse() -> void:
	var answer: RefCounted = _preview.call("get_answer")
	_was_coarse = _was_coarse or answer.get("is_coarse")


## Takes a marker; returns where it is.
func _take(is_goal: bool) -> Vector2:
	var pair: Vector4i = _preview.call("get_pairs")[0]
	var from: Vector2 = _at(Vector2i(pair.z, pair.w) if is_goal else Vector2i(pair.x, pair.y))
	_push_motion(from, 0)
	_push_button(from, true)
	return from


## Returns where a cell is on the screen.
func _at(cell: Vector2i) -> Vector2:
	var canvas: Control = _preview.get("canvas")
	var view: Transform2D = EditorInterface.get_editor_viewport_2d().global_canvas_transform
	var map: RefCounted = _preview.call("get_map")
	var inner: Vector2i = (map.get("layout") as RefCounted).call("to_inner", cell)
	var to_scene: Transform2D = map.call("get_transform")
	return canvas.get_global_transform() * (view * to_scene * Vector2(inner))


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
	var cells: Array[Vector2i] = []
	for y: int in range(1, 19):
		cells.append(Vector2i(12, y))
	_set_tiles(cells, SOLID)
	await _wait(5)
	await _answered("painted")
	await _press(KEY_Z)
	await _answered("undone")


## Sets tiles as one step of the history.
func _set_tiles(cells: Array[Vector2i], tile: Vector2i) -> void:
	var undo: EditorUndoRedoManager = EditorInterface.get_editor_undo_redo()
	var layer: TileMapLayer = _get_layer()
	undo.create_action("Paint", UndoRedo.MERGE_DISABLE, layer)
	for cell: Vector2i in cells:
		undo.add_do_method(layer, "set_cell", cell, 0, tile)
		undo.add_undo_method(layer, "set_cell", cell, 0, layer.get_cell_atlas_coords(cell))
	undo.commit_action()


func _press(key: Key, is_shifted: bool = false) -> void:
	for is_pressed: bool in [true, false]:
		var event: InputEventKey = InputEventKey.new()
		event.keycode = key
		event.ctrl_pressed = true
		event.shift_pressed = is_shifted
		event.pressed = is_pressed
		_tree.root.push_input(event)
	await _wait(5)


func _press_button(member: String) -> void:
	((_preview.get("dock") as Control).get(member) as Button).pressed.emit()
	await _wait(5)


## Adds a pair and takes it back, adds it anew, removes the first, and reads all from the file.
func _change_pairs() -> void:
	await _press_button("_add")
	await _answered("added")
	await _press(KEY_Z)
	await _answered("not added")
	await _press(KEY_Z, true)
	await _answered("added again")
	EditorInterface.save_scene_as("res://level.tscn", false)
	await _wait(5)
	EditorInterface.reload_scene_from_path("res://level.tscn")
	await _wait(10)
	await _answered("reloaded")
	await _press_button("_remove")
	await _answered("removed")
	await _press(KEY_Z)
	await _answered("not removed")
	await _press_button("_remove")
	_write_pairs(PackedInt32Array([3, 3, 13, 3]))
	await _answered("one pair")


func _write_pairs(numbers: PackedInt32Array) -> void:
	var undo: EditorUndoRedoManager = EditorInterface.get_editor_undo_redo()
	var root: Node = EditorInterface.get_edited_scene_root()
	undo.create_action("Pairs", UndoRedo.MERGE_DISABLE, root)
	undo.add_do_method(root, &"set_meta", &"_navserver_preview", numbers)
	undo.add_undo_method(
		root, &"set_meta", &"_navserver_preview", root.get_meta(&"_navserver_preview")
	)
	undo.commit_action()


## Chooses one thing after the other in the dock, on ground with a swamp.
func _choose_options() -> void:
	var profile: NavServerProfile = NavServerProfile.new()
	profile.class_costs = {1: 4.0}
	var map: NavServerMap2D = EditorInterface.get_edited_scene_root().get_node("NavServerMap2D")
	map.profiles = [profile]
	var swamp: Array[Vector2i] = []
	for y: int in range(1, 17):
		swamp.append_array([Vector2i(8, y), Vector2i(9, y)])
	_set_tiles(swamp, SWAMP)
	await _wait(5)
	await _answered("options")
	for option: Array in OPTIONS:
		var member: String = option[0]
		var value: float = option[1]
		var step: String = option[2]
		_choose(member, value)
		await _wait(2)
		await _answered(step)
	await _press(KEY_Z)


func _choose(member: String, value: float) -> void:
	var control: Control = (_preview.get("dock") as Control).get(member)
	if control is OptionButton:
		(control as OptionButton).select(int(value))
		(control as OptionButton).item_selected.emit(int(value))
	else:
		(control as SpinBox).value = value


## What is drawn of a map, and told of a cell, goes with the scene, and with its last layer.
func _lose_map() -> void:
	_choose("_map_layer", 3)
	await _look_at_cell()
	_preview.call("set_scene", null)
	await _wait(5)
	_say_map("closed")
	_preview.call("set_scene", EditorInterface.get_edited_scene_root())
	await _wait_for(_is_map_drawn)
	await _wait(20)
	_say_map("opened")
	await _look_at_cell()
	# As a script does it.
	_get_layer().free()
	await _wait(5)
	_say_map("freed")
	_choose("_map_layer", 0)


## Waits until the islands are drawn and a cell is described.
func _look_at_cell() -> void:
	await _wait_for(func() -> bool: return _preview.call("is_settled"))
	_push_motion(_at(Vector2i(3, 4)), 0)
	await _wait_for(func() -> bool: return _is_map_drawn() and not _get_cell_text().is_empty())
	_say_map("looked")


func _is_map_drawn() -> bool:
	var islands: Control = (_preview.get("canvas") as Control).get("islands")
	var area: Rect2i = islands.get("_area")
	return area.has_area()


func _get_cell_text() -> String:
	return (((_preview.get("dock") as Control).get("_cell")) as Label).text


func _say_map(step: String) -> void:
	var told: Dictionary = {"step": step, "drawn": _is_map_drawn(), "cell": _get_cell_text()}
	print("PROBE " + JSON.stringify(told))


## A stacked isometric layer, whose cells are not numbered as the sidecar counts them.
func _look_at_diamonds() -> void:
	await _open("diamonds")
	await _answered("diamonds")
	await _drag(true, Vector2i(3, 12))
	await _answered("diamonds dragged")
	var wall: Array[Vector2i] = []
	for x: int in 5:
		wall.append_array([Vector2i(x, 7), Vector2i(x, 8)])
	_set_tiles(wall, SOLID)
	await _wait(5)
	await _answered("diamonds painted")


## A search too long for a drag, drawn by the order of its cells.
func _search_far() -> void:
	await _open("large")
	_choose("_algorithm", 1)
	_choose("_search_layer", 1)
	await _answered("far")
	await _drag(true, Vector2i(210, 140))
	await _answered("far dragged")
	_choose("_algorithm", 0)
	_choose("_search_layer", 0)


## The connection breaks, and a tile is painted before it is taken up again.
func _break_connection() -> void:
	var supply: RefCounted = _preview.get("_supply")
	var link: RefCounted = supply.get("_link")
	link.call("_take_break", "broken on purpose", false)
	_set_tiles([Vector2i(8, 10)], SOLID)
	# Before a frame in which the connection may come back.
	_preview.call("_check")
	print("PROBE broken %s" % [supply.get("is_there")])
	await _wait(5)
	await _answered("resumed")


func _lose_sidecar() -> void:
	var fields: Dictionary = _read_connection()
	var from: Vector2 = _take(true)
	await _wait(2)
	_push_motion(from.lerp(_at(Vector2i(11, 5)), 0.5))
	var export: RefCounted = _preview.get("_export")
	export.connect(&"told", _note_told)
	_preview.call("save_case", "res://lost.json")
	# OS.kill() would also wait for it, which is the addon's to do.
	OS.execute("kill", ["-KILL", str(int(fields["pid"]))])
	for step: int in 20:
		_push_motion(from.lerp(_at(Vector2i(11, 5)), step / 20.0))
		await _wait(2)
	_push_motion(_at(Vector2i(11, 5)))
	_push_button(_at(Vector2i(11, 5)), false)
	await _wait_for(
		func() -> bool:
			var now: Dictionary = _read_connection()
			return now["pid"] != fields["pid"] and _preview.call("is_settled")
	)
	await _wait(5)
	export.disconnect(&"told", _note_told)
	print("PROBE " + JSON.stringify({"step": "not saved", "told": _told}))
	await _answered("restarted")


func _note_told(text: String) -> void:
	_told += text


## Returns what the connection file of the editor's sidecar says.
func _read_connection() -> Dictionary:
	var folder: String = "res://.godot/editor"
	for file: String in DirAccess.get_files_at(folder):
		if file.begins_with("navserver_connection."):
			return JSON.parse_string(FileAccess.get_file_as_string(folder.path_join(file)))
	return {}


## All scripts of the addon are read anew while a marker is dragged, as when they were updated.
func _reload_scripts() -> void:
	_take(true)
	await _wait(2)
	for folder: String in ["editor", "internal"]:
		var path: String = "res://addons/navserver/%s" % folder
		for file: String in DirAccess.get_files_at(path):
			if file.ends_with(".gd"):
				(load(path.path_join(file)) as Script).reload(true)
	await _wait(5)
	_push_button(_at(Vector2i(11, 5)), false)
	await _drag(true, Vector2i(12, 5))
	await _answered("scripts reloaded")


## Disabled while a marker is dragged, and enabled again.
func _switch_plugin() -> void:
	_take(true)
	await _wait(2)
	EditorInterface.set_plugin_enabled("navserver", false)
	await _wait(5)
	print("PROBE gone %s" % [_tree.root.find_child("NavserverPreview*", true, false) == null])
	EditorInterface.set_plugin_enabled("navserver", true)
	await _wait(5)
	_find_preview()
	_preview.call("set_shown", true)
	await _answered("enabled again")
