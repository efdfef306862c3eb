@tool
extends EditorPlugin
## Times the path preview from within the editor, and writes what it measured as JSON.
##
## A goal is dragged along a circle over a map of 512 x 512 cells, one step of the mouse a frame;
## then single tiles are set, one step of the history each.

const SIDE: int = 512
const SOLID: Vector2i = Vector2i(1, 0)
const SCENE: String = "res://level.tscn"
const LAYERS: PackedStringArray = ["path", "order", "costs"]

var _preview: Node = null
var _seconds: float = 4.0
var _edits: int = 20
# Milliseconds of processors that a frame took when frames were last counted.
var _cpu_a_frame: float = 0.0


func _enter_tree() -> void:
	_run.call_deferred()


func _run() -> void:
	if not OS.get_environment("PROBE_QUICK").is_empty():
		_seconds = 1.5
		_edits = 8
	while EditorInterface.get_resource_filesystem().is_scanning():
		await _wait(10)
	_make_scene()
	EditorInterface.set_main_screen_editor("2D")
	EditorInterface.open_scene_from_path(SCENE)
	await _wait(60)
	_preview = get_tree().root.find_child("NavserverPreview", true, false)
	var results: Dictionary[String, float] = {}
	results["idle_frames_per_s"] = await _count_frames()
	var redrawn: float = await _count_frames(true)
	var redrawn_cpu: float = _cpu_a_frame
	_preview.call("set_shown", true)
	await _settle()
	# As much of the map as there is.
	var view: SubViewport = EditorInterface.get_editor_viewport_2d()
	results["shown_frames_per_s"] = await _count_frames()
	for layer: int in LAYERS.size():
		_choose_layer(layer)
		await _settle()
		results.merge(await _drag(LAYERS[layer]))
	results["view_width_pixels"] = view.size.x
	results["view_height_pixels"] = view.size.y
	_choose_layer(0)
	await _settle()
	results.merge(await _time_edits())
	results.merge(await _time_strokes())
	_preview.call("set_shown", false)
	await _wait(30)
	# Before and after, as what else the machine does may have changed.
	redrawn = (redrawn + await _count_frames(true)) / 2.0
	redrawn_cpu = (redrawn_cpu + _cpu_a_frame) / 2.0
	results["redrawn_frames_per_s"] = redrawn
	results["redrawn_cpu_ms"] = redrawn_cpu
	for name: String in LAYERS:
		var frames: float = results["drag_%s_frames_per_s" % name]
		results["drag_%s_rate_of_redrawn" % name] = frames / redrawn
		results["drag_%s_share_ms" % name] = 1000.0 / frames - 1000.0 / redrawn
		results["drag_%s_share_cpu_ms" % name] = results["drag_%s_cpu_ms" % name] - redrawn_cpu
	var file: FileAccess = FileAccess.open(OS.get_environment("PROBE_RESULTS"), FileAccess.WRITE)
	file.store_string(JSON.stringify(results))
	file.close()
	get_tree().quit()


func _choose_layer(layer: int) -> void:
	var dock: Node = _preview.get("dock")
	var options: OptionButton = dock.get("_search_layer")
	options.select(layer)
	dock.emit_signal("layers_changed")


func _make_scene() -> void:
	var root: Node2D = Node2D.new()
	root.name = "Level"
	var layer: TileMapLayer = TileMapLayer.new()
	layer.name = "Ground"
	layer.tile_set = load("res://tiles.tres")
	root.add_child(layer)
	layer.owner = root
	var numbers: RandomNumberGenerator = RandomNumberGenerator.new()
	numbers.seed = 7
	for y: int in SIDE:
		for x: int in SIDE:
			var is_solid: bool = numbers.randf() < 0.2
			layer.set_cell(Vector2i(x, y), 0, SOLID if is_solid else Vector2i.ZERO)
	var scene: PackedScene = PackedScene.new()
	scene.pack(root)
	ResourceSaver.save(scene, SCENE)
	root.free()


func _wait(frames: int) -> void:
	for frame: int in frames:
		await get_tree().process_frame


## Waits until everything asked is answered.
func _settle() -> void:
	for frame: int in 20_000:
		await get_tree().process_frame
		if _preview.call("is_settled"):
			break
	await _wait(30)


## Frames a second, also of an editor that redraws its canvas in each of them.
func _count_frames(is_redrawn: bool = false) -> float:
	var begin: int = Time.get_ticks_usec()
	var cpu: float = _get_cpu_msec()
	var frames: int = 0
	while Time.get_ticks_usec() - begin < _seconds * 1e6:
		if is_redrawn:
			update_overlays()
		await get_tree().process_frame
		frames += 1
	_cpu_a_frame = (_get_cpu_msec() - cpu) / frames
	return frames * 1e6 / (Time.get_ticks_usec() - begin)


