extends "../test_case.gd"
## The examples of the pages in [code]guides=[/code], as they stand there.

const TileMaps := preload("../tile_maps.gd")

const _ROOMS: Array[String] = ["......", ".####.", "......"]


## A node with the script of a page's example, by its number from 0.
func _example(page: String, number: int, base: Node) -> Node:
	var text: String = FileAccess.get_file_as_string(parameters["guides"].path_join(page + ".md"))
	var script: GDScript = GDScript.new()
	script.source_code = text.get_slice("```gdscript\n", number + 1).get_slice("```", 0)
	check_equal(script.reload(), OK, "%s, example %d" % [page, number])
	base.set_script(script)
	return base


func _map() -> NavServerMap2D:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.name = "NavServerMap2D"
	map.add_child(TileMaps.layer(_ROOMS, TileMaps.tile_set()))
	return map


func _agent() -> NavServerAgent2D:
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	agent.name = "NavServerAgent2D"
	return agent


func test_a_body_that_moves_and_slides() -> void:
	var body: CharacterBody2D = CharacterBody2D.new()
	body.add_child(_agent())
	body.position = Vector2(8, 8)
	var map: NavServerMap2D = _map()
	map.add_child(_example("migrating", 0, body))
	add_node(map)
	body.call("walk_to", Vector2(88, 40))
	await wait_until(func() -> bool: return map.local_to_map(body.position) == Vector2i(5, 2), 30.0)


func _walker(map: NavServerMap2D, cell: Vector2i) -> CharacterBody2D:
	var body: CharacterBody2D = CharacterBody2D.new()
	var agent: NavServerAgent2D = _agent()
	agent.radius = 5.0
	body.add_child(agent)
	body.position = map.map_to_local(cell)
	map.add_child(_example("avoidance", 0, body))
	return body


## Two walk at each other along a wall; how near they come.
func _meet() -> float:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(["........", "........", "########"], TileMaps.tile_set()))
	add_node(map)
	await wait_until(func() -> bool: return map.map_version > 0, 30.0)
	var left: CharacterBody2D = _walker(map, Vector2i(0, 1))
	var right: CharacterBody2D = _walker(map, Vector2i(7, 1))
	if NavServer.is_available():
		var avoiders: RefCounted = map.get_movers().get_avoiders(map)
		await wait_until(func() -> bool: return avoiders.call("count_movers") == 2, 30.0)
	var nearest: Array[float] = [INF]
	var in_walls: Array[int] = [0]
	var look: Callable = func() -> void:
		nearest[0] = minf(nearest[0], left.position.distance_to(right.position))
		for body: CharacterBody2D in [left, right] as Array[CharacterBody2D]:
			in_walls[0] += int(map.is_point_solid(map.local_to_map(body.position)))
	tree.physics_frame.connect(look)
	left.call("walk_to", map.map_to_local(Vector2i(7, 1)))
	right.call("walk_to", map.map_to_local(Vector2i(0, 1)))
	await wait_until(
		func() -> bool: return left.position.x > 100.0 and right.position.x < 28.0, 60.0, "to pass"
	)
	tree.physics_frame.disconnect(look)
	check_equal(in_walls[0], 0, "positions in walls")
	map.free()
	return nearest[0]


func test_bodies_keep_apart_by_a_sidecar_and_out_of_walls_always() -> void:
	check(await _meet() < 4.0, "they avoid each other without a sidecar")
	NavServer.get_connection().follow_connection_file(parameters["file"])
	await wait_until(NavServer.is_available, 60.0)
	# Answers come in time however slow the machine is.
	NavServer.get_connection().lockstep = true
	var nearest: float = await _meet()
	check(nearest > 9.0, "they came as near as %.2f px" % nearest)
	NavServer.get_connection().lockstep = false
	NavServer.stop_sidecar()


func test_a_grid_of_code_answers_as_the_engine_s() -> void:
	var node: Node = _example("migrating", 1, Node2D.new())
	add_node(node)
	var map: NavServerMap2D = node.get("map")
	map.timeout_msec = 1000
	var grid: AStarGrid2D = AStarGrid2D.new()
	grid.region = map.region
	grid.cell_size = map.cell_size
	grid.diagonal_mode = map.diagonal_mode
	grid.update()
	grid.fill_solid_region(Rect2i(4, 0, 1, 4))
	grid.set_point_weight_scale(Vector2i(2, 0), 3.0)
	var cells: Array[Vector2i] = node.call("find_way", Vector2i.ZERO, Vector2i(8, 0))
	check_equal(cells.size(), grid.get_id_path(Vector2i.ZERO, Vector2i(8, 0)).size())
	check(cells.size() > 9 and Vector2i(2, 0) not in cells)
	@warning_ignore("redundant_await")
	var later: Array[Vector2i] = await node.call(
		"find_way_without_waiting", Vector2i.ZERO, Vector2i(8, 0)
	)
	check_equal(later, cells)


