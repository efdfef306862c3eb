extends "test_case.gd"
## Obstacles that lie on each other, and those that are there before their map.

const Overrides := preload("res://addons/navserver/internal/overrides.gd")


func _add_map() -> NavServerMap2D:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.region = Rect2i(0, 0, 9, 6)
	add_node(map)
	return map


func test_obstacles_that_are_there_before_their_map() -> void:
	var door: NavServerObstacle2D = NavServerObstacle2D.new()
	door.position = Vector2(4 * 16 + 8, 3 * 16 + 8)
	add_node(door)
	await tree.process_frame
	for turn: int in 2:
		# The level is loaded after them, and then another one.
		var map: NavServerMap2D = _add_map()
		await tree.process_frame
		check(map.is_point_solid(Vector2i(4, 3)))
		if turn == 0:
			map.free()
	var kept: NavServerMap2D = tree.get_first_node_in_group(NavServerMap2D.GROUP)
	tree.root.remove_child(kept)
	var next: NavServerMap2D = _add_map()
	await tree.process_frame
	check(next.is_point_solid(Vector2i(4, 3)))
	next.free()
	tree.root.add_child(kept)
	check(kept.is_point_solid(Vector2i(4, 3)))


func test_an_obstacle_stays_on_its_map_when_another_comes() -> void:
	var map: NavServerMap2D = _add_map()
	var door: NavServerObstacle2D = NavServerObstacle2D.new()
	door.position = Vector2(4 * 16 + 8, 3 * 16 + 8)
	add_node(door)
	var other: NavServerMap2D = _add_map()
	await tree.process_frame
	check(map.is_point_solid(Vector2i(4, 3)))
	door.position.x += 16.0
	await tree.process_frame
	check(not map.is_point_solid(Vector2i(4, 3)))
	check(map.is_point_solid(Vector2i(5, 3)))
	door.enabled = false
	check(not map.is_point_solid(Vector2i(5, 3)))
	check(not other.is_point_solid(Vector2i(5, 3)))
	door.enabled = true
	# One that comes beside both knows its map once the other has left.
	var late: NavServerObstacle2D = NavServerObstacle2D.new()
	late.position = Vector2(8, 8)
	add_node(late)
	check(not map.is_point_solid(Vector2i.ZERO))
	map.queue_free()
	await tree.process_frame
	await tree.process_frame
	check(other.is_point_solid(Vector2i.ZERO))
	check(other.is_point_solid(Vector2i(5, 3)))


func test_obstacles_that_lie_on_each_other() -> void:
	var overrides: Overrides = Overrides.new()
	var random: RandomNumberGenerator = RandomNumberGenerator.new()
	random.seed = 7
	var obstacles: Array[RefCounted] = [RefCounted.new(), RefCounted.new(), RefCounted.new()]
	# What each of them lays, to be asked one by one.
	var laid: Array[Dictionary] = [{}, {}, {}]
	for turn: int in 400:
		var one: int = random.randi_range(0, 2)
		# Some lay the same class.
		var class_id: int = random.randi_range(0, 255) if turn < 200 else random.randi_range(0, 2)
		var cells: Array[Vector2i] = []
		for x: int in 5:
			if random.randi_range(0, 1) == 1:
				cells.append(Vector2i(x, 0))
		overrides.set_obstacle(obstacles[one], cells, class_id)
		laid[one] = {}
		for cell: Vector2i in cells:
			laid[one][cell] = class_id
		for x: int in 5:
			var highest: int = -1
			for there: Dictionary in laid:
				var class_there: int = there.get(Vector2i(x, 0), -1)
				highest = maxi(highest, class_there)
			var expected: int = 1 if highest < 0 else highest
			check_equal(overrides.get_class_of(Vector2i(x, 0), 1), expected)
			check_equal(Vector2i(x, 0) in overrides.get_cells(), highest >= 0)
