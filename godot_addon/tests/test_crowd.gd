extends "test_case.gd"
## Crowds where there is no sidecar, and views.

const MoverGround := preload("../addons/navserver/internal/mover_ground.gd")
const MoverView := preload("../addons/navserver/internal/mover_view.gd")
const MoverUnit := preload("../addons/navserver/internal/mover_unit.gd")
const Message := preload("../addons/navserver/internal/message.gd")


func _view_of(handles: Array) -> MoverView:
	var view: MoverView = MoverView.new()
	view.handles = PackedInt64Array(handles)
	for handle: int in view.handles:
		view.positions.append(Vector2(handle, 0.0))
		view.states.append(1)
		for index: int in MoverView.INSTANCE_SIZE:
			view.transforms.append(handle + index * 0.1)
			view.transforms_before.append(handle + 100 + index * 0.1)
	return view


func _firsts_of(transforms: PackedFloat32Array) -> Array[int]:
	var firsts: Array[int] = []
	for at: int in range(0, transforms.size(), MoverView.INSTANCE_SIZE):
		firsts.append(roundi(transforms[at]))
	return firsts


func _make_crowd() -> NavServerCrowd2D:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.region = Rect2i(0, 0, 8, 8)
	map.set_point_solid(Vector2i(3, 3))
	add_node(map)
	var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
	map.add_child(crowd)
	return crowd


func test_units_stand_still_and_one_is_told_why() -> void:
	expect_errors(1)
	var crowd: NavServerCrowd2D = _make_crowd()
	check(not NavServer.get_capabilities().has("movers_step"))
	var ids: PackedInt64Array = crowd.spawn([Vector2(8, 8), Vector2(40, 8)])
	crowd.order(ids, Vector2(100, 100))
	for frame: int in 5:
		await tree.physics_frame
	check(not crowd.is_available())
	check_equal(crowd.get_unit_ids(), ids)
	check_equal(crowd.get_positions(), PackedVector2Array([Vector2(8, 8), Vector2(40, 8)]))
	var drawn: MultiMeshInstance2D = crowd.get_child(0, true)
	check_equal(drawn.multimesh.visible_instance_count, 2)
	crowd.teleport(ids.slice(1), [Vector2(8, 40)])
	crowd.remove(ids.slice(0, 1))
	await tree.physics_frame
	await tree.physics_frame
	check_equal(crowd.get_positions(), PackedVector2Array([Vector2(8, 40)]))
	check_equal(crowd.get_units_in(Rect2(0, 32, 16, 16)), ids.slice(1))
	check_equal(crowd.get_units_in(Rect2(16, 48, -16, -16)), ids.slice(1))


func test_mistakes_are_named() -> void:
	expect_errors(13)
	var crowd: NavServerCrowd2D = _make_crowd()
	check_equal(crowd.spawn([Vector2.ZERO], {"sped": 1.0}).size(), 0)
	check_equal(crowd.spawn([Vector2.ZERO], {"radius": NAN}).size(), 0)
	check_equal(crowd.spawn([Vector2.ZERO], {"profile": 3}).size(), 0)
	check_equal(crowd.spawn([Vector2.ZERO, Vector2(NAN, 0.0)]).size(), 0)
	# Cells have 16 px.
	check_equal(crowd.spawn([Vector2.ZERO], {"radius": 513.0}).size(), 0)
	check_equal(crowd.spawn([Vector2.ZERO], {"max_speed": 1.7e7}).size(), 0)
	crowd.radius = 600.0
	check_equal(crowd.spawn([Vector2.ZERO]).size(), 0)
	var ids: PackedInt64Array = crowd.spawn([Vector2.ZERO], {"radius": 512.0})
	crowd.set_properties(ids, {})
	check_equal(crowd.get_mover_group().get_unit(ids[0]).kind.properties["body_radius"], 32.0)
	crowd.order([1], Vector2(INF, 0.0))
	crowd.teleport([1], [Vector2(NAN, 0.0)])
	crowd.order_each([1, 2], [Vector2.ZERO])
	crowd.teleport([1], [])
	var lost: NavServerCrowd2D = NavServerCrowd2D.new()
	check_equal(lost.spawn([Vector2.ZERO]).size(), 0)
	lost.free()


func test_a_crowd_whose_map_was_freed_before_it_keeps_nothing() -> void:
	expect_errors(1)
	var map: NavServerMap2D = NavServerMap2D.new()
	map.region = Rect2i(0, 0, 8, 8)
	add_node(map)
	var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
	crowd.map = map
	add_node(crowd)
	var ids: PackedInt64Array = crowd.spawn([Vector2(8, 8)])
	var table: WeakRef = weakref(map.get_movers())
	map.free()
	check_equal(crowd.get_positions().size(), 0)
	check(is_nan(crowd.get_unit_position(ids[0]).x))
	await tree.physics_frame
	await tree.physics_frame
	crowd.order(ids, Vector2(40, 40))
	check_equal(crowd.get_unit_count(), 1)
	crowd.free()
	check(table.get_ref() == null)


