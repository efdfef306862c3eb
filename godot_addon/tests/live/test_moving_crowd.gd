extends "../test_case.gd"
## Crowds against a real sidecar, by its connection file [code]file=[/code].
##
## Whoever started the sidecar starts it again when it ends.

const Message := preload("../../addons/navserver/internal/message.gd")
const TileMaps := preload("../tile_maps.gd")

const _ROOMS: Array[String] = [
	"#####################",
	"#.........#.........#",
	"#.........#.........#",
	"#...................#",
	"#...................#",
	"#.........#.........#",
	"#.........#.........#",
	"#.........#.........#",
	"#####################",
]
const _DOOR: Array[Vector2i] = [Vector2i(10, 3), Vector2i(10, 4)]

var _connection: NavServerConnection = NavServer.get_connection()
var _map: NavServerMap2D = null
var _crowd: NavServerCrowd2D = null
var _arrived: PackedInt64Array = PackedInt64Array()
var _stuck: Dictionary[int, int] = {}


func before_each() -> void:
	_connection.stop_sidecar()
	_connection.follow_connection_file(parameters["file"])
	await wait_until(NavServer.is_available, 60.0, "for the sidecar")
	_make_scene()


func _make_scene() -> void:
	_map = NavServerMap2D.new()
	_map.position = Vector2(40.0, -7.0)
	_map.add_child(TileMaps.layer(_ROOMS, TileMaps.tile_set(), NavServerTileMapLayer))
	add_node(_map)
	_crowd = _make_crowd()


func after_each() -> void:
	tree.paused = false
	free_nodes()
	_connection.stop_sidecar()


func _make_crowd() -> NavServerCrowd2D:
	var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
	crowd.area_of_interest = NavServerCrowd2D.AreaOfInterest.EVERYWHERE
	crowd.max_speed = 160.0
	crowd.units_arrived.connect(func(ids: PackedInt64Array) -> void: _arrived.append_array(ids))
	crowd.units_stuck.connect(
		func(ids: PackedInt64Array, reasons: PackedByteArray) -> void:
			for index: int in ids.size():
				_stuck[ids[index]] = reasons[index]
	)
	_map.add_child(crowd)
	return crowd


func _at(cell: Vector2i) -> Vector2:
	return _map.to_global(_map.map_to_local(cell))


func _spawn(
	crowd: NavServerCrowd2D, count: int, options: Dictionary = {}, from: int = 0
) -> PackedInt64Array:
	var positions: PackedVector2Array = PackedVector2Array()
	for index: int in range(from, from + count):
		positions.append(_at(Vector2i(1 + index % 8, 1 + floori(index / 8.0) % 7)))
	return crowd.spawn(positions, options)


func _cell_of(crowd: NavServerCrowd2D, id: int) -> Vector2i:
	return _map.local_to_map(_map.to_local(crowd.get_unit_position(id)))


func _server_pid() -> int:
	var fields: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(parameters["file"]))
	return int(str(fields["pid"]).to_float())


func _count_drawn(crowd: NavServerCrowd2D) -> int:
	var drawn: MultiMeshInstance2D = crowd.get_child(0, true)
	return drawn.multimesh.visible_instance_count


## Waits for so many steps, however long they take.
func _step(count: int) -> void:
	var end: int = _map.get_movers().answered + count
	await wait_until(func() -> bool: return _map.get_movers().answered >= end)


func test_places_beyond_the_map_are_those_nearest_in_it() -> void:
	var ids: PackedInt64Array = _crowd.spawn([_at(Vector2i(-9000, 4)), _at(Vector2i(2, -3))])
	await wait_until(func() -> bool: return _crowd.is_available())
	await _step(2)
	check_equal(_cell_of(_crowd, ids[0]).x, 1)
	check_equal(_cell_of(_crowd, ids[1]).y, 1)
	# That is in the wall around the rooms; they go as near as they can.
	_crowd.order(ids, _at(Vector2i(9000, 4)))
	await wait_until(func() -> bool: return _arrived.size() == 2)
	check(_cell_of(_crowd, ids[0]).x > 16)
	_crowd.teleport(ids.slice(0, 1), [_at(Vector2i(4, 90))])
	await wait_until(func() -> bool: return _cell_of(_crowd, ids[0]).x < 6)
	check_equal(_cell_of(_crowd, ids[0]).y, 7)


