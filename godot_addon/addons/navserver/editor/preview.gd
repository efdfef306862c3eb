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
const SidecarLink := preload("../internal/sidecar_link.gd")
const WorldState := preload("../internal/world_state.gd")

# How long a frame waits for an answer; longer searches are drawn in a later frame.
const _PATIENCE_USEC: int = 8000

## What the user chooses, and reads.
var dock: PreviewDock = PreviewDock.new()
## What is drawn; null while hidden.
var canvas: PreviewCanvas = null

var _link: SidecarLink
var _undo: EditorUndoRedoManager
var _map: PreviewMap = PreviewMap.new()
var _inspector: PreviewInspector = PreviewInspector.new()
var _export: PreviewExport = PreviewExport.new()
var _root: Node = null
var _pairs: Array[Vector4i] = []
var _selected: int = 0
var _requests: Array[PreviewRequest] = []
var _before: Array[PreviewAnswer] = []
# The pairs while one of their markers is dragged.
var _dragged: Array[Vector4i] = []
# The point of the scene under the mouse; INF while nothing is to be told of it.
var _hovered: Vector2 = Vector2.INF
# The sidecar was given the map.
var _is_map_put: bool = false
# The sidecar has the map.
var _is_map_there: bool = false
var _is_check_due: bool = false
var _stroke: PreviewStroke = PreviewStroke.new()
# What a stroke has changed is compared with what was before it, not with its beginnings.
var _is_stroke_noted: bool = false


func _init(link: SidecarLink, undo: EditorUndoRedoManager) -> void:
	name = "NavserverPreview"
	_link = link
	_undo = undo
	set_process(false)
	dock.shown_toggled.connect(set_shown)
	dock.layers_changed.connect(_on_layers_changed)
	dock.options_changed.connect(_ask_all)
	dock.pair_selected.connect(_select)
	dock.pair_added.connect(_add_pair)
	dock.pair_removed.connect(_remove_pair)
	dock.scrubbed.connect(_on_scrubbed)
	dock.picture_wanted.connect(PreviewExport.choose_file.bind(self, "*.png", save_picture))
	dock.case_wanted.connect(PreviewExport.choose_file.bind(self, "*.json", save_case))
	_export.told.connect(dock.show_answer.bind(""))
	_map.outdated.connect(_note_change)
	_inspector.layer_arrived.connect(_on_layer_arrived)
	_inspector.cell_described.connect(dock.show_cell)


func _ready() -> void:
	_link.opened.connect(_on_opened)
	_link.lost.connect(_on_lost)
	_undo.history_changed.connect(_note_change)
	_undo.version_changed.connect(_note_change)


func _exit_tree() -> void:
	set_shown(false)
	_link.opened.disconnect(_on_opened)
	_link.lost.disconnect(_on_lost)
	_undo.history_changed.disconnect(_note_change)
	_undo.version_changed.disconnect(_note_change)


func _process(_delta: float) -> void:
	if _root == null or not is_instance_valid(_root):
		return
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
		set_scene(EditorInterface.get_edited_scene_root())
	else:
		_drop_map()
		_root = null
		canvas.queue_free()
		canvas = null
	set_process(is_shown)
	dock.show_shown(is_shown)
	shown_changed.emit(is_shown)


## Takes the scene that is edited now; null is none.
func set_scene(root: Node) -> void:
	if canvas == null:
		return
	_drop_map()
	_root = root
	_map.set_root(root)
	_map.world.arrived.connect(_on_map_arrived.bind(_map.world))
	_map.world.refused.connect(_on_map_refused)
	_selected = 0
	_hovered = Vector2.INF
	_stroke.end(_map)
	_pairs = []
	_dragged = []
	_requests = []
	_before = []
	_check()


## Returns the answer for the chosen pair; null before there is one.
func get_answer() -> PreviewAnswer:
	return _requests[_selected].answer if _selected < _requests.size() else null


## Tells whether everything that is wished for has been answered for the map as it is.
func is_settled() -> bool:
	if not _is_map_there or _is_check_due:
		return false
	return _requests.all(func(request: PreviewRequest) -> bool: return request.is_settled())


## Returns the pairs that are shown, in cells of the layers.
func get_pairs() -> Array[Vector4i]:
	return _pairs if _dragged.is_empty() else _dragged


## Returns the map that is shown.
func get_map() -> PreviewMap:
	return _map


## Saves what the 2D editor shows.
func save_picture(path: String) -> void:
	if canvas != null:
		_export.save_picture(canvas, path)


## Saves the chosen pair as a case file.
func save_case(path: String) -> void:
	if not _is_map_there or _selected >= _requests.size():
		dock.show_answer("There is no path to save: %s" % _say_state(), "")
		return
	_export.save_case(
		_link.backend, _map.world, PreviewQuery.make(_map, dock, _pairs[_selected]), path
	)


