extends "test_case.gd"
## Maps, requests, obstacles and save games, on the fallback.

const Msgpack := preload("res://addons/navserver/internal/msgpack.gd")
const Overrides := preload("res://addons/navserver/internal/overrides.gd")
const TileMaps := preload("tile_maps.gd")

const _ROOMS: Array[String] = TileMaps.ROOMS


func _map_of(picture: Array[String], script: Script = null) -> NavServerMap2D:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(picture, TileMaps.tile_set(), script))
	map.timeout_msec = 1000
	add_node(map)
	return map


func _layer_of(map: NavServerMap2D) -> TileMapLayer:
	return map.find_layers()[0]


func _query(map: NavServerMap2D, from: Vector2i, to: Vector2i) -> NavServerPathQuery:
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = map.to_global(map.map_to_local(from))
	query.target_position = map.to_global(map.map_to_local(to))
	return query


func _find(map: NavServerMap2D, from: Vector2i, to: Vector2i) -> NavServerPathResult:
	return await map.find_path(_query(map, from, to)).wait()


func test_a_path_without_any_setting() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.FOUND)
	check_equal(result.source, NavServerPathResult.Source.FALLBACK)
	check_equal(result.cells[0], Vector2i(1, 1))
	check_equal(result.cells[-1], Vector2i(7, 1))
	check(Vector2i(4, 3) in result.cells)
	check_near(result.path_length, 4.0 + 2.0 * sqrt(2.0) + 0.0, 3.0)
	check_near(result.cost, result.path_length, 1e-9)
	check_equal(result.path[0], Vector2(24, 24))
	check_equal(result.map_version, 1)


func test_points_are_global_wherever_the_map_lies() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	_layer_of(map).position = Vector2(5, 3)
	map.position = Vector2(100, -50)
	map.rotation = 0.5
	map.scale = Vector2(2, 2)
	map.rebuild()
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(3, 4))
	check_equal(result.cells[-1], Vector2i(3, 4))
	var last: Vector2 = _layer_of(map).to_global(_layer_of(map).map_to_local(Vector2i(3, 4)))
	check(result.path[-1].distance_to(last) < 0.01)


func test_cells_are_those_of_the_map_as_it_lay() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	map.transform = Transform2D(0.5, Vector2(2, 3), 0.0, Vector2(100, 50))
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	# Nobody has asked for the cells yet.
	map.transform = Transform2D(1.0, Vector2(-400, 70))
	check_equal(result.cells[0], Vector2i(1, 1))
	check_equal(result.cells[-1], Vector2i(7, 1))
	var asked: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	var body: Node2D = Node2D.new()
	body.position = map.to_global(map.map_to_local(Vector2i(1, 1)))
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	agent.map = map
	body.add_child(agent)
	add_node(body)
	agent.target_position = map.to_global(map.map_to_local(Vector2i(7, 1)))
	await wait_until(agent.is_target_reachable)
	var walked: NavServerPathResult = agent.get_current_navigation_result()
	_layer_of(map).tile_set = TileMaps.tile_set(
		true,
		TileSet.TILE_SHAPE_SQUARE,
		TileSet.TILE_LAYOUT_STACKED,
		TileSet.TILE_OFFSET_AXIS_HORIZONTAL,
		Vector2i(32, 32)
	)
	await map.map_ready
	await tree.process_frame
	check(map.map_to_local(Vector2i.ZERO).distance_to(Vector2(16, 16)) < 0.01)
	check_equal(asked.cells[-1], Vector2i(7, 1))
	map.free()
	check_equal(walked.cells[0], Vector2i(1, 1))
	check_equal(walked.cells[-1], Vector2i(7, 1))


func test_layers_that_come_after_the_map_in_the_same_frame() -> void:
	var map: NavServerMap2D = NavServerMap2D.new()
	add_node(map)
	map.add_child(TileMaps.layer(_ROOMS, TileMaps.tile_set()))
	await map.map_ready
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.FOUND)


