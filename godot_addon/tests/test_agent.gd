extends "test_case.gd"
## Agents that walk on the fallback.

const TileMaps := preload("tile_maps.gd")

const _ROOMS: Array[String] = [
	"#########",
	"#...#...#",
	"#...#...#",
	"#.......#",
	"#...#...#",
	"#.......#",
	"#########",
]


class Walker:
	extends Node2D

	var agent: NavServerAgent2D = NavServerAgent2D.new()
	var speed: float = 400.0

	func _init() -> void:
		add_child(agent)

	func _physics_process(delta: float) -> void:
		if not agent.is_navigation_finished():
			var next: Vector2 = agent.get_next_path_position()
			global_position = global_position.move_toward(next, speed * delta)


var _map: NavServerMap2D = null
var _told: Array[String] = []


func before_each() -> void:
	_map = NavServerMap2D.new()
	_map.add_child(TileMaps.layer(_ROOMS, TileMaps.tile_set(), NavServerTileMapLayer))
	add_node(_map)


func _walker(cell: Vector2i) -> Walker:
	var walker: Walker = Walker.new()
	walker.position = _map.map_to_local(cell)
	walker.agent.path_changed.connect(func() -> void: _told.append("path"))
	walker.agent.target_reached.connect(func() -> void: _told.append("target"))
	walker.agent.navigation_finished.connect(func() -> void: _told.append("finished"))
	walker.agent.path_failed.connect(
		func(status: NavServerPathResult.Status, reason: String) -> void:
			_told.append("failed %d %s" % [status, reason])
	)
	_map.add_child(walker)
	return walker


func _cell(walker: Walker) -> Vector2i:
	return _map.local_to_map(walker.position)


func test_it_walks_to_its_target() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	check(not walker.agent.is_navigation_finished())
	check_equal(walker.agent.get_next_path_position(), walker.global_position)
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(7, 1))
	check_equal(_told, ["path", "target", "finished"] as Array[String])
	check(walker.agent.is_target_reached())
	check(walker.agent.is_target_reachable())
	check_equal(walker.agent.get_final_position(), _map.map_to_local(Vector2i(7, 1)))
	var result: NavServerPathResult = walker.agent.get_current_navigation_result()
	check_near(walker.agent.get_path_length(), result.path_length * 16.0, 1e-3)


func test_a_target_beside_the_centre_of_its_cell_is_reached_where_the_path_ends() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1)) + Vector2(7.0, 7.0)
	await wait_until(walker.agent.is_navigation_finished)
	check_equal(_told, ["path", "target", "finished"] as Array[String])
	check(walker.agent.is_target_reached())
	walker.agent.target_position = _map.map_to_local(Vector2i(1, 1)) + Vector2(7.0, 7.0)
	check(not walker.agent.is_target_reached())


func test_the_nearest_cell_is_not_the_target() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.target_position = _map.map_to_local(Vector2i(0, 1))
	await wait_until(walker.agent.is_navigation_finished)
	check_equal(_told, ["path", "finished"] as Array[String])
	check(not walker.agent.is_target_reached())


func test_who_is_disabled_has_not_reached_the_target_that_it_cannot_ask_for() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1)) + Vector2(7.0, 7.0)
	await wait_until(func() -> bool: return "path" in _told)
	walker.agent.enabled = false
	walker.agent.target_position = _map.map_to_local(Vector2i(1, 5))
	for frame: int in 60:
		await tree.physics_frame
	check("target" not in _told)


func test_bits_are_set_as_with_the_engine_s_agents() -> void:
	expect_errors(2)
	var own: NavServerAgent2D = _walker(Vector2i(1, 1)).agent
	var engine: NavigationAgent2D = NavigationAgent2D.new()
	add_node(engine)
	for bit: int in [32, 5, 1]:
		own.set_avoidance_layer_value(bit, bit != 1)
		engine.set_avoidance_layer_value(bit, bit != 1)
		own.set_avoidance_mask_value(bit, bit == 5)
		engine.set_avoidance_mask_value(bit, bit == 5)
		check_equal(own.avoidance_layers, engine.avoidance_layers)
		check_equal(own.avoidance_mask, engine.avoidance_mask)
		check_equal(own.get_avoidance_layer_value(bit), engine.get_avoidance_layer_value(bit))
		check_equal(own.get_avoidance_mask_value(bit), engine.get_avoidance_mask_value(bit))
	own.set_avoidance_layer_value(0, true)
	check(not own.get_avoidance_mask_value(33))
	check_equal(own.avoidance_layers, engine.avoidance_layers)


