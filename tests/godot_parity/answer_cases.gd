extends SceneTree
## Answers the queries of a case file with AStarGrid2D and writes the id paths to a result file.
##
## Usage: [code]godot --headless --path FOLDER -s res://answer_cases.gd -- CASES RESULTS[/code].
## Both files are sequences of little-endian words of 4 bytes.
## [br][br]
## A case file is MAGIC, the number of cases, and the cases. A case is width, height, x and y of
## the region, diagonal mode, compute heuristic, estimate heuristic (NO_ESTIMATE for none), the
## number of its steps, and the steps. A step is a [enum Step] and its arguments in the order that
## [method _take_step] reads them; all words are int32, but weights are float32.
## [br][br]
## A result file is, for every QUERY in order, the number of cells of the path and their x and y;
## then MAGIC, which tells that it is whole.
## [br][br]
## The last line printed is [code]N passed, N failed[/code] (cases); the exit code is 1 if any
## failed. A case fails if the engine reported an error while it ran.

enum Step { SOLIDS, WEIGHTS, POINT_SOLID, REGION_SOLID, POINT_WEIGHT, REGION_WEIGHT, QUERY }

const ErrorCounter: GDScript = preload("error_counter.gd")
const UnestimatedGrid: GDScript = preload("unestimated_grid.gd")

const MAGIC: int = 0x4350474E
const NO_ESTIMATE: int = -1

var _errors: ErrorCounter = ErrorCounter.new()
var _finished: bool = false
var _ints: PackedInt32Array = PackedInt32Array()
var _floats: PackedFloat32Array = PackedFloat32Array()
var _next: int = 0
var _results: PackedInt32Array = PackedInt32Array()


func _initialize() -> void:
	OS.add_logger(_errors)
	var arguments: PackedStringArray = OS.get_cmdline_user_args()
	if arguments.size() != 2:
		_fail("expected 2 arguments, CASES and RESULTS, got %d" % arguments.size())
		return
	var bytes: PackedByteArray = FileAccess.get_file_as_bytes(arguments[0])
	if bytes.size() < 8 or bytes.size() % 4 != 0:
		_fail("%s: %d bytes are not a case file" % [arguments[0], bytes.size()])
		return
	_ints = bytes.to_int32_array()
	_floats = bytes.to_float32_array()
	if _take_int() != MAGIC:
		_fail("%s: not a case file" % arguments[0])
		return

	var passed: int = 0
	var failed: int = 0
	for case: int in _take_int():
		var errors_before: int = _errors.get_count()
		_answer_case()
		if _errors.get_count() == errors_before:
			passed += 1
		else:
			failed += 1
			printerr("case %d: the engine reported an error" % case)
	if _next != _ints.size():
		_fail("%s: %d words, but %d were read" % [arguments[0], _ints.size(), _next])
		return
	_results.append(MAGIC)

	var file: FileAccess = FileAccess.open(arguments[1], FileAccess.WRITE)
	if file == null or not file.store_buffer(_results.to_byte_array()):
		_fail("%s: cannot be written" % arguments[1])
		return
	file.close()
	_finished = true
	print("%d passed, %d failed" % [passed, failed])
	quit(0 if failed == 0 and _errors.get_count() == 0 else 1)


## Ends the run if an error cut [method _initialize] short; Godot would go on for ever.
func _process(_delta: float) -> bool:
	if not _finished:
		_fail("a script error ended the run")
	return true


func _fail(reason: String) -> void:
	_finished = true
	printerr(reason)
	print("0 passed, 1 failed")
	quit(1)


func _answer_case() -> void:
	var size: Vector2i = _take_vector()
	var position: Vector2i = _take_vector()
	var diagonal_mode: int = _take_int()
	var compute_heuristic: int = _take_int()
	var estimate_heuristic: int = _take_int()
	var grid: AStarGrid2D = null
	if estimate_heuristic == NO_ESTIMATE:
		grid = UnestimatedGrid.new()
	else:
		grid = AStarGrid2D.new()
		grid.default_estimate_heuristic = estimate_heuristic as AStarGrid2D.Heuristic
	grid.region = Rect2i(position, size)
	grid.diagonal_mode = diagonal_mode as AStarGrid2D.DiagonalMode
	grid.default_compute_heuristic = compute_heuristic as AStarGrid2D.Heuristic
	grid.jumping_enabled = false
	grid.update()
	for step: int in _take_int():
		_take_step(grid)


func _take_step(grid: AStarGrid2D) -> void:
	match _take_int():
		Step.SOLIDS:
			for cell: Vector2i in _cells_of(grid.region):
				grid.set_point_solid(cell, _take_int() != 0)
		Step.WEIGHTS:
			for cell: Vector2i in _cells_of(grid.region):
				grid.set_point_weight_scale(cell, _take_float())
		Step.POINT_SOLID:
			var cell: Vector2i = _take_vector()
			grid.set_point_solid(cell, _take_int() != 0)
		Step.REGION_SOLID:
			var region: Rect2i = _take_region()
			grid.fill_solid_region(region, _take_int() != 0)
		Step.POINT_WEIGHT:
			var cell: Vector2i = _take_vector()
			grid.set_point_weight_scale(cell, _take_float())
		Step.REGION_WEIGHT:
			var region: Rect2i = _take_region()
			grid.fill_weight_scale_region(region, _take_float())
		Step.QUERY:
			var start: Vector2i = _take_vector()
			var goal: Vector2i = _take_vector()
			var path: Array[Vector2i] = grid.get_id_path(start, goal)
			_results.append(path.size())
			for cell: Vector2i in path:
				_results.append(cell.x)
				_results.append(cell.y)
		var unknown:
			push_error("word %d: no step %s" % [_next - 1, unknown])


func _cells_of(region: Rect2i) -> Array[Vector2i]:
	var cells: Array[Vector2i] = []
	for y: int in range(region.position.y, region.end.y):
		for x: int in range(region.position.x, region.end.x):
			cells.append(Vector2i(x, y))
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


func _take_region() -> Rect2i:
	_next += 4
	return Rect2i(_ints[_next - 4], _ints[_next - 3], _ints[_next - 2], _ints[_next - 1])
