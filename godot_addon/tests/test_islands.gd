extends "test_case.gd"
## Islands against a plain flood, over random maps and edits.

const Islands := preload("res://addons/navserver/internal/islands.gd")


func test_a_way_is_never_denied() -> void:
	# Invariant: exact after labelling, and later it denies a way only where there is none.
	var random: RandomNumberGenerator = RandomNumberGenerator.new()
	random.seed = 3
	for corners: bool in [false, true]:
		for turn: int in 30:
			var open: PackedByteArray = PackedByteArray()
			open.resize(9 * 7)
			for cell: int in open.size():
				open[cell] = 1 if random.randf() < 0.5 else 0
			var islands: Islands = Islands.new(open, 9, corners)
			_compare(islands, open, corners, true)
			for edit: int in 12:
				var cell: int = random.randi() % open.size()
				open[cell] = 1 - open[cell]
				if open[cell] == 1:
					islands.open_cell(cell)
				_compare(islands, open, corners, false)


func _compare(islands: Islands, open: PackedByteArray, corners: bool, exact: bool) -> void:
	for from: int in range(0, open.size(), 5):
		if open[from] == 0:
			continue
		var reached: Dictionary[int, bool] = _flood(open, from, corners)
		for to: int in open.size():
			if open[to] == 1 and (exact or to in reached):
				if islands.may_connect(from, to) != (to in reached):
					fail("%d to %d" % [from, to])
					return


func _flood(open: PackedByteArray, from: int, corners: bool) -> Dictionary[int, bool]:
	var reached: Dictionary[int, bool] = {from: true}
	var stack: Array[int] = [from]
	while not stack.is_empty():
		var cell: Vector2i = Vector2i(stack[-1] % 9, floori(stack[-1] / 9.0))
		stack.pop_back()
		for y: int in range(maxi(0, cell.y - 1), mini(7, cell.y + 2)):
			for x: int in range(maxi(0, cell.x - 1), mini(9, cell.x + 2)):
				var to: int = y * 9 + x
				if not corners and x != cell.x and y != cell.y:
					continue
				if open[to] == 1 and to not in reached:
					reached[to] = true
					stack.append(to)
	return reached
