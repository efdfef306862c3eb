extends "../test_case.gd"
## Maps and requests against a real sidecar, by its connection file [code]file=[/code].
##
## Whoever started the sidecar starts it again when it ends.

const TileMaps := preload("../tile_maps.gd")

const _ROOMS: Array[String] = TileMaps.ROOMS

var _connection: NavServerConnection = NavServer.get_connection()


func before_each() -> void:
	_connection.stop_sidecar()
	_connection.follow_connection_file(parameters["file"])
	await wait_until(NavServer.is_available, 60.0, "for the sidecar")


func after_each() -> void:
	_connection.stop_sidecar()


func _map_of(picture: Array[String], tiles: TileSet = TileMaps.tile_set()) -> NavServerMap2D:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(picture, tiles, NavServerTileMapLayer))
	map.timeout_msec = 1000
	add_node(map)
	return map


func _random_picture(random: RandomNumberGenerator, size: Vector2i) -> Array[String]:
	var picture: Array[String] = []
	for y: int in size.y:
		var row: String = ""
		for x: int in size.x:
			row += "....~~-w%# "[random.randi() % 11] if random.randf() < 0.5 else "."
		picture.append(row)
	return picture


func _query(map: NavServerMap2D, from: Vector2i, to: Vector2i) -> NavServerPathQuery:
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = map.to_global(map.map_to_local(from))
	query.target_position = map.to_global(map.map_to_local(to))
	return query


func _find(map: NavServerMap2D, from: Vector2i, to: Vector2i) -> NavServerPathResult:
	return await map.find_path(_query(map, from, to)).wait()


func _server_pid() -> int:
	var fields: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(parameters["file"]))
	return int(str(fields["pid"]).to_float())


func test_a_path_of_the_sidecar() -> void:
	for name: String in ["path", "batch", "reachable", "watch", "unwatch", "world_tiles"]:
		check(name in NavServer.get_capabilities(), name)
	var map: NavServerMap2D = _map_of(_ROOMS)
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.FOUND, result.reason)
	check(result.source != NavServerPathResult.Source.FALLBACK)
	check_equal(result.cells[0], Vector2i(1, 1))
	check_equal(result.cells[-1], Vector2i(7, 1))
	check_equal(map.get_id_path(Vector2i(1, 1), Vector2i(7, 1)), result.cells)
	check(result.map_version > 0)


func test_it_answers_as_the_fallback() -> void:
	var random: RandomNumberGenerator = RandomNumberGenerator.new()
	random.seed = 4
	var profiles: Array[NavServerProfile] = [null, NavServerProfile.new(), NavServerProfile.new()]
	profiles[1].class_costs = {1: 3.5, 2: INF}
	profiles[2].class_costs = {0: 2.0, 1: 1.25, 2: 7.0}
	profiles[2].size = 2
	for shape: int in [TileSet.TILE_SHAPE_SQUARE, TileSet.TILE_SHAPE_ISOMETRIC]:
		for layout: int in range(6 if shape == TileSet.TILE_SHAPE_ISOMETRIC else 1):
			for mode: int in 4:
				var tiles: TileSet = TileMaps.tile_set(
					true, shape as TileSet.TileShape, layout as TileSet.TileLayout
				)
				var map: NavServerMap2D = _map_of(_random_picture(random, Vector2i(13, 11)), tiles)
				map.diagonal_mode = mode as AStarGrid2D.DiagonalMode
				map.set_point_solid(Vector2i(6, 5))
				map.set_point_weight_scale(Vector2i(5, 5), 2.5)
				await _compare(map, profiles, random)
				map.free()