func test_statuses() -> void:
	var map: NavServerMap2D = _map_of(["..#.", "..#."])
	var cases: Dictionary[Vector2i, NavServerPathResult.Status] = {
		Vector2i(1, 1): NavServerPathResult.Status.FOUND,
		Vector2i(3, 0): NavServerPathResult.Status.UNREACHABLE,
		Vector2i(2, 0): NavServerPathResult.Status.GOAL_BLOCKED,
		Vector2i(9, 9): NavServerPathResult.Status.GOAL_BLOCKED,
	}
	for goal: Vector2i in cases:
		var result: NavServerPathResult = await _find(map, Vector2i.ZERO, goal)
		check_equal(result.status, cases[goal], str(goal))
		check(not result.reason.is_empty())
		check_equal(result.has_path(), goal == Vector2i(1, 1))
	var blocked: NavServerPathResult = await _find(map, Vector2i(2, 0), Vector2i.ZERO)
	check_equal(blocked.status, NavServerPathResult.Status.START_BLOCKED)
	var query: NavServerPathQuery = _query(map, Vector2i.ZERO, Vector2i(3, 1))
	query.allow_partial_path = true
	var partial: NavServerPathResult = await map.find_path(query).wait()
	check_equal(partial.status, NavServerPathResult.Status.PARTIAL)
	check_equal(partial.cells[-1], Vector2i(1, 1))


func test_profiles_share_a_map() -> void:
	var map: NavServerMap2D = _map_of([".~.", ".~.", "..."])
	var walker: NavServerProfile = NavServerProfile.new()
	walker.class_costs = {1: 10.0}
	var boat: NavServerProfile = NavServerProfile.new()
	boat.class_costs = {0: INF, 1: 0.5}
	var query: NavServerPathQuery = _query(map, Vector2i(0, 0), Vector2i(2, 0))
	query.profile = walker
	var around: NavServerPathResult = await map.find_path(query).wait()
	check(Vector2i(1, 2) in around.cells)
	query.profile = boat
	check_equal(
		(await map.find_path(query).wait()).status, NavServerPathResult.Status.START_BLOCKED
	)
	query = _query(map, Vector2i(1, 0), Vector2i(1, 1))
	query.profile = boat
	check_near((await map.find_path(query).wait()).cost, 0.5, 1e-6)
	walker.class_costs = {1: 1.0}
	query = _query(map, Vector2i(0, 0), Vector2i(2, 0))
	query.profile = walker
	check_near((await map.find_path(query).wait()).cost, 2.0, 1e-6)


func test_size_and_blocked_cells() -> void:
	var map: NavServerMap2D = _map_of(["....", "....", "#.#.", "...."])
	var query: NavServerPathQuery = _query(map, Vector2i(0, 0), Vector2i(1, 3))
	check_equal((await map.find_path(query).wait()).status, NavServerPathResult.Status.FOUND)
	query.size = 2
	check_equal((await map.find_path(query).wait()).status, NavServerPathResult.Status.GOAL_BLOCKED)
	query.size = 0
	query.blocked_cells = [Vector2i(1, 2), Vector2i(3, 2), Vector2i(-9, 0)]
	check_equal((await map.find_path(query).wait()).status, NavServerPathResult.Status.UNREACHABLE)
	query.blocked_cells = []
	check_equal((await map.find_path(query).wait()).status, NavServerPathResult.Status.FOUND)


func test_cells_within_reach() -> void:
	var map: NavServerMap2D = _map_of(["..#..", ".~#..", "....."])
	map.timeout_msec = 1000
	var walker: NavServerProfile = NavServerProfile.new()
	walker.class_costs = {1: 3.0}
	var found: Dictionary[Vector2i, float] = map.get_reachable(Vector2i(0, 0), 2.5, walker)
	check_equal(found[Vector2i(0, 0)], 0.0)
	check_equal(found[Vector2i(0, 2)], 2.0)
	check(Vector2i(1, 1) not in found)
	check(Vector2i(3, 0) not in found)
	check_near(found[Vector2i(1, 2)], 1.0 + sqrt(2.0), 1e-6)
	check_equal(found.size(), 5)
	# Others stand there, and outside nobody does.
	var taken: Array[Vector2i] = [Vector2i(0, 2), Vector2i(-3, 0)]
	found = map.get_reachable(Vector2i(0, 0), 9.0, walker, taken)
	check(Vector2i(0, 2) not in found)
	check_equal(found[Vector2i(1, 2)], 5.0)
	check_equal(map.get_reachable(Vector2i(0, 2), 9.0, walker, taken).size(), 0)
	check(Vector2i(0, 2) in map.get_reachable(Vector2i(0, 0), 2.5, walker))
	check_equal(map.get_reachable(Vector2i(2, 0), 9.0).size(), 0)
	check_equal(map.get_reachable(Vector2i(-1, 0), 9.0).size(), 0)
	check_equal(map.get_reachable(Vector2i(0, 0), INF).size(), 13)
	expect_errors(1)
	check_equal(map.get_reachable(Vector2i(0, 0), NAN).size(), 0)


