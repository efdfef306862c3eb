extends "backend.gd"
## Finds paths by the engine's own AStarGrid2D, where there is no sidecar.
##
## The work is a list of tasks in order. Where the system has threads one task of the engine's pool
## works them off; else each poll does as many as it has time for. Worlds belong to whoever works:
## the main thread only appends tasks and takes results.

const FallbackWorld := preload("fallback_world.gd")
const Settings := preload("settings.gd")

const _CAPABILITIES: PackedStringArray = [
	"path", "batch", "reachable", "watch", "unwatch", "cancel"
]
const _PAUSE_USEC: int = 1000

## Whether tasks are done on another thread, not by each poll.
var is_threaded: bool = Settings.has_threads()

var _mutex: Mutex = Mutex.new()
# Shared under the mutex.
var _tasks: Array[Callable] = []
var _results: Array[Callable] = []
var _working: bool = false
# Set once by the main thread; whoever works looks at it now and then.
var _is_closing: bool = false
# Of whoever works.
var _worlds: Dictionary[String, FallbackWorld] = {}
var _watches: Dictionary[int, WatchedPath] = {}
var _last_watch: int = 0
# Of the main thread: results that are being handed on, and where that stands.
var _arrived: Array[Callable] = []
var _next: int = 0
var _pool_task: int = -1
var _unanswered: Dictionary[PathJob, bool] = {}
var _batches: Dictionary[AgentBatch, int] = {}


func put_world(world: WorldState) -> void:
	_add_task(_do_put_world.bind(world.copy(), world))


func drop_world(world: WorldState) -> void:
	_add_task(_do_drop_world.bind(world.name))