func test_units_go_through_a_door_and_arrive_once() -> void:
	var ids: PackedInt64Array = _spawn(_crowd, 14)
	check_equal(ids.size(), 14)
	check_equal(_crowd.get_unit_count(), 14)
	_crowd.order(ids, _at(Vector2i(16, 4)))
	var walls: Array[int] = [0]
	_crowd.units_moved.connect(
		func() -> void:
			for point: Vector2 in _crowd.get_positions():
				walls[0] += int(_map.is_point_solid(_map.local_to_map(_map.to_local(point))))
	)
	await wait_until(func() -> bool: return _arrived.size() >= 14)
	check_equal(walls[0], 0, "positions in walls")
	var sorted: PackedInt64Array = _arrived.duplicate()
	sorted.sort()
	check_equal(sorted, ids)
	check_equal(_crowd.get_unit_ids(), ids)
	for point: Vector2 in _crowd.get_positions():
		check(_map.local_to_map(_map.to_local(point)).x > 10, "%s is left of the door" % point)


func test_what_is_drawn_is_what_is_told() -> void:
	_spawn(_crowd, 10)
	await wait_until(func() -> bool: return _count_drawn(_crowd) == 10)
	await wait_until(_crowd.is_available)
	_crowd.order(_crowd.get_all_unit_ids(), _at(Vector2i(16, 4)))
	await _step(30)
	var drawn: MultiMeshInstance2D = _crowd.get_child(0, true)
	var positions: PackedVector2Array = _crowd.get_positions()
	for index: int in positions.size():
		var place: Transform2D = drawn.multimesh.get_instance_transform_2d(index)
		var point: Vector2 = drawn.global_transform * place.origin
		# A machine without a display keeps no buffer.
		if DisplayServer.get_name() != "headless":
			check(point.distance_to(positions[index]) < 0.01, "%s, %s" % [point, positions[index]])


func test_orders_before_the_sidecar_has_answered() -> void:
	var ids: PackedInt64Array = _spawn(_crowd, 6)
	_crowd.order(ids.slice(0, 2), _at(Vector2i(16, 2)))
	_crowd.order_each(ids.slice(2, 4), [_at(Vector2i(12, 1)), _at(Vector2i(12, 7))])
	_crowd.order(ids.slice(4, 5), _at(Vector2i(18, 1)))
	_crowd.stop(ids.slice(4, 5))
	_crowd.remove(ids.slice(5))
	await wait_until(func() -> bool: return _arrived.size() >= 4)
	check_equal(_cell_of(_crowd, ids[2]), Vector2i(12, 1))
	check_equal(_cell_of(_crowd, ids[3]), Vector2i(12, 7))
	check_equal(_cell_of(_crowd, ids[4]), Vector2i(5, 1))
	check_equal(_crowd.get_unit_count(), 5)
	check_equal(_crowd.get_unit_ids(), ids.slice(0, 5))
	check(not _crowd.has_unit(ids[5]))
	check(is_nan(_crowd.get_unit_position(ids[5]).x))