func test_without_threads_the_same_answers_come() -> void:
	var fallback: RefCounted = NavServer.get_connection().get("_fallback")
	fallback.set("is_threaded", false)
	var map: NavServerMap2D = _map_of(_ROOMS)
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.FOUND)
	check_equal(map.get_id_path(Vector2i(1, 1), Vector2i(7, 1)), result.cells)
	check(Vector2i(7, 4) in map.get_reachable(Vector2i(7, 1), 4.0))
	# One poll does as many as it has time for.
	var requests: Array[NavServerPathRequest] = []
	for index: int in 50:
		requests.append(map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 1 + index % 4))))
	NavServer.get_connection().call("_flush")
	fallback.call("poll", Time.get_ticks_usec() + 60_000_000)
	check(requests.all(func(one: NavServerPathRequest) -> bool: return one.is_completed()))
	fallback.set("is_threaded", OS.has_feature("threads"))


func test_ten_thousand_requests_leave_nothing_behind() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	await _ask_often(map, 1000)
	var objects: float = Performance.get_monitor(Performance.OBJECT_COUNT)
	var memory: float = Performance.get_monitor(Performance.MEMORY_STATIC)
	await _ask_often(map, 10_000)
	check_near(Performance.get_monitor(Performance.OBJECT_COUNT), objects, 20.0, "objects")
	check_near(Performance.get_monitor(Performance.MEMORY_STATIC), memory, 100_000.0, "memory")


func _ask_often(map: NavServerMap2D, count: int) -> void:
	for turn: int in floori(count / 200.0):
		var requests: Array[NavServerPathRequest] = []
		for index: int in 200:
			requests.append(map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 1 + index % 4))))
		for request: NavServerPathRequest in requests:
			await request.wait()


func test_methods_of_astar_grid_2d() -> void:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.region = Rect2i(-2, -1, 6, 4)
	map.cell_size = Vector2(10, 10)
	map.timeout_msec = 1000
	add_node(map)
	var grid: AStarGrid2D = AStarGrid2D.new()
	grid.region = map.region
	grid.diagonal_mode = map.diagonal_mode
	grid.default_estimate_heuristic = AStarGrid2D.HEURISTIC_OCTILE
	grid.default_compute_heuristic = AStarGrid2D.HEURISTIC_OCTILE
	grid.update()
	for each: Object in [map, grid]:
		each.call("fill_solid_region", Rect2i(0, -1, 1, 3), true)
		each.call("set_point_weight_scale", Vector2i(0, 2), 4.0)
		each.call("fill_weight_scale_region", Rect2i(2, 0, 2, 2), 3.0)
		each.call("set_point_solid", Vector2i(0, 0), false)
	for cell: Vector2i in [Vector2i(0, -1), Vector2i(0, 0), Vector2i(1, 1)]:
		check_equal(map.is_point_solid(cell), grid.is_point_solid(cell), str(cell))
		check_equal(map.is_in_boundsv(cell), grid.is_in_boundsv(cell))
		check_equal(map.get_point_weight_scale(cell), grid.get_point_weight_scale(cell))
	check_equal(
		map.get_id_path(Vector2i(-2, -1), Vector2i(3, 1)),
		grid.get_id_path(Vector2i(-2, -1), Vector2i(3, 1))
	)
	check_equal(
		map.get_point_path(Vector2i(-2, 0), Vector2i(-1, 0)),
		PackedVector2Array([Vector2(-15, 5), Vector2(-5, 5)])
	)
	check_equal(map.is_in_bounds(3, 2), true)
	check_equal(map.is_in_bounds(4, 2), false)


func test_regions_are_filled_as_far_as_the_map_goes() -> void:
	expect_errors(1)
	var map: NavServerMap2D = _map_of(["...", "..."])
	var everywhere: Rect2i = Rect2i(-1_000, -1_000, 2_000, 2_000)
	map.fill_solid_region(everywhere)
	map.fill_weight_scale_region(everywhere, 2.0)
	check(map.is_point_solid(Vector2i(2, 1)))
	map.set_point_solid(Vector2i(2, 1), false)
	check_equal(map.get_point_weight_scale(Vector2i(3, 1)), 1.0)
	check(map.get_state().size() < 1000)
	map.clear_overrides()
	# What is painted, set or added in the same frame is part of it.
	_layer_of(map).set_cell(Vector2i(3, 0), 7, TileMaps.GROUND)
	map.fill_weight_scale_region(everywhere, 3.0)
	check_equal(map.get_point_weight_scale(Vector2i(3, 1)), 3.0)
	map.region = Rect2i(0, 0, 6, 1)
	map.fill_weight_scale_region(everywhere, 4.0)
	check_equal(map.get_point_weight_scale(Vector2i(5, 0)), 4.0)
	check_equal(map.get_point_weight_scale(Vector2i(3, 1)), 3.0)
	var later: NavServerMap2D = NavServerMap2D.new()
	later.fill_solid_region(Rect2i(0, 0, 3, -1))
	later.fill_solid_region(Rect2i(0, 0, 4, 1))
	later.fill_solid_region(everywhere)
	later.region = Rect2i(0, 0, 4, 2)
	add_node(later)
	check(later.is_point_solid(Vector2i(3, 0)))
	check(not later.is_point_solid(Vector2i(3, 1)))