## Asks the sidecar and the fallback the same; where AStarGrid2D is exact both costs are equal.
func _compare(
	map: NavServerMap2D, profiles: Array[NavServerProfile], random: RandomNumberGenerator
) -> void:
	var taken: Array[Vector2i] = [Vector2i(-2, 3), Vector2i(3, 3), Vector2i(2, 3), Vector2i(4, 4)]
	var queries: Array[NavServerPathQuery] = []
	for index: int in 24:
		var query: NavServerPathQuery = _query(
			map,
			Vector2i(random.randi() % 14, random.randi() % 12),
			Vector2i(random.randi() % 14, random.randi() % 12)
		)
		query.profile = profiles[index % 3]
		if index % 4 == 0:
			query.blocked_cells = taken
		queries.append(query)
	var answers: Array[NavServerPathResult] = []
	for request: NavServerPathRequest in map.find_paths(queries):
		answers.append(await request.wait())
	map.timeout_msec = 10_000
	var start: Vector2i = Vector2i(1, 1)
	var reached: Dictionary[Vector2i, float] = map.get_reachable(start, 6.5, profiles[1])
	var around: Dictionary[Vector2i, float] = map.get_reachable(start, 6.5, profiles[2], taken)
	_connection.stop_sidecar()
	_compare_reachable(reached, map.get_reachable(start, 6.5, profiles[1]))
	_compare_reachable(around, map.get_reachable(start, 6.5, profiles[2], taken))
	var others: Array[NavServerPathRequest] = map.find_paths(queries)
	for index: int in others.size():
		var expected: NavServerPathResult = await others[index].wait()
		check_equal(expected.source, NavServerPathResult.Source.FALLBACK, expected.reason)
		var what: String = (
			"mode %d query %d: %s" % [map.diagonal_mode, index, answers[index].reason]
		)
		check_equal(answers[index].status, expected.status, what)
		if expected.has_path() and answers[index].has_path():
			check_near(answers[index].cost, expected.cost, 1e-4 * expected.cost + 1e-6, what)
			check(answers[index].path[0].distance_to(expected.path[0]) < 0.01, what)
			check_equal(answers[index].cells[-1], expected.cells[-1], what)
	await before_each()


func _compare_reachable(
	found: Dictionary[Vector2i, float], expected: Dictionary[Vector2i, float]
) -> void:
	check_equal(found.size(), expected.size(), "cells within reach")
	for cell: Vector2i in expected:
		check(cell in found, "%s is within reach" % cell)
		if cell in found:
			check_near(found[cell], expected[cell], 1e-4, "reach of %s" % cell)


func test_reach_is_told_of_a_map_that_is_still_being_numbered() -> void:
	var tiles: TileSet = TileMaps.tile_set(
		true, TileSet.TILE_SHAPE_ISOMETRIC, TileSet.TILE_LAYOUT_STACKED
	)
	var map: NavServerMap2D = _map_of(["....", "....", "...."], tiles)
	map.timeout_msec = 30_000
	check_equal(map.get_reachable(Vector2i(0, 0), INF).size(), 12)


func test_an_edit_sends_only_those_on_the_broken_path_another_way() -> void:
	var map: NavServerMap2D = _map_of(
		["#########", "#...#...#", "#.......#", "#...#...#", "#.......#", "#########"]
	)
	var asked: Dictionary[NavServerAgent2D, int] = {}
	for cell: Vector2i in [Vector2i(1, 1), Vector2i(1, 2), Vector2i(5, 1), Vector2i(7, 4)]:
		var body: Node2D = Node2D.new()
		var agent: NavServerAgent2D = NavServerAgent2D.new()
		body.add_child(agent)
		body.position = map.map_to_local(cell)
		map.add_child(body)
		agent.path_changed.connect(func() -> void: asked[agent] = asked.get(agent, 0) + 1)
		agent.target_position = map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return asked.size() == 4)
	map.find_layers()[0].set_cell(Vector2i(4, 2), 7, TileMaps.WALL)
	await wait_until(func() -> bool: return asked.values().count(2) == 2)
	for index: int in 20:
		await tree.process_frame
	check_equal(asked.values(), [2, 2, 1, 1])
	for agent: NavServerAgent2D in asked:
		check(agent.is_target_reachable())
		check_equal(agent.get_current_navigation_result().cells[-1], Vector2i(7, 1))


