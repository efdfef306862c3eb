extends "test_case.gd"
## Requests for bodies that cannot be, and paths that are watched, on the fallback.

const FallbackWorld := preload("res://addons/navserver/internal/fallback_world.gd")
const TileMaps := preload("tile_maps.gd")
const TileTable := preload("res://addons/navserver/internal/tile_table.gd")
const WorldState := preload("res://addons/navserver/internal/world_state.gd")

const _ROOMS: Array[String] = TileMaps.ROOMS

var _map: NavServerMap2D = null


func before_each() -> void:
	_map = NavServerMap2D.new()
	_map.add_child(TileMaps.layer(_ROOMS, TileMaps.tile_set()))
	_map.timeout_msec = 1000
	add_node(_map)


func _query(from: Vector2i, to: Vector2i) -> NavServerPathQuery:
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = _map.to_global(_map.map_to_local(from))
	query.target_position = _map.to_global(_map.map_to_local(to))
	return query


func test_a_body_that_cannot_be_fails_alone() -> void:
	for size: int in [-1, 33, 257, 100_000]:
		var query: NavServerPathQuery = _query(Vector2i(1, 1), Vector2i(7, 1))
		query.size = size
		var request: NavServerPathRequest = _map.find_path(query)
		var other: NavServerPathRequest = _map.find_path(_query(Vector2i(1, 1), Vector2i(7, 1)))
		var result: NavServerPathResult = await request.wait()
		check_equal(result.status, NavServerPathResult.Status.FAILED)
		check_equal(result.reason, "size is %d; give 1 to 32 cells, or 0 for the profile's" % size)
		check_equal((await other.wait()).status, NavServerPathResult.Status.FOUND)
	# An edit looks at the cells that a body of each size may stand on.
	_map.set_point_solid(Vector2i(4, 3))
	check(_map.get_id_path(Vector2i(1, 1), Vector2i(7, 1)).is_empty())
	var largest: NavServerPathQuery = _query(Vector2i(1, 1), Vector2i(7, 1))
	largest.size = 32
	var blocked: NavServerPathResult = await _map.find_path(largest).wait()
	check_equal(blocked.status, NavServerPathResult.Status.START_BLOCKED)
	var profile: NavServerProfile = NavServerProfile.new()
	for size: int in [0, 1000]:
		profile.size = size
		check_equal(profile.size, clampi(size, 1, 32))


func _take_out_and_put_back() -> void:
	tree.root.remove_child(_map)
	for frame: int in 3:
		await tree.process_frame
	tree.root.add_child(_map)


func _watched(told: Array[int]) -> NavServerPathRequest:
	var query: NavServerPathQuery = _query(Vector2i(1, 1), Vector2i(7, 1))
	query.watch = true
	var request: NavServerPathRequest = _map.find_path(query)
	request.invalidated.connect(func(index: int) -> void: told.append(index))
	check_equal((await request.wait()).status, NavServerPathResult.Status.FOUND)
	return request


func test_a_status_that_is_unknown_is_told_as_such() -> void:
	var removed: NavServerPathResult = NavServerPathResult.of_number(10)
	check_equal(removed.status, NavServerPathResult.Status.FAILED)
	check_contains(removed.reason, "the map was removed")
	for number: int in [11, 255, -1]:
		var unknown: NavServerPathResult = NavServerPathResult.of_number(number)
		check_equal(unknown.status, NavServerPathResult.Status.FAILED)
		check_contains(unknown.reason, "status %d is unknown" % number)
		check_contains(unknown.reason, "different versions")


func test_a_map_that_is_made_anew_breaks_watched_paths() -> void:
	var walls: TileMapLayer = TileMaps.layer(["#"], TileMaps.tile_set())
	walls.enabled = false
	_map.add_child(walls)
	var changes: Dictionary[String, Callable] = {
		"rebuild": _map.rebuild,
		"layer": walls.set_enabled.bind(true),
		"tile set": walls.set_tile_set.bind(TileMaps.tile_set()),
		"region": _map.set.bind("region", Rect2i(0, 0, 9, 5)),
		"mode": _map.set.bind("diagonal_mode", AStarGrid2D.DIAGONAL_MODE_NEVER),
		"tree": _take_out_and_put_back,
	}
	for change: String in changes:
		var told: Array[int] = []
		var request: NavServerPathRequest = await _watched(told)
		changes[change].call()
		await wait_until(func() -> bool: return told == [0], 10.0, change)
		check(request.is_completed())