func test_regions_of_a_stacked_map_are_filled_to_its_rim() -> void:
	var tile_set: TileSet = TileMaps.tile_set(true, TileSet.TILE_SHAPE_ISOMETRIC)
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(["....", "....", "...."], tile_set))
	add_node(map)
	await map.map_ready
	map.fill_solid_region(Rect2i(-300, -300, 600, 600))
	for cell: Vector2i in _layer_of(map).get_used_cells():
		check(map.is_point_solid(cell))
	check(map.get_state().size() < 1000)


func test_edits_are_told_and_heeded() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	var told: Array[Array] = []
	map.map_changed.connect(
		func(version: int, cells: Array[Vector2i]) -> void: told.append([version, cells])
	)
	map.set_point_solid(Vector2i(4, 3))
	map.set_point_solid(Vector2i(1, 4))
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.UNREACHABLE)
	check_equal(told.size(), 1)
	check_equal(told[0][1], [Vector2i(4, 3), Vector2i(1, 4)] as Array[Vector2i])
	check_equal(result.map_version, told[0][0])
	map.clear_overrides()
	result = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.FOUND)


func test_layers_that_tell_and_layers_that_do_not() -> void:
	for script: Script in [null, NavServerTileMapLayer]:
		var map: NavServerMap2D = _map_of(_ROOMS, script)
		await _find(map, Vector2i(1, 1), Vector2i(7, 1))
		await tree.process_frame
		_layer_of(map).set_cell(Vector2i(4, 3), 7, TileMaps.WALL)
		_layer_of(map).erase_cell(Vector2i(1, 4))
		if script == null:
			map.notify_cells_changed([Vector2i(4, 3), Vector2i(1, 4)])
		await tree.process_frame
		await tree.process_frame
		var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
		check_equal(result.status, NavServerPathResult.Status.UNREACHABLE)
		check(map.is_point_solid(Vector2i(1, 4)))
		check_equal(map.map_version, 2)
		map.free()


func test_a_watched_path_that_breaks_is_told_once() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var query: NavServerPathQuery = _query(map, Vector2i(1, 1), Vector2i(7, 1))
	query.watch = true
	var request: NavServerPathRequest = map.find_path(query)
	var result: NavServerPathResult = await request.wait()
	var told: Array[int] = []
	request.invalidated.connect(func(index: int) -> void: told.append(index))
	map.set_point_solid(Vector2i(1, 4))
	await _find(map, Vector2i(1, 1), Vector2i(1, 1))
	check_equal(told.size(), 0)
	map.set_point_solid(Vector2i(4, 3))
	await _find(map, Vector2i(1, 1), Vector2i(1, 1))
	check_equal(told.size(), 1)
	# The cell itself, or the diagonal step that it makes impossible.
	check(result.cells.find(Vector2i(4, 3)) - told[0] in [0, 1])


func test_requests_end_exactly_once() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var answers: Array[NavServerPathResult] = []
	var request: NavServerPathRequest = map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 1)))
	request.completed.connect(func(result: NavServerPathResult) -> void: answers.append(result))
	request.cancel()
	request.cancel()
	check_equal(answers.size(), 1)
	check_equal(answers[0].status, NavServerPathResult.Status.CANCELLED)
	check_equal(await request.wait(), answers[0])
	await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(answers.size(), 1)


func test_a_deadline_that_passed() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var query: NavServerPathQuery = _query(map, Vector2i(1, 1), Vector2i(7, 1))
	query.deadline_msec = 0.001
	var result: NavServerPathResult = await map.find_path(query).wait()
	check_equal(result.status, NavServerPathResult.Status.DEADLINE)


func test_many_requests_of_one_frame() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var queries: Array[NavServerPathQuery] = []
	for index: int in 300:
		queries.append(_query(map, Vector2i(1 + index % 3, 1), Vector2i(7, 1 + index % 4)))
	for request: NavServerPathRequest in map.find_paths(queries):
		check_equal((await request.wait()).status, NavServerPathResult.Status.FOUND)


