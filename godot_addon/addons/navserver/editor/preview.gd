@tool
extends Node
## Shows paths while a level is drawn: scene, map, questions and canvas come together here.
##
## Hidden it holds no world and processes no frame. Where the sidecar is away what was last known
## stays drawn, and is asked anew once it is back.

## The preview was switched on or off.
signal shown_changed(is_shown: bool)

const PreviewAnswer := preload("preview_answer.gd")
const PreviewCanvas := preload("preview_canvas.gd")
const PreviewDock := preload("preview_dock.gd")
const PreviewExport := preload("preview_export.gd")
const PreviewInspector := preload("preview_inspector.gd")
const PreviewMap := preload("preview_map.gd")
const PreviewPairs := preload("preview_pairs.gd")
const PreviewQuery := preload("preview_query.gd")
const PreviewRequest := preload("preview_request.gd")
const PreviewStroke := preload("preview_stroke.gd")
const PreviewSupply := preload("preview_supply.gd")
const SidecarLink := preload("../internal/sidecar_link.gd")

# How long a frame waits for an answer while the mouse moves, and after an edit; longer searches are
# drawn in a later frame, as a new frame would only come that much later.
const _PATIENCE_USEC: int = 8_000
const _EDIT_PATIENCE_USEC: int = 20_000

## What the user chooses, and reads.
var dock: PreviewDock = PreviewDock.new()
## What is drawn; null while hidden.
var canvas: PreviewCanvas = null

var _undo: EditorUndoRedoManager
var _map: PreviewMap = PreviewMap.new()
var _supply: PreviewSupply
var _pairs: PreviewPairs
var _inspector: PreviewInspector = PreviewInspector.new()
var _export: PreviewExport = PreviewExport.new()
var _stroke: PreviewStroke = PreviewStroke.new()
var _root: Node = null
# One a pair.
var _requests: Array[PreviewRequest] = []
# Their answers before the last edit; null where there is nothing to compare with.
var _before: Array[PreviewAnswer] = []
# The point of the scene under the mouse; INF while nothing is to be told of it.
var _hovered: Vector2 = Vector2.INF
var _is_check_due: bool = false
# What a stroke has changed is compared with what was before it, not with its beginnings.
var _is_stroke_noted: bool = false


func _init(link: SidecarLink, undo: EditorUndoRedoManager) -> void:
	name = "NavserverPreview"
	_undo = undo
	_supply = PreviewSupply.new(link, _map)
	_pairs = PreviewPairs.new(undo)
	set_process(false)
	_connect_dock()
	_export.told.connect(_on_told)
	_map.outdated.connect(_note_change)
	_inspector.layer_arrived.connect(_on_layer_arrived)
	_inspector.cell_described.connect(dock.show_cell)


func _ready() -> void:
	_supply.arrived.connect(_on_map_arrived)
	_supply.left.connect(_on_map_left)
	_supply.refused.connect(_on_map_refused)
	_supply.state_changed.connect(_on_state_changed)
	_undo.history_changed.connect(_note_change)
	_undo.version_changed.connect(_note_change)


func _exit_tree() -> void:
	set_shown(false)
	_supply.close()
	_undo.history_changed.disconnect(_note_change)
	_undo.version_changed.disconnect(_note_change)


func _process(_delta: float) -> void:
	if _root == null or not is_instance_valid(_root):
		return
	if _map.has_lost_layers():
		_note_change()
	if _stroke.is_on():
		_send_stroke()
	if _map.is_there():
		var view: Transform2D = EditorInterface.get_editor_viewport_2d().global_canvas_transform
		canvas.set_view(_map.get_transform(), view)


