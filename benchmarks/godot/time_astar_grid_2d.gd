extends SceneTree
## Times AStarGrid2D on the maps and queries of a case file.
##
## Usage: [code]godot --headless --path FOLDER -s res://time_astar_grid_2d.gd -- CASES RESULTS
## [/code]. benchmarks/contenders/godot.py writes the one file, reads the other and states their
## formats. The exit code is 0 only if every query was timed.

const MAGIC: int = 0x5447414E
## A query that is faster than this is repeated in one go until it takes as long, so that the
## microsecond of the clock's resolution is at most 0.5 %.
const SHORTEST_USEC: int = 200
const WARM_UP_QUERIES: int = 10

var _finished: bool = false
var _ints: PackedInt32Array = PackedInt32Array()
var _floats: PackedFloat32Array = PackedFloat32Array()
var _next: int = 0
var _results: PackedFloat64Array = PackedFloat64Array()


func _initialize() -> void:
	var arguments: PackedStringArray = OS.get_cmdline_user_args()
	if arguments.size() != 2:
		_fail("expected 2 arguments, CASES and RESULTS, got %d" % arguments.size())
		return
	var bytes: PackedByteArray = FileAccess.get_file_as_bytes(arguments[0])
	if bytes.size() < 16 or bytes.size() % 4 != 0:
		_fail("%s: %d bytes are not a case file" % [arguments[0], bytes.size()])
		return
	_ints = bytes.to_int32_array()
	_floats = bytes.to_float32_array()
	if _take_int() != MAGIC:
		_fail("%s: not a case file" % arguments[0])
		return
	var jumping: bool = _take_int() != 0
	var runs: int = _take_int()
	for _map: int in _take_int():
		_time_map(jumping, runs)
	if _next != _ints.size():
		_fail("%s: %d words, but %d were read" % [arguments[0], _ints.size(), _next])
		return
	var file: FileAccess = FileAccess.open(arguments[1], FileAccess.WRITE)
	if file == null or not file.store_buffer(_results.to_byte_array()):
		_fail("%s: cannot be written" % arguments[1])
		return
	file.close()
	_finished = true
	quit(0)


## Ends the run if an error cut [method _initialize] short; Godot would go on for ever.
func _process(_delta: float) -> bool:
	if not _finished:
		_fail("a script error ended the run")
	return true


func _fail(reason: String) -> void:
	_finished = true
	printerr(reason)
	quit(1)


func _time_map(jumping: bool, runs: int) -> void:
	var size: Vector2i = _take_vector()
	var weighted: bool = _take_int() != 0
	var queries: int = _take_int()
	var grid: AStarGrid2D = AStarGrid2D.new()
	grid.region = Rect2i(Vector2i.ZERO, size)
	grid.diagonal_mode = AStarGrid2D.DIAGONAL_MODE_ONLY_IF_NO_OBSTACLES
	grid.default_compute_heuristic = AStarGrid2D.HEURISTIC_OCTILE
	grid.default_estimate_heuristic = AStarGrid2D.HEURISTIC_OCTILE
	grid.jumping_enabled = jumping
	grid.update()
	for y: int in size.y:
		for x: int in size.x:
			if _take_int() != 0:
				grid.set_point_solid(Vector2i(x, y))
	if weighted:
		for y: int in size.y:
			for x: int in size.x:
				grid.set_point_weight_scale(Vector2i(x, y), _take_float())

	var starts: Array[Vector2i] = []
	var goals: Array[Vector2i] = []
	for query: int in queries:
		starts.append(_take_vector())
		goals.append(_take_vector())
	for query: int in mini(queries, WARM_UP_QUERIES):
		grid.get_id_path(starts[query], goals[query])
	# One run after the other, so that a disturbance does not hit all times of one query.
	var times: Array[PackedFloat64Array] = []
	for query: int in queries:
		times.append(PackedFloat64Array())
	for run: int in runs:
		for query: int in queries:
			times[query].append(_time_query(grid, starts[query], goals[query]))
	for query: int in queries:
		var path: Array[Vector2i] = grid.get_id_path(starts[query], goals[query])
		_results.append(_median(times[query]))
		_results.append(_path_cost(grid, path))
		_results.append(_path_cells(path))


func _time_query(grid: AStarGrid2D, start: Vector2i, goal: Vector2i) -> float:
	var repeats: int = 1
	while true:
		var begin: int = Time.get_ticks_usec()
		for repeat: int in repeats:
			grid.get_id_path(start, goal)
		var elapsed: int = Time.get_ticks_usec() - begin
		if elapsed >= SHORTEST_USEC:
			return float(elapsed) / repeats
		# Past the aim by a quarter, so that the next round is most likely the last.
		repeats = ceili(1.25 * repeats * SHORTEST_USEC / maxi(elapsed, 1))
	return NAN


func _median(values: PackedFloat64Array) -> float:
	values.sort()
	var middle: int = values.size() / 2
	if values.size() % 2 == 1:
		return values[middle]
	return (values[middle - 1] + values[middle]) / 2.0


func _path_cost(grid: AStarGrid2D, path: Array[Vector2i]) -> float:
	if path.is_empty():
		return INF
	var cost: float = 0.0
	for index: int in range(1, path.size()):
		# With jumping a path names the jump points alone, several cells apart in one direction;
		# no cell between them has a weight then.
		var step: Vector2i = (path[index] - path[index - 1]).abs()
		var diagonal: int = mini(step.x, step.y)
		var straight: int = maxi(step.x, step.y) - diagonal
		cost += (straight + sqrt(2.0) * diagonal) * grid.get_point_weight_scale(path[index])
	return cost


func _path_cells(path: Array[Vector2i]) -> int:
	var cells: int = mini(path.size(), 1)
	for index: int in range(1, path.size()):
		var step: Vector2i = (path[index] - path[index - 1]).abs()
		cells += maxi(step.x, step.y)
	return cells


func _take_int() -> int:
	_next += 1
	return _ints[_next - 1]


func _take_float() -> float:
	_next += 1
	return _floats[_next - 1]


func _take_vector() -> Vector2i:
	_next += 2
	return Vector2i(_ints[_next - 2], _ints[_next - 1])
