extends RefCounted
## One map, searched by the engine's own AStarGrid2D; lives on the thread of the fallback.
##
## There is a grid for each profile and size of body. Weights are divided by the least one, since
## AStarGrid2D does not scale its estimate and would miss the cheapest path below a weight of 1; and
## islands are asked first, since a goal out of reach makes it search the whole map.

const Heap := preload("heap.gd")
const Islands := preload("islands.gd")
const Overrides := preload("overrides.gd")
const TileTable := preload("tile_table.gd")
const WorldState := preload("world_state.gd")

## Counts the edits.
var version: int = 1
## Tells whether the game ends: what takes long breaks off, and what comes of it is of no use.
var must_stop: Callable

var _world: WorldState
var _region: Rect2i
var _classes: PackedByteArray
# Factor of each cell's cost; empty while all are 1.
var _scales: PackedFloat32Array = PackedFloat32Array()
var _profiles: Dictionary[String, PackedFloat32Array] = {}
var _grids: Dictionary[String, Searcher] = {}


## Reads the layers of a world; slow, so not on the main thread.
func _init(world: WorldState, the_must_stop: Callable) -> void:
	_world = world
	must_stop = the_must_stop
	_region = world.region
	_classes = world.classes
	if _classes.is_empty():
		_classes = TileTable.read_classes(world, must_stop)
	_profiles = world.profiles.duplicate()
	edit(world.edit_cells, world.edit_classes, world.edit_scales)
	version = 1


## Sets the cost of each class for a profile.
func set_profile(name: String, costs: PackedFloat32Array) -> void:
	if _profiles.get(name) == costs:
		return
	_profiles[name] = costs
	for key: String in _grids.keys():
		if _grids[key].profile == name:
			_grids.erase(key)


## Changes cells; those outside are left out.
func edit(cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array) -> void:
	version += 1
	for index: int in classes.size():
		var cell: Vector2i = Vector2i(cells[2 * index], cells[2 * index + 1])
		if not _region.has_point(cell):
			continue
		var flat: int = _flat(cell)
		_classes[flat] = classes[index]
		if scales[index] != 1.0 and _scales.is_empty():
			_scales.resize(_classes.size())
			_scales.fill(1.0)
		if not _scales.is_empty():
			_scales[flat] = scales[index]
		for key: String in _grids.keys():
			var searcher: Searcher = _grids[key]
			if not searcher.set_cells_around(cell, self):
				# A weight below the least one asks for another divisor.
				_grids.erase(key)


## Returns a path; its points are cells yet.
func find_path(
	start: Vector2i,
	goal: Vector2i,
	profile: String,
	size: int,
	allow_partial: bool,
	blocked: PackedInt32Array
) -> NavServerPathResult:
	var searcher: Searcher = _searcher(profile, size)
	if must_stop.call():
		return NavServerPathResult.without_path(NavServerPathResult.Status.CANCELLED)
	var result: NavServerPathResult = searcher.find_path(start, goal, allow_partial, blocked, self)
	result.map_version = version
	result.source = NavServerPathResult.Source.FALLBACK
	return result


## Returns the cells that a body reaches for a cost, with what each costs.
func find_reachable(
	start: Vector2i, budget: float, profile: String, size: int, blocked: PackedInt32Array
) -> Dictionary[Vector2i, float]:
	return _searcher(profile, size).find_reachable(start, budget, blocked, self)


## Returns the first entry of a path's cells that the body cannot reach any more; -1 if it can.
func find_break(cells: Array[Vector2i], profile: String, size: int) -> int:
	return _searcher(profile, size).find_break(cells)


## Returns the cells that there are.
func get_region() -> Rect2i:
	return _region


## Returns the class of each cell, row by row.
func get_classes() -> PackedByteArray:
	return _classes.duplicate()


## Returns what it costs a body to enter a cell; INF if it cannot stand there.
func cost_of(cell: Vector2i, costs: PackedFloat32Array, size: int) -> float:
	for y: int in range(cell.y, cell.y + size):
		for x: int in range(cell.x, cell.x + size):
			var under: Vector2i = Vector2i(x, y)
			if not _region.has_point(under) or is_inf(costs[_classes[_flat(under)]]):
				return INF
	var flat: int = _flat(cell)
	var scale: float = 1.0 if _scales.is_empty() else _scales[flat]
	return costs[_classes[flat]] * scale


func _flat(cell: Vector2i) -> int:
	var at: Vector2i = cell - _region.position
	return at.y * _region.size.x + at.x


func _searcher(profile: String, size: int) -> Searcher:
	var key: String = "%d %s" % [size, profile]
	if key not in _grids:
		var costs: PackedFloat32Array = _profiles.get(
			profile, NavServerProfile.new().get_cost_table()
		)
		_grids[key] = Searcher.new(
			_region, _world.diagonal_mode, profile, costs, size, self, must_stop
		)
	return _grids[key]