func _say_state() -> String:
	if not _map.problem.is_empty():
		return _map.problem
	if _link.state == SidecarLink.State.OFF:
		return "no sidecar is running; start it in the navserver dock"
	if _link.state != SidecarLink.State.READY:
		return "the sidecar is getting ready, see the navserver dock"
	if not _link.backend.is_offered("explore"):
		return "the sidecar is too old for previews; update navserver"
	return "the sidecar reads the map"


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
		_put_map()
	elif change == PreviewMap.Change.CELLS:
		_send_changes()
	elif not _map.problem.is_empty():
		_drop_map()
	if not _stroke.is_on():
		_is_stroke_noted = false
	_read_pairs()
	_hurry()


## Gives the sidecar the cells that have changed; one that has no map yet gets them with it.
func _send_changes() -> void:
	if _is_map_put and _link.state == SidecarLink.State.READY:
		_map.send_changes(_link.backend)
		_renew()


func _renew() -> void:
	for request: PreviewRequest in _requests:
		request.renew()
	_describe_hovered()
	_inspector.renew()


## Waits a moment for answers that come at once, so that they are drawn in this frame.
func _hurry() -> void:
	var until: int = Time.get_ticks_usec() + _PATIENCE_USEC
	while _link.state == SidecarLink.State.READY and Time.get_ticks_usec() < until:
		_link.flush()
		if _requests.all(func(request: PreviewRequest) -> bool: return request.is_idle()):
			break
		OS.delay_usec(100)
		_link.poll(until)


func _put_map() -> void:
	_is_map_there = false
	for request: PreviewRequest in _requests:
		request.set_backend(null)
	_inspector.set_backend(null)
	var names: PackedStringArray = PackedStringArray()
	for profile: NavServerProfile in _map.profiles:
		var path: String = profile.resource_path.get_file()
		names.append(path if not path.is_empty() else "Profile %d" % (names.size() + 1))
	dock.show_profiles(names)
	if _link.state == SidecarLink.State.READY and _link.backend.is_offered("explore"):
		_map.put(_link.backend)
		_is_map_put = true
		_link.flush()
	_show_answers()


func _drop_map() -> void:
	if _link.state == SidecarLink.State.READY and _is_map_put:
		_link.backend.drop_world(_map.world)
	_is_map_put = false
	_on_lost()


func _on_opened() -> void:
	_link.backend.take_unanswered()
	if canvas != null and _map.problem.is_empty() and _root != null:
		_put_map()


func _on_lost() -> void:
	_is_map_there = false
	for request: PreviewRequest in _requests:
		request.set_backend(null)
	_inspector.set_backend(null)
	if canvas != null:
		_show_answers()


func _on_map_refused(reason: String) -> void:
	dock.show_answer("The sidecar refuses the map: %s" % reason, "")


func _on_map_arrived(_version: int, world: WorldState) -> void:
	# A scene that was left may still be answered.
	if world != _map.world:
		return
	_is_map_there = true
	for request: PreviewRequest in _requests:
		request.set_backend(_link.backend)
	_inspector.set_backend(_link.backend)
	_ask_all()
	_describe_hovered()


func _read_pairs() -> void:
	if not _map.is_there():
		_pairs = []
	else:
		_pairs = PreviewPairs.read(_root)
		if _pairs.is_empty():
			_pairs = [_map.propose_pair()]
	_selected = clampi(_selected, 0, maxi(_pairs.size() - 1, 0))
	while _requests.size() > _pairs.size():
		var left: PreviewRequest = _requests.pop_back()
		left.cancel()
	while _requests.size() < _pairs.size():
		var request: PreviewRequest = PreviewRequest.new()
		request.set_backend(_link.backend if _is_map_there else null)
		request.answered.connect(_show_answers)
		_requests.append(request)
	_before.resize(_pairs.size())
	dock.show_pairs(_pairs.size(), _selected)
	_ask_all()


## Asks for every pair; what is asked already is not asked twice.
func _ask_all() -> void:
	if canvas == null:
		return
	var pairs: Array[Vector4i] = get_pairs()
	var cells: PackedVector2Array = PackedVector2Array()
	for index: int in pairs.size():
		for is_goal: bool in [false, true]:
			var cell: Vector2i = PreviewPairs.get_end(pairs[index], is_goal)
			cells.append(Vector2(_map.layout.to_inner(cell)))
		_requests[index].wish(PreviewQuery.make(_map, dock, pairs[index], index == _selected))
	canvas.show_pairs(cells, _selected)
	_inspector.set_movement(PreviewQuery.make_movement(_map, dock))
	_inspector.show_layer(dock.get_map_layer())
	if not pairs.is_empty() and _selected < pairs.size():
		_inspector.set_query(PreviewQuery.make(_map, dock, pairs[_selected]), get_answer())
	if _link.state == SidecarLink.State.READY:
		_link.flush()
	_show_answers()