## Switches the preview on or off.
func set_shown(is_shown: bool) -> void:
	if is_shown == (canvas != null):
		return
	if is_shown:
		canvas = PreviewCanvas.new()
		canvas.marker_dragged.connect(_on_marker_dragged)
		canvas.marker_dropped.connect(_on_marker_dropped)
		canvas.hovered.connect(_on_hovered)
		canvas.stroked.connect(_on_stroked)
		EditorInterface.get_editor_viewport_2d().get_parent().add_child(canvas)
		_on_layers_changed()
		dock.come_forward()
		set_scene(EditorInterface.get_edited_scene_root())
	else:
		_supply.drop()
		_root = null
		_map.set_root(null)
		_pairs.set_root(null)
		_forget_map()
		_requests = []
		_before = []
		canvas.queue_free()
		canvas = null
	set_process(is_shown)
	dock.show_shown(is_shown)
	shown_changed.emit(is_shown)


## Takes the scene that is edited now; null is none.
func set_scene(root: Node) -> void:
	if canvas == null:
		return
	canvas.let_go()
	_supply.drop()
	_root = root
	_map.set_root(root)
	_pairs.set_root(root)
	_forget_map()
	_stroke.end(_map)
	_requests = []
	_before = []
	_check()


## Returns the answer for the chosen pair; null before there is one.
func get_answer() -> PreviewAnswer:
	return _requests[_pairs.selected].answer if _pairs.selected < _requests.size() else null


## Tells whether everything that is wished for has been answered for the map as it is.
func is_settled() -> bool:
	if not _supply.is_there or _is_check_due:
		return false
	return _requests.all(func(request: PreviewRequest) -> bool: return request.is_settled())


## Returns the pairs that are shown, in cells of the layers.
func get_pairs() -> Array[Vector4i]:
	return _pairs.get_shown()


## Returns the map that is shown.
func get_map() -> PreviewMap:
	return _map


## Saves what the 2D editor shows.
func save_picture(path: String) -> void:
	if canvas != null:
		_export.save_picture(canvas, path)


## Saves the chosen pair as a case file.
func save_case(path: String) -> void:
	if not _supply.is_there or _pairs.is_empty():
		_on_told("There is no path to save: %s" % _supply.say_state())
		return
	var query: Dictionary = PreviewQuery.make(_map, dock, _pairs.get_selected())
	_export.save_case(_supply.get_backend(), _map.world, query, path)


func _on_told(text: String) -> void:
	EditorInterface.get_editor_toaster().push_toast(text)


func _connect_dock() -> void:
	dock.shown_toggled.connect(set_shown)
	dock.layers_changed.connect(_on_layers_changed)
	dock.options_changed.connect(_ask_all)
	dock.pair_selected.connect(_select)
	dock.pair_added.connect(_add_pair)
	dock.pair_removed.connect(_pairs.remove_selected)
	dock.scrubbed.connect(_show_scrubbed)
	dock.picture_wanted.connect(PreviewExport.choose_file.bind(self, "png", save_picture))
	dock.case_wanted.connect(PreviewExport.choose_file.bind(self, "json", save_case))


## Checks once a frame, however much was changed.
func _note_change() -> void:
	if canvas != null and not _is_check_due:
		_is_check_due = true
		_check.call_deferred()


## Takes in what may have changed in the scene: map, settings and pairs.
func _check() -> void:
	_is_check_due = false
	if canvas == null:
		return
	var change: PreviewMap.Change = _map.refresh()
	if change != PreviewMap.Change.NONE and not _is_stroke_noted:
		_note_before()
	if change == PreviewMap.Change.WHOLE:
		_show_profiles()
		_supply.put()
	elif change == PreviewMap.Change.CELLS:
		if _supply.send_changes():
			_renew()
	elif not _map.problem.is_empty():
		_supply.drop()
		_forget_map()
	if not _stroke.is_on():
		_is_stroke_noted = false
	_read_pairs()
	_wait(_EDIT_PATIENCE_USEC)


## What is drawn of the map, and told of a cell, is of a map that is not there any more.
func _forget_map() -> void:
	_hovered = Vector2.INF
	canvas.layer.clear()
	canvas.islands.clear()
	canvas.show_hovered([])
	_inspector.forget_cell()
	dock.show_cell("")


func _renew() -> void:
	for request: PreviewRequest in _requests:
		request.renew()
	_describe_hovered()
	_inspector.renew()


