extends Node2D
## A game to look at while it is debugged: a crowd, a guard on its rounds, and a prisoner. It saves
## a picture where the environment variable PICTURE says, once the crowd is on its way.

const _ROOMS: Array[String] = [
	"##############################",
	"#............#...............#",
	"#............#...............#",
	"#............#...............#",
	"#............#......#####....#",
	"#...................#...#....#",
	"#...................#...#....#",
	"#............#......#####....#",
	"#............#...............#",
	"#............#....~~~~~......#",
	"####..########....~~~~~......#",
	"#............#....~~~~~......#",
	"#............#...............#",
	"#............#...............#",
	"#............................#",
	"#............#...............#",
	"##############################",
]
const _ROUNDS: Array[Vector2i] = [Vector2i(27, 1), Vector2i(27, 15), Vector2i(2, 14)]

var _next: int = 0
var _wait: float = 0.0

@onready var _map: NavServerMap2D = $Map
@onready var _crowd: NavServerCrowd2D = $Rats
@onready var _guard: NavServerAgent2D = $Guard/NavServerAgent2D
@onready var _prisoner: NavServerAgent2D = $Prisoner/NavServerAgent2D


func _ready() -> void:
	_map.region = Rect2i(0, 0, _ROOMS[0].length(), _ROOMS.size())
	for y: int in _ROOMS.size():
		for x: int in _ROOMS[y].length():
			if _ROOMS[y][x] == "#":
				_map.set_point_solid(Vector2i(x, y))
	_map.set_obstacle(self, _cells_of("~"), 1)
	$Guard.position = _at(Vector2i(15, 1))
	$Prisoner.position = _at(Vector2i(22, 5))
	var positions: PackedVector2Array = PackedVector2Array()
	for index: int in 60:
		positions.append(_at(Vector2i(1 + index % 10, 1 + floori(index / 10.0))))
	_crowd.spawn(positions)
	_guard.navigation_finished.connect(_go_on)
	_go_on.call_deferred()
	_crowd.availability_changed.connect(
		func(_available: bool) -> void:
			_crowd.order(_crowd.get_all_unit_ids(), _at(Vector2i(20, 13)))
			_take_picture()
	)


func _physics_process(delta: float) -> void:
	var body: Node2D = _guard.get_parent()
	body.position = body.position.move_toward(_guard.get_next_path_position(), 90.0 * delta)
	_wait -= delta
	if _wait < 0.0:
		_wait = 1.5
		_prisoner.target_position = body.position


func _draw() -> void:
	for y: int in _ROOMS.size():
		for x: int in _ROOMS[y].length():
			var color: Color = Color(0.13, 0.14, 0.17)
			if _ROOMS[y][x] == "#":
				color = Color(0.32, 0.3, 0.3)
			draw_rect(Rect2(x * 32, y * 32, 31, 31), color)
	for body: Node2D in [$Guard, $Prisoner] as Array[Node2D]:
		draw_circle(body.position, 10.0, Color(0.9, 0.75, 0.3))


func _process(_delta: float) -> void:
	queue_redraw()


func _go_on() -> void:
	_next = (_next + 1) % _ROUNDS.size()
	_guard.target_position = _at(_ROUNDS[_next])


func _take_picture() -> void:
	if OS.get_environment("PICTURE").is_empty():
		return
	await get_tree().create_timer(4.0).timeout
	await RenderingServer.frame_post_draw
	get_viewport().get_texture().get_image().save_png(OS.get_environment("PICTURE"))
	get_tree().quit()


func _at(cell: Vector2i) -> Vector2:
	return _map.to_global(_map.map_to_local(cell))


func _cells_of(sign: String) -> Array[Vector2i]:
	var cells: Array[Vector2i] = []
	for y: int in _ROOMS.size():
		for x: int in _ROOMS[y].length():
			if _ROOMS[y][x] == sign:
				cells.append(Vector2i(x, y))
	return cells
