extends "../test_case.gd"
## The figures of a game against what its sidecar [code]file=[/code] counts itself.

const Message := preload("res://addons/navserver/internal/message.gd")
const TileMaps := preload("../tile_maps.gd")

const _ROOMS: Array[String] = [
	"#########",
	"#...#...#",
	"#...#...#",
	"#.......#",
	"#...##.##",
	"#####...#",
	"#..######",
	"#########",
]
const _COUNT: int = 30

var _connection: NavServerConnection = NavServer.get_connection()


func before_each() -> void:
	_connection.stop_sidecar()
	_connection.follow_connection_file(parameters["file"])
	await wait_until(NavServer.is_available, 60.0, "for the sidecar")


func after_each() -> void:
	_connection.is_measured = false
	free_nodes()
	_connection.stop_sidecar()


func _ask_stats() -> Dictionary:
	var told: Array[Dictionary] = []
	_connection.ask(
		Message.new("stats"),
		func(reply: Message) -> void: told.append(reply.header["stats"] as Dictionary)
	)
	await wait_until(func() -> bool: return not told.is_empty())
	return told[0]


static func _figure(name: String) -> float:
	var value: float = Performance.get_custom_monitor("navserver/" + name)
	return value


static func _count(stats: Dictionary, name: String) -> int:
	var number: float = stats.get(name, 0.0)
	return int(number)


func test_figures_are_those_of_the_sidecar() -> void:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(_ROOMS, TileMaps.tile_set()))
	add_node(map)
	await map.map_ready
	_connection.is_measured = true
	var before: Dictionary = await _ask_stats()
	var unreachable: int = 0
	for index: int in _COUNT:
		var query: NavServerPathQuery = NavServerPathQuery.new()
		query.start_position = map.to_global(map.map_to_local(Vector2i(1, 1)))
		query.target_position = map.to_global(
			map.map_to_local(Vector2i(7, 1) if index % 3 > 0 else Vector2i(1, 6))
		)
		# One a frame, so that each is a message of its own.
		var result: NavServerPathResult = await map.find_path(query).wait()
		unreachable += int(result.status == NavServerPathResult.Status.UNREACHABLE)
		await tree.process_frame
	var after: Dictionary = await _ask_stats()
	check_equal(_count(after, "path.count") - _count(before, "path.count"), _COUNT)
	check_equal(unreachable, floori(_COUNT / 3.0))
	check_equal(int(_figure("failures")), unreachable)
	check_equal(int(_figure("pending_requests")), 0)
	var searched_msec: float = after["path.p50_us"] / 1000.0
	check(_figure("round_trip_ms") > searched_msec, "there and back takes longer than the search")
	check(_figure("answer_p50_ms") >= _figure("round_trip_ms") * 0.5)
	check(_figure("answer_p99_ms") >= _figure("answer_p50_ms"))
	check(_figure("bytes_per_second") > 0.0)
	check(_figure("requests_per_second") > 0.0)


func test_a_map_is_drawn_as_the_sidecar_knows_it() -> void:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(_ROOMS, TileMaps.tile_set()))
	map.debug_enabled = true
	add_node(map)
	map.set_point_solid(Vector2i(2, 2))
	await wait_until(
		func() -> bool: return _class_drawn(map, Vector2i(2, 2)) == NavServerMap2D.SOLID
	)
	for y: int in _ROOMS.size():
		for x: int in _ROOMS[y].length():
			var cell: Vector2i = Vector2i(x, y)
			check_equal(_class_drawn(map, cell), map.get_point_class(cell), str(cell))
	map.set_point_solid(Vector2i(2, 2), false)
	await wait_until(func() -> bool: return _class_drawn(map, Vector2i(2, 2)) == 0)


## Returns the class that is drawn for a cell; -1 as long as nothing is.
func _class_drawn(map: NavServerMap2D, cell: Vector2i) -> int:
	var drawing: RefCounted = map.get("_drawing")
	var image: Image = drawing.get("shown")
	return -1 if image == null else roundi(image.get_pixelv(cell).r * 255.0)


func test_units_are_those_of_the_sidecar() -> void:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(_ROOMS, TileMaps.tile_set()))
	var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
	crowd.debug_enabled = true
	map.add_child(crowd)
	add_node(map)
	await map.map_ready
	_connection.is_measured = true
	var points: PackedVector2Array = PackedVector2Array()
	for index: int in 6:
		points.append(map.to_global(map.map_to_local(Vector2i(1 + index % 3, 1 + index % 2))))
	crowd.spawn(points)
	check_equal(_figure("crowd_units"), 6.0)
	await wait_until(crowd.is_available)
	var told: Array[int] = []
	var stats: Dictionary = {}
	for attempt: int in 200:
		stats = await _ask_stats()
		if _count(stats, "movers.count") == 6:
			break
	check_equal(_count(stats, "movers.count"), 6)
	# Steps are on their way all the time; that they come back is what bounds them.
	await wait_until(func() -> bool: return _figure("ticks_behind") > 0.0)
	for frame: int in 60:
		await tree.physics_frame
		told.append(int(_figure("ticks_behind")))
	check(told.max() as int <= 10, "%d steps behind" % told.max())
	var overlay: RefCounted = crowd.get("_overlay")
	crowd.order(crowd.get_all_unit_ids(), map.to_global(map.map_to_local(Vector2i(7, 1))))
	await wait_until(func() -> bool: return not (overlay.get("_ways") as Dictionary).is_empty())
	var ways: Dictionary = overlay.get("_ways")
	for id: int in ways:
		var way: PackedVector2Array = ways[id]
		check(crowd.has_unit(id))
		# Corners that it has passed are no part of it any more.
		check(way[-1].x > map.map_to_local(Vector2i(4, 0)).x, str(way))
	crowd.remove(crowd.get_all_unit_ids())
	check_equal(_figure("crowd_units"), 0.0)