func test_who_is_told_of_units_may_free_their_scene() -> void:
	# That they stand still, and the engine's own words on the node that is freed as it tells.
	expect_errors(2)
	var crowd: NavServerCrowd2D = _make_crowd()
	var map: Node = crowd.get_parent()
	crowd.spawn([Vector2(8, 8), Vector2(40, 8)])
	var told: Array[bool] = []
	crowd.units_moved.connect(
		func() -> void:
			told.append(crowd.is_inside_tree())
			map.free()
	)
	for frame: int in 5:
		await tree.physics_frame
	check_equal(told, [true] as Array[bool])
	check(not is_instance_valid(crowd))


func test_a_crowd_tells_of_its_units_once_it_is_back_in_the_tree() -> void:
	expect_errors(1)
	var crowd: NavServerCrowd2D = _make_crowd()
	var map: Node = crowd.get_parent()
	var told: Array[int] = [0]
	crowd.units_moved.connect(func() -> void: told[0] += 1)
	var ids: PackedInt64Array = crowd.spawn([Vector2(8, 8), Vector2(40, 8)])
	map.remove_child(crowd)
	check_equal(told[0], 0)
	map.add_child(crowd)
	for frame: int in 5:
		await tree.physics_frame
	check_equal(told[0], 1)
	check_equal(crowd.get_unit_ids(), ids)
	var drawn: MultiMeshInstance2D = crowd.get_child(0, true)
	check_equal(drawn.multimesh.visible_instance_count, 2)


func test_ground_is_open_to_whom_the_sidecar_lets_in() -> void:
	var map: NavServerMap2D = _make_crowd().get_parent()
	var profile: NavServerProfile = NavServerProfile.new()
	var ground: MoverGround = MoverGround.new(map, profile)
	check(ground.is_open(Vector2i.ZERO))
	profile.class_costs = {0: INF}
	check(not ground.is_open(Vector2i.ZERO))
	# Past the setter, which nobody else sees either.
	profile.class_costs.erase(0)
	check(not ground.is_open(Vector2i.ZERO))


func test_room_for_many_is_looked_for_once() -> void:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.region = Rect2i(0, 0, 60, 60)
	add_node(map)
	for x: int in range(3, 40, 4):
		map.fill_solid_region(Rect2i(x, 0, 1, 60))
	var profile: NavServerProfile = NavServerProfile.new()
	profile.size = 4
	var ground: CountingGround = CountingGround.new(map, profile)
	var points: PackedVector2Array = PackedVector2Array()
	for y: int in range(20, 40):
		points.append(map.map_to_local(Vector2i(16, y)))
	points.append(map.map_to_local(Vector2i(36, 10)))
	points.append(map.map_to_local(Vector2i(50, 10)) + Vector2(3, 3))
	var rooms: PackedVector2Array = ground.find_rooms(points)
	check_equal(rooms.count(Vector2.INF), 20)
	check_equal(map.local_to_map(rooms[20]).x, 40)
	check_equal(rooms[21], points[21])
	check(ground.count <= 3600, "looked at cells %d times" % ground.count)
	# What was known then is not kept.
	map.fill_solid_region(map.region, false)
	check_equal(ground.find_rooms(points), points)
	check_equal(ground.find_room(points[0]), points[0])


func test_runs_of_a_view() -> void:
	var picked: MoverView = _view_of([1, 2, 3, 4, 5]).pick([0, 2, 4, 5])
	check_equal(picked.handles, PackedInt64Array([1, 2, 5]))
	check_equal(_firsts_of(picked.transforms), [1, 2, 5] as Array[int])
	check_equal(_firsts_of(picked.transforms_before), [101, 102, 105] as Array[int])
	check_equal(picked.positions[2], Vector2(5, 0))


## A reply of one mover, or of two where there is but one position.
func _reply_of(count: int) -> Message:
	var reply: Message = Message.new("movers_step")
	var handles: PackedInt64Array = PackedInt64Array(range(1, 1 + count))
	reply.add_array("handles", "i64", str(count), handles.to_byte_array())
	reply.add_array("positions", "f32", "1x2", PackedVector2Array([Vector2.ONE]).to_byte_array())
	var states: PackedByteArray = PackedByteArray()
	states.resize(count)
	reply.add_array("states", "u8", str(count), states)
	return reply


func test_arrays_of_different_lengths_are_nothing() -> void:
	check(MoverView.find(_reply_of(2)) == null)
	var view: MoverView = MoverView.find(_reply_of(1))
	check_equal(view.positions[0], Vector2.ONE)
	check_equal(view.transforms.size(), 0)
	var reply: Message = _reply_of(1)
	reply.add_array("event_handles", "i64", "1", PackedInt64Array([1]).to_byte_array())
	check(MoverView.find(reply) == null)


