extends "../test_case.gd"
## Agents that avoid each other, crowds and walls, by a real sidecar of the connection file
## [code]file=[/code].
##
## Whoever started the sidecar starts it again when it ends.

const TileMaps := preload("../tile_maps.gd")

const _HALL: Array[String] = [
	"###############",
	"#.............#",
	"#.............#",
	"#.............#",
	"#.............#",
	"#.............#",
	"###############",
]
const _RADIUS: float = 6.0

var _connection: NavServerConnection = NavServer.get_connection()
var _map: NavServerMap2D = null
var _agents: Array[NavServerAgent2D] = []
var _told: Dictionary[NavServerAgent2D, int] = {}
var _nearest: float = INF
var _in_walls: int = 0


func before_each() -> void:
	_connection.stop_sidecar()
	_connection.follow_connection_file(parameters["file"])
	await wait_until(NavServer.is_available, 60.0, "for the sidecar")
	# Answers come in time however slow the machine is.
	_connection.lockstep = true
	_map = NavServerMap2D.new()
	_map.position = Vector2(-30.0, 12.0)
	_map.add_child(TileMaps.layer(_HALL, TileMaps.tile_set()))
	add_node(_map)
	tree.physics_frame.connect(_walk)


func after_each() -> void:
	tree.physics_frame.disconnect(_walk)
	tree.paused = false
	_connection.lockstep = false
	free_nodes()
	_connection.stop_sidecar()


func _at(cell: Vector2i) -> Vector2:
	return _map.to_global(_map.map_to_local(cell))


func _make_agent(cell: Vector2i) -> NavServerAgent2D:
	var body: Node2D = Node2D.new()
	_map.add_child(body)
	body.global_position = _at(cell)
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	agent.radius = _RADIUS
	agent.max_speed = 80.0
	agent.avoidance_enabled = true
	agent.velocity_computed.connect(_move.bind(agent))
	body.add_child(agent)
	_agents.append(agent)
	_told[agent] = 0
	return agent


func _body_of(agent: NavServerAgent2D) -> Node2D:
	return agent.get_parent()


## What a player's script does in its _physics_process.
func _walk() -> void:
	for agent: NavServerAgent2D in _agents:
		var here: Vector2 = _body_of(agent).global_position
		if agent.is_navigation_finished():
			agent.velocity = Vector2.ZERO
		else:
			agent.velocity = here.direction_to(agent.get_next_path_position()) * 80.0


func _move(safe_velocity: Vector2, agent: NavServerAgent2D) -> void:
	var body: Node2D = _body_of(agent)
	check(safe_velocity.length() < 80.1, "%s is faster than it can" % safe_velocity)
	body.global_position += safe_velocity / Engine.physics_ticks_per_second
	_told[agent] += 1
	_in_walls += int(_map.is_point_solid(_map.global_to_map(body.global_position)))
	for other: NavServerAgent2D in _agents:
		if other != agent:
			var away: float = body.global_position.distance_to(_body_of(other).global_position)
			_nearest = minf(_nearest, away)


func _is_near(agent: NavServerAgent2D, cell: Vector2i) -> bool:
	return _body_of(agent).global_position.distance_to(_at(cell)) < 8.0


func _count_movers() -> int:
	return _map.get_movers().get_avoiders(_map).count_movers()


## Sends two, who stand at either end of the row, to where the other one is.
func _let_change_places(left: NavServerAgent2D, right: NavServerAgent2D) -> void:
	left.target_position = _at(Vector2i(12, 3))
	right.target_position = _at(Vector2i(2, 3))
	await wait_until(
		func() -> bool: return _is_near(left, Vector2i(12, 3)) and _is_near(right, Vector2i(2, 3)),
		30.0,
		"for both to arrive"
	)
	check(_nearest > 2.0 * _RADIUS - 1.0, "they came as near as %.2f px" % _nearest)