func test_an_edit_sends_only_those_on_the_broken_path_another_way() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	var other: Walker = _walker(Vector2i(5, 1))
	walker.speed = 0.0
	other.speed = 0.0
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	other.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 2)
	var before: PackedVector2Array = other.agent.get_current_navigation_path()
	var layer: TileMapLayer = _map.find_layers()[0]
	layer.set_cell(Vector2i(4, 3), 7, TileMaps.WALL)
	await wait_until(func() -> bool: return _told.size() == 3)
	for index: int in 10:
		await tree.physics_frame
	check_equal(_told.size(), 3)
	check_equal(other.agent.get_current_navigation_path(), before)
	walker.speed = 400.0
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(7, 1))


func test_a_target_out_of_reach() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.allow_partial_path = false
	walker.agent.target_position = _map.map_to_local(Vector2i(0, 0))
	await wait_until(func() -> bool: return not _told.is_empty())
	check_contains(_told[0], "failed 4")
	check(walker.agent.is_navigation_finished())
	walker.agent.allow_partial_path = true
	walker.agent.target_position = _map.map_to_local(Vector2i(8, 1))
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(7, 1))
	check(not walker.agent.is_target_reachable())
	check(not "target" in _told)


func test_the_newest_target_holds() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	for x: int in [5, 6, 7, 2]:
		walker.agent.target_position = _map.map_to_local(Vector2i(x, 1))
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(2, 1))
	check_equal(_told.count("path"), 1)


func test_a_target_that_is_set_anew_in_each_frame() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	var prey: Vector2 = _map.map_to_local(Vector2i(7, 1))
	# Whoever chases does so by the path that it has, since the next one is always on its way.
	await wait_until(
		func() -> bool:
			walker.agent.target_position = prey
			return _cell(walker) == Vector2i(7, 1)
	)
	check("path" in _told)
	prey = _map.map_to_local(Vector2i(5, 5))
	await wait_until(
		func() -> bool:
			walker.agent.target_position = prey
			return _cell(walker) == Vector2i(5, 5)
	)
	# The last target is asked for once the question before it is answered.
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 5))
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(7, 5))


func test_agents_that_are_moved_in_the_tree_go_on() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.speed = 0.0
	var other: Node2D = Node2D.new()
	_map.add_child(other)
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	walker.reparent(other)
	check(not walker.agent.is_navigation_finished())
	await wait_until(func() -> bool: return "path" in _told)
	walker.reparent(_map)
	await wait_until(func() -> bool: return _told.count("path") == 2)
	# It hears of its new path as it would have of the old one.
	_map.set_point_solid(Vector2i(4, 3))
	await wait_until(func() -> bool: return _told.count("path") == 3)
	walker.speed = 400.0
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(7, 1))
	walker.reparent(other)
	await tree.physics_frame
	check(walker.agent.is_navigation_finished())
	check_equal(_told.count("path"), 3)


func test_agents_that_go_before_it_is_their_turn() -> void:
	var walkers: Array[Walker] = []
	for index: int in 4:
		walkers.append(_walker(Vector2i(1, 1)))
		walkers[index].speed = 0.0
		walkers[index].agent.target_position = _map.map_to_local(Vector2i(7, 1))
	walkers[0].free()
	_map.remove_child(walkers[1])
	walkers[2].agent.stop()
	walkers[3].agent.stop()
	walkers[3].agent.target_position = _map.map_to_local(Vector2i(2, 1))
	await wait_until(func() -> bool: return "path" in _told)
	for turn: int in 5:
		await tree.physics_frame
	check_equal(_told, ["path"] as Array[String])
	check_equal(NavServer.get_connection().get_waiting_count(), 0)
	check_equal(walkers[3].agent.get_final_position(), _map.map_to_local(Vector2i(2, 1)))
	walkers[1].free()


