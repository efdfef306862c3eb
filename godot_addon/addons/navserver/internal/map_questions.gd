@tool
extends RefCounted
## What a NavServerMap2D is asked: turns questions into jobs of its world.

const MapWorld := preload("map_world.gd")
const NodeName := preload("node_name.gd")
const PathJob := preload("path_job.gd")
const ReachableJob := preload("reachable_job.gd")

const _LONGEST_MSEC: float = 3.6e6

var _map: NavServerMap2D
var _world: MapWorld


## Asks the world of a map.
func _init(map: NavServerMap2D, world: MapWorld) -> void:
	_map = map
	_world = world


## Asks for a path; never waits.
func find_path(query: NavServerPathQuery) -> NavServerPathRequest:
	var request: NavServerPathRequest = NavServerPathRequest.new()
	if query == null:
		var reason: String = "query is null; give a NavServerPathQuery"
		push_error("%s: find_path: %s" % [NodeName.of(_map), reason])
		request.complete(
			NavServerPathResult.without_path(NavServerPathResult.Status.FAILED, reason)
		)
		return request
	if not _map.is_known():
		request.complete(_without_map())
		return request
	var job: PathJob = _world.make_job(
		_map.global_to_map(query.start_position),
		_map.global_to_map(query.target_position),
		query.profile
	)
	if query.size != 0:
		job.size = query.size
	# What is no time, or longer than anybody waits, is no deadline.
	if query.deadline_msec > 0.0 and query.deadline_msec <= _LONGEST_MSEC:
		job.deadline_msec = query.deadline_msec
	job.priority = clampi(query.priority, -100, 100)
	job.allow_partial = query.allow_partial_path
	job.watch = query.watch
	job.blocked_cells = _world.list_inner(query.blocked_cells)
	return _send(request, job)


## Returns a path between cells; blocks for the map's timeout at most.
func find_blocking(
	from: Vector2i, to: Vector2i, allow_partial: bool, profile: NavServerProfile
) -> NavServerPathResult:
	if not _map.is_known():
		return _without_map()
	var deadline: int = _get_deadline()
	_world.hurry(deadline)
	var job: PathJob = _world.make_job(from, to, profile)
	job.allow_partial = allow_partial
	var request: NavServerPathRequest = _send(NavServerPathRequest.new(), job)
	NavServer.get_connection().wait_for(job.is_over, deadline)
	if not request.is_completed():
		request.cancel()
		return NavServerPathResult.of_number(NavServerPathResult.Status.DEADLINE)
	return request.result


## Returns the cells within reach of a budget with what they cost; blocks likewise.
func find_reachable(
	from: Vector2i, budget: float, profile: NavServerProfile, blocked: Array[Vector2i]
) -> Dictionary[Vector2i, float]:
	var found: Dictionary[Vector2i, float] = {}
	if is_nan(budget) or budget < 0.0:
		push_error("%s: budget is %s; give a number of 0 or more" % [NodeName.of(_map), budget])
		return found
	if not _map.is_in_boundsv(from):
		return found
	var deadline: int = _get_deadline()
	_world.hurry(deadline)
	if not _map.is_read():
		return found
	var path: PathJob = _world.make_job(from, from, profile)
	var job: ReachableJob = ReachableJob.new()
	job.world = path.world
	job.start = path.start
	job.profile = path.profile
	job.size = path.size
	job.budget = minf(budget, 1e300)
	job.blocked_cells = _world.list_inner(blocked)
	NavServer.get_connection().find_reachable(job)
	NavServer.get_connection().wait_for(func() -> bool: return job.is_over, deadline)
	for cell: Vector2i in job.costs:
		found[_world.layout.to_outer(cell)] = job.costs[cell]
	return found


func _get_deadline() -> int:
	return Time.get_ticks_usec() + _map.timeout_msec * 1000


func _send(request: NavServerPathRequest, job: PathJob) -> NavServerPathRequest:
	request.follow(job, _map.global_transform, _world.to_cell)
	var connection: NavServerConnection = NavServer.get_connection()
	connection.add_job(job)
	if connection.is_measured:
		var to_global: Transform2D = _map.global_transform * _world.state.transform
		job.note = connection.note_question(
			_map, to_global * Vector2(job.start), to_global * Vector2(job.goal)
		)
	return request


func _without_map() -> NavServerPathResult:
	return NavServerPathResult.without_path(
		NavServerPathResult.Status.FAILED, _map.describe_problem()
	)