func test_two_who_meet_change_places() -> void:
	var left: NavServerAgent2D = _make_agent(Vector2i(2, 3))
	var right: NavServerAgent2D = _make_agent(Vector2i(12, 3))
	await wait_until(func() -> bool: return _count_movers() == 2, 20.0, "for movers")
	await _let_change_places(left, right)
	check_equal(_in_walls, 0, "positions in walls")


func test_they_go_on_without_the_sidecar() -> void:
	var left: NavServerAgent2D = _make_agent(Vector2i(2, 2))
	var right: NavServerAgent2D = _make_agent(Vector2i(12, 4))
	await wait_until(func() -> bool: return _count_movers() == 2, 20.0, "for movers")
	left.target_position = _at(Vector2i(12, 2))
	right.target_position = _at(Vector2i(2, 4))
	await wait_until(
		func() -> bool: return _body_of(left).global_position.x > _at(Vector2i(3, 0)).x
	)
	var fields: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(parameters["file"]))
	_connection.lockstep = false
	OS.kill(int(str(fields["pid"]).to_float()))
	_told[left] = 0
	await wait_until(
		func() -> bool: return _is_near(left, Vector2i(12, 2)) and _is_near(right, Vector2i(2, 4)),
		30.0,
		"for both to arrive"
	)
	check(_told[left] > 10, "told %d times" % _told[left])
	check_equal(_in_walls, 0, "positions in walls")
	# Once there is a sidecar again, they avoid each other again.
	await wait_until(func() -> bool: return _count_movers() == 2, 60.0, "for movers")


func test_they_go_around_the_units_of_a_crowd() -> void:
	var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
	crowd.area_of_interest = NavServerCrowd2D.AreaOfInterest.EVERYWHERE
	crowd.radius = _RADIUS
	_map.add_child(crowd)
	var ids: PackedInt64Array = crowd.spawn([_at(Vector2i(7, 3)), _at(Vector2i(8, 3))])
	var agent: NavServerAgent2D = _make_agent(Vector2i(2, 3))
	await wait_until(func() -> bool: return _count_movers() == 1, 20.0, "for movers")
	var nearest: Array[float] = [INF]
	crowd.units_moved.connect(
		func() -> void:
			for point: Vector2 in crowd.get_positions():
				nearest[0] = minf(nearest[0], point.distance_to(_body_of(agent).global_position))
	)
	agent.target_position = _at(Vector2i(12, 3))
	await wait_until(func() -> bool: return _is_near(agent, Vector2i(12, 3)), 30.0, "to arrive")
	# A step on, both have moved.
	check(nearest[0] > 2.0 * _RADIUS - 3.0, "it came as near as %.2f px" % nearest[0])
	check_equal(crowd.get_unit_ids(), ids, "the crowd has its own units alone")
	var drawn: MultiMeshInstance2D = crowd.get_child(0, true)
	check_equal(drawn.multimesh.visible_instance_count, 2)
	check_equal(_in_walls, 0, "positions in walls")


func test_who_leaves_is_in_nobodys_way() -> void:
	var agent: NavServerAgent2D = _make_agent(Vector2i(2, 3))
	var other: NavServerAgent2D = _make_agent(Vector2i(7, 3))
	await wait_until(func() -> bool: return _count_movers() == 2, 20.0, "for movers")
	other.avoidance_enabled = false
	check_equal(_count_movers(), 1)
	var before: int = _told[other]
	agent.target_position = _at(Vector2i(12, 3))
	await wait_until(func() -> bool: return _is_near(agent, Vector2i(12, 3)), 30.0, "to arrive")
	check_equal(_told[other], before)
	other.avoidance_enabled = true
	await wait_until(func() -> bool: return _count_movers() == 2, 20.0, "for movers")
	_agents.erase(other)
	_body_of(other).free()
	check_equal(_count_movers(), 1)