func test_a_policy_that_changes_on_the_way() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.speed = 0.0
	walker.agent.repath_policy = NavServerAgent2D.RepathPolicy.NEVER
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 1)
	walker.agent.repath_policy = NavServerAgent2D.RepathPolicy.WHEN_CHANGED
	await wait_until(func() -> bool: return _told.size() == 2)
	_map.set_point_solid(Vector2i(2, 5))
	await wait_until(func() -> bool: return _told.size() == 3)
	walker.agent.repath_policy = NavServerAgent2D.RepathPolicy.NEVER
	_map.set_point_solid(Vector2i(3, 5))
	for turn: int in 10:
		await tree.physics_frame
	check_equal(_told.size(), 3)
	check(not walker.agent.get_current_navigation_result().cells.is_empty())


## Whoever walks looks around only as often as something may happen; that must not show. Here a body
## with two agents strays at random, and one of them has to look each time.
func test_who_looks_around_now_and_then_walks_as_who_always_does() -> void:
	var random: RandomNumberGenerator = RandomNumberGenerator.new()
	random.seed = 7
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.set_physics_process(false)
	var agents: Array[NavServerAgent2D] = [walker.agent, NavServerAgent2D.new()]
	walker.add_child(agents[1])
	var told: Array[PackedStringArray] = [PackedStringArray(), PackedStringArray()]
	for who: int in 2:
		_note(agents[who], told[who])
	var looks: int = 0
	for tick: int in 3000:
		if tick % 150 == 0:
			var target: Vector2 = _map.map_to_local(Vector2i(7, 1 + 2 * random.randi_range(0, 2)))
			_set_at_random(agents, random, target + Vector2(random.randf() * 6.0, 0.0))
			walker.position = _map.map_to_local(Vector2i(1, 1 + random.randi_range(0, 4)))
			await wait_until(_have_answers.bind(agents))
		agents[1].set("_calm_squared", 0.0)
		var finished: bool = agents[0].is_navigation_finished()
		check_equal(agents[1].is_navigation_finished(), finished)
		agents[1].set("_calm_squared", 0.0)
		var next: Vector2 = agents[0].get_next_path_position()
		check_equal(agents[1].get_next_path_position(), next)
		check_equal(
			agents[1].get_current_navigation_path_index(),
			agents[0].get_current_navigation_path_index()
		)
		check_equal(told[1], told[0])
		looks += 1 if agents[0].get("_calm_squared") == 0.0 else 0
		if not _have_answers(agents):
			# Too far from the path: both have asked anew.
			await wait_until(_have_answers.bind(agents))
		var stray: Vector2 = Vector2.from_angle(random.randf() * TAU) * random.randf() * 1.5
		walker.position = walker.position.move_toward(next, random.randf() * 3.0) + stray
	check("target" in told[0] and "finished" in told[0] and "waypoint 3" in told[0])
	check(looks < 3000)


func _note(agent: NavServerAgent2D, told: PackedStringArray) -> void:
	agent.path_changed.connect(func() -> void: told.append("path"))
	agent.target_reached.connect(func() -> void: told.append("target"))
	agent.navigation_finished.connect(func() -> void: told.append("finished"))
	agent.waypoint_reached.connect(
		func(details: Dictionary) -> void: told.append("waypoint %s" % details["index"])
	)


func _set_at_random(
	agents: Array[NavServerAgent2D], random: RandomNumberGenerator, target: Vector2
) -> void:
	var near: float = random.randf_range(1.0, 12.0)
	var most: float = [8.0, 20.0, 100.0, 0.0][random.randi_range(0, 3)]
	for agent: NavServerAgent2D in agents:
		agent.path_desired_distance = near
		agent.target_desired_distance = near
		agent.path_max_distance = most
		agent.target_position = target


func _have_answers(agents: Array[NavServerAgent2D]) -> bool:
	return agents.all(func(agent: NavServerAgent2D) -> bool: return not agent.get("_pending"))


