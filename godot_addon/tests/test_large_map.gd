extends "test_case.gd"
## Maps that are too large to be read within the frame that asks.

const TileMaps := preload("tile_maps.gd")

const _SIDE: int = 200

var _layers: Array[TileMapLayer] = []
var _map: NavServerMap2D = null


func before_each() -> void:
	_map = NavServerMap2D.new()
	var row: String = ".".repeat(_SIDE)
	var picture: Array[String] = []
	picture.resize(_SIDE)
	picture.fill(row)
	for index: int in 2:
		_layers.append(TileMaps.layer(picture, TileMaps.tile_set(), NavServerTileMapLayer))
		_map.add_child(_layers[-1])
	add_node(_map)


func _ask(to: Vector2i) -> NavServerPathRequest:
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = _map.map_to_local(Vector2i.ZERO)
	query.target_position = _map.map_to_local(to)
	return _map.find_path(query)


func test_what_is_asked_meanwhile_is_answered() -> void:
	check(not _map.is_read())
	check(_map.is_in_boundsv(Vector2i(_SIDE - 1, 0)))
	check(not _map.is_in_boundsv(Vector2i(_SIDE, 0)))
	var body: Node2D = Node2D.new()
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	body.add_child(agent)
	_map.add_child(body)
	agent.target_position = _map.map_to_local(Vector2i(9, 9))
	var request: NavServerPathRequest = _ask(Vector2i(5, 0))
	check_equal((await request.wait()).status, NavServerPathResult.Status.FOUND)
	await wait_until(agent.is_target_reachable)
	check(_map.is_read())


func test_what_is_painted_meanwhile_holds() -> void:
	for x: int in _SIDE:
		_layers[1].set_cell(Vector2i(x, 3), 7, TileMaps.WALL)
	var request: NavServerPathRequest = _ask(Vector2i(0, 9))
	check_equal((await request.wait()).status, NavServerPathResult.Status.UNREACHABLE)
	_map.rebuild()
	await tree.process_frame
	_layers[1].set_cell(Vector2i(7, 3), 7, TileMaps.GROUND)
	_map.set_point_solid(Vector2i(0, 9))
	await tree.process_frame
	check_equal((await _ask(Vector2i(1, 9)).wait()).status, NavServerPathResult.Status.FOUND)
	check_equal((await _ask(Vector2i(0, 9)).wait()).status, NavServerPathResult.Status.GOAL_BLOCKED)


func test_a_map_that_leaves_before_it_is_read_fails_what_was_asked() -> void:
	var request: NavServerPathRequest = _ask(Vector2i(5, 0))
	await tree.process_frame
	check(not _map.is_read())
	tree.root.remove_child(_map)
	await tree.process_frame
	check_equal(request.result.status, NavServerPathResult.Status.FAILED)
	check_contains(request.result.reason, "the map is gone")
	tree.root.add_child(_map)
	check_equal((await _ask(Vector2i(5, 0)).wait()).status, NavServerPathResult.Status.FOUND)


func test_a_call_that_blocks_reads_as_much_as_it_has_time_for() -> void:
	_map.timeout_msec = 30_000
	check_equal(_map.get_id_path(Vector2i.ZERO, Vector2i(3, 0)).size(), 4)


func test_a_map_is_read_while_the_game_is_paused_or_the_level_disabled() -> void:
	for mode: Node.ProcessMode in [Node.PROCESS_MODE_INHERIT, Node.PROCESS_MODE_DISABLED]:
		_map.process_mode = mode
		tree.paused = mode == Node.PROCESS_MODE_INHERIT
		_map.rebuild()
		var request: NavServerPathRequest = _ask(Vector2i(5, 0))
		await wait_until(request.is_completed, 5.0)
		tree.paused = false
		check(_map.is_read())
		check(request.is_completed() and request.result.has_path())


func test_of_a_map_that_is_too_large_nothing_is_filled() -> void:
	# That of the map itself, and each that is filled.
	expect_errors(5)
	var map: NavServerMap2D = NavServerMap2D.new()
	# So many that a number of 32 bits has them as none.
	map.fill_solid_region(Rect2i(0, 0, 65_536, 65_536))
	map.region = Rect2i(0, 0, 20_000, 20_000)
	add_node(map)
	await tree.process_frame
	map.fill_solid_region(Rect2i(0, 0, 300, 300))
	map.fill_weight_scale_region(Rect2i(0, 0, 300, 300), 2.0)
	map.fill_solid_region(map.region)
	check(map.get_state().size() < 1000)
	map.region = Rect2i(0, 0, 4, 4)
	map.fill_solid_region(Rect2i(0, 0, 300, 300))
	check(map.is_point_solid(Vector2i(3, 3)))


func test_a_region_whose_cells_have_no_numbers_is_refused() -> void:
	expect_errors(2)
	for place: Vector2i in (
		[Vector2i(2_147_483_640, 0), Vector2i(0, -1_073_741_825)] as Array[Vector2i]
	):
		var map: NavServerMap2D = NavServerMap2D.new()
		map.region = Rect2i(place, Vector2i(20, 20))
		add_node(map)
		await tree.process_frame
		var request: NavServerPathRequest = map.find_path(NavServerPathQuery.new())
		var result: NavServerPathResult = await request.wait()
		check_equal(result.status, NavServerPathResult.Status.FAILED)
		check_contains(result.reason, "region is ")
		check_contains(result.reason, "within cells -2^30 to 2^30")