func test_a_game_is_saved_and_loaded() -> void:
	NavServer.get_connection().follow_connection_file(parameters["file"])
	await wait_until(NavServer.is_available, 60.0)
	var path: String = "user://guide.save"
	var games: Array[Node] = []
	for index: int in 2:
		var game: Node2D = Node2D.new()
		var walker: Node2D = Node2D.new()
		walker.name = "Walker"
		walker.position = Vector2(8, 8)
		walker.add_child(_agent())
		var map: NavServerMap2D = _map()
		map.add_child(walker)
		var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
		crowd.name = "Soldiers"
		crowd.area_of_interest = NavServerCrowd2D.AreaOfInterest.EVERYWHERE
		map.add_child(crowd)
		game.add_child(map)
		add_node(_example("saving", 0, game))
		await wait_until(func() -> bool: return map.map_version > 0, 30.0)
		games.append(game)
	var first: NavServerMap2D = games[0].get_node(^"NavServerMap2D")
	var agent: NavServerAgent2D = first.get_node(^"Walker/NavServerAgent2D")
	first.set_point_solid(Vector2i(0, 1))
	agent.target_position = Vector2(88, 40)
	var ids: PackedInt64Array = (first.get_node(^"Soldiers") as NavServerCrowd2D).spawn(
		[Vector2(8, 8), Vector2(24, 8)]
	)
	(first.get_node(^"Soldiers") as NavServerCrowd2D).order(ids, Vector2(80, 8))
	check_equal(games[0].call("save_game", path), true)
	check_equal(games[1].call("load_game", path), true)
	var second: NavServerMap2D = games[1].get_node(^"NavServerMap2D")
	var soldiers: NavServerCrowd2D = second.get_node(^"Soldiers")
	check_equal(soldiers.get_all_unit_ids(), ids)
	check_equal(soldiers.get_positions(), PackedVector2Array([Vector2(8, 8), Vector2(24, 8)]))
	check(second.is_point_solid(Vector2i(0, 1)))
	var loaded: NavServerAgent2D = second.get_node(^"Walker/NavServerAgent2D")
	check_equal(loaded.target_position, Vector2(88, 40))
	await wait_until(func() -> bool: return not loaded.get_current_navigation_path().is_empty())
	await wait_until(func() -> bool: return soldiers.get_unit_position(ids[0]).x > 60.0)
	check_equal(games[1].call("load_game", "user://nothing.save"), false)
	DirAccess.remove_absolute(path)
	NavServer.stop_sidecar()


func test_who_finds_the_paths_is_told() -> void:
	NavServer.stop_sidecar()
	var node: Node = _example("your_players", 0, Node.new())
	add_node(node)
	check_equal(node.call("can_have_crowds"), false)
	check_equal(node.get("is_by_sidecar"), false)
	NavServer.get_connection().follow_connection_file(parameters["file"])
	await wait_until(func() -> bool: return node.get("is_by_sidecar") == true, 60.0)
	check_equal(node.call("can_have_crowds"), true)
	NavServer.stop_sidecar()
	check_equal(node.get("is_by_sidecar"), false)


func test_a_shipped_sidecar_is_started() -> void:
	var setting: String = "navserver/sidecar/program"
	var node: Node = _example("your_players", 1, Node.new())
	check_equal(node.call("start_shipped_sidecar", "user://nowhere"), false)
	check_equal(node.call("start_shipped_sidecar", parameters["shipped"]), true)
	await wait_until(NavServer.is_available, 60.0)
	# By its file `navserver stats` finds it, as long as it runs.
	var file: String = OS.get_user_data_dir().path_join("navserver_connection.json")
	var fields: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(file))
	check_contains(str(fields["event"]), "ready")
	NavServer.stop_sidecar()
	await wait_until(func() -> bool: return not FileAccess.file_exists(file))
	ProjectSettings.set_setting(setting, "")
	node.free()