func edit_cells(
	world: WorldState, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> void:
	_add_task(_do_edit_cells.bind(world, cells, classes, scales))


func set_profile(world: WorldState, name: String, costs: PackedFloat32Array) -> void:
	_add_task(_do_set_profile.bind(world.name, name, costs))


func find_paths(jobs: Array[PathJob]) -> void:
	for job: PathJob in jobs:
		if not _is_refused(job):
			_unanswered[job] = true
			_add_task(_do_find_path.bind(job))


func find_batch(batch: AgentBatch) -> void:
	_batches[batch] = batch.get_count()
	for row: int in batch.get_count():
		_add_task(_do_find_row.bind(batch, row))


func find_reachable(job: ReachableJob) -> void:
	_add_task(_do_find_reachable.bind(job))


func read_classes(world: WorldState, handler: Callable) -> void:
	_add_task(_do_read_classes.bind(world.name, handler))


func cancel(job: PathJob) -> void:
	if _unanswered.erase(job):
		job.answer(NavServerPathResult.of_number(NavServerPathResult.Status.CANCELLED))


func unwatch(number: int) -> void:
	if _watchers.erase(number):
		_add_task(_do_unwatch.bind(number))


func end_watches() -> void:
	for number: int in _watchers:
		_add_task(_do_unwatch.bind(number))
	super()


func poll(deadline_usec: int) -> void:
	while not is_threaded and not _tasks.is_empty():
		var task: Callable = _tasks.pop_front()
		task.call()
		_working = not _tasks.is_empty()
		if Time.get_ticks_usec() > deadline_usec:
			break
	if _arrived.is_empty():
		_mutex.lock()
		_arrived = _results
		_results = []
		_mutex.unlock()
		_next = 0
	while _next < _arrived.size():
		# A result may ask again and so come here again.
		_next += 1
		_arrived[_next - 1].call()
		if Time.get_ticks_usec() > deadline_usec:
			return
	_arrived = []


## Lets a thread begin with what has been asked. Unless somebody [param is_waiting] the frame may
## end first, since the thread may come to run on its core.
func begin_work(is_waiting: bool = false) -> void:
	if not is_threaded:
		return
	_mutex.lock()
	var begins: bool = not _working and not _tasks.is_empty()
	_working = _working or begins
	_mutex.unlock()
	if begins:
		if _pool_task >= 0:
			# It is over but for its last line; the pool wants each task waited for.
			WorkerThreadPool.wait_for_task_completion(_pool_task)
		var pause: int = 0 if is_waiting else _PAUSE_USEC
		_pool_task = WorkerThreadPool.add_task(_work.bind(pause), false, "navserver fallback")


func take_unanswered() -> Array[PathJob]:
	var jobs: Array[PathJob] = _unanswered.keys()
	_unanswered.clear()
	return jobs


func take_unanswered_agents() -> Array[NavServerAgent2D]:
	var agents: Array[NavServerAgent2D] = []
	for batch: AgentBatch in _batches:
		agents.append_array(batch.take_waiting())
	_batches.clear()
	return agents


func get_capabilities() -> PackedStringArray:
	return _CAPABILITIES


## Tells whether every task is done and its result handed on.
func is_idle() -> bool:
	_mutex.lock()
	var idle: bool = _tasks.is_empty() and _results.is_empty() and not _working
	idle = idle and _arrived.is_empty()
	_mutex.unlock()
	return idle


## Waits for the thread, which breaks off what takes long; nothing is answered after it.
func close() -> void:
	_is_closing = true
	_mutex.lock()
	_tasks.clear()
	_mutex.unlock()
	if _pool_task >= 0:
		WorkerThreadPool.wait_for_task_completion(_pool_task)
	_pool_task = -1
	_results.clear()


func _add_task(task: Callable) -> void:
	_mutex.lock()
	_tasks.append(task)
	_mutex.unlock()


func _work(pause_usec: int) -> void:
	if pause_usec > 0:
		OS.delay_usec(pause_usec)
	while true:
		_mutex.lock()
		var task: Callable = Callable()
		if _tasks.is_empty():
			_working = false
		else:
			task = _tasks.pop_front()
		_mutex.unlock()
		if not task.is_valid():
			return
		task.call()


func _must_stop() -> bool:
	return _is_closing


func _add_result(result: Callable) -> void:
	_mutex.lock()
	_results.append(result)
	_mutex.unlock()


func _do_put_world(copy: WorldState, world: WorldState) -> void:
	_worlds[world.name] = FallbackWorld.new(copy, _must_stop)
	_end_watches_of(world.name)
	_add_result(_tell_arrived.bind(world))


func _do_drop_world(name: String) -> void:
	# Its watches stay: the map may come back, and those who walk to the end of a path go on.
	_worlds.erase(name)


func _do_edit_cells(
	world: WorldState, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> void:
	if world.name not in _worlds:
		return
	var held: FallbackWorld = _worlds[world.name]
	held.edit(cells, classes, scales)
	_add_result(_tell_edited.bind(world, held.version, cells))
	for number: int in _watches.keys():
		var path: WatchedPath = _watches[number]
		if path.world != world.name:
			continue
		var index: int = held.find_break(path.cells, path.profile, path.size)
		if index >= 0:
			_watches.erase(number)
			_add_result(_tell_broken.bind(number, index))


func _do_set_profile(world: String, name: String, costs: PackedFloat32Array) -> void:
	if world in _worlds:
		_worlds[world].set_profile(name, costs)


func _do_unwatch(number: int) -> void:
	_watches.erase(number)


func _do_find_path(job: PathJob) -> void:
	if job.is_over():
		return
	var waited: float = (Time.get_ticks_usec() - job.made_usec) / 1000.0
	if job.deadline_msec > 0.0 and waited > job.deadline_msec:
		_add_result(
			_answer.bind(job, NavServerPathResult.of_number(NavServerPathResult.Status.DEADLINE), 0)
		)
		return
	if job.world.name not in _worlds:
		_add_result(_answer.bind(job, _make_homeless(), 0))
		return
	var held: FallbackWorld = _worlds[job.world.name]
	var result: NavServerPathResult = held.find_path(
		job.start, job.goal, job.profile, job.size, job.allow_partial, job.blocked_cells
	)
	var watch: int = 0
	if job.watch and result.has_path():
		watch = _watch(result.path, job.world.name, job.profile, job.size)
	result.path = job.world.transform * result.path
	_add_result(_answer.bind(job, result, watch))


func _do_find_row(batch: AgentBatch, row: int) -> void:
	if batch.world.name not in _worlds:
		_add_result(_answer_row.bind(batch, row, _make_homeless(), 0))
		return
	var held: FallbackWorld = _worlds[batch.world.name]
	var result: NavServerPathResult = held.find_path(
		Vector2i(batch.starts[2 * row], batch.starts[2 * row + 1]),
		Vector2i(batch.goals[2 * row], batch.goals[2 * row + 1]),
		batch.profile_name,
		batch.size,
		batch.allow_partial,
		PackedInt32Array()
	)
	var watch: int = 0
	if batch.watch and result.has_path():
		watch = _watch(result.path, batch.world.name, batch.profile_name, batch.size)
	result.path = batch.world.transform * result.path
	_add_result(_answer_row.bind(batch, row, result, watch))


func _do_find_reachable(job: ReachableJob) -> void:
	var found: Dictionary[Vector2i, float] = {}
	if job.world.name in _worlds:
		var held: FallbackWorld = _worlds[job.world.name]
		found = held.find_reachable(job.start, job.budget, job.profile, job.size, job.blocked_cells)
	_add_result(_answer_reachable.bind(job, found))


func _do_read_classes(world: String, handler: Callable) -> void:
	if world in _worlds:
		var held: FallbackWorld = _worlds[world]
		_add_result(handler.bind(held.get_region(), held.get_classes()))


## Of a map that is another by now every path counts as broken from its beginning, as with the
## sidecar: cells may have other places and numbers.
func _end_watches_of(world: String) -> void:
	for number: int in _watches.keys():
		if _watches[number].world == world:
			_watches.erase(number)
			_add_result(_tell_broken.bind(number, 0))


func _watch(path: PackedVector2Array, world: String, profile: String, size: int) -> int:
	_last_watch += 1
	var cells: Array[Vector2i] = []
	for point: Vector2 in path:
		cells.append(Vector2i(point))
	_watches[_last_watch] = WatchedPath.new(world, profile, size, cells)
	return _last_watch


static func _make_homeless() -> NavServerPathResult:
	return NavServerPathResult.without_path(
		NavServerPathResult.Status.FAILED, "the map is gone: ask a map that is in the tree"
	)


# What is told is bound as an argument: a Callable of its own would not keep it alive until then.
func _tell_arrived(world: WorldState) -> void:
	world.tell_arrived(1)


func _tell_edited(world: WorldState, version: int, cells: PackedInt32Array) -> void:
	world.tell_edited(version, cells)


func _answer(job: PathJob, result: NavServerPathResult, watch: int) -> void:
	if not _unanswered.erase(job):
		_add_task(_do_unwatch.bind(watch))
		return
	if watch != 0 and job.watch:
		_watchers[watch] = job
		job.watch_number = watch
	elif watch != 0:
		_add_task(_do_unwatch.bind(watch))
	job.answer(result)


func _answer_row(batch: AgentBatch, row: int, result: NavServerPathResult, watch: int) -> void:
	if batch not in _batches:
		_add_task(_do_unwatch.bind(watch))
		return
	_batches[batch] -= 1
	if _batches[batch] == 0:
		_batches.erase(batch)
	if watch != 0:
		if batch.get_agent(row) == null:
			_add_task(_do_unwatch.bind(watch))
		else:
			_watchers[watch] = batch.get_agent(row)
	batch.answer(row, result, watch)


func _answer_reachable(job: ReachableJob, found: Dictionary[Vector2i, float]) -> void:
	job.answer(found)


## A path that is looked after while edits come.
class WatchedPath:
	extends RefCounted

	var world: String
	var profile: String
	var size: int
	var cells: Array[Vector2i]

	func _init(
		the_world: String, the_profile: String, the_size: int, the_cells: Array[Vector2i]
	) -> void:
		world = the_world
		profile = the_profile
		size = the_size
		cells = the_cells
