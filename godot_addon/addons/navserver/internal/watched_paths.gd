extends RefCounted
## Paths watched on this side, for sidecars that do not offer to watch.

const PathJob := preload("path_job.gd")
const WorldState := preload("world_state.gd")

# The points of each path, and its cells with their index once an edit asks for them.
var _points: Dictionary[PathJob, PackedVector2Array] = {}
var _cells: Dictionary[PathJob, Dictionary] = {}


## Watches the path of a job, given in the map's coordinates.
func add(job: PathJob, points: PackedVector2Array) -> void:
	_points[job] = points


## Watches a path no longer.
func remove(job: PathJob) -> void:
	_points.erase(job)
	_cells.erase(job)


## Watches nothing any more.
func clear() -> void:
	_points.clear()
	_cells.clear()


## Tells the jobs whose paths an edit breaks.
func note_edit(world: WorldState, cells: PackedInt32Array, classes: PackedByteArray) -> void:
	for job: PathJob in _points.keys():
		if job.world != world:
			continue
		var broken: int = _find_break(job, cells, classes)
		if broken >= 0:
			remove(job)
			job.invalidate(broken)


func _find_break(job: PathJob, cells: PackedInt32Array, classes: PackedByteArray) -> int:
	if job not in _cells:
		_cells[job] = _read_cells(job)
	var costs: PackedFloat32Array = job.world.profiles.get(job.profile, PackedFloat32Array())
	var first: int = -1
	for index: int in classes.size():
		var class_id: int = classes[index]
		var open: bool = class_id != WorldState.SOLID
		if open and (costs.is_empty() or not is_inf(costs[class_id])):
			continue
		for y: int in job.size:
			for x: int in job.size:
				var cell: Vector2i = Vector2i(cells[2 * index] - x, cells[2 * index + 1] - y)
				var at: int = _cells[job].get(cell, -1)
				if at >= 0 and (first < 0 or at < first):
					first = at
	return first


## Returns the cells that a path needs: its own, and those beside its diagonal steps.
func _read_cells(job: PathJob) -> Dictionary:
	var inverse: Transform2D = job.world.transform.affine_inverse()
	var corners: bool = job.world.diagonal_mode != AStarGrid2D.DIAGONAL_MODE_ALWAYS
	var found: Dictionary = {}
	var before: Vector2i = job.start
	for index: int in _points[job].size():
		var cell: Vector2i = Vector2i((inverse * _points[job][index]).round())
		if corners and cell.x != before.x and cell.y != before.y:
			for corner: Vector2i in [Vector2i(cell.x, before.y), Vector2i(before.x, cell.y)]:
				if corner not in found:
					found[corner] = index
		if cell not in found:
			found[cell] = index
		before = cell
	return found
