extends Node2D
## The game that the debugger's tab is tried on: one walker finds its way, one does not, and a line
## of this script asks for a path that is not there.

const _ROOMS: Array[String] = [
	"#########",
	"#...#...#",
	"#.......#",
	"#########",
	"#.......#",
	"#########",
]

var _map: NavServerMap2D = NavServerMap2D.new()
var _walkers: Array[NavServerAgent2D] = []
var _wait: float = 0.3


func _ready() -> void:
	_map.name = "Map"
	_map.region = Rect2i(0, 0, 9, 6)
	add_child(_map)
	for y: int in _ROOMS.size():
		for x: int in _ROOMS[y].length():
			if _ROOMS[y][x] == "#":
				_map.set_point_solid(Vector2i(x, y))
	for body: String in ["Walker", "Lost"]:
		_walkers.append(get_node(body + "/NavServerAgent2D"))
	# Before the connection is in the tree.
	_walkers[1].target_position = _map.map_to_local(Vector2i(1, 4))


func _process(delta: float) -> void:
	_wait -= delta
	if _wait > 0.0:
		return
	_wait = 0.3
	_walkers[0].target_position = _map.map_to_local(Vector2i(7, 1))
	_walkers[1].target_position = _map.map_to_local(Vector2i(7, 4))
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = _map.map_to_local(Vector2i(1, 1))
	query.target_position = _map.map_to_local(Vector2i(4, 1))
	_map.find_path(query)