func test_units_live_through_the_end_of_the_sidecar() -> void:
	var ids: PackedInt64Array = _spawn(_crowd, 20)
	_crowd.order(ids, _at(Vector2i(16, 4)))
	await wait_until(
		func() -> bool: return _crowd.get_unit_position(ids[0]).x > _at(Vector2i(3, 0)).x
	)
	var told: Array[bool] = []
	_crowd.availability_changed.connect(func(available: bool) -> void: told.append(available))
	OS.kill(_server_pid())
	await wait_until(func() -> bool: return not _crowd.is_available())
	var before: Vector2 = _crowd.get_unit_position(ids[0])
	await tree.physics_frame
	await tree.physics_frame
	check_equal(_crowd.get_unit_ids(), ids)
	check(before.x > _at(Vector2i(2, 0)).x, "units go back to where they were spawned")
	await wait_until(func() -> bool: return _arrived.size() >= 20)
	check_equal(told, [false, true] as Array[bool])
	check_equal(_crowd.get_unit_ids(), ids)
	check(_cell_of(_crowd, ids[0]).x > 10)


func test_who_is_stopped_stays_there() -> void:
	var ids: PackedInt64Array = _spawn(_crowd, 2)
	_crowd.order(ids, _at(Vector2i(16, 4)))
	await wait_until(func() -> bool: return _cell_of(_crowd, ids[0]).x > 2)
	_crowd.stop(ids)
	await _step(5)
	var here: PackedVector2Array = _crowd.get_positions()
	await _step(30)
	for index: int in 2:
		check(_crowd.get_positions()[index].distance_to(here[index]) < 8.0)


func test_who_cannot_get_there_is_told() -> void:
	for cell: Vector2i in _DOOR:
		_map.set_point_solid(cell)
	var ids: PackedInt64Array = _spawn(_crowd, 2)
	_crowd.order(ids, _at(Vector2i(16, 4)))
	await wait_until(func() -> bool: return _stuck.size() + _arrived.size() >= 2)
	for id: int in _stuck:
		check_equal(_stuck[id], NavServerCrowd2D.StuckReason.UNREACHABLE as int)
	# The door opens again.
	for cell: Vector2i in _DOOR:
		_map.set_point_solid(cell, false)
	_arrived.clear()
	_crowd.order(ids, _at(Vector2i(16, 4)))
	await wait_until(func() -> bool: return _arrived.size() >= 2)
	check(_cell_of(_crowd, ids[0]).x > 10)


func test_they_pause_with_the_game() -> void:
	var ids: PackedInt64Array = _spawn(_crowd, 4)
	_crowd.order(ids, _at(Vector2i(16, 4)))
	await wait_until(
		func() -> bool: return _crowd.get_unit_position(ids[0]).x > _at(Vector2i(3, 0)).x
	)
	tree.paused = true
	# Steps that were on their way still come.
	await wait_until(func() -> bool: return _map.get_movers().in_flight == 0)
	var here: PackedVector2Array = _crowd.get_positions()
	for frame: int in 20:
		await tree.physics_frame
	check_equal(_crowd.get_positions(), here)
	tree.paused = false
	await wait_until(func() -> bool: return _arrived.size() >= 4)


func test_two_crowds_of_a_map_know_their_own() -> void:
	var other: NavServerCrowd2D = _make_crowd()
	var first: PackedInt64Array = _spawn(_crowd, 5)
	var second: PackedInt64Array = _spawn(other, 3, {"radius": 3.0, "max_speed": 300.0}, 40)
	var third: PackedInt64Array = _spawn(_crowd, 2, {}, 50)
	_crowd.order(first, _at(Vector2i(16, 4)))
	await wait_until(func() -> bool: return _arrived.size() >= 5)
	check_equal(_crowd.get_unit_ids(), first + third)
	check_equal(other.get_unit_ids(), second)
	check_equal(_cell_of(other, second[1]), Vector2i(2, 6))
	var count: int = _count_drawn(_crowd)
	check_equal(count, 7)
	# In the midst of telling the crowds of a step.
	_crowd.units_moved.connect(_map.remove_child.bind(other), CONNECT_ONE_SHOT)
	await wait_until(func() -> bool: return not other.is_inside_tree())
	await _step(2)
	other.free()
	_crowd.remove(first)
	await wait_until(func() -> bool: return _crowd.get_unit_ids().size() == 2)
	check_equal(_crowd.get_unit_ids(), third)


