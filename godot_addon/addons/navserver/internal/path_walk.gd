extends RefCounted
## The path that an agent walks: how it came, and how far along it the body is.

const Avoider := preload("avoider.gd")
const BatchRows := preload("batch_rows.gd")

## The path in global coordinates; empty without one.
var points: PackedVector2Array = PackedVector2Array()
## Which point is walked to.
var index: int = 0
## Whether its end was reached, and told.
var is_over: bool = false
## Whether it was told that the target was reached.
var is_target_told: bool = false
## What came of the question.
var status: NavServerPathResult.Status = NavServerPathResult.Status.FAILED

var _agent: NavServerAgent2D
var _avoider: Avoider
# The answer; null with a path means that it is made of what follows when it is asked for.
var _result: NavServerPathResult = null
var _source: int = NavServerPathResult.Source.NOTHING
var _cost: float = INF
var _length: float = INF
var _version: int = 0


## Serves an agent, whose avoider knows the walls.
func _init(agent: NavServerAgent2D, avoider: Avoider) -> void:
	_agent = agent
	_avoider = avoider


## Takes an answer, with a path or without.
func take_result(result: NavServerPathResult) -> void:
	_result = result
	status = result.status
	if result.has_path():
		_begin(result.path)


## Takes a path that is a row of a reply.
func take_row(rows: BatchRows, row: int) -> void:
	status = rows.statuses[row] as NavServerPathResult.Status
	# Many come at once, so this calls as little as it can.
	_source = rows.sources[row]
	_version = rows.versions[row]
	_cost = rows.costs[row]
	_length = rows.lengths[row]
	_result = null
	_begin(rows.get_path_of(row))


## Forgets the path, and the answer as well.
func clear() -> void:
	points = PackedVector2Array()
	_result = null


## Forgets the path.
func drop_points() -> void:
	points = PackedVector2Array()


## Returns the answer that the path came with; null without one.
func get_result(map: NavServerMap2D) -> NavServerPathResult:
	if _result == null and not points.is_empty():
		_result = NavServerPathResult.of_number(status)
		_result.source = BatchRows.to_source(_source)
		_result.cost = _cost
		_result.path_length = _length
		_result.map_version = BatchRows.to_version(_version)
		_result.path = points
		if map != null:
			_result.localize(Transform2D.IDENTITY, map.global_to_map)
	return _result


## Passes what the body has reached from where it is, and has the agent tell of it. There has to be
## a path.
func advance(here: Vector2) -> void:
	if (
		not is_target_told
		and here.distance_to(_agent.target_position) <= _agent.target_desired_distance
	):
		is_target_told = true
		_agent.target_reached.emit()
		_finish()
		return
	var near: float = _agent.path_desired_distance
	while here.distance_to(points[index]) <= near or _is_point_passed(here):
		_agent.waypoint_reached.emit({"position": points[index], "index": index})
		if points.is_empty():
			# Who was told has stopped the agent.
			return
		if index == points.size() - 1:
			_finish()
			return
		index += 1


## Tells whether the body is farther from the path than the agent allows.
func is_left(here: Vector2) -> bool:
	var most: float = _agent.path_max_distance
	if index == 0 or most <= 0.0:
		return false
	var nearest: Vector2 = Geometry2D.get_closest_point_to_segment(
		here, points[index - 1], points[index]
	)
	return here.distance_squared_to(nearest) > most * most


func _begin(path: PackedVector2Array) -> void:
	points = path
	is_over = false
	# The first point is the centre of the cell where the body stands already.
	index = mini(1, points.size() - 1)


## Who goes around others may have to leave a point of the path aside, as one where somebody stands.
func _is_point_passed(here: Vector2) -> bool:
	if not _agent.avoidance_enabled or index >= points.size() - 1:
		return false
	var next: Vector2 = points[index + 1]
	var is_beyond: bool = here.distance_squared_to(next) < points[index].distance_squared_to(next)
	return is_beyond and _avoider.sees(here, next)


func _finish() -> void:
	if not is_over:
		is_over = true
		_agent.navigation_finished.emit()