## An AStarGrid2D for one profile and size.
class Searcher:
	extends RefCounted

	const _STEPS: Array[Vector2i] = [
		Vector2i(0, -1),
		Vector2i(1, 0),
		Vector2i(0, 1),
		Vector2i(-1, 0),
		Vector2i(1, -1),
		Vector2i(1, 1),
		Vector2i(-1, 1),
		Vector2i(-1, -1),
	]

	# The engine adds weights up in float32: no path comes to infinity with these.
	const _GREATEST_WEIGHT: float = 1e30

	## Name of the profile.
	var profile: String

	var _grid: AStarGrid2D = AStarGrid2D.new()
	var _costs: PackedFloat32Array
	var _size: int
	var _least: float = INF
	var _islands: Islands
	var _must_stop: Callable

	func _init(
		region: Rect2i,
		diagonal_mode: AStarGrid2D.DiagonalMode,
		the_profile: String,
		costs: PackedFloat32Array,
		size: int,
		world: RefCounted,
		must_stop: Callable
	) -> void:
		profile = the_profile
		_costs = costs
		_size = size
		_must_stop = must_stop
		_grid.region = region
		_grid.diagonal_mode = diagonal_mode
		_grid.default_compute_heuristic = AStarGrid2D.HEURISTIC_OCTILE
		_grid.default_estimate_heuristic = AStarGrid2D.HEURISTIC_OCTILE
		_grid.update()
		_fill(region, world)

	## Takes over what an edit of a cell changes; false if the grid has to be made anew.
	func set_cells_around(cell: Vector2i, world: RefCounted) -> bool:
		for y: int in range(cell.y - _size + 1, cell.y + 1):
			for x: int in range(cell.x - _size + 1, cell.x + 1):
				var anchor: Vector2i = Vector2i(x, y)
				if not _grid.is_in_boundsv(anchor):
					continue
				var cost: float = world.call("cost_of", anchor, _costs, _size)
				if cost > 0.0 and cost < _least:
					return false
				_set_cost(anchor, cost)
				if cost < INF:
					_islands.open_cell(_flat(anchor))
		return true

	func find_path(
		start: Vector2i,
		goal: Vector2i,
		allow_partial: bool,
		blocked: PackedInt32Array,
		world: RefCounted
	) -> NavServerPathResult:
		var closed: Array[Vector2i] = _close(blocked)
		var status: NavServerPathResult.Status = _judge_ends(start, goal, allow_partial)
		var cells: Array[Vector2i] = []
		if status == NavServerPathResult.Status.FOUND:
			cells = _grid.get_id_path(start, goal, allow_partial)
			if cells.is_empty():
				status = NavServerPathResult.Status.UNREACHABLE
			elif cells[-1] != goal:
				status = NavServerPathResult.Status.PARTIAL
		_open(closed)
		return _make_result(status, cells, world)

	## By Dijkstra's algorithm: the cells that are waiting lie in a heap of cost and cell.
	func find_reachable(
		start: Vector2i, budget: float, blocked: PackedInt32Array, world: RefCounted
	) -> Dictionary[Vector2i, float]:
		var settled: Dictionary[Vector2i, float] = {}
		var closed: Array[Vector2i] = _close(blocked)
		var waiting: Heap = Heap.new()
		if _grid.is_in_boundsv(start) and not _grid.is_point_solid(start):
			waiting.push(0.0, start)
		while not waiting.is_empty() and not _must_stop.call():
			var cost: float = waiting.get_least()
			var cell: Vector2i = waiting.pop()
			if cell in settled:
				continue
			settled[cell] = cost
			for step: Vector2i in _STEPS:
				var next: Vector2i = cell + step
				if next in settled or not _grid.is_in_boundsv(next) or _grid.is_point_solid(next):
					continue
				if _cuts_corner(cell, next):
					continue
				var length: float = 1.0 if step.x == 0 or step.y == 0 else sqrt(2.0)
				var enter: float = world.call("cost_of", next, _costs, _size)
				if cost + length * enter <= budget:
					waiting.push(cost + length * enter, next)
		_open(closed)
		return settled

	func find_break(cells: Array[Vector2i]) -> int:
		for index: int in cells.size():
			var cell: Vector2i = cells[index]
			if not _grid.is_in_boundsv(cell) or _grid.is_point_solid(cell):
				return index
			if index > 0 and _cuts_corner(cells[index - 1], cell):
				return index
		return -1

	func _fill(region: Rect2i, world: RefCounted) -> void:
		var costs: PackedFloat32Array = PackedFloat32Array()
		costs.resize(region.size.x * region.size.y)
		var open: PackedByteArray = PackedByteArray()
		open.resize(costs.size())
		for y: int in range(region.position.y, region.end.y):
			if _must_stop.call():
				return
			for x: int in range(region.position.x, region.end.x):
				var cell: Vector2i = Vector2i(x, y)
				var cost: float = world.call("cost_of", cell, _costs, _size)
				# A class's cost times a cell's factor may be more than a float32 holds.
				costs[_flat(cell)] = cost if is_inf(cost) else minf(cost, Overrides.GREATEST_SCALE)
				open[_flat(cell)] = 0 if is_inf(cost) else 1
				if cost > 0.0:
					_least = minf(_least, cost)
		_islands = Islands.new(
			open, region.size.x, _grid.diagonal_mode == AStarGrid2D.DIAGONAL_MODE_ALWAYS, _must_stop
		)
		for y: int in range(region.position.y, region.end.y):
			if _must_stop.call():
				return
			for x: int in range(region.position.x, region.end.x):
				_set_cost(Vector2i(x, y), costs[_flat(Vector2i(x, y))])

	func _set_cost(cell: Vector2i, cost: float) -> void:
		_grid.set_point_solid(cell, is_inf(cost))
		if not is_inf(cost):
			var weight: float = 1.0 if is_inf(_least) else minf(cost / _least, _GREATEST_WEIGHT)
			_grid.set_point_weight_scale(cell, weight)

	func _flat(cell: Vector2i) -> int:
		var at: Vector2i = cell - _grid.region.position
		return at.y * _grid.region.size.x + at.x

	func _judge_ends(
		start: Vector2i, goal: Vector2i, allow_partial: bool
	) -> NavServerPathResult.Status:
		if not _grid.is_in_boundsv(start):
			return NavServerPathResult.Status.START_BLOCKED
		if not _grid.is_in_boundsv(goal):
			return NavServerPathResult.Status.GOAL_BLOCKED
		if _grid.is_point_solid(start):
			return NavServerPathResult.Status.START_BLOCKED
		if allow_partial:
			return NavServerPathResult.Status.FOUND
		if _grid.is_point_solid(goal):
			return NavServerPathResult.Status.GOAL_BLOCKED
		if not _islands.may_connect(_flat(start), _flat(goal)):
			return NavServerPathResult.Status.UNREACHABLE
		return NavServerPathResult.Status.FOUND

	## Makes cells solid for one search; returns those that were not.
	func _close(blocked: PackedInt32Array) -> Array[Vector2i]:
		var closed: Array[Vector2i] = []
		for index: int in range(0, blocked.size() - 1, 2):
			for y: int in range(blocked[index + 1] - _size + 1, blocked[index + 1] + 1):
				for x: int in range(blocked[index] - _size + 1, blocked[index] + 1):
					var cell: Vector2i = Vector2i(x, y)
					if _grid.is_in_boundsv(cell) and not _grid.is_point_solid(cell):
						_grid.set_point_solid(cell)
						closed.append(cell)
		return closed

	func _open(closed: Array[Vector2i]) -> void:
		for cell: Vector2i in closed:
			_grid.set_point_solid(cell, false)

	func _make_result(
		status: NavServerPathResult.Status, cells: Array[Vector2i], world: RefCounted
	) -> NavServerPathResult:
		var result: NavServerPathResult = NavServerPathResult.without_path(status)
		if cells.is_empty():
			return result
		result.cost = 0.0
		result.path_length = 0.0
		result.path.append(Vector2(cells[0]))
		for index: int in range(1, cells.size()):
			var step: Vector2i = (cells[index] - cells[index - 1]).abs()
			var length: float = sqrt(2.0) if step == Vector2i.ONE else 1.0
			var cost: float = world.call("cost_of", cells[index], _costs, _size)
			result.path_length += length
			result.cost += length * cost
			result.path.append(Vector2(cells[index]))
		return result

	func _cuts_corner(from: Vector2i, to: Vector2i) -> bool:
		if from.x == to.x or from.y == to.y:
			return false
		var solid: int = 0
		for corner: Vector2i in [Vector2i(from.x, to.y), Vector2i(to.x, from.y)]:
			if not _grid.is_in_boundsv(corner) or _grid.is_point_solid(corner):
				solid += 1
		match _grid.diagonal_mode:
			AStarGrid2D.DIAGONAL_MODE_ALWAYS:
				return false
			AStarGrid2D.DIAGONAL_MODE_AT_LEAST_ONE_WALKABLE:
				return solid == 2
			AStarGrid2D.DIAGONAL_MODE_NEVER:
				return true
		return solid > 0
