extends "test_case.gd"
## What is drawn over a game, and when.

const DebugDrawing := preload("res://addons/navserver/internal/debug_drawing.gd")
const TileMaps := preload("tile_maps.gd")

const _ROOMS: Array[String] = [
	"#########",
	"#...#...#",
	"#...#.~~#",
	"#########",
]


func _map_of(picture: Array[String]) -> NavServerMap2D:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(picture, TileMaps.tile_set(), NavServerTileMapLayer))
	add_node(map)
	return map


func _agent_of(map: NavServerMap2D, cell: Vector2i) -> NavServerAgent2D:
	var body: Node2D = Node2D.new()
	body.position = map.map_to_local(cell)
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	body.add_child(agent)
	map.add_child(body)
	return agent


func after_each() -> void:
	tree.debug_navigation_hint = false


func _is_drawn(node: Object) -> bool:
	return node.get("_drawing") != null


func test_agents_draw_where_they_are_told_to() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var agent: NavServerAgent2D = _agent_of(map, Vector2i(1, 1))
	check(not _is_drawn(agent))
	agent.debug_enabled = true
	check(_is_drawn(agent))
	agent.target_position = map.map_to_local(Vector2i(3, 2))
	await wait_until(func() -> bool: return not agent.get_current_navigation_path().is_empty())
	agent.debug_use_custom = true
	agent.debug_path_custom_color = Color.BLUE
	agent.debug_path_custom_point_size = 0.0
	agent.debug_path_custom_line_width = 3.0
	agent.target_position = map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return not agent.is_target_reachable())
	agent.stop()
	check(_is_drawn(agent))
	var body: Node = agent.get_parent()
	map.remove_child(body)
	check(not _is_drawn(agent))
	map.add_child(body)
	check(_is_drawn(agent))
	agent.debug_enabled = false
	check(not _is_drawn(agent))


func test_the_tree_s_hint_draws_all() -> void:
	tree.debug_navigation_hint = true
	var map: NavServerMap2D = _map_of(_ROOMS)
	var agent: NavServerAgent2D = _agent_of(map, Vector2i(1, 1))
	check(_is_drawn(agent) and _is_drawn(map))
	tree.debug_navigation_hint = false
	check(not _is_drawn(_agent_of(map, Vector2i(1, 2))))


func test_maps_draw_what_searches_know() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	map.debug_enabled = true
	await wait_until(func() -> bool: return _class_drawn(map, Vector2i(0, 0)) == 255)
	check_equal(_class_drawn(map, Vector2i(1, 1)), 0)
	check_equal(_class_drawn(map, Vector2i(6, 2)), 1)
	check_equal(_class_drawn(map, Vector2i(4, 1)), 255)
	map.set_point_solid(Vector2i(4, 1), false)
	await wait_until(func() -> bool: return _class_drawn(map, Vector2i(4, 1)) == 0)
	map.debug_enabled = false
	check(not _is_drawn(map))


## Returns the class that the map's texture has for a cell; -1 without one.
func _class_drawn(map: NavServerMap2D, cell: Vector2i) -> int:
	var drawing: RefCounted = map.get("_drawing")
	# A machine without a display keeps no textures.
	var image: Image = drawing.get("shown")
	if image == null:
		return -1
	return roundi(image.get_pixelv(cell - map.get_used_region().position).r * 255.0)