func test_an_obstacle_comes_moves_and_goes() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var door: NavServerObstacle2D = NavServerObstacle2D.new()
	map.add_child(door)
	door.position = map.map_to_local(Vector2i(4, 3))
	await tree.process_frame
	check_equal(
		(await _find(map, Vector2i(1, 1), Vector2i(7, 1))).status,
		NavServerPathResult.Status.UNREACHABLE
	)
	door.enabled = false
	check_equal(
		(await _find(map, Vector2i(1, 1), Vector2i(7, 1))).status, NavServerPathResult.Status.FOUND
	)
	door.enabled = true
	check(map.is_point_solid(Vector2i(4, 3)))
	door.position = map.map_to_local(Vector2i(2, 3))
	await tree.process_frame
	check(not map.is_point_solid(Vector2i(4, 3)))
	check(map.is_point_solid(Vector2i(2, 3)))
	door.nav_class = 3
	check_equal(map.get_point_class(Vector2i(2, 3)), 3)
	door.polygon = [Vector2(-30, -10), Vector2(30, -10), Vector2(30, 10), Vector2(-30, 10)]
	check_equal(map.get_point_class(Vector2i(1, 3)), 3)
	door.free()
	check_equal(map.get_point_class(Vector2i(2, 3)), 0)
	check_equal(map.get_point_class(Vector2i(1, 3)), 0)


func test_save_and_restore() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	map.set_point_solid(Vector2i(4, 3))
	map.set_point_solid(Vector2i(4, 1), false)
	map.set_point_weight_scale(Vector2i(2, 2), 7.5)
	var state: PackedByteArray = map.get_state()
	map.clear_overrides()
	map.set_point_solid(Vector2i(1, 1))
	check(map.set_state(state))
	check(map.is_point_solid(Vector2i(4, 3)))
	check(not map.is_point_solid(Vector2i(4, 1)))
	check(not map.is_point_solid(Vector2i(1, 1)))
	check_equal(map.get_point_weight_scale(Vector2i(2, 2)), 7.5)
	var result: NavServerPathResult = await _find(map, Vector2i(3, 1), Vector2i(5, 1))
	check_equal(result.cells, [Vector2i(3, 1), Vector2i(4, 1), Vector2i(5, 1)] as Array[Vector2i])
	expect_errors(2)
	check(not map.set_state(PackedByteArray([1, 2, 3])))
	check(not map.set_state(state.slice(0, 40)))
	check(map.is_point_solid(Vector2i(4, 3)))


func test_damaged_states_are_refused_in_words() -> void:
	const SavedMap := preload("res://addons/navserver/internal/saved_map.gd")
	var map: NavServerMap2D = _map_of(_ROOMS)
	map.set_point_solid(Vector2i(1, -2))
	map.set_point_weight_scale(Vector2i(3, 4), 2.0)
	var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
	map.add_child(crowd)
	crowd.order(crowd.spawn([map.map_to_local(Vector2i(1, 1))]), Vector2(90.0, 20.0))
	var bytes: PackedByteArray = map.get_state()
	for at: int in bytes.size():
		var damaged: PackedByteArray = bytes.duplicate()
		damaged[at] ^= 0xff
		var saved: SavedMap = SavedMap.new()
		if saved.read(damaged).is_empty():
			saved.give_overrides(Overrides.new())
		check(not SavedMap.new().read(bytes.slice(0, at)).is_empty())