func test_teleport_properties_and_walls() -> void:
	var ids: PackedInt64Array = _crowd.spawn([_at(Vector2i(0, 3)), _at(Vector2i(5, 5))])
	await wait_until(func() -> bool: return _crowd.get_unit_ids().size() == 2)
	check(not _map.is_point_solid(_cell_of(_crowd, ids[0])))
	_crowd.teleport(ids.slice(1), [_at(Vector2i(18, 1))])
	await wait_until(func() -> bool: return _cell_of(_crowd, ids[1]) == Vector2i(18, 1))
	_crowd.set_properties(ids, {"max_speed": 0.0})
	_crowd.order(ids, _at(Vector2i(9, 1)))
	await _step(30)
	check_equal(_cell_of(_crowd, ids[1]), Vector2i(18, 1))
	_crowd.set_properties(ids, {"max_speed": 200.0})
	await wait_until(func() -> bool: return _arrived.size() >= 2)


func test_ids_that_stand_twice_count_once() -> void:
	var ids: PackedInt64Array = _spawn(_crowd, 4)
	await _step(3)
	var twice: PackedInt64Array = [ids[0], ids[1], ids[0]]
	_crowd.order_each(twice, [_at(Vector2i(5, 1)), _at(Vector2i(5, 7)), _at(Vector2i(12, 1))])
	await wait_until(func() -> bool: return _arrived.size() >= 2)
	check_equal(_cell_of(_crowd, ids[0]), Vector2i(12, 1))
	_crowd.teleport(twice, [_at(Vector2i(3, 5)), _at(Vector2i(3, 6)), _at(Vector2i(14, 5))])
	await wait_until(func() -> bool: return _cell_of(_crowd, ids[0]) == Vector2i(14, 5))
	_crowd.set_properties(twice, {"max_speed": 20.0})
	_crowd.order(twice, _at(Vector2i(16, 4)))
	_crowd.stop(twice)
	await _step(5)
	check_equal(_cell_of(_crowd, ids[0]), Vector2i(14, 5))
	_crowd.remove(twice)
	check_equal(_crowd.get_unit_count(), 2)
	await _step(3)
	check_equal(_crowd.get_unit_ids(), ids.slice(2))
	check_equal(await _count_at_sidecar(), 2)


func test_wide_units_stand_where_they_have_room() -> void:
	var cart: NavServerProfile = NavServerProfile.new()
	cart.size = 3
	var at: PackedVector2Array = [
		_at(Vector2i(9, 1)), _at(Vector2i(1, 7)), _at(Vector2i(19, 7)), _at(Vector2i(8, 6))
	]
	var ids: PackedInt64Array = _crowd.spawn(at, {"profile": cart})
	await wait_until(func() -> bool: return _crowd.get_unit_ids() == ids)
	# A wide unit is in the first of its cells.
	check_equal(_cell_of(_crowd, ids[2]), Vector2i(17, 5))
	_crowd.teleport(ids.slice(0, 2), [_at(Vector2i(9, 1)), _at(Vector2i(12, 1))])
	await wait_until(func() -> bool: return _cell_of(_crowd, ids[1]) == Vector2i(12, 1))


func test_who_is_deep_in_walls_keeps_nobody_from_moving() -> void:
	expect_errors(3)
	var mine: NavServerMap2D = NavServerMap2D.new()
	mine.region = Rect2i(0, 0, 60, 8)
	for x: int in range(10, 60):
		for y: int in 8:
			mine.set_point_solid(Vector2i(x, y))
	add_node(mine)
	var crowd: NavServerCrowd2D = _make_crowd()
	crowd.reparent(mine)
	_map = mine
	var deep: Vector2 = _at(Vector2i(50, 4))
	var ids: PackedInt64Array = crowd.spawn([deep, _at(Vector2i(2, 2)), _at(Vector2i(3, 3))])
	crowd.order(ids, _at(Vector2i(8, 6)))
	await wait_until(func() -> bool: return _arrived.size() >= 2)
	check_equal(crowd.get_unit_ids(), ids.slice(1))
	crowd.teleport(ids, [deep, _at(Vector2i(1, 1)), deep])
	await wait_until(func() -> bool: return _cell_of(crowd, ids[1]) == Vector2i(1, 1))
	check(_cell_of(crowd, ids[2]).x < 10)
	# The order from before still holds.
	_arrived.clear()
	crowd.teleport(ids.slice(0, 1), [_at(Vector2i(2, 2))])
	await wait_until(func() -> bool: return _arrived.has(ids[0]))
	check_equal(await _count_at_sidecar(), 3)
	await _step(30)
	check_equal(_cell_of(crowd, ids[1]), Vector2i(1, 1), "it walks back")


