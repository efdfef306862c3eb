extends "test_case.gd"
## Obstacles that lie on each other.

const Overrides := preload("res://addons/navserver/internal/overrides.gd")


func test_obstacles_that_lie_on_each_other() -> void:
	var overrides: Overrides = Overrides.new()
	var random: RandomNumberGenerator = RandomNumberGenerator.new()
	random.seed = 7
	var obstacles: Array[RefCounted] = [RefCounted.new(), RefCounted.new(), RefCounted.new()]
	# What each of them lays, to be asked one by one.
	var laid: Array[Dictionary] = [{}, {}, {}]
	for turn: int in 200:
		var one: int = random.randi_range(0, 2)
		var class_id: int = random.randi_range(0, 255)
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
