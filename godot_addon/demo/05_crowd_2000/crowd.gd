extends Node2D
## Click: send everybody, or those you chose. Drag: choose. Right button and wheel: the camera.

const COUNT: int = 2000
const AREA: Rect2i = Rect2i(0, 0, 124, 74)
const BLOCK: Vector2i = Vector2i(12, 10)
const STREET: Vector2i = Vector2i(0, 0)
const PAVING: Vector2i = Vector2i(1, 0)
const ROOF: Vector2i = Vector2i(2, 0)
const FLAT_ROOF: Vector2i = Vector2i(3, 0)
const CHOSEN: Color = Color(0.4, 1.0, 0.5)
## A press that moves less on the screen is a click.
const CLICK_PIXELS: float = 6.0

## Nobody chosen means everybody.
var chosen: Dictionary[int, bool] = {}
var arrived: int = 0

var _under_way: Dictionary[int, bool] = {}
var _pressed_at: Vector2 = Vector2.ZERO
var _dragged: Rect2 = Rect2()
var _is_dragging: bool = false

@onready var _city: TileMapLayer = $City
@onready var _map: NavServerMap2D = $NavServerMap2D
@onready var _crowd: NavServerCrowd2D = $NavServerCrowd2D
@onready var _camera: Camera2D = $Camera2D
@onready var _counts: Label = $Screen/Counts
@onready var _timer: Timer = $Timer


func _ready() -> void:
	_paint()
	# One call for all of them, and one kind: the crowd's own radius and speed.
	_crowd.spawn(_find_places())
	_crowd.units_arrived.connect(_on_units_arrived)
	_crowd.units_moved.connect(_on_units_moved)
	# A label that changes each frame would cost more than the crowd.
	_timer.timeout.connect(_show_counts)


func _unhandled_input(event: InputEvent) -> void:
	if event.is_action_pressed("ui_cancel"):
		chosen.clear()
		queue_redraw()
	var click: InputEventMouseButton = event as InputEventMouseButton
	var motion: InputEventMouseMotion = event as InputEventMouseMotion
	if click != null and click.button_index == MOUSE_BUTTON_LEFT:
		_press(click.position, click.pressed)
	elif click != null and click.button_index == MOUSE_BUTTON_WHEEL_UP:
		_zoom(1.1)
	elif click != null and click.button_index == MOUSE_BUTTON_WHEEL_DOWN:
		_zoom(1.0 / 1.1)
	elif motion != null and motion.button_mask & MOUSE_BUTTON_MASK_RIGHT:
		# Units outside the camera's view are neither told of nor drawn: only what is seen costs.
		_camera.position -= motion.relative / _camera.zoom
	elif motion != null and _is_dragging:
		_dragged.end = _to_place(motion.position)
		queue_redraw()


func _draw() -> void:
	if not chosen.is_empty():
		# Ids and positions go together, and hold those in view.
		var ids: PackedInt64Array = _crowd.get_unit_ids()
		var positions: PackedVector2Array = _crowd.get_positions()
		for index: int in ids.size():
			if ids[index] in chosen:
				draw_arc(to_local(positions[index]), 8.0, 0.0, TAU, 12, CHOSEN, 1.5)
	if _is_dragging:
		draw_rect(_dragged.abs(), CHOSEN, false, 2.0)


## Sends those who are chosen, or everybody, to a place in global coordinates.
func send(place: Vector2) -> void:
	var ids: PackedInt64Array = _crowd.get_all_unit_ids()
	if not chosen.is_empty():
		ids = PackedInt64Array(chosen.keys())
	for id: int in ids:
		_under_way[id] = true
	# Each gets a place of its own around the goal, however many there are.
	_crowd.order(ids, place)
	_show_counts()


func _press(at: Vector2, pressed: bool) -> void:
	_is_dragging = pressed
	if pressed:
		_pressed_at = at
		_dragged = Rect2(_to_place(at), Vector2.ZERO)
	elif at.distance_to(_pressed_at) < CLICK_PIXELS:
		send(_to_place(at))
	else:
		chosen.clear()
		for id: int in _crowd.get_units_in(_dragged.abs()):
			chosen[id] = true
	queue_redraw()


func _to_place(at: Vector2) -> Vector2:
	return get_canvas_transform().affine_inverse() * at


func _zoom(factor: float) -> void:
	_camera.zoom = (_camera.zoom * factor).clampf(0.25, 2.0)


func _on_units_arrived(ids: PackedInt64Array) -> void:
	for id: int in ids:
		_under_way.erase(id)


func _on_units_moved() -> void:
	if not chosen.is_empty():
		queue_redraw()


func _show_counts() -> void:
	arrived = COUNT - _under_way.size()
	_counts.text = (
		"%d fps   %d units, %d in view   %s chosen   %d arrived%s"
		% [
			Engine.get_frames_per_second(),
			_crowd.get_unit_count(),
			_crowd.get_unit_ids().size(),
			"all" if chosen.is_empty() else str(chosen.size()),
			arrived,
			# Crowds need the sidecar; until it is there they stand.
			"" if _crowd.is_available() else "   waiting for the sidecar",
		]
	)


## Four to a cell, evenly over the streets.
func _find_places() -> PackedVector2Array:
	var open: Array[Vector2i] = []
	for cell: Vector2i in _city.get_used_cells():
		if _city.get_cell_atlas_coords(cell) in [STREET, PAVING]:
			open.append(cell)
	var places: PackedVector2Array = PackedVector2Array()
	for index: int in COUNT:
		var cell: Vector2i = open[floori(floori(index / 4.0) * open.size() * 4.0 / COUNT)]
		var corner: Vector2 = Vector2(index % 2 * 16 - 8, floori(index / 2.0) % 2 * 16 - 8)
		places.append(_map.to_global(_map.map_to_local(cell)) + corner)
	return places


## Streets around blocks of houses; some blocks are squares.
func _paint() -> void:
	for y: int in AREA.size.y:
		for x: int in AREA.size.x:
			var block: Vector2i = Vector2i(floori(x / float(BLOCK.x)), floori(y / float(BLOCK.y)))
			var is_street: bool = x % BLOCK.x < 4 or y % BLOCK.y < 4
			var tile: Vector2i = ROOF if (block.x + block.y) % 2 == 0 else FLAT_ROOF
			if not AREA.grow(-1).has_point(Vector2i(x, y)):
				tile = FLAT_ROOF
			elif is_street:
				tile = STREET
			elif (block.x * 3 + block.y) % 7 == 2:
				tile = PAVING
			_city.set_cell(Vector2i(x, y), 0, tile)