func test_only_those_in_view_are_told_of() -> void:
	var camera: Camera2D = Camera2D.new()
	camera.zoom = Vector2(200.0, 200.0)
	camera.position = _map.map_to_local(Vector2i(2, 1))
	_map.add_child(camera)
	camera.make_current()
	_crowd.area_of_interest = NavServerCrowd2D.AreaOfInterest.CAMERA
	_crowd.camera_margin = 4.0
	var ids: PackedInt64Array = _spawn(_crowd, 8)
	await wait_until(func() -> bool: return _crowd.get_unit_ids().size() == 1)
	check_equal(_crowd.get_unit_ids(), ids.slice(1, 2))
	check_equal(_cell_of(_crowd, ids[7]), Vector2i(8, 1))
	_crowd.order(ids, _at(Vector2i(16, 4)))
	await wait_until(func() -> bool: return _arrived.size() >= 8)
	await wait_until(func() -> bool: return _cell_of(_crowd, ids[7]).x > 10)


func test_a_rebuilt_map_keeps_its_units() -> void:
	var ids: PackedInt64Array = _spawn(_crowd, 4)
	_crowd.order(ids, _at(Vector2i(16, 4)))
	await wait_until(
		func() -> bool: return _crowd.get_unit_position(ids[0]).x > _at(Vector2i(3, 0)).x
	)
	_map.rebuild()
	await wait_until(func() -> bool: return _arrived.size() >= 4)
	check(_cell_of(_crowd, ids[3]).x > 10)


func _make_other_map() -> NavServerMap2D:
	var other: NavServerMap2D = NavServerMap2D.new()
	other.region = Rect2i(0, 0, 30, 12)
	other.set_point_solid(Vector2i(2, 2))
	add_node(other)
	return other


func test_units_go_on_where_another_map_takes_the_place_of_theirs() -> void:
	var crowd: NavServerCrowd2D = _make_crowd()
	crowd.reparent(tree.root)
	crowd.map = _map
	crowd.profile = NavServerProfile.new()
	crowd.profile.class_costs = {3: 5.0}
	var ids: PackedInt64Array = _spawn(crowd, 4)
	await _step(3)
	var other: NavServerMap2D = _make_other_map()
	_map.queue_free()
	_map = other
	await _step(3)
	await wait_until(crowd.is_available)
	crowd.order(ids, _at(Vector2i(25, 5)))
	await wait_until(func() -> bool: return _arrived.size() >= 4)
	check(_cell_of(crowd, ids[0]).x > 20)
	var last: NavServerMap2D = _make_other_map()
	await wait_until(func() -> bool: return last.map_version > 0)
	# Those whose handles are still on their way when the map is left.
	ids.append_array(crowd.spawn([_at(Vector2i(5, 5)), _at(Vector2i(2, 2))]))
	crowd.map = last
	ids.append_array(crowd.spawn([_at(Vector2i(7, 5))]))
	# By the first answer theirs has come, too.
	await _count_at_sidecar()
	check_equal(await _count_at_sidecar(), 0)
	_map = last
	await wait_until(crowd.is_available)
	await _step(3)
	check_equal(crowd.get_unit_ids(), ids)
	check_equal(await _count_at_sidecar(), 7)
	check(_cell_of(crowd, ids[5]) != Vector2i(2, 2))
	crowd.free()


