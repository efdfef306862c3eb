@tool
extends Control
## Draws the preview over the 2D editor, and lets the mouse drag its markers.

## A marker was taken, and then moved; the point lies in the scene.
signal marker_dragged(pair: int, is_goal: bool, point: Vector2)
## A marker was let go; it goes back where it was unless [param is_kept].
signal marker_dropped(is_kept: bool)
## The mouse is over a point of the scene.
signal hovered(point: Vector2)
## A button of the mouse went down or up, or the mouse moved meanwhile; nothing has seen it yet.
signal stroked(point: Vector2, is_begin: bool, is_end: bool)

const PreviewAnswer := preload("preview_answer.gd")
const PreviewDock := preload("preview_dock.gd")
const PreviewRaster := preload("preview_raster.gd")

## Colors of the pairs, one after the other.
const COLORS: Array[Color] = [
	Color(1.0, 0.55, 0.1), Color(0.3, 0.8, 1.0), Color(0.95, 0.4, 0.85), Color(0.6, 0.95, 0.3)
]

const _MARKER_RADIUS: float = 9.0
const _PATH_WIDTH: float = 3.0

## Whether paths, and paths pulled straight, are drawn.
var shows_path: bool = true
var shows_smoothed: bool = false

## Expanded cells by order, what they cost from the start, and layers of the whole map.
var order: PreviewRaster = PreviewRaster.new(PreviewRaster.Kind.ORDER)
var heat: PreviewRaster = PreviewRaster.new(PreviewRaster.Kind.HEAT)
var layer: PreviewRaster = PreviewRaster.new(PreviewRaster.Kind.HEAT)
var islands: PreviewRaster = PreviewRaster.new(PreviewRaster.Kind.ISLANDS)

var _lines: Control = Control.new()
var _to_scene: Transform2D = Transform2D.IDENTITY
var _view: Transform2D = Transform2D.IDENTITY
var _cells_view: Transform2D = Transform2D.IDENTITY
var _markers: PackedVector2Array = PackedVector2Array()
var _answers: Array[PreviewAnswer] = []
var _before: Array[PreviewAnswer] = []
var _selected: int = 0
var _hovered: Array[Vector2i] = []
# The answer whose search is drawn, and what of it.
var _searched: PreviewAnswer = null
var _search_layer: PreviewDock.SearchLayer = PreviewDock.SearchLayer.NONE
# Number of the marker that the mouse has taken; starts are even.
var _taken: int = -1
var _is_stroking: bool = false


func _init() -> void:
	name = "NavserverPreviewCanvas"
	mouse_filter = Control.MOUSE_FILTER_IGNORE
	clip_contents = true
	for raster: PreviewRaster in [layer, islands, heat, order]:
		add_child(raster)
	_lines.mouse_filter = Control.MOUSE_FILTER_IGNORE
	_lines.draw.connect(_draw_lines)
	add_child(_lines)
	set_anchors_preset(Control.PRESET_FULL_RECT)


func _input(event: InputEvent) -> void:
	var mouse: InputEventMouse = event as InputEventMouse
	if mouse == null or not is_visible_in_tree():
		return
	var local: InputEventMouse = make_input_local(mouse) as InputEventMouse
	var point: Vector2 = _view.affine_inverse() * local.position
	var button: InputEventMouseButton = event as InputEventMouseButton
	if _taken >= 0:
		_go_on_dragging(button, point)
		get_viewport().set_input_as_handled()
	elif button != null and button.pressed:
		if not _is_over_canvas(local.position):
			return
		if button.button_index == MOUSE_BUTTON_LEFT and _take_marker(local.position):
			get_viewport().set_input_as_handled()
		elif button.button_index in [MOUSE_BUTTON_LEFT, MOUSE_BUTTON_RIGHT]:
			_is_stroking = true
			stroked.emit(point, true, false)
	elif button != null and _is_stroking:
		_is_stroking = false
		stroked.emit(point, false, true)
	elif button == null:
		if _is_stroking:
			stroked.emit(point, false, false)
		if _is_over_canvas(local.position):
			hovered.emit(point)


## Places cells in the scene and the scene on the screen.
func set_view(to_scene: Transform2D, view: Transform2D) -> void:
	if to_scene == _to_scene and view == _view:
		return
	_to_scene = to_scene
	_view = view
	# Markers keep their cells.
	var markers: PackedVector2Array = _cells_view.affine_inverse() * _markers
	_cells_view = view * to_scene
	_markers = _cells_view * markers
	for raster: PreviewRaster in [layer, islands, heat, order]:
		raster.set_view(_cells_view)
	_lines.queue_redraw()


## Shows pairs, start and goal one after the other, in cells as the sidecar counts them.
func show_pairs(cells: PackedVector2Array, selected: int) -> void:
	_markers = _cells_view * cells
	_selected = selected
	_lines.queue_redraw()


## Shows what was answered for each pair, and before the last edit; null where nothing was.
func show_answers(answers: Array[PreviewAnswer], before: Array[PreviewAnswer]) -> void:
	_answers = answers
	_before = before
	_lines.queue_redraw()