func test_agents_do_not_walk_through_walls_of_a_new_layer() -> void:
	var body: Node2D = Node2D.new()
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	body.add_child(agent)
	body.position = _map.map_to_local(Vector2i(1, 1))
	_map.add_child(body)
	agent.target_position = _map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return agent.is_target_reachable(), 10.0)
	check(_map.map_to_local(Vector2i(4, 3)) in agent.get_current_navigation_path())
	var walls: TileMapLayer = TileMaps.layer(["", "", "", "    #"], TileMaps.tile_set())
	_map.add_child(walls)
	_map.rebuild()
	await wait_until(func() -> bool: return not agent.is_target_reachable(), 10.0)


func test_a_request_that_nobody_keeps_ends_its_watch() -> void:
	var query: NavServerPathQuery = _query(Vector2i(1, 1), Vector2i(7, 1))
	query.watch = true
	await _map.find_path(query).wait()
	var before: float = Performance.get_monitor(Performance.OBJECT_COUNT)
	for index: int in 100:
		_map.find_path(query)
	await _map.find_path(query).wait()
	for frame: int in 3:
		await tree.process_frame
	check(Performance.get_monitor(Performance.OBJECT_COUNT) < before + 50)
	var told: Array[int] = []
	var request: NavServerPathRequest = _map.find_path(query)
	request.invalidated.connect(func(index: int) -> void: told.append(index))
	# While the answer is on its way.
	request.unwatch()
	check((await request.wait()).has_path())
	_map.set_point_solid(Vector2i(4, 3))
	check(_map.get_id_path(Vector2i(1, 1), Vector2i(7, 1)).is_empty())
	check_equal(told.size(), 0)


func test_a_search_of_the_fallback_breaks_off_when_the_game_ends() -> void:
	var world: WorldState = WorldState.new()
	world.region = Rect2i(0, 0, 100, 100)
	world.classes.resize(100 * 100)
	# Rows read, every 4096th cell of islands, rows set, and the search itself.
	for looks: int in [1, 50, 102, 150, 203]:
		var left: Array[int] = [looks]
		var must_stop: Callable = func() -> bool:
			left[0] -= 1
			return left[0] < 1
		var held: FallbackWorld = FallbackWorld.new(world, must_stop)
		var result: NavServerPathResult = held.find_path(
			Vector2i.ZERO, Vector2i(99, 99), "default", 1, false, PackedInt32Array()
		)
		check_equal(result.status, NavServerPathResult.Status.CANCELLED)
		check(left[0] > -3, "it goes on after look %d" % looks)


func test_reading_tiles_breaks_off_when_the_game_ends() -> void:
	var looks: Array[int] = [0]
	var must_stop: Callable = func() -> bool:
		looks[0] += 1
		return true
	var world: WorldState = WorldState.new()
	world.region = Rect2i(0, 0, 9, 6)
	world.blobs = [_map.find_layers()[0].tile_map_data]
	world.tile_table = PackedInt32Array([0, 7, 0, 0, 0, 0])
	check_equal(TileTable.read_classes(world).count(0), 25)
	check_equal(TileTable.read_classes(world, must_stop).count(0), 0)
	check_equal(looks, [1])


func test_profiles_that_come_and_go_are_forgotten() -> void:
	var names: Dictionary[String, bool] = {}
	var kept: NavServerProfile = NavServerProfile.new()
	kept.class_costs = {0: 3.0}
	var requests: Array[NavServerPathRequest] = []
	for index: int in 300:
		var query: NavServerPathQuery = _query(Vector2i(1, 1), Vector2i(1, 2))
		query.profile = NavServerProfile.new()
		query.profile.class_costs = {0: 1.0 + index}
		names[_map.get_profile_name(query.profile)] = true
		if index < 3:
			# Nobody keeps the profile, which has yet to be searched with.
			requests.append(_map.find_path(query))
		check_equal(_map.get_profile_name(kept), "profile-2")
	check_equal(names.size(), 4)
	for index: int in 3:
		check_near((await requests[index].wait()).cost, 1.0 + index, 1e-6)
	kept.class_costs = {0: 5.0}
	var last: NavServerPathQuery = _query(Vector2i(1, 1), Vector2i(1, 2))
	last.profile = kept
	check_near((await _map.find_path(last).wait()).cost, 5.0, 1e-6)