func test_weights_that_are_no_float32_are_refused() -> void:
	var map: NavServerMap2D = _map_of(["...", "..."])
	var cell: Vector2i = Vector2i(1, 0)
	for weight: float in [0.0, 1.2e-38, 3.4e38]:
		map.set_point_weight_scale(cell, weight)
		check_equal(map.get_point_weight_scale(cell), weight)
	var unfit: Dictionary[float, String] = {
		1e39: "e+39", 1e-40: "e-40", -1.0: "-1", INF: "inf", NAN: "nan"
	}
	expect_errors(2 * unfit.size() + 4)
	for weight: float in unfit:
		map.set_point_weight_scale(cell, weight)
		check_equal(map.get_point_weight_scale(cell), 3.4e38)
		# As a state that somebody wrote.
		var overrides: Overrides = Overrides.new()
		overrides.scales[cell] = weight
		var state: Dictionary = overrides.describe()
		var problem: String = Overrides.new().take(state)
		check_contains(problem, "%s; give 0, or" % unfit[weight])
		state["format"] = "navserver-map-1"
		check(not map.set_state(Msgpack.new().encode(state)))
		check_equal(map.get_point_weight_scale(cell), 3.4e38)
	# So are costs of classes.
	var walker: NavServerProfile = NavServerProfile.new()
	walker.class_costs = {0: INF, 1: 3.4e38, 2: 0.0}
	for cost: float in [1e39, 1e-40, -1.0, NAN]:
		walker.class_costs = {1: cost}
		check_equal(walker.get_cost_table()[1], PackedFloat32Array([3.4e38])[0])
	# Times a weight it may be more.
	walker.class_costs = {0: 1e30}
	map.fill_weight_scale_region(Rect2i(1, 0, 1, 2), 1e30)
	var query: NavServerPathQuery = _query(map, Vector2i.ZERO, Vector2i(2, 0))
	query.profile = walker
	var result: NavServerPathResult = await map.find_path(query).wait()
	check_equal(result.status, NavServerPathResult.Status.FOUND)
	check(result.cost > 1e59 and result.cost < INF, "costs %s" % result.cost)


func test_a_map_that_cannot_be_is_refused_with_a_remedy() -> void:
	expect_errors(1)
	var map: NavServerMap2D = NavServerMap2D.new()
	add_node(map)
	await tree.process_frame
	var result: NavServerPathResult = await _find(map, Vector2i.ZERO, Vector2i.ONE)
	check_equal(result.status, NavServerPathResult.Status.FAILED)
	check_contains(result.reason, "paint tiles, or set region")


func test_tiles_beyond_16_bits_are_refused() -> void:
	expect_errors(2)
	for region: Rect2i in [Rect2i(), Rect2i(0, 0, 9, 6)] as Array[Rect2i]:
		var map: NavServerMap2D = NavServerMap2D.new()
		var layer: TileMapLayer = TileMaps.layer(_ROOMS, TileMaps.tile_set(), null)
		if not region.has_area():
			layer.clear()
		# Its data would say (4, 3), which is the door between the rooms.
		layer.set_cell(Vector2i(65540, 3), 7, TileMaps.WALL)
		map.region = region
		map.add_child(layer)
		add_node(map)
		var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
		check_equal(result.status, NavServerPathResult.Status.FAILED)
		check_contains(result.reason, "beyond cell 32767")
		map.free()


func test_a_map_that_left_the_tree_answers_no_more() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	tree.root.remove_child(map)
	check_equal(
		map.find_path(NavServerPathQuery.new()).result.status, NavServerPathResult.Status.FAILED
	)
	tree.root.add_child(map)
	check_equal(
		(await _find(map, Vector2i(1, 1), Vector2i(7, 1))).status, NavServerPathResult.Status.FOUND
	)


func test_isometric_stacked_map() -> void:
	var tiles: TileSet = TileMaps.tile_set(
		true, TileSet.TILE_SHAPE_ISOMETRIC, TileSet.TILE_LAYOUT_STACKED
	)
	var map: NavServerMap2D = NavServerMap2D.new()
	map.timeout_msec = 1000
	var layer: TileMapLayer = TileMaps.layer(["....", ".##.", "....", "...."], tiles)
	map.add_child(layer)
	add_node(map)
	var path: Array[Vector2i] = map.get_id_path(Vector2i(0, 0), Vector2i(3, 3))
	check_equal(path[0], Vector2i(0, 0))
	check_equal(path[-1], Vector2i(3, 3))
	for index: int in range(1, path.size()):
		check(not map.is_point_solid(path[index]))
		var step: Vector2 = map.map_to_local(path[index]) - map.map_to_local(path[index - 1])
		check(step.length() <= 16.01)


func test_a_stacked_map_whose_layers_are_freed() -> void:
	var tiles: TileSet = TileMaps.tile_set(true, TileSet.TILE_SHAPE_ISOMETRIC)
	var map: NavServerMap2D = NavServerMap2D.new()
	for index: int in 2:
		map.add_child(TileMaps.layer(["....", "....", "...."], tiles))
	add_node(map)
	await map.map_ready
	var point: Vector2 = map.map_to_local(Vector2i(2, 1))
	var result: NavServerPathResult = await _find(map, Vector2i(0, 0), Vector2i(2, 1))
	for index: int in 2:
		map.get_child(0).free()
		check_equal(map.local_to_map(point), Vector2i(2, 1))
		if index == 0:
			check_equal(result.cells[-1], Vector2i(2, 1))
			await map.map_ready
	var square: PackedVector2Array = [
		Vector2(-1, -1), Vector2(1, -1), Vector2(1, 1), Vector2(-1, 1)
	]
	var covered: Array[Vector2i] = [Vector2i(2, 1)]
	check_equal(map.get_cells_in_polygon(Transform2D(0.0, point) * square), covered)