## Shows what a search did; null is none.
func show_search(answer: PreviewAnswer, shown: PreviewDock.SearchLayer) -> void:
	if answer == _searched and shown == _search_layer:
		return
	_searched = answer
	_search_layer = shown
	if answer == null or shown != PreviewDock.SearchLayer.ORDER:
		order.clear()
	else:
		order.show_cells(answer.area, answer.side, answer.order, answer.get_recorded())
	if answer == null or shown != PreviewDock.SearchLayer.COSTS:
		heat.clear()
	else:
		heat.show_cells(answer.area, answer.side, answer.costs, answer.get_greatest_cost())


## Frames a cell; none where there is none.
func show_hovered(cells: Array[Vector2i]) -> void:
	if cells != _hovered:
		_hovered = cells
		_lines.queue_redraw()


## Lets go of whatever the mouse has taken, without a word.
func let_go() -> void:
	_taken = -1
	_is_stroking = false


## Returns which pixels of the screen show the canvas.
func get_screen_rect() -> Rect2i:
	return Rect2i(get_global_rect())


func _is_over_canvas(point: Vector2) -> bool:
	if not Rect2(Vector2.ZERO, size).has_point(point):
		return false
	var under: Control = get_viewport().gui_get_hovered_control()
	# The editor's canvas lies beside what contains this; buttons on it lie within it.
	return under == null or under.get_parent() == get_parent().get_parent()


func _take_marker(point: Vector2) -> bool:
	# The later one lies on top.
	for index: int in range(_markers.size() - 1, -1, -1):
		if _markers[index].distance_to(point) <= _MARKER_RADIUS + 2.0:
			_taken = index
			_tell_dragged(_view.affine_inverse() * point)
			return true
	return false


func _go_on_dragging(button: InputEventMouseButton, point: Vector2) -> void:
	if button == null:
		_tell_dragged(point)
	elif button.button_index == MOUSE_BUTTON_LEFT and not button.pressed:
		_taken = -1
		marker_dropped.emit(true)
	elif button.button_index == MOUSE_BUTTON_RIGHT:
		_taken = -1
		marker_dropped.emit(false)


func _tell_dragged(point: Vector2) -> void:
	marker_dragged.emit(_taken >> 1, _taken & 1 == 1, point)


func _draw_lines() -> void:
	for index: int in _before.size():
		if _before[index] != null and index < _answers.size() and _answers[index] != null:
			if _before[index].cells != _answers[index].cells:
				_draw_path(_before[index].cells, Color(0.75, 0.75, 0.75, 0.8), 1.5, true)
	for index: int in _answers.size():
		if _answers[index] != null:
			_draw_answer(_answers[index], COLORS[index % COLORS.size()])
	for cell: Vector2i in _hovered:
		_draw_cell(cell, Color(1.0, 1.0, 1.0, 0.8), false)
	for index: int in _markers.size():
		_draw_marker(index)


func _draw_answer(answer: PreviewAnswer, color: Color) -> void:
	for at: int in range(0, answer.openings.size(), 2):
		_draw_cell(
			Vector2i(answer.openings[at], answer.openings[at + 1]), Color(1, 0.15, 0.2), true
		)
	if shows_path:
		_draw_path(answer.cells, color, _PATH_WIDTH, not answer.is_found())
	if shows_smoothed:
		_draw_path(answer.smoothed, color.lightened(0.6), 2.0, false)
	for cell: Vector2i in answer.nearest:
		_lines.draw_arc(_cells_view * Vector2(cell), _MARKER_RADIUS, 0, TAU, 24, color, 2.0, true)


func _draw_path(cells: PackedInt32Array, color: Color, width: float, is_dashed: bool) -> void:
	var points: PackedVector2Array = PackedVector2Array()
	for at: int in range(0, cells.size(), 2):
		points.append(_cells_view * Vector2(cells[at], cells[at + 1]))
	if points.size() < 2:
		return
	if not is_dashed:
		_lines.draw_polyline(points, Color(0, 0, 0, 0.5), width + 2.0)
		_lines.draw_polyline(points, color, width)
		return
	for index: int in range(0, points.size() - 1):
		_lines.draw_dashed_line(points[index], points[index + 1], color, width, 6.0)


func _draw_cell(cell: Vector2i, color: Color, is_filled: bool) -> void:
	var corners: PackedVector2Array = PackedVector2Array()
	for corner: Vector2 in [Vector2(-0.5, -0.5), Vector2(0.5, -0.5), Vector2(0.5, 0.5)]:
		corners.append(_cells_view * (Vector2(cell) + corner))
	corners.append(_cells_view * (Vector2(cell) + Vector2(-0.5, 0.5)))
	if is_filled:
		_lines.draw_colored_polygon(corners, Color(color, 0.5))
	corners.append(corners[0])
	_lines.draw_polyline(corners, color, 2.0)


func _draw_marker(index: int) -> void:
	var color: Color = COLORS[(index >> 1) % COLORS.size()]
	var is_goal: bool = index & 1 == 1
	var center: Vector2 = _markers[index]
	var radius: float = _MARKER_RADIUS + (2.0 if index == _taken else 0.0)
	_lines.draw_circle(center, radius + 2.0, Color(0, 0, 0, 0.7))
	if index >> 1 == _selected:
		_lines.draw_arc(center, radius + 3.0, 0.0, TAU, 32, Color.WHITE, 1.5, true)
	_lines.draw_circle(center, radius, color if is_goal else Color.WHITE)
	_lines.draw_circle(center, radius * 0.5, Color.WHITE if is_goal else color)