func test_edits_reach_it_and_break_watched_paths() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var query: NavServerPathQuery = _query(map, Vector2i(1, 1), Vector2i(7, 1))
	query.watch = true
	var request: NavServerPathRequest = map.find_path(query)
	await request.wait()
	var told: Array[int] = []
	request.invalidated.connect(func(index: int) -> void: told.append(index))
	var changes: Array[Vector2i] = []
	map.map_changed.connect(
		func(_version: int, cells: Array[Vector2i]) -> void: changes.append_array(cells)
	)
	await tree.process_frame
	map.find_layers()[0].set_cell(Vector2i(4, 3), 7, TileMaps.WALL)
	await wait_until(func() -> bool: return told.size() == 1 and changes.size() == 1)
	check_equal(changes, [Vector2i(4, 3)] as Array[Vector2i])
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.UNREACHABLE)
	check_equal(result.map_version, map.map_version)
	map.set_point_solid(Vector2i(4, 3), false)
	result = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.status, NavServerPathResult.Status.FOUND)


func test_a_body_that_cannot_be_fails_alone() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	for size: int in [-1, 33, 256, 257]:
		var query: NavServerPathQuery = _query(map, Vector2i(1, 1), Vector2i(7, 1))
		query.size = size
		var request: NavServerPathRequest = map.find_path(query)
		var others: Array[NavServerPathRequest] = []
		for index: int in 2:
			others.append(map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 1 + index))))
		var result: NavServerPathResult = await request.wait()
		check_equal(result.status, NavServerPathResult.Status.FAILED)
		check_equal(result.reason, "size is %d; give 1 to 32 cells, or 0 for the profile's" % size)
		for other: NavServerPathRequest in others:
			check_equal((await other.wait()).status, NavServerPathResult.Status.FOUND)


func test_size_blocked_cells_partial_paths_and_statuses() -> void:
	var map: NavServerMap2D = _map_of(["....", "....", "#.#.", "...."])
	var query: NavServerPathQuery = _query(map, Vector2i(0, 0), Vector2i(1, 3))
	query.size = 2
	check_equal((await map.find_path(query).wait()).status, NavServerPathResult.Status.GOAL_BLOCKED)
	query.size = 0
	query.blocked_cells = [Vector2i(1, 2), Vector2i(3, 2)]
	var blocked: NavServerPathResult = await map.find_path(query).wait()
	check_equal(blocked.status, NavServerPathResult.Status.UNREACHABLE, blocked.reason)
	query.blocked_cells = []
	for cell: Vector2i in [Vector2i(1, 2), Vector2i(3, 2)]:
		map.set_point_solid(cell)
	query.allow_partial_path = true
	var partial: NavServerPathResult = await map.find_path(query).wait()
	check_equal(partial.status, NavServerPathResult.Status.PARTIAL, partial.reason)
	check_equal(partial.cells[-1], Vector2i(1, 1))
	var outside: NavServerPathResult = await _find(map, Vector2i(0, 0), Vector2i(50, 0))
	check_equal(outside.status, NavServerPathResult.Status.GOAL_BLOCKED, outside.reason)


func test_batches_and_single_paths_tell_the_same() -> void:
	var map: NavServerMap2D = _map_of(["...#.", "...#.", "...##", "....."])
	var goals: Array[Vector2i] = [
		Vector2i(2, 2), Vector2i(4, 0), Vector2i(3, 0), Vector2i(9, 9), Vector2i(0, 3)
	]
	var queries: Array[NavServerPathQuery] = []
	for goal: Vector2i in goals:
		queries.append(_query(map, Vector2i.ZERO, goal))
		queries[-1].priority = 127
	var rows: Array[NavServerPathResult] = []
	for request: NavServerPathRequest in map.find_paths(queries):
		rows.append(await request.wait())
	for index: int in goals.size():
		var alone: NavServerPathResult = await map.find_path(queries[index]).wait()
		check_equal(rows[index].status, alone.status, rows[index].reason)
		check_equal(rows[index].cost, alone.cost)
		check_equal(rows[index].cells, alone.cells)
	check(rows[0].source in [NavServerPathResult.Source.SEARCH, NavServerPathResult.Source.FIELD])


