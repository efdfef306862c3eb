extends RefCounted
## What finds paths: the sidecar or the engine's own AStarGrid2D. Nothing here waits.

const AgentBatch := preload("agent_batch.gd")
const RequestMessage := preload("message.gd")
const PathJob := preload("path_job.gd")
const ReachableJob := preload("reachable_job.gd")
const WorldState := preload("world_state.gd")

# Who is told when a path breaks, a PathJob or a NavServerAgent2D, by the number of the watch.
var _watchers: Dictionary[int, Object] = {}


## Takes a world as it stands, in place of what it had of that name; tells by the world's signals.
func put_world(_world: WorldState) -> void:
	pass


## Forgets a world.
func drop_world(_world: WorldState) -> void:
	pass


## Changes cells of a world: x and y, class, and factor of the cost of each.
func edit_cells(
	_world: WorldState,
	_cells: PackedInt32Array,
	_classes: PackedByteArray,
	_scales: PackedFloat32Array
) -> void:
	pass


## Defines a profile of a world.
func set_profile(_world: WorldState, _name: String, _costs: PackedFloat32Array) -> void:
	pass


## Takes jobs, each of which it answers exactly once.
func find_paths(_jobs: Array[PathJob]) -> void:
	pass


## Takes a batch, each row of which it answers exactly once.
func find_batch(_batch: AgentBatch) -> void:
	pass


## Takes a question for all cells within reach.
func find_reachable(_job: ReachableJob) -> void:
	pass


## Tells the class of each cell of a world to [param handler], which takes the rectangle of cells
## and a byte for each, row by row; for whoever debugs the game.
func read_classes(_world: WorldState, _handler: Callable) -> void:
	pass


## Sends a message of the protocol; false where there is nobody to send it to. The reply goes to
## [param handler], unless another backend takes over before it comes.
func send_message(_message: RequestMessage, _handler: Callable) -> bool:
	return false


## Asks for a job to end soon; it is answered all the same.
func cancel(_job: PathJob) -> void:
	pass


## Tells that nobody waits for a row of a batch any more.
func cancel_row(_batch: AgentBatch, _row: int) -> void:
	pass


## Watches a path no longer.
func unwatch(number: int) -> void:
	_watchers.erase(number)


## Watches many paths no longer.
func unwatch_all(numbers: PackedInt32Array) -> void:
	for number: int in numbers:
		# Which have no sign, in either kind of array.
		unwatch(number & 0xffff_ffff)


## Watches nothing any more, and tells those who would have heard.
func end_watches() -> void:
	var watchers: Array[Object] = _watchers.values()
	_watchers.clear()
	for watcher: Object in watchers:
		if watcher is PathJob:
			var job: PathJob = watcher
			job.lose_watch()
		elif watcher is NavServerAgent2D:
			var agent: NavServerAgent2D = watcher
			agent.lose_watch()


## Hands on what has arrived, until [param deadline_usec] of [Time]; the rest keeps for later.
func poll(_deadline_usec: int) -> void:
	pass


## Sends what was gathered during the frame.
func flush() -> void:
	pass


## Returns the jobs that have no answer, and forgets them.
func take_unanswered() -> Array[PathJob]:
	return []


## Returns the agents that have no answer, and forgets their batches.
func take_unanswered_agents() -> Array[NavServerAgent2D]:
	return []


## Returns what it can do, as names.
func get_capabilities() -> PackedStringArray:
	return PackedStringArray()


## Answers a job that nobody can search for, so that it does no harm to those it would leave with;
## tells whether it is one.
static func _is_refused(job: PathJob) -> bool:
	var problem: String = job.find_problem()
	if problem.is_empty():
		return false
	job.answer(NavServerPathResult.without_path(NavServerPathResult.Status.FAILED, problem))
	return true


## Tells once that a watched path has broken at an entry of its cells.
func _tell_broken(number: int, index: int) -> void:
	var watcher: Object = _watchers.get(number)
	_watchers.erase(number)
	if watcher is PathJob:
		var job: PathJob = watcher
		job.invalidate(index)
	elif watcher is NavServerAgent2D:
		var agent: NavServerAgent2D = watcher
		agent.take_break()