## Agents remember with whom they ask; those that differ by now do not.
func test_what_is_changed_between_two_targets_counts() -> void:
	var walkers: Array[Walker] = [_walker(Vector2i(1, 1)), _walker(Vector2i(1, 5))]
	for walker: Walker in walkers:
		walker.agent.target_position = _map.map_to_local(Vector2i(4, 0))
	await wait_until(func() -> bool: return _told.size() == 2)
	check_equal(_told, ["path", "path"] as Array[String])
	_told.clear()
	# One asks with the other no more.
	walkers[0].agent.allow_partial_path = false
	for walker: Walker in walkers:
		walker.agent.target_position = _map.map_to_local(Vector2i(4, 0))
	await wait_until(func() -> bool: return _told.size() == 2)
	check_equal(_told.count("path"), 1)
	check(walkers[0].agent.get_current_navigation_path().is_empty())
	var profile: NavServerProfile = NavServerProfile.new()
	profile.class_costs = {0: 7.0}
	walkers[1].agent.profile = profile
	_told.clear()
	for walker: Walker in walkers:
		walker.agent.allow_partial_path = true
		walker.agent.target_position = _map.map_to_local(Vector2i(7, 5))
	await wait_until(func() -> bool: return _told.size() == 2)
	var costs: PackedFloat64Array = []
	for walker: Walker in walkers:
		var result: NavServerPathResult = walker.agent.get_current_navigation_result()
		costs.append(result.cost / result.path_length)
	check_near(costs[0], 1.0, 1e-6)
	check_near(costs[1], 7.0, 1e-6)


func test_who_is_told_may_ask_where_the_agent_stands() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	var indices: Array[int] = []
	walker.agent.waypoint_reached.connect(
		func(details: Dictionary) -> void:
			check(not walker.agent.is_navigation_finished())
			walker.agent.get_next_path_position()
			indices.append(details["index"])
	)
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return "finished" in _told)
	var points: int = walker.agent.get_current_navigation_path().size()
	# The target is reached before its point is.
	check_equal(indices, range(1, points - 1) as Array[int])


func test_who_is_told_may_wait_for_another_path() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.target_reached.connect(
		func() -> void:
			walker.agent.target_position = _map.map_to_local(Vector2i(1, 5))
			# The answer comes meanwhile.
			for turn: int in 20:
				_map.get_id_path(Vector2i(1, 1), Vector2i(7, 1)),
		CONNECT_ONE_SHOT
	)
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return "finished" in _told)
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(1, 5))
	check_equal(_told.count("target"), 2)


func test_a_policy_that_ends_and_a_target_that_is_kept() -> void:
	var walkers: Array[Walker] = [_walker(Vector2i(1, 1)), _walker(Vector2i(1, 2))]
	walkers[0].speed = 0.0
	walkers[0].agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 1)
	walkers[0].agent.repath_policy = NavServerAgent2D.RepathPolicy.NEVER
	for y: int in range(1, 5):
		_map.set_point_solid(Vector2i(4, y))
	walkers[1].agent.enabled = false
	walkers[1].agent.target_position = _map.map_to_local(Vector2i(3, 1))
	_map.remove_child(walkers[1])
	_map.add_child(walkers[1])
	walkers[1].agent.enabled = true
	await wait_until(func() -> bool: return "finished" in _told)
	check_equal(_told, ["path", "path", "target", "finished"] as Array[String])


## Who sets a target again and again, slower than in each frame but faster than it is answered.
func test_targets_that_come_faster_than_answers() -> void:
	var walkers: Array[Walker] = []
	for index: int in 150:
		walkers.append(_walker(Vector2i(1 + index % 3, 1 + index % 4)))
	for turn: int in 30:
		for walker: Walker in walkers:
			walker.agent.target_position = _map.map_to_local(Vector2i(5 + turn % 3, 1))
		for frame: int in 6:
			await tree.physics_frame
	for walker: Walker in walkers:
		check(walker.position.x > 80.0)