func _show_answers() -> void:
	if canvas == null:
		return
	var answers: Array[PreviewAnswer] = []
	for request: PreviewRequest in _requests:
		answers.append(request.answer)
	canvas.show_answers(answers, _before)
	var answer: PreviewAnswer = get_answer()
	if not _is_map_there:
		dock.show_answer("Nothing is searched: %s" % _say_state(), "")
	elif answer != null:
		_inspector.set_answer(answer)
		dock.show_answer(
			PreviewInspector.Words.say_answer(answer),
			PreviewInspector.Words.say_change(_before[_selected], answer)
		)
	canvas.show_search(answer, dock.get_search_layer())


func _on_scrubbed(part: float) -> void:
	var answer: PreviewAnswer = get_answer()
	if canvas != null and answer != null:
		canvas.order.show_until(INF if part >= 1.0 else ceilf(part * answer.expanded))


func _on_layers_changed() -> void:
	if canvas == null:
		return
	canvas.shows_path = dock.is_path_shown()
	canvas.shows_smoothed = dock.is_smoothed_shown()
	if _map.is_there():
		_ask_all()


func _on_layer_arrived(layer: String, area: Rect2i, bytes: PackedByteArray, top: float) -> void:
	if canvas == null:
		return
	canvas.layer.clear()
	canvas.islands.clear()
	if layer == "islands":
		canvas.islands.show_cells(area, bytes, top)
	elif not layer.is_empty():
		canvas.layer.show_cells(area, bytes, top)


func _select(index: int) -> void:
	_selected = index
	_ask_all()


func _add_pair() -> void:
	if canvas == null or not _map.is_there():
		return
	var middle: Vector2 = canvas.size / 2.0
	var view: Transform2D = EditorInterface.get_editor_viewport_2d().global_canvas_transform
	var added: Array[Vector4i] = _pairs.duplicate()
	var left: Vector2i = _map.cell_at(view.affine_inverse() * (middle - Vector2(60.0, 0.0)))
	var right: Vector2i = _map.cell_at(view.affine_inverse() * (middle + Vector2(60.0, 0.0)))
	added.append(Vector4i(left.x, left.y, right.x, right.y))
	_selected = added.size() - 1
	PreviewPairs.write(_undo, _root, "Add Path Preview", added)


func _remove_pair() -> void:
	if _root == null or _selected >= _pairs.size():
		return
	var rest: Array[Vector4i] = _pairs.duplicate()
	rest.remove_at(_selected)
	PreviewPairs.write(_undo, _root, "Remove Path Preview", rest)


func _on_marker_dragged(pair: int, is_goal: bool, point: Vector2) -> void:
	if pair >= _pairs.size() or not _map.is_there():
		return
	var moved: Array[Vector4i] = get_pairs().duplicate()
	moved[pair] = PreviewPairs.with_end(moved[pair], is_goal, _map.cell_at(point))
	if moved == _dragged:
		return
	_dragged = moved
	_hovered = Vector2.INF
	canvas.show_hovered([])
	dock.show_cell("")
	_requests[pair].is_hurried = true
	if _selected != pair:
		_selected = pair
		dock.show_pairs(_pairs.size(), _selected)
	_ask_all()
	_hurry()


func _on_marker_dropped(is_kept: bool) -> void:
	var moved: Array[Vector4i] = _dragged
	_dragged = []
	for request: PreviewRequest in _requests:
		request.is_hurried = false
	if is_kept and moved != _pairs and _root != null and not moved.is_empty():
		_before.fill(null)
		PreviewPairs.write(_undo, _root, "Move Path Preview", moved)
	else:
		_ask_all()


func _on_hovered(point: Vector2) -> void:
	_hovered = point
	_describe_hovered()


## Describes the cell under the mouse, which an edit may just have changed.
func _describe_hovered() -> void:
	if not _is_map_there or not _map.is_there() or _hovered == Vector2.INF:
		return
	var cell: Vector2i = _map.cell_at(_hovered)
	canvas.show_hovered([_map.layout.to_inner(cell)])
	_inspector.describe(cell, _map.layout.to_inner(cell), _map.describe_tiles(cell))


func _on_stroked(point: Vector2, is_begin: bool, is_end: bool) -> void:
	if is_begin:
		_is_stroke_noted = false
		_stroke.begin(_find_painted_layer(), point)
	if not _stroke.is_on():
		return
	_stroke.move(_map, point)
	if is_end:
		# The tile map editor has yet to see the end; what it paints then is taken as a whole.
		_send_stroke()
		_stroke.end(_map)


func _find_painted_layer() -> TileMapLayer:
	if not _is_map_there:
		return null
	for node: Node in EditorInterface.get_selection().get_selected_nodes():
		var layer: TileMapLayer = node as TileMapLayer
		if layer != null and layer in _map.layers:
			return layer
	return null


func _send_stroke() -> void:
	if not _is_map_there:
		_stroke.end(_map)
	elif _stroke.send(_map, _link.backend):
		if not _is_stroke_noted:
			_note_before()
			_is_stroke_noted = true
		_renew()
		_hurry()


## Keeps the answers of now, to be compared with those after an edit.
func _note_before() -> void:
	for index: int in mini(_requests.size(), _before.size()):
		_before[index] = _requests[index].answer