func test_properties_and_pauses() -> void:
	var agent: NavServerAgent2D = _make_agent(Vector2i(2, 3))
	await wait_until(func() -> bool: return _count_movers() == 1, 20.0, "for movers")
	agent.max_speed = 20.0
	agent.avoidance_priority = 0.5
	agent.avoidance_layers = 1 << 31
	var velocities: PackedVector2Array = PackedVector2Array()
	agent.velocity_computed.connect(
		func(safe_velocity: Vector2) -> void: velocities.append(safe_velocity)
	)
	agent.target_position = _at(Vector2i(12, 3))
	await wait_until(
		func() -> bool: return _body_of(agent).global_position.x > _at(Vector2i(3, 0)).x
	)
	check(velocities[-1].length() < 20.1 and velocities[-1].x > 15.0, str(velocities[-1]))
	tree.paused = true
	await tree.physics_frame
	var count: int = velocities.size()
	for frame: int in 5:
		await tree.physics_frame
	check_equal(velocities.size(), count, "told while the game is paused")
	tree.paused = false
	# A velocity that is forced is told once, and is that of the body from then on.
	agent.stop()
	agent.set_velocity_forced(Vector2(0.0, 20.0))
	await wait_until(func() -> bool: return velocities.size() > count + 5)
	check_equal(_count_movers(), 1)


func test_one_that_is_nowhere_or_too_fast_keeps_nobody_from_moving() -> void:
	# That it is nowhere.
	expect_errors(1)
	var left: NavServerAgent2D = _make_agent(Vector2i(2, 3))
	var right: NavServerAgent2D = _make_agent(Vector2i(12, 3))
	var odd: NavServerAgent2D = _make_agent(Vector2i(7, 1))
	# Nobody moves this one.
	_agents.erase(odd)
	odd.velocity_computed.disconnect(_move)
	await wait_until(func() -> bool: return _count_movers() == 3, 20.0, "for movers")
	odd.set_velocity_forced(Vector2(1e30, 0.0))
	for frame: int in 2:
		await tree.physics_frame
	odd.max_speed = 1e18
	odd.velocity = Vector2(1e18, 0.0)
	for frame: int in 2:
		await tree.physics_frame
	_body_of(odd).global_position = Vector2(NAN, 0.0)
	await _let_change_places(left, right)
	check_equal(_count_movers(), 2)
	_body_of(odd).global_position = _at(Vector2i(7, 1))
	await wait_until(func() -> bool: return _count_movers() == 3, 20.0, "for it to come back")


func test_who_is_deep_in_walls_keeps_nobody_from_avoiding() -> void:
	# The one in walls, once.
	expect_errors(1)
	_map.region = Rect2i(0, 0, 60, 60)
	await _map.map_ready
	var deep: NavServerAgent2D = _make_agent(Vector2i(50, 50))
	# It counts as beside the map.
	var beyond: NavServerAgent2D = _make_agent(Vector2i(-500, 3))
	for agent: NavServerAgent2D in [deep, beyond] as Array[NavServerAgent2D]:
		agent.velocity_computed.disconnect(_move)
		_agents.erase(agent)
	var left: NavServerAgent2D = _make_agent(Vector2i(2, 3))
	var right: NavServerAgent2D = _make_agent(Vector2i(12, 3))
	await wait_until(func() -> bool: return _count_movers() == 3, 20.0, "for movers")
	await _let_change_places(left, right)
	_body_of(deep).global_position = _at(Vector2i(7, 1))
	await wait_until(func() -> bool: return _count_movers() == 4, 20.0, "for it to come out")


func test_who_is_told_may_free_the_map() -> void:
	var count: Array[int] = [0]
	for y: int in range(1, 5):
		var body: Node2D = Node2D.new()
		body.position = _at(Vector2i(1, y))
		add_node(body)
		var agent: NavServerAgent2D = NavServerAgent2D.new()
		agent.avoidance_enabled = true
		agent.velocity = Vector2(-500.0, 0.0)
		agent.velocity_computed.connect(
			func(_safe_velocity: Vector2) -> void:
				count[0] += 1
				if count[0] == 6:
					_map.free()
		)
		body.add_child(agent)
	await wait_until(func() -> bool: return count[0] >= 6)
	for frame: int in 3:
		await tree.physics_frame
	check_equal(count[0], 6, "told of a map that is not there")