func test_cancelled_requests_are_answered() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var requests: Array[NavServerPathRequest] = []
	for index: int in 20:
		requests.append(map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 1 + index % 4))))
	await tree.process_frame
	for request: NavServerPathRequest in requests:
		request.cancel()
	for request: NavServerPathRequest in requests:
		var status: NavServerPathResult.Status = (await request.wait()).status
		check(
			status in [NavServerPathResult.Status.CANCELLED, NavServerPathResult.Status.FOUND],
			str(status)
		)


func test_killed_under_load_every_request_is_answered_once() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	map.set_point_solid(Vector2i(2, 2))
	await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	var counts: Dictionary[int, int] = {}
	var asked: int = 0
	var pid: int = _server_pid()
	for frame: int in 60:
		for index: int in 20:
			var request: NavServerPathRequest = map.find_path(
				_query(map, Vector2i(1, 1), Vector2i(7, 1 + index % 4))
			)
			var number: int = asked
			request.completed.connect(
				func(answer: NavServerPathResult) -> void:
					check_equal(answer.status, NavServerPathResult.Status.FOUND, answer.reason)
					counts[number] = counts.get(number, 0) + 1
			)
			asked += 1
		if frame == 20:
			OS.kill(pid)
		await tree.process_frame
	await wait_until(func() -> bool: return counts.size() == asked, 30.0, "for all answers")
	check_equal(counts.values().max(), 1)
	await wait_until(NavServer.is_available, 60.0, "for the sidecar to come back")
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check(result.source != NavServerPathResult.Source.FALLBACK)
	check_equal(
		(await _find(map, Vector2i(1, 1), Vector2i(2, 2))).status,
		NavServerPathResult.Status.GOAL_BLOCKED,
		"the edit is there again"
	)


func test_an_end_that_is_noticed_while_sending_is_an_end() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	OS.kill(_server_pid())
	# Whatever sends first finds the connection closed; only what polls looks for its end.
	OS.delay_msec(100)
	for index: int in 20:
		map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 1)))
		_connection.call("_flush")
		OS.delay_msec(5)
	check(await _answers_in_time(map))
	await wait_until(NavServer.is_available, 60.0, "for the sidecar to come back")
	check(await _answers_in_time(map))


func _answers_in_time(map: NavServerMap2D) -> bool:
	var request: NavServerPathRequest = map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 1)))
	await wait_until(request.is_completed, 30.0, "for an answer")
	return request.is_completed() and request.result.has_path()


func test_save_and_restore_across_a_restart() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	map.set_point_solid(Vector2i(4, 3))
	var state: PackedByteArray = map.get_state()
	map.free()
	OS.kill(_server_pid())
	await wait_until(func() -> bool: return not NavServer.is_available())
	await wait_until(NavServer.is_available, 60.0, "for the sidecar to come back")
	map = _map_of(_ROOMS)
	check(map.set_state(state))
	check_equal(
		(await _find(map, Vector2i(1, 1), Vector2i(7, 1))).status,
		NavServerPathResult.Status.UNREACHABLE
	)


func test_who_waits_at_the_end_of_a_frame_has_answers_in_it() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	_connection.spin_usec = 1000
	var completed: int = 0
	for index: int in 100:
		_connection.lockstep = index < 50
		var request: NavServerPathRequest = map.find_path(
			_query(map, Vector2i(1, 1), Vector2i(7, 1))
		)
		await tree.process_frame
		check(request.is_completed() or index >= 50, "request %d" % index)
		completed += int(request.is_completed())
	# How many of them come within a millisecond is up to the machine.
	check(completed > 50, "%d of 100" % completed)
	expect_errors(1)
	_connection.spin_usec = 1001
	check_equal(_connection.spin_usec, 1000)
	_connection.spin_usec = 0


