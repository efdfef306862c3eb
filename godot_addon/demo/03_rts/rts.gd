extends Node2D
## Drag: choose units. Right click: send them. Space: close the door, or open it.

const COUNT: int = 300
const GROUND: Vector2i = Vector2i(0, 0)
const WALL: Vector2i = Vector2i(1, 0)
const AREA: Rect2i = Rect2i(0, 0, 36, 20)
const CHOSEN: Color = Color(0.4, 1.0, 0.5)

var chosen: Dictionary[int, bool] = {}
var arrived: int = 0
var stuck: int = 0

var _dragged: Rect2 = Rect2()
var _is_dragging: bool = false

@onready var _ground: TileMapLayer = $Ground
@onready var _map: NavServerMap2D = $NavServerMap2D
@onready var _crowd: NavServerCrowd2D = $NavServerCrowd2D
@onready var _door: NavServerObstacle2D = $Door
@onready var _hint: Label = $Screen/Hint


func _ready() -> void:
	_paint()
	_door.enabled = false
	var positions: PackedVector2Array = PackedVector2Array()
	for index: int in COUNT:
		# Two by two on each cell.
		var cell: Vector2i = Vector2i(2 + floori(index / 4.0) % 10, 5 + floori(index / 40.0))
		var center: Vector2 = _map.to_global(_map.map_to_local(cell))
		positions.append(center + Vector2(index % 2 * 16 - 8, floori(index / 2.0) % 2 * 16 - 8))
	_crowd.spawn(positions)
	_crowd.units_arrived.connect(func(ids: PackedInt64Array) -> void: arrived += ids.size())
	_crowd.units_stuck.connect(_on_units_stuck)
	# What is drawn around units follows each step.
	_crowd.units_moved.connect(queue_redraw)


func _unhandled_input(event: InputEvent) -> void:
	if event.is_action_pressed("ui_accept"):
		# Units on their way through it look for another one, or are told as stuck.
		_door.enabled = not _door.enabled
		queue_redraw()
	var mouse: InputEventMouse = make_input_local(event) as InputEventMouse
	if mouse == null:
		return
	var place: Vector2 = to_global(mouse.position)
	var click: InputEventMouseButton = event as InputEventMouseButton
	if click == null:
		_dragged.end = place
		queue_redraw()
	elif click.button_index == MOUSE_BUTTON_LEFT:
		_is_dragging = click.pressed
		if click.pressed:
			_dragged = Rect2(place, Vector2.ZERO)
		else:
			_choose(_dragged.abs())
	elif click.button_index == MOUSE_BUTTON_RIGHT and click.pressed:
		arrived = 0
		stuck = 0
		_crowd.order(PackedInt64Array(chosen.keys()), place)


func _process(_delta: float) -> void:
	_hint.text = (
		"%d chosen, %d arrived, %d cannot get there. Drag: choose. Right click: send. Space: %s"
		% [chosen.size(), arrived, stuck, "open the door" if _door.enabled else "close the door"]
	)


func _draw() -> void:
	var door: Rect2 = Rect2(_door.position - _door.size / 2.0, _door.size)
	draw_rect(door, Color(0.5, 0.3, 0.1, 1.0 if _door.enabled else 0.2))
	# Ids and positions go together.
	var ids: PackedInt64Array = _crowd.get_unit_ids()
	var positions: PackedVector2Array = _crowd.get_positions()
	for index: int in ids.size():
		if ids[index] in chosen:
			draw_arc(to_local(positions[index]), 8.0, 0.0, TAU, 12, CHOSEN, 1.5)
	if _is_dragging:
		draw_rect(_dragged.abs(), CHOSEN, false, 2.0)


func _choose(rectangle: Rect2) -> void:
	chosen.clear()
	for id: int in _crowd.get_units_in(rectangle):
		chosen[id] = true
	queue_redraw()


func _on_units_stuck(_ids: PackedInt64Array, reasons: PackedByteArray) -> void:
	# Who is held up by others tries on; who has no way has given up.
	stuck += reasons.count(NavServerCrowd2D.StuckReason.UNREACHABLE)


## Two halves, and a doorway of two cells between them.
func _paint() -> void:
	for y: int in AREA.size.y:
		for x: int in AREA.size.x:
			var cell: Vector2i = Vector2i(x, y)
			var is_edge: bool = not AREA.grow(-1).has_point(cell)
			var is_wall: bool = x == 18 and y not in [9, 10]
			_ground.set_cell(cell, 0, WALL if is_edge or is_wall else GROUND)