func test_warnings_name_the_remedy() -> void:
	var map: NavServerMap2D = NavServerMap2D.new()
	add_node(map)
	check_contains(str(map.call("_get_configuration_warnings")), "Add TileMapLayers")
	var hexagons: TileSet = TileMaps.tile_set(false, TileSet.TILE_SHAPE_HEXAGON)
	map.add_child(TileMaps.layer(["."], hexagons))
	check_contains(str(map.call("_get_configuration_warnings")), "use square or isometric tiles")


func test_a_request_that_nobody_keeps_is_answered_all_the_same() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var answers: Array[NavServerPathResult] = []
	map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 1))).completed.connect(
		func(result: NavServerPathResult) -> void: answers.append(result)
	)
	await wait_until(func() -> bool: return answers.size() == 1)


func test_layers_that_leave_come_back_or_are_dressed_anew() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var walls: TileMapLayer = TileMaps.layer(["", "  #"], TileMaps.tile_set())
	map.add_child(walls)
	map.rebuild()
	await map.map_ready
	check(map.is_point_solid(Vector2i(2, 1)))
	walls.enabled = false
	await map.map_ready
	check(not map.is_point_solid(Vector2i(2, 1)))
	walls.enabled = true
	await map.map_ready
	check(map.is_point_solid(Vector2i(2, 1)))
	walls.free()
	# Before the end of the frame too.
	check(not map.is_point_solid(Vector2i(2, 1)))
	await map.map_ready
	_layer_of(map).tile_set = TileMaps.tile_set(
		true,
		TileSet.TILE_SHAPE_SQUARE,
		TileSet.TILE_LAYOUT_STACKED,
		TileSet.TILE_OFFSET_AXIS_HORIZONTAL,
		Vector2i(32, 32)
	)
	await map.map_ready
	check_equal(map.map_to_local(Vector2i(1, 1)), Vector2(48, 48))


func test_empty_slots_name_no_layer() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var below: TileMapLayer = _layer_of(map)
	var other: TileMapLayer = TileMaps.layer(["..."], TileMaps.tile_set())
	add_node(other)
	map.tile_map_layers = [null, null]
	check_equal(map.find_layers(), [below] as Array[TileMapLayer])
	map.tile_map_layers = [null, other]
	check_equal(map.find_layers(), [other] as Array[TileMapLayer])
	# It was named: nothing takes its place.
	other.free()
	check_equal(map.find_layers(), [] as Array[TileMapLayer])


func test_layers_that_are_freed_while_the_map_is_away_or_reads() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var walls: TileMapLayer = TileMaps.layer(["", "  #"], TileMaps.tile_set())
	map.add_child(walls)
	map.rebuild()
	await map.map_ready
	tree.root.remove_child(map)
	walls.free()
	tree.root.add_child(map)
	await map.map_ready
	check(not map.is_point_solid(Vector2i(2, 1)))
	walls = TileMaps.layer(["", "  #"], TileMaps.tile_set())
	map.add_child(walls)
	map.rebuild()
	walls.free()
	await map.map_ready
	check_equal((await _find(map, Vector2i(1, 1), Vector2i(3, 1))).cells.size(), 3)


func test_a_level_that_is_made_while_the_game_runs_begins_in_silence() -> void:
	var map: NavServerMap2D = _map_of([], NavServerTileMapLayer)
	for frame: int in 3:
		await tree.process_frame
	var result: NavServerPathResult = await _find(map, Vector2i(0, 0), Vector2i(1, 0))
	check_contains(result.reason, "the map has no cells")
	for x: int in 2:
		_layer_of(map).set_cell(Vector2i(x, 0), 7, TileMaps.GROUND)
	await map.map_ready
	result = await _find(map, Vector2i(0, 0), Vector2i(1, 0))
	check_equal(result.status, NavServerPathResult.Status.FOUND)


func test_a_layer_tells_of_its_cells_whenever_they_are_painted() -> void:
	for delay: int in 4:
		var map: NavServerMap2D = _map_of([], NavServerTileMapLayer)
		for frame: int in delay:
			await tree.process_frame
		for x: int in 2:
			_layer_of(map).set_cell(Vector2i(x, 0), 7, TileMaps.GROUND)
		await wait_until(map.is_read, 5.0)
		var result: NavServerPathResult = await _find(map, Vector2i(0, 0), Vector2i(1, 0))
		check_equal(result.status, NavServerPathResult.Status.FOUND, str(delay))
		map.free()