func test_ten_thousand_requests_leave_nothing_behind() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	await _ask_often(map, 2000)
	var objects: float = Performance.get_monitor(Performance.OBJECT_COUNT)
	var memory: float = Performance.get_monitor(Performance.MEMORY_STATIC)
	await _ask_often(map, 10_000)
	check_near(Performance.get_monitor(Performance.OBJECT_COUNT), objects, 20.0, "objects")
	check_near(Performance.get_monitor(Performance.MEMORY_STATIC), memory, 100_000.0, "memory")


func _ask_often(map: NavServerMap2D, count: int) -> void:
	for turn: int in floori(count / 100.0):
		var queries: Array[NavServerPathQuery] = []
		for index: int in 100:
			queries.append(_query(map, Vector2i(1, 1), Vector2i(7, 1 + index % 4)))
		for request: NavServerPathRequest in map.find_paths(queries):
			await request.wait()


func test_agents_walk_on_it() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var body: Node2D = Node2D.new()
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	body.add_child(agent)
	body.position = map.map_to_local(Vector2i(1, 1))
	map.add_child(body)
	agent.target_position = map.map_to_local(Vector2i(7, 1))
	while not agent.is_navigation_finished():
		await tree.physics_frame
		body.position = body.position.move_toward(agent.get_next_path_position(), 8.0)
	check_equal(map.local_to_map(body.position), Vector2i(7, 1))
	check(agent.get_current_navigation_result().source != NavServerPathResult.Source.FALLBACK)
	# As somebody who chases does it.
	while map.local_to_map(body.position) != Vector2i(1, 1):
		await tree.physics_frame
		agent.target_position = map.map_to_local(Vector2i(1, 1))
		body.position = body.position.move_toward(agent.get_next_path_position(), 8.0)


func _make_agents(map: NavServerMap2D, count: int) -> Array[NavServerAgent2D]:
	var agents: Array[NavServerAgent2D] = []
	for index: int in count:
		var body: Node2D = Node2D.new()
		body.position = map.map_to_local(Vector2i(1 + index % 3, 1 + index % 4))
		var agent: NavServerAgent2D = NavServerAgent2D.new()
		body.add_child(agent)
		map.add_child(body)
		agents.append(agent)
	return agents


func _are_answered(agents: Array[NavServerAgent2D]) -> bool:
	return agents.all(func(agent: NavServerAgent2D) -> bool: return not agent.get("_pending"))


func test_who_is_told_of_a_path_may_wait_for_others() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	await map.map_ready
	var agents: Array[NavServerAgent2D] = _make_agents(map, 300)
	var counts: Dictionary[NavServerAgent2D, int] = {}
	for index: int in agents.size():
		var agent: NavServerAgent2D = agents[index]
		counts[agent] = 0
		# Several batches, whose replies come one after the other.
		agent.profile = [null, NavServerProfile.new()][index % 2]
		agent.path_changed.connect(
			func() -> void:
				counts[agent] += 1
				if index % 20 == 0:
					check(not map.get_id_path(Vector2i(1, 1), Vector2i(7, 1)).is_empty())
		)
	for turn: int in 3:
		for agent: NavServerAgent2D in agents:
			agent.target_position = map.map_to_local(Vector2i(7, 1 + turn))
		await wait_until(_are_answered.bind(agents))
	for agent: NavServerAgent2D in agents:
		check_equal(counts[agent], 3)


func test_a_sidecar_that_is_stopped_by_who_is_told() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	await map.map_ready
	var agents: Array[NavServerAgent2D] = _make_agents(map, 40)
	var counts: Dictionary[NavServerAgent2D, int] = {}
	for agent: NavServerAgent2D in agents:
		counts[agent] = 0
		agent.path_changed.connect(
			func() -> void:
				counts[agent] += 1
				_connection.stop_sidecar()
		)
		agent.target_position = map.map_to_local(Vector2i(7, 1))
	await wait_until(_are_answered.bind(agents))
	for agent: NavServerAgent2D in agents:
		check_equal(counts[agent], 1)