func test_a_view_is_all_that_is_left_of_a_reply() -> void:
	var reply: Message = _reply_of(1)
	reply.id = 7
	var buffer: PackedFloat32Array = PackedFloat32Array([1, 0, 0, 4, 0, 1, 0, 5])
	reply.add_array("transforms", "f32", "1x8", buffer.to_byte_array())
	reply.add_array("event_handles", "i64", "1", PackedInt64Array([1]).to_byte_array())
	reply.add_array("event_kinds", "u8", "1", [0])
	reply.add_array("event_reasons", "u8", "1", [0])
	var view: MoverView = MoverView.find(reply)
	check_equal(view.event_handles, PackedInt64Array([1]))
	# Behind the last mover there is room for more.
	check_equal(view.transforms.slice(0, MoverView.INSTANCE_SIZE), buffer)
	check_equal(view.transforms.size(), MoverView.find_room(1) * MoverView.INSTANCE_SIZE)
	check_equal(view.transforms_before.size(), 0)
	check_equal(reply.get_array_names().size(), 0)
	check_equal(reply.id, 7)
	check(MoverView.find(reply) == view)


func test_units_of_other_properties_walk_as_before() -> void:
	var crowd: NavServerCrowd2D = _make_crowd()
	var boat: NavServerProfile = NavServerProfile.new()
	var ids: PackedInt64Array = crowd.spawn([Vector2(8, 8)], {"profile": boat})
	ids.append_array(crowd.spawn([Vector2(40, 8)]))
	crowd.set_properties(ids, {"max_speed": 32.0})
	var kind: MoverUnit.Kind = crowd.get_mover_group().get_unit(ids[0]).kind
	check(kind.ground.profile == boat, "it walks as somebody else")
	check_equal(kind.properties["max_speed"], 2.0)
	check_equal(crowd.get_mover_group().get_unit(ids[1]).kind.ground.profile, null)


func _save_two() -> PackedByteArray:
	var crowd: NavServerCrowd2D = _make_crowd()
	crowd.name = "Soldiers"
	var map: NavServerMap2D = crowd.get_parent()
	var boat: NavServerProfile = NavServerProfile.new()
	boat.class_costs = {2: 1.5, 7: INF}
	crowd.spawn([Vector2(8, 8), Vector2(40, 8), Vector2(56, 8)])
	crowd.spawn([Vector2(8, 40)], {"profile": boat, "radius": 3.0, "layers": 0xffff_ffff})
	crowd.order([1, 4], Vector2(100, 100))
	crowd.remove([2])
	var state: PackedByteArray = map.get_state()
	free_nodes()
	return state


func test_units_are_saved_without_a_sidecar() -> void:
	var state: PackedByteArray = _save_two()
	# In the very frame that the scene is there.
	var crowd: NavServerCrowd2D = _make_crowd()
	crowd.name = "Soldiers"
	crowd.spawn([Vector2(72, 72)])
	var map: NavServerMap2D = crowd.get_parent()
	var boat: NavServerProfile = NavServerProfile.new()
	boat.class_costs = {2: 1.5, 7: INF}
	map.profiles = [boat]
	check(map.set_state(state))
	check_equal(crowd.get_all_unit_ids(), PackedInt64Array([1, 3, 4]))
	check_equal(
		crowd.get_positions(), PackedVector2Array([Vector2(8, 8), Vector2(56, 8), Vector2(8, 40)])
	)
	check_equal(crowd.spawn([Vector2(8, 72)]), PackedInt64Array([5]))
	check(crowd.get_mover_group().get_goal_of(3) == Vector2.INF)
	check_equal(crowd.get_mover_group().get_goal_of(4), Vector2(100, 100))
	var kind: MoverUnit.Kind = crowd.get_mover_group().get_unit(4).kind
	check(kind.ground.profile == boat, "it walks as somebody else")
	check_equal(kind.properties["layers"], 0xffff_ffff)
	check_equal(kind.properties["acceleration"], INF)
	check_equal(crowd.get_mover_group().get_unit(1).kind.ground.profile, null)
	# A map without crowds takes the units of those that it had.
	map.set_state(_make_crowd().get_parent().call("get_state") as PackedByteArray)
	check_equal(crowd.get_unit_count(), 0)


func test_units_of_a_crowd_that_is_not_there_are_left_out() -> void:
	expect_errors(1)
	var state: PackedByteArray = _save_two()
	var crowd: NavServerCrowd2D = _make_crowd()
	crowd.spawn([Vector2(72, 72)])
	check((crowd.get_parent() as NavServerMap2D).set_state(state))
	check_equal(crowd.get_unit_count(), 0)


## Counts the cells that are looked at.
class CountingGround:
	extends MoverGround

	var count: int = 0

	func is_open(cell: Vector2i) -> bool:
		count += 1
		return super.is_open(cell)