## Waits a moment for answers that come at once, so that they are drawn in this frame.
func _wait(patience_usec: int) -> void:
	_supply.wait(
		func() -> bool:
			return _requests.all(func(request: PreviewRequest) -> bool: return request.is_idle()),
		patience_usec
	)


func _show_profiles() -> void:
	var names: PackedStringArray = PackedStringArray()
	var sizes: PackedInt32Array = PackedInt32Array()
	for profile: NavServerProfile in _map.profiles:
		var path: String = profile.resource_path.get_file()
		var is_file: bool = not path.is_empty() and "::" not in path
		names.append(path if is_file else "Profile %d" % (names.size() + 1))
		sizes.append(profile.size)
	dock.show_profiles(names, sizes)


func _on_state_changed() -> void:
	if canvas != null and not _supply.is_there:
		_show_answers()


func _on_map_refused(reason: String) -> void:
	dock.show_answer("The sidecar refuses the map: %s" % reason, "")


func _on_map_arrived() -> void:
	for request: PreviewRequest in _requests:
		request.set_backend(_supply.get_backend())
	_inspector.set_backend(_supply.get_backend())
	_ask_all()
	_describe_hovered()


func _on_map_left() -> void:
	for request: PreviewRequest in _requests:
		request.set_backend(null)
	_inspector.set_backend(null)
	_export.give_up("the sidecar has lost the map meanwhile; save it again")
	_show_answers()


func _read_pairs() -> void:
	var changed: PackedInt32Array = _pairs.refresh(_map)
	var count: int = _pairs.get_shown().size()
	while _requests.size() > count:
		var left: PreviewRequest = _requests.pop_back()
		left.cancel()
	while _requests.size() < count:
		var request: PreviewRequest = PreviewRequest.new()
		request.set_backend(_supply.get_backend())
		request.answered.connect(_show_answers)
		_requests.append(request)
	_before.resize(count)
	for index: int in changed:
		# Between other markers nothing is to be compared.
		_before[index] = null
	dock.show_pairs(count, _pairs.selected, count < PreviewPairs.LIMIT)
	_ask_all()


## Asks for every pair; what is asked already is not asked twice.
func _ask_all() -> void:
	if canvas == null:
		return
	var pairs: Array[Vector4i] = _pairs.get_shown()
	var cells: PackedVector2Array = PackedVector2Array()
	for index: int in pairs.size():
		for is_goal: bool in [false, true]:
			var cell: Vector2i = PreviewPairs.get_end(pairs[index], is_goal)
			cells.append(Vector2(_map.layout.to_inner(cell)))
		var is_drawn: bool = index == _pairs.selected
		_requests[index].wish(PreviewQuery.make_drawn(_map, dock, pairs[index], is_drawn))
	canvas.show_pairs(cells, _pairs.selected)
	_inspector.set_movement(PreviewQuery.make_movement(_map, dock), PreviewQuery.get_step(_map))
	_inspector.show_layer(dock.get_map_layer())
	if not pairs.is_empty():
		_inspector.set_query(PreviewQuery.make(_map, dock, _pairs.get_selected()), get_answer())
	_supply.flush()
	_show_answers()


func _show_answers() -> void:
	if canvas == null:
		return
	var answers: Array[PreviewAnswer] = []
	for request: PreviewRequest in _requests:
		answers.append(request.answer)
	canvas.show_answers(answers, _before)
	var answer: PreviewAnswer = get_answer()
	if not _supply.is_there:
		dock.show_answer("Nothing is searched: %s" % _supply.say_state(), "")
	elif answer != null:
		_inspector.set_answer(answer)
		dock.show_answer(
			PreviewInspector.Words.say_answer(answer),
			PreviewInspector.Words.say_change(_before[_pairs.selected], answer)
		)
	canvas.show_search(answer, dock.get_search_layer())
	dock.show_recorded(0 if answer == null else answer.get_recorded())
	_show_scrubbed()


