extends "test_case.gd"
## Watched paths against edits, without a sidecar.

const PathJob := preload("res://addons/navserver/internal/path_job.gd")
const WatchedPaths := preload("res://addons/navserver/internal/watched_paths.gd")
const WorldState := preload("res://addons/navserver/internal/world_state.gd")

var _world: WorldState = WorldState.new()
var _watched: WatchedPaths = WatchedPaths.new()


func before_each() -> void:
	_world.transform = Transform2D(Vector2(16, 0), Vector2(0, 16), Vector2(8, 8))
	var costs: PackedFloat32Array = NavServerProfile.new().get_cost_table()
	costs[2] = INF
	_world.profiles["walker"] = costs


func _watch(cells: Array[Vector2i], profile: String = "walker", size: int = 1) -> Array[int]:
	var job: PathJob = PathJob.new()
	job.world = _world
	job.profile = profile
	job.size = size
	job.watch = true
	job.start = cells[0]
	var told: Array[int] = []
	job.invalidated.connect(func(index: int) -> void: told.append(index))
	var points: PackedVector2Array = PackedVector2Array()
	for cell: Vector2i in cells:
		points.append(_world.transform * Vector2(cell))
	_watched.add(job, points)
	return told


func _edit(cell: Vector2i, class_id: int) -> void:
	_watched.note_edit(_world, PackedInt32Array([cell.x, cell.y]), PackedByteArray([class_id]))


func test_what_breaks_a_path_and_what_does_not() -> void:
	var cells: Array[Vector2i] = [Vector2i(-1, 0), Vector2i(0, 0), Vector2i(1, 1)]
	for case: Array in [
		[Vector2i(0, 0), 255, [1]],
		[Vector2i(1, 1), 2, [2]],
		[Vector2i(1, 0), 255, [2]],
		[Vector2i(0, 1), 255, [2]],
		[Vector2i(0, 0), 1, []],
		[Vector2i(5, 5), 255, []],
	]:
		var told: Array[int] = _watch(cells)
		var cell: Vector2i = case[0]
		var class_id: int = case[1]
		_edit(cell, class_id)
		check_equal(Array(told), case[2] as Array, str(case))
		_edit(cell, class_id)
		check_equal(told.size(), (case[2] as Array).size(), "told once")
		_watched.clear()


func test_corners_do_not_matter_where_they_may_be_cut() -> void:
	_world.diagonal_mode = AStarGrid2D.DIAGONAL_MODE_ALWAYS
	var told: Array[int] = _watch([Vector2i(0, 0), Vector2i(1, 1)])
	_edit(Vector2i(1, 0), 255)
	check_equal(told.size(), 0)


func test_large_bodies_and_unknown_profiles() -> void:
	var large: Array[int] = _watch([Vector2i(0, 0), Vector2i(1, 0)], "walker", 2)
	var anyone: Array[int] = _watch([Vector2i(0, 0), Vector2i(1, 0)], "default")
	_edit(Vector2i(2, 1), 2)
	check_equal(large, [1] as Array[int])
	check_equal(anyone.size(), 0)
	_edit(Vector2i(0, 0), 255)
	check_equal(anyone, [0] as Array[int])