func test_those_who_ask_in_vain_leave_others_their_turn() -> void:
	var holder: Node2D = Node2D.new()
	add_node(holder)
	var nowhere: NavServerMap2D = NavServerMap2D.new()
	for index: int in 200:
		var body: Node2D = Node2D.new()
		var agent: NavServerAgent2D = NavServerAgent2D.new()
		agent.map = nowhere
		body.add_child(agent)
		holder.add_child(body)
		agent.path_failed.connect(
			func(_status: NavServerPathResult.Status, _reason: String) -> void:
				agent.target_position = Vector2.ONE
		)
		agent.target_position = Vector2.ONE
	await tree.physics_frame
	expect_errors(200)
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	var frames: int = 0
	while _told.is_empty() and frames < 200:
		await tree.process_frame
		frames += 1
	check_equal(_told, ["path"] as Array[String])
	holder.free()
	nowhere.free()


func test_lockstep_does_not_wait_for_those_who_ask_anew_each_time() -> void:
	var nowhere: NavServerMap2D = NavServerMap2D.new()
	var failed: PackedInt32Array = [0, 0]
	for index: int in 2:
		var agent: NavServerAgent2D = _walker(Vector2i(1, 1)).agent
		agent.map = [nowhere, _map][index]
		agent.allow_partial_path = false
		agent.target_position = Vector2.ZERO
		agent.path_failed.connect(
			func(_status: NavServerPathResult.Status, _reason: String) -> void:
				failed[index] += 1
				agent.target_position = Vector2.ZERO
		)
	# Of the agent without a map.
	expect_errors(1)
	var connection: NavServerConnection = NavServer.get_connection()
	connection.lockstep = true
	var frames: int = Engine.get_process_frames()
	await wait_until(func() -> bool: return failed[0] > 2 and failed[1] > 2)
	frames = Engine.get_process_frames() - frames
	# There are at most eight physics steps in a frame.
	check(maxi(failed[0], failed[1]) <= 9 * frames, "%s in %d frames" % [failed, frames])
	var walker: Walker = _walker(Vector2i(1, 1))
	_told.clear()
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await tree.process_frame
	await tree.process_frame
	check(_told.has("path"), str(_told))
	connection.lockstep = false
	nowhere.free()


func test_disabled_agents_and_agents_without_a_map() -> void:
	expect_errors(1)
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.enabled = false
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	for index: int in 5:
		await tree.physics_frame
	check_equal(_told.size(), 0)
	check(walker.agent.is_navigation_finished())
	walker.agent.enabled = true
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(7, 1))
	_told.clear()
	var second: NavServerMap2D = NavServerMap2D.new()
	second.region = Rect2i(0, 0, 2, 2)
	add_node(second)
	var lost: Walker = Walker.new()
	add_node(lost)
	lost.agent.path_failed.connect(
		func(_status: NavServerPathResult.Status, reason: String) -> void: _told.append(reason)
	)
	lost.agent.target_position = Vector2.ONE
	await wait_until(func() -> bool: return not _told.is_empty())
	check_contains(_told[0], "has no map")
	check_contains(str(lost.agent.call("_get_configuration_warnings")), "There are 2 maps")


func test_a_rebuilt_map_is_a_changed_one() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.speed = 1.0
	walker.agent.repath_policy = NavServerAgent2D.RepathPolicy.WHEN_CHANGED
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 1)
	var layer: TileMapLayer = _map.get_child(0)
	layer.set_cell(Vector2i(4, 5), 0, layer.get_cell_atlas_coords(Vector2i(0, 0)))
	_map.rebuild()
	await wait_until(func() -> bool: return _told.size() == 2)
	# Whoever finds the paths instead has the same map.
	NavServer.get_connection().backend_changed.emit()
	await _map.map_ready
	for frame: int in 5:
		await tree.physics_frame
	check_equal(_told, ["path", "path"] as Array[String])


func test_a_rebuilt_map_that_others_take_over_is_a_changed_one_yet() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.speed = 1.0
	walker.agent.repath_policy = NavServerAgent2D.RepathPolicy.WHEN_CHANGED
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 1)
	_map.rebuild()
	NavServer.get_connection().backend_changed.emit()
	await wait_until(func() -> bool: return _told.size() == 2)