func _show_scrubbed() -> void:
	if canvas != null:
		canvas.order.show_until(dock.get_scrubbed())


func _on_layers_changed() -> void:
	if canvas == null:
		return
	canvas.shows_path = dock.is_path_shown()
	canvas.shows_smoothed = dock.is_smoothed_shown()
	if _map.is_there():
		_ask_all()


func _on_layer_arrived(
	layer: String, area: Rect2i, side: Vector2i, bytes: PackedByteArray, top: float
) -> void:
	if canvas == null:
		return
	canvas.layer.clear()
	canvas.islands.clear()
	if layer == "islands":
		canvas.islands.show_cells(area, side, bytes, top)
	elif not layer.is_empty():
		canvas.layer.show_cells(area, side, bytes, top)


func _select(index: int) -> void:
	_pairs.selected = index
	_ask_all()


func _add_pair() -> void:
	if canvas == null or not _map.is_there():
		return
	var middle: Vector2 = canvas.size / 2.0
	var view: Transform2D = EditorInterface.get_editor_viewport_2d().global_canvas_transform
	var left: Vector2i = _map.cell_at(view.affine_inverse() * (middle - Vector2(60.0, 0.0)))
	var right: Vector2i = _map.cell_at(view.affine_inverse() * (middle + Vector2(60.0, 0.0)))
	left = _map.find_open_cell(left)
	right = _map.find_open_cell(right)
	_pairs.add(Vector4i(left.x, left.y, right.x, right.y))


func _on_marker_dragged(pair: int, is_goal: bool, point: Vector2) -> void:
	if not _map.is_there() or not _pairs.drag(pair, is_goal, _map.cell_at(point)):
		return
	_hovered = Vector2.INF
	canvas.show_hovered([])
	dock.show_cell("")
	_before[pair] = null
	_requests[pair].is_hurried = true
	dock.show_pairs(_requests.size(), pair, _requests.size() < PreviewPairs.LIMIT)
	_ask_all()
	_wait(_PATIENCE_USEC)


func _on_marker_dropped(is_kept: bool) -> void:
	for request: PreviewRequest in _requests:
		request.is_hurried = false
	# What stays is read again as any step of the scene's history.
	if not _pairs.end_drag(is_kept):
		_ask_all()


func _on_hovered(point: Vector2) -> void:
	_hovered = point
	_describe_hovered()


## Describes the cell under the mouse, which an edit may just have changed.
func _describe_hovered() -> void:
	if not _supply.is_there or not _map.is_there() or _hovered == Vector2.INF:
		return
	var cell: Vector2i = _map.cell_at(_hovered)
	canvas.show_hovered([_map.layout.to_inner(cell)])
	_inspector.describe(cell, _map.layout.to_inner(cell), _map.describe_tiles(cell))


func _on_stroked(point: Vector2, is_begin: bool, is_end: bool) -> void:
	if is_begin:
		_is_stroke_noted = false
		_stroke.begin(_find_painted_layer(), point)
	if not _stroke.is_on() or not _map.is_there():
		return
	_stroke.move(_map, point)
	if is_end:
		# The tile map editor has yet to see the end; what it paints then is taken as a whole.
		_send_stroke()
		_stroke.end(_map)


func _find_painted_layer() -> TileMapLayer:
	if not _supply.is_there:
		return null
	for node: Node in EditorInterface.get_selection().get_selected_nodes():
		var layer: TileMapLayer = node as TileMapLayer
		if layer != null and layer in _map.layers:
			return layer
	return null


func _send_stroke() -> void:
	if not _supply.is_there or not _map.is_there():
		_stroke.end(_map)
	elif _supply.send_stroke(_stroke):
		if not _is_stroke_noted:
			_note_before()
			_is_stroke_noted = true
		_renew()
		_wait(_EDIT_PATIENCE_USEC)


## Keeps the answers of now, to be compared with those after an edit.
func _note_before() -> void:
	for index: int in mini(_requests.size(), _before.size()):
		_before[index] = _requests[index].answer