func test_paths_are_looked_after_when_the_sidecar_is_gone() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var agents: Array[NavServerAgent2D] = _make_agents(map, 2)
	for agent: NavServerAgent2D in agents:
		agent.target_position = map.map_to_local(Vector2i(7, 1))
		await wait_until(_are_answered.bind(agents))
	_connection.stop_sidecar()
	for frame: int in 10:
		await tree.physics_frame
	# The fallback counts its watches from the beginning.
	agents[1].target_position = map.map_to_local(Vector2i(7, 2))
	await wait_until(_are_answered.bind(agents))
	agents[0].stop()
	agents[0].target_position = map.map_to_local(Vector2i(7, 1))
	await wait_until(_are_answered.bind(agents))
	for agent: NavServerAgent2D in agents:
		check_equal(agent.get_current_navigation_path().has(map.map_to_local(Vector2i(4, 3))), true)
	map.set_point_solid(Vector2i(4, 3))
	await wait_until(
		func() -> bool:
			return agents.all(
				func(agent: NavServerAgent2D) -> bool: return not agent.is_target_reachable()
			)
	)


func test_watched_requests_are_told_when_the_sidecar_is_gone() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var query: NavServerPathQuery = _query(map, Vector2i(1, 1), Vector2i(7, 1))
	query.watch = true
	var requests: Array[NavServerPathRequest] = [map.find_path(query), map.find_path(query)]
	var told: Array[int] = []
	for request: NavServerPathRequest in requests:
		await request.wait()
		request.invalidated.connect(func(index: int) -> void: told.append(index))
	requests[1].unwatch()
	_connection.stop_sidecar()
	check_equal(told.size(), 0)
	await wait_until(func() -> bool: return not told.is_empty(), 10.0)
	map.set_point_solid(Vector2i(4, 3))
	await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(told, [0] as Array[int])


func test_a_request_that_nobody_keeps_ends_its_watch() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var query: NavServerPathQuery = _query(map, Vector2i(1, 1), Vector2i(7, 1))
	query.watch = true
	await map.find_path(query).wait()
	var before: float = Performance.get_monitor(Performance.OBJECT_COUNT)
	for index: int in 100:
		map.find_path(query)
	await map.find_path(query).wait()
	await wait_until(
		func() -> bool: return Performance.get_monitor(Performance.OBJECT_COUNT) < before + 50, 10.0
	)


func test_cells_of_a_result_are_those_of_the_map_as_it_lay() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	var agents: Array[NavServerAgent2D] = _make_agents(map, 1)
	agents[0].target_position = map.map_to_local(Vector2i(7, 1))
	await wait_until(_are_answered.bind(agents))
	map.position += Vector2(32.0, 32.0)
	var result: NavServerPathResult = agents[0].get_current_navigation_result()
	check_equal(result.cells[0], Vector2i(1, 1))
	check_equal(result.cells[-1], Vector2i(7, 1))


func test_who_is_told_that_the_sidecar_is_there_may_stop_it() -> void:
	var map: NavServerMap2D = _map_of(_ROOMS)
	_connection.stop_sidecar()
	var stop: Callable = func(state: NavServerConnection.State, _reason: String) -> void:
		if state == NavServerConnection.State.READY:
			_connection.stop_sidecar()
	_connection.state_changed.connect(stop)
	_connection.follow_connection_file(parameters["file"])
	await wait_until(func() -> bool: return _connection.state == NavServerConnection.State.FALLBACK)
	_connection.state_changed.disconnect(stop)
	var result: NavServerPathResult = await _find(map, Vector2i(1, 1), Vector2i(7, 1))
	check_equal(result.source, NavServerPathResult.Source.FALLBACK)