## Walks to the other room while something happens in each frame; tells how often a path came.
func _walk_while(policy: NavServerAgent2D.RepathPolicy, happening: Callable) -> int:
	_told.clear()
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.speed = 120.0
	walker.agent.repath_policy = policy
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(
		func() -> bool:
			happening.call(walker.agent)
			return walker.agent.is_target_reached()
	)
	walker.free()
	return _told.count("path")


func test_what_changes_in_each_frame_does_not_keep_agents_from_walking() -> void:
	var changes: Callable = func(_agent: NavServerAgent2D) -> void:
		_map.set_point_solid(Vector2i(1, 5), Engine.get_physics_frames() % 2 == 0)
	var paths: int = await _walk_while(NavServerAgent2D.RepathPolicy.WHEN_CHANGED, changes)
	check(paths > 5, "%d paths" % paths)
	check_equal(await _walk_while(NavServerAgent2D.RepathPolicy.NEVER, changes), 1)


func test_who_waits_for_a_path_elsewhere_stands_while_the_map_changes() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.agent.repath_policy = NavServerAgent2D.RepathPolicy.WHEN_CHANGED
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 1)
	for frame: int in 6:
		await tree.physics_frame
	walker.agent.target_position = _map.map_to_local(Vector2i(1, 5))
	var stood: Vector2 = walker.position
	while _told.size() == 1:
		check_equal(walker.position, stood)
		_map.set_point_solid(Vector2i(7, 5), Engine.get_physics_frames() % 2 == 0)
		await tree.physics_frame
	await wait_until(walker.agent.is_target_reached)


func test_the_same_map_and_profile_set_in_each_frame_ask_for_nothing() -> void:
	var profile: NavServerProfile = NavServerProfile.new()
	var sets: Callable = func(agent: NavServerAgent2D) -> void:
		agent.profile = profile
		agent.map = _map
	var paths: int = await _walk_while(NavServerAgent2D.RepathPolicy.WHEN_BROKEN, sets)
	check_equal(paths, 1)


func test_costs_of_a_profile_that_change_are_heard_of() -> void:
	_map.set_point_solid(Vector2i(4, 5), false)
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.speed = 1.0
	walker.agent.profile = NavServerProfile.new()
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 1)
	walker.agent.profile.class_costs = {0: 2.0}
	await wait_until(func() -> bool: return _told.size() == 2)
	var result: NavServerPathResult = walker.agent.get_current_navigation_result()
	check_near(result.cost, 2.0 * result.path_length, 1e-4)
	walker.agent.repath_policy = NavServerAgent2D.RepathPolicy.NEVER
	walker.agent.profile.class_costs = {0: 3.0}
	for frame: int in 10:
		await tree.physics_frame
	check_equal(_told.size(), 2)


func test_who_hears_of_a_map_may_take_others_off_it() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.speed = 1.0
	_map.map_ready.connect(func() -> void: walker.remove_child(walker.agent), CONNECT_ONE_SHOT)
	walker.agent.repath_policy = NavServerAgent2D.RepathPolicy.WHEN_CHANGED
	await _map.map_ready
	_map.map_ready.connect(func() -> void: walker.remove_child(walker.agent), CONNECT_ONE_SHOT)
	walker.add_child(walker.agent)
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 1)
	_map.rebuild()
	await _map.map_ready
	check(walker.agent.get_parent() == null)
	walker.agent.free()
	walker.set_physics_process(false)


func test_who_walks_otherwise_asks_anew() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.speed = 1.0
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return _told.size() == 1)
	var wide: NavServerProfile = NavServerProfile.new()
	wide.size = 2
	walker.agent.profile = wide
	check(not walker.agent.is_navigation_finished())
	await wait_until(func() -> bool: return _told.size() > 1)
	# The door is one cell wide.
	check(not walker.agent.is_target_reachable(), str(_told))
	walker.agent.stop()
	_told.clear()
	walker.agent.profile = null
	for frame: int in 5:
		await tree.physics_frame
	check_equal(_told.size(), 0)


func test_who_is_told_of_the_target_may_put_the_agent_elsewhere() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	var holder: Node2D = Node2D.new()
	_map.add_child(holder)
	walker.agent.target_reached.connect(
		func() -> void:
			check(walker.agent.is_navigation_finished())
			walker.reparent(holder)
	)
	walker.agent.target_position = _map.map_to_local(Vector2i(3, 1))
	await wait_until(func() -> bool: return "finished" in _told)
	for frame: int in 5:
		await tree.physics_frame
	check_equal(_told, ["path", "target", "finished"] as Array[String])