func test_a_layer_tells_of_its_cells_when_it_is_hidden_or_was_away() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS, NavServerTileMapLayer)
	await map.map_ready
	var layer: TileMapLayer = _layer_of(map)
	layer.hide()
	await tree.process_frame
	layer.set_cell(Vector2i(4, 3), 7, TileMaps.WALL)
	await tree.process_frame
	await tree.process_frame
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.UNREACHABLE)
	map.remove_child(layer)
	await tree.process_frame
	layer.set_cell(Vector2i(4, 3), 7, TileMaps.GROUND)
	map.add_child(layer)
	await tree.process_frame
	await tree.process_frame
	result = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.FOUND)


func test_a_map_grows_with_its_tiles() -> void:
	var map: NavServerMap2D = _map_of(["...", "..."], NavServerTileMapLayer)
	await map.map_ready
	for x: int in range(3, 8):
		_layer_of(map).set_cell(Vector2i(x, 1), 7, TileMaps.GROUND)
	await map.map_ready
	var result: NavServerPathResult = await _find(map, Vector2i(0, 0), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.FOUND)
	var fixed: NavServerMap2D = _map_of(["...", "..."], NavServerTileMapLayer)
	fixed.region = Rect2i(0, 0, 3, 2)
	await fixed.map_ready
	_layer_of(fixed).set_cell(Vector2i(3, 1), 7, TileMaps.GROUND)
	await tree.process_frame
	await tree.process_frame
	check(not fixed.is_in_boundsv(Vector2i(3, 1)))


func test_layers_that_do_not_fit_are_told_of_once() -> void:
	expect_errors(1)
	var map: NavServerMap2D = _map_of(_ROOMS)
	var roof: TileMapLayer = TileMaps.layer(["", "  #"], TileMaps.tile_set())
	# Drawn a little higher it still is of the same cells.
	roof.position = Vector2(0, -7)
	map.add_child(roof)
	map.rebuild()
	check_equal(map.call("_get_configuration_warnings"), PackedStringArray())
	roof.position = Vector2(0, -8)
	for turn: int in 2:
		map.rebuild()
	var warnings: PackedStringArray = map.call("_get_configuration_warnings")
	check_contains(warnings[0], "is moved against")


func test_obstacles_far_larger_than_the_map_and_none_at_all() -> void:
	var map: NavServerMap2D = _map_of(["...", "..."])
	await map.map_ready
	var obstacle: NavServerObstacle2D = NavServerObstacle2D.new()
	map.add_child(obstacle)
	obstacle.size = Vector2(1e9, 1e9)
	check(map.is_point_solid(Vector2i(2, 1)))
	for size: Vector2 in [Vector2.ZERO, Vector2(NAN, 4.0), Vector2(INF, INF)] as Array[Vector2]:
		obstacle.size = size
		check(not map.is_point_solid(Vector2i(0, 0)))
	obstacle.size = Vector2(32, 32)
	check(map.is_point_solid(Vector2i(0, 0)))
	obstacle.position = Vector2(NAN, 0.0)
	await tree.process_frame
	await tree.process_frame
	check(not map.is_point_solid(Vector2i(0, 0)))


func test_what_cannot_be_asked_or_made_is_told_with_a_remedy() -> void:
	expect_errors(5)
	var map: NavServerMap2D = _map_of(["...", "..."])
	@warning_ignore("int_as_enum_without_cast", "int_as_enum_without_match")
	map.diagonal_mode = 99
	check_equal(map.diagonal_mode, AStarGrid2D.DIAGONAL_MODE_ONLY_IF_NO_OBSTACLES)
	map.scene_tile_class = -7
	check_equal(map.scene_tile_class, 0)
	var result: NavServerPathResult = await map.find_path(null).wait()
	check_contains(result.reason, "give a NavServerPathQuery")
	# One error, not one a cell.
	map.fill_weight_scale_region(Rect2i(0, 0, 3, 2), NAN)
	var profile: NavServerProfile = NavServerProfile.new()
	profile.class_costs[900] = 2.0
	check_equal(profile.get_cost_table().size(), 256)
	var flat: NavServerMap2D = NavServerMap2D.new()
	flat.region = Rect2i(0, 0, 4, 4)
	flat.cell_size = Vector2(16, 0)
	add_node(flat)
	check_contains(str(flat.call("_get_configuration_warnings")), "two numbers above 0")