func test_a_crowd_that_goes_before_its_units_are_made_leaves_none() -> void:
	_spawn(_crowd, 1)
	await _step(3)
	var other: NavServerCrowd2D = _make_crowd()
	await tree.physics_frame
	_spawn(other, 3)
	other.free()
	await _step(3)
	check_equal(await _count_at_sidecar(), 1)


func test_units_are_saved_across_a_restart() -> void:
	_crowd.name = "Soldiers"
	var walkers: PackedInt64Array = _spawn(_crowd, 20)
	var fast: PackedInt64Array = _crowd.spawn([_at(Vector2i(2, 6))], {"max_speed": 300.0})
	var guards: PackedInt64Array = _crowd.spawn([_at(Vector2i(18, 1)), _at(Vector2i(18, 2))])
	_crowd.order(walkers + fast, _at(Vector2i(14, 6)))
	_crowd.remove(walkers.slice(0, 1))
	walkers = walkers.slice(1)
	await wait_until(
		func() -> bool: return _crowd.get_unit_position(walkers[0]).x > _at(Vector2i(4, 0)).x
	)
	tree.paused = true
	await wait_until(func() -> bool: return _map.get_movers().in_flight == 0)
	var state: PackedByteArray = _map.get_state()
	var positions: PackedVector2Array = _crowd.get_positions()
	tree.paused = false
	free_nodes()
	OS.kill(_server_pid())
	await wait_until(func() -> bool: return not NavServer.is_available())
	_make_scene()
	_crowd.name = "Soldiers"
	check(_map.set_state(state))
	check_equal(_crowd.get_all_unit_ids(), walkers + fast + guards)
	check_equal(_crowd.get_positions(), positions)
	_arrived.clear()
	await wait_until(func() -> bool: return _arrived.size() >= 20)
	var sorted: PackedInt64Array = _arrived.duplicate()
	sorted.sort()
	check_equal(sorted, walkers + fast)
	check(_cell_of(_crowd, walkers[0]).x > 10)
	check_equal(_cell_of(_crowd, guards[1]), Vector2i(18, 2))


func test_a_state_takes_the_place_of_units_that_walk() -> void:
	var ids: PackedInt64Array = _spawn(_crowd, 8)
	var other: NavServerCrowd2D = _make_crowd()
	await _step(3)
	var state: PackedByteArray = _map.get_state()
	var strangers: PackedInt64Array = _spawn(other, 3, {}, 40)
	_crowd.order(ids, _at(Vector2i(16, 4)))
	await wait_until(func() -> bool: return _cell_of(_crowd, ids[0]).x > 4)
	var wrong: Array[int] = [0]
	_crowd.remove(ids.slice(0, 2))
	# Those whose handles are still on their way when others take their ids.
	_spawn(_crowd, 5)
	check(_map.set_state(state))
	_crowd.units_moved.connect(
		func() -> void: wrong[0] += int(_cell_of(_crowd, ids[0]) != Vector2i(1, 1))
	)
	await _step(30)
	check_equal(wrong[0], 0, "steps that told of those before")
	# The sidecar tells of them in an order of its own.
	var told: PackedInt64Array = _crowd.get_unit_ids()
	told.sort()
	check_equal(told, ids)
	check(not other.has_unit(strangers[0]))
	check_equal(await _count_at_sidecar(), 8)
	_crowd.order(ids, _at(Vector2i(16, 4)))
	_arrived.clear()
	await wait_until(func() -> bool: return _arrived.size() >= 8)


func _count_at_sidecar() -> int:
	var count: Array[int] = [-1]
	_map.get_movers().ask(
		Message.new("movers_info"),
		func(reply: Message) -> void: count[0] = int(str(reply.header["count"]))
	)
	await wait_until(func() -> bool: return count[0] >= 0)
	return count[0]