func test_distances_that_are_none() -> void:
	expect_errors(3)
	var agent: NavServerAgent2D = _walker(Vector2i(1, 1)).agent
	agent.path_desired_distance = NAN
	agent.target_desired_distance = -1.0
	agent.path_max_distance = NAN
	check_equal(agent.path_desired_distance, 4.0)
	check_equal(agent.target_desired_distance, 4.0)
	check_equal(agent.path_max_distance, 100.0)


func test_agents_of_another_peer_ask_for_nothing() -> void:
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.set_multiplayer_authority(2)
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_told.size(), 0)
	# The target that it got meanwhile holds.
	walker.set_multiplayer_authority(1)
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(7, 1))


func test_a_target_that_is_set_before_the_agent_is_in_the_tree() -> void:
	var walker: Walker = Walker.new()
	walker.position = _map.map_to_local(Vector2i(1, 1))
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	_map.add_child(walker)
	check(not walker.agent.is_navigation_finished())
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(7, 1))


func test_places_that_are_none() -> void:
	expect_errors(3)
	var walker: Walker = _walker(Vector2i(1, 1))
	for place: Vector2 in [Vector2(NAN, NAN), Vector2(INF, 0.0)] as Array[Vector2]:
		walker.agent.target_position = place
		check(walker.agent.is_navigation_finished())
	# No 32 bits name its cell.
	walker.agent.target_position = Vector2(1e35, 0.0)
	await wait_until(func() -> bool: return not walker.agent.is_navigation_finished())
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check(not walker.agent.is_target_reachable())
	check_equal(_cell(walker), Vector2i(1, 1))
	walker.agent.radius = NAN
	check_equal(walker.agent.radius, 10.0)


func test_an_agent_below_what_has_no_place() -> void:
	expect_errors(1)
	var below: Node = Node.new()
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	agent.path_failed.connect(
		func(_status: NavServerPathResult.Status, reason: String) -> void: _told.append(reason)
	)
	below.add_child(agent)
	_map.add_child(below)
	for turn: int in 2:
		agent.target_position = Vector2(24, 24)
		await wait_until(func() -> bool: return _told.size() > turn)
	check_contains(_told[1], "put it below the Node2D that is to walk")


func test_a_map_that_is_freed() -> void:
	expect_errors(1)
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.reparent(tree.root)
	walker.agent.map = _map
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	walker.agent.avoidance_enabled = true
	await wait_until(func() -> bool: return not _told.is_empty())
	_map.free()
	walker.agent.avoidance_enabled = false
	walker.agent.avoidance_enabled = true
	# It goes on to where the path ends, and complains once it is sent somewhere.
	for turn: int in 3:
		await tree.physics_frame
	walker.agent.target_position = Vector2(8, 8)
	await wait_until(func() -> bool: return "failed" in _told[-1])
	check_contains(_told[-1], "has no map")
	before_each()
	walker.agent.target_position = _map.map_to_local(Vector2i(3, 1))
	await wait_until(func() -> bool: return walker.agent.is_navigation_finished())
	check_equal(_cell(walker), Vector2i(3, 1))
	walker.free()


func test_who_is_told_may_free_the_map_that_others_have_just_asked() -> void:
	expect_errors(2)
	var walker: Walker = _walker(Vector2i(1, 1))
	walker.reparent(tree.root)
	var lost: Walker = Walker.new()
	add_node(lost)
	var nowhere: NavServerMap2D = NavServerMap2D.new()
	lost.agent.map = nowhere
	lost.agent.path_failed.connect(
		func(_status: NavServerPathResult.Status, _reason: String) -> void: _map.free()
	)
	walker.agent.target_position = _map.map_to_local(Vector2i(7, 1))
	lost.agent.target_position = Vector2.ONE
	await wait_until(func() -> bool: return not _told.is_empty())
	check_contains(_told[0], "has no map")
	walker.free()
	nowhere.free()