## Returns how long the editor has used processors, renderer included, whatever else the machine
## does meanwhile; 0 where the system does not tell.
func _get_cpu_msec() -> float:
	var stat: FileAccess = FileAccess.open("/proc/self/stat", FileAccess.READ)
	if stat == null:
		return 0.0
	# A name in brackets comes first; of what follows it the 12th and 13th are hundredths.
	var fields: PackedStringArray = stat.get_line().get_slice(") ", 1).split(" ")
	return 10.0 * (fields[11].to_float() + fields[12].to_float())


## Drags the goal; how often a new answer was drawn in a second.
func _drag(name: String) -> Dictionary[String, float]:
	var canvas: Control = _preview.get("canvas")
	var begin: int = Time.get_ticks_usec()
	var last: RefCounted = null
	var answers: int = 0
	var expanded: float = 0.0
	var frames: int = 0
	var used: int = 0
	var cpu: float = _get_cpu_msec()
	while Time.get_ticks_usec() - begin < _seconds * 1e6:
		var turn: float = frames * 0.02
		var cell: Vector2i = Vector2i(256 + int(200 * cos(turn)), 256 + int(200 * sin(turn)))
		var layer: TileMapLayer = EditorInterface.get_edited_scene_root().get_node("Ground")
		var at: int = Time.get_ticks_usec()
		canvas.emit_signal("marker_dragged", 0, true, layer.to_global(layer.map_to_local(cell)))
		used += Time.get_ticks_usec() - at
		await get_tree().process_frame
		frames += 1
		var answer: RefCounted = _preview.call("get_answer")
		if answer != last:
			last = answer
			answers += 1
			expanded += answer.get("expanded")
	var passed: float = (Time.get_ticks_usec() - begin) / 1e6
	cpu = _get_cpu_msec() - cpu
	canvas.emit_signal("marker_dropped", false)
	await _settle()
	return {
		"drag_%s_answers_per_s" % name: answers / passed,
		"drag_%s_frames_per_s" % name: frames / passed,
		"drag_%s_script_ms" % name: used / 1000.0 / frames,
		"drag_%s_cpu_ms" % name: cpu / frames,
		"drag_%s_expanded_mean" % name: expanded / maxi(answers, 1),
	}


## Sets single tiles; milliseconds until the path of the new map is known.
func _time_edits() -> Dictionary[String, float]:
	var undo: EditorUndoRedoManager = EditorInterface.get_editor_undo_redo()
	var layer: TileMapLayer = EditorInterface.get_edited_scene_root().get_node("Ground")
	var times: PackedFloat64Array = PackedFloat64Array()
	for index: int in _edits:
		var before: RefCounted = _preview.call("get_answer")
		var cell: Vector2i = Vector2i(200 + index, 230)
		undo.create_action("Paint", UndoRedo.MERGE_DISABLE, layer)
		var old: Vector2i = layer.get_cell_atlas_coords(cell)
		var tile: Vector2i = Vector2i.ZERO if old == SOLID else SOLID
		undo.add_do_method(layer, "set_cell", cell, 0, tile)
		undo.add_undo_method(layer, "set_cell", cell, 0, old)
		var begin: int = Time.get_ticks_usec()
		undo.commit_action()
		while _preview.call("get_answer") == before:
			await get_tree().process_frame
		times.append((Time.get_ticks_usec() - begin) / 1000.0)
		await _wait(20)
	return _sum_up("edit", times)


## Paints single tiles with the brush; milliseconds until the path of the new map is known.
func _time_strokes() -> Dictionary[String, float]:
	var layer: TileMapLayer = EditorInterface.get_edited_scene_root().get_node("Ground")
	var canvas: Control = _preview.get("canvas")
	EditorInterface.get_selection().clear()
	EditorInterface.get_selection().add_node(layer)
	await _wait(30)
	var times: PackedFloat64Array = PackedFloat64Array()
	for index: int in _edits:
		var before: RefCounted = _preview.call("get_answer")
		var cell: Vector2i = Vector2i(200 + index, 240)
		var point: Vector2 = layer.to_global(layer.map_to_local(cell))
		var old: Vector2i = layer.get_cell_atlas_coords(cell)
		var begin: int = Time.get_ticks_usec()
		canvas.emit_signal("stroked", point, true, false)
		layer.set_cell(cell, 0, Vector2i.ZERO if old == SOLID else SOLID)
		while _preview.call("get_answer") == before:
			await get_tree().process_frame
		times.append((Time.get_ticks_usec() - begin) / 1000.0)
		canvas.emit_signal("stroked", point, false, true)
		await _wait(20)
	EditorInterface.get_selection().clear()
	await _wait(30)
	return _sum_up("stroke", times)


func _sum_up(name: String, times: PackedFloat64Array) -> Dictionary[String, float]:
	times.sort()
	return {
		"%s_p50_ms" % name: times[floori(times.size() / 2.0)],
		"%s_max_ms" % name: times[-1],
	}
