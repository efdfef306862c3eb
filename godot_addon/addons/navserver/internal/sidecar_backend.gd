extends "backend.gd"
## Finds paths by the sidecar: turns worlds, jobs and batches into messages of a session, and back.
##
## Jobs of one call for one world and profile leave as one batch; its rows are answered as they
## become ready.

const BatchRows := preload("batch_rows.gd")
const Message := preload("message.gd")
const MoverView := preload("mover_view.gd")
const Session := preload("session.gd")
const SidecarRequests := preload("sidecar_requests.gd")
const SidecarWorlds := preload("sidecar_worlds.gd")
const WorldPreparation := preload("world_preparation.gd")

# Statuses and sources by their number, which the enums of NavServerPathResult share.
const _STATUSES: PackedStringArray = [
	"found",
	"partial",
	"unreachable",
	"start_blocked",
	"goal_blocked",
	"limit",
	"cancelled",
	"deadline",
	"superseded",
	"overloaded",
	"world_removed",
]
const _SOURCES: PackedStringArray = ["nothing", "search", "field", "cache", "coalesced", "islands"]
const _BATCH_LIMIT: int = 4096
const _LEFT_OUT: String = "batch: the server left this row out; update it"
const _UNEVEN: String = "batch: the reply's arrays differ in length; update addon or server"

var _requests: SidecarRequests
var _worlds: SidecarWorlds
# The jobs of a path or batch by id.
var _jobs: Dictionary[int, Array] = {}
# Id and row of a job that has no answer.
var _places: Dictionary[PathJob, Vector2i] = {}
var _batches: Dictionary[int, AgentBatch] = {}
# Replies whose rows are being handed on.
var _arrived: Array[BatchRows] = []
# Whether rows are being handed on to agents, who may wait for something meanwhile.
var _is_telling_agents: bool = false
var _reachable: Dictionary[int, ReachableJob] = {}
# What is told to the server at the end of the frame.
var _unwatched: PackedInt32Array = PackedInt32Array()
var _cancelled: Dictionary[int, PackedInt32Array] = {}


## Speaks over a session; the owner hands its replies to [method take_reply].
func _init(session: Session) -> void:
	_requests = SidecarRequests.new(session)
	_worlds = SidecarWorlds.new(_requests)


## Makes of a reply what it takes time to make; on any thread.
static func prepare(reply: Message) -> void:
	if reply.get_text("status") != "ok":
		return
	match reply.get_type():
		"batch":
			reply.content = BatchRows.new(reply)
			# Freeing large arrays is no business of a frame.
			reply.strip()
		"movers_step", "movers_view":
			MoverView.prepare(reply)


func put_world(world: WorldState) -> void:
	_worlds.put(world)


func drop_world(world: WorldState) -> void:
	_worlds.drop(world)


func edit_cells(
	world: WorldState, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> void:
	_worlds.edit(world, cells, classes, scales)


func set_profile(world: WorldState, name: String, costs: PackedFloat32Array) -> void:
	_worlds.set_profile(world, name, costs)


## Waits for threads; nothing but take_unanswered and its like may be called after it.
func close() -> void:
	_worlds.close()


func poll(deadline_usec: int) -> void:
	var at: int = 0
	while at < _arrived.size():
		var rows: BatchRows = _arrived[at]
		var is_of_agents: bool = rows.id in _batches
		if is_of_agents and _is_telling_agents:
			# One of them waits for a path of its own; the others are told after it.
			at += 1
			continue
		_is_telling_agents = _is_telling_agents or is_of_agents
		var is_done: bool = _take_rows(rows, deadline_usec)
		_is_telling_agents = _is_telling_agents and not is_of_agents
		if not is_done:
			return
		# Whoever waited may have taken it out, and others.
		_arrived.erase(rows)
		if not rows.has_more():
			_end_request(rows.id, NavServerPathResult.Status.FAILED, _LEFT_OUT)
	for preparation: WorldPreparation in _worlds.take_prepared():
		find_paths(preparation.jobs)
		for batch: AgentBatch in preparation.batches:
			find_batch(batch)


func flush() -> void:
	for id: int in _cancelled:
		var message: Message = Message.new("cancel")
		message.header["target"] = id
		var rows: PackedInt32Array = _cancelled[id]
		message.add_array("rows", "u32", str(rows.size()), rows.to_byte_array())
		_requests.send(message)
	_cancelled.clear()
	if not _unwatched.is_empty():
		var message: Message = Message.new("unwatch")
		message.add_array("watches", "u32", str(_unwatched.size()), _unwatched.to_byte_array())
		_requests.send(message)
		_unwatched.clear()


## Sends a question of the caller's own; [param handler] takes the reply. Returns its id.
func ask(message: Message, handler: Callable) -> int:
	return _requests.send(message, handler)


## Tells whether the sidecar takes messages of a type.
func is_offered(type: String) -> bool:
	return _requests.is_offered(type)


## Asks for a question to end soon; it is answered all the same.
func withdraw(id: int) -> void:
	var message: Message = Message.new("cancel")
	message.header["target"] = id
	_requests.send(message)


func find_paths(jobs: Array[PathJob]) -> void:
	var groups: Dictionary[Array, Array] = {}
	for job: PathJob in jobs:
		if job.is_over() or _is_refused(job):
			continue
		if _is_kept_for_later(job) or _is_outside(job):
			continue
		if not job.blocked_cells.is_empty():
			_ask_one(job)
			continue
		var alike: Array = [job.world, job.profile, job.allow_partial, job.watch]
		if alike not in groups:
			groups[alike] = [] as Array[PathJob]
		groups[alike].append(job)
	for alike: Array in groups:
		var group: Array[PathJob] = groups[alike]
		for at: int in range(0, group.size(), _BATCH_LIMIT):
			var part: Array[PathJob] = group.slice(at, at + _BATCH_LIMIT)
			if part.size() == 1:
				_ask_one(part[0])
			else:
				_ask_many(part)


func find_batch(batch: AgentBatch) -> void:
	var preparation: WorldPreparation = _worlds.get_preparation(batch.world)
	if preparation != null:
		preparation.batches.append(batch)
		return
	var message: Message = _make_question(
		"batch", batch.world, batch.profile_name, batch.allow_partial, batch.watch
	)
	message.header["size"] = batch.size
	message.header["parts"] = true
	var count: String = str(batch.get_count())
	message.add_array("starts", "i32", count + "x2", batch.starts.to_byte_array())
	message.add_array("goals", "i32", count + "x2", batch.goals.to_byte_array())
	message.add_array("agents", "i64", count, batch.numbers.to_byte_array())
	batch.id = _requests.send(message, _take_batch)
	_batches[batch.id] = batch


func find_reachable(job: ReachableJob) -> void:
	var preparation: WorldPreparation = _worlds.get_preparation(job.world)
	if preparation != null:
		preparation.held.append(find_reachable.bind(job))
		return
	var message: Message = Message.new("reachable")
	message.header["world"] = job.world.name
	message.header["start"] = [job.start.x, job.start.y]
	message.header["budget"] = job.budget
	message.header["profile"] = job.profile
	message.header["diagonal_mode"] = job.world.diagonal_mode
	message.header["size"] = job.size
	_add_blocked_cells(message, job.world, job.blocked_cells)
	_reachable[_requests.send(message, _take_reachable)] = job


func read_classes(world: WorldState, handler: Callable) -> void:
	var preparation: WorldPreparation = _worlds.get_preparation(world)
	if preparation != null:
		preparation.held.append(read_classes.bind(world, handler))
		return
	var message: Message = Message.new("map_layer")
	message.header["world"] = world.name
	message.header["layer"] = "classes"
	_requests.send(message, _take_classes.bind(world.region, handler))


func send_message(message: Message, handler: Callable) -> bool:
	_requests.send(message, handler)
	return true


func cancel(job: PathJob) -> void:
	if job in _places:
		_note_cancelled(_places[job].x, _places[job].y)
	elif _worlds.get_preparation(job.world) != null and not job.is_over():
		job.answer(NavServerPathResult.of_number(NavServerPathResult.Status.CANCELLED))


func cancel_row(batch: AgentBatch, row: int) -> void:
	if batch.id in _batches:
		_note_cancelled(batch.id, row)


func unwatch(number: int) -> void:
	if _watchers.erase(number):
		_unwatched.append(number)


func unwatch_all(numbers: PackedInt32Array) -> void:
	# Many at once, so this calls as little as it can.
	for number: int in numbers:
		if _watchers.erase(number & 0xffff_ffff):
			_unwatched.append(number)


func take_unanswered() -> Array[PathJob]:
	var jobs: Array[PathJob] = _places.keys()
	for preparation: WorldPreparation in _worlds.get_preparations():
		jobs.append_array(preparation.jobs)
		preparation.jobs.clear()
	_places.clear()
	_arrived.clear()
	_jobs.clear()
	_requests.clear()
	return jobs


func take_unanswered_agents() -> Array[NavServerAgent2D]:
	var agents: Array[NavServerAgent2D] = []
	for preparation: WorldPreparation in _worlds.get_preparations():
		for batch: AgentBatch in preparation.batches:
			agents.append_array(batch.take_waiting())
		preparation.batches.clear()
	for id: int in _batches:
		agents.append_array(_batches[id].take_waiting())
	_batches.clear()
	return agents


func get_capabilities() -> PackedStringArray:
	return _requests.get_capabilities()


## Takes a reply of the session.
func take_reply(reply: Message) -> void:
	_requests.take_reply(reply)


## Tells whether every answer that came is handed on.
func is_idle() -> bool:
	return _arrived.is_empty() and _worlds.get_preparations().is_empty()


## Takes the event path_invalid.
func take_path_invalid(event: Message) -> void:
	var watches: PackedInt32Array = event.get_int32s("watches", "u32")
	var indices: PackedInt32Array = event.get_int32s("indices", "u32")
	for at: int in mini(watches.size(), indices.size()):
		_tell_broken(watches[at] & 0xffff_ffff, indices[at])


## Ends all watches without a word; the server knows none of them.
func forget_watches() -> void:
	_watchers.clear()
	_unwatched.clear()


func _is_kept_for_later(job: PathJob) -> bool:
	var preparation: WorldPreparation = _worlds.get_preparation(job.world)
	if preparation != null:
		preparation.jobs.append(job)
	return preparation != null


func _is_outside(job: PathJob) -> bool:
	var status: NavServerPathResult.Status = NavServerPathResult.Status.FOUND
	if not job.world.region.has_point(job.start):
		status = NavServerPathResult.Status.START_BLOCKED
	elif not job.world.region.has_point(job.goal):
		status = NavServerPathResult.Status.GOAL_BLOCKED
	if status != NavServerPathResult.Status.FOUND:
		job.answer(NavServerPathResult.of_number(status))
	return job.is_over()


func _note_cancelled(id: int, row: int) -> void:
	if id not in _cancelled:
		_cancelled[id] = PackedInt32Array()
	_cancelled[id].append(row)


func _ask_one(job: PathJob) -> void:
	var message: Message = _make_question(
		"path", job.world, job.profile, job.allow_partial, job.watch
	)
	message.header["start"] = [job.start.x, job.start.y]
	message.header["goal"] = [job.goal.x, job.goal.y]
	message.header["size"] = job.size
	message.header["priority"] = job.priority
	if job.deadline_msec > 0.0:
		message.header["deadline_ms"] = job.deadline_msec
	_add_blocked_cells(message, job.world, job.blocked_cells)
	var id: int = _requests.send(message, _take_path)
	_jobs[id] = [job]
	_places[job] = Vector2i(id, 0)


## Cells outside the map block nobody, and the sidecar refuses them.
static func _add_blocked_cells(
	message: Message, world: WorldState, blocked: PackedInt32Array
) -> void:
	var cells: PackedInt32Array = PackedInt32Array()
	for at: int in range(0, blocked.size(), 2):
		if world.region.has_point(Vector2i(blocked[at], blocked[at + 1])):
			cells.append_array([blocked[at], blocked[at + 1]])
	if not cells.is_empty():
		message.add_cells("blocked_cells", cells)


func _ask_many(jobs: Array[PathJob]) -> void:
	var message: Message = _make_question(
		"batch", jobs[0].world, jobs[0].profile, jobs[0].allow_partial, jobs[0].watch
	)
	message.header["parts"] = true
	var starts: PackedInt32Array = PackedInt32Array()
	var goals: PackedInt32Array = PackedInt32Array()
	var sizes: PackedByteArray = PackedByteArray()
	var priorities: PackedByteArray = PackedByteArray()
	var deadlines: PackedFloat32Array = PackedFloat32Array()
	for job: PathJob in jobs:
		starts.append_array([job.start.x, job.start.y])
		goals.append_array([job.goal.x, job.goal.y])
		sizes.append(job.size)
		priorities.append(job.priority & 0xff)
		deadlines.append(job.deadline_msec)
	var count: String = str(jobs.size())
	message.add_cells("starts", starts)
	message.add_cells("goals", goals)
	message.add_array("sizes", "u8", count, sizes)
	message.add_array("priorities", "i8", count, priorities)
	message.add_array("deadlines", "f32", count, deadlines.to_byte_array())
	var id: int = _requests.send(message, _take_batch)
	_jobs[id] = jobs
	for row: int in jobs.size():
		_places[jobs[row]] = Vector2i(id, row)


func _make_question(
	type: String, world: WorldState, profile: String, allow_partial: bool, watch: bool
) -> Message:
	var message: Message = Message.new(type)
	message.header["world"] = world.name
	message.header["profile"] = profile
	message.header["diagonal_mode"] = world.diagonal_mode
	message.header["allow_partial"] = allow_partial
	if watch:
		message.header["watch"] = true
	return message


func _take_path(reply: Message) -> void:
	var id: int = reply.get_integer("id")
	var status: int = _STATUSES.find(reply.get_text("status"))
	if status < 0:
		_end_request(id, NavServerPathResult.Status.FAILED, SidecarRequests.say_error(reply))
		return
	var result: NavServerPathResult = NavServerPathResult.of_number(status)
	result.map_version = reply.get_integer("version")
	result.source = maxi(0, _SOURCES.find(reply.get_text("source"))) as NavServerPathResult.Source
	if result.has_path():
		result.cost = reply.get_number("cost", INF)
		result.path_length = reply.get_number("length", INF)
		result.path = reply.get_vectors("points")
	_take_row(0, result, reply.get_integer("watch"), id)
	_jobs.erase(id)


func _take_batch(reply: Message) -> void:
	var id: int = reply.id
	if reply.content == null:
		prepare(reply)
	if reply.content is not BatchRows:
		var status: int = _STATUSES.find(reply.get_text("status"))
		if status >= 0:
			_end_request(id, NavServerPathResult.of_number(status).status, "")
		else:
			_end_request(id, NavServerPathResult.Status.FAILED, SidecarRequests.say_error(reply))
		return
	var rows: BatchRows = reply.content
	if rows.is_whole:
		_arrived.append(rows)
	else:
		_end_request(id, NavServerPathResult.Status.FAILED, _UNEVEN)


func _take_rows(rows: BatchRows, deadline_usec: int) -> bool:
	if rows.id in _batches:
		return rows.take_agent_rows(_batches[rows.id], _watchers, _unwatched, deadline_usec)
	return rows.take_rows(_take_row.bind(rows.id), deadline_usec)


## Answers one job of a request.
func _take_row(row: int, result: NavServerPathResult, watch: int, id: int) -> void:
	var jobs: Array = _jobs.get(id, [])
	if row < 0 or row >= jobs.size():
		return
	var job: PathJob = jobs[row]
	if not _places.erase(job):
		return
	if watch != 0 and job.watch:
		_watchers[watch] = job
		job.watch_number = watch
	elif watch != 0:
		_unwatched.append(watch)
	job.answer(result)


## Answers what a request has not answered yet.
func _end_request(id: int, status: NavServerPathResult.Status, reason: String) -> void:
	if id in _batches:
		var batch: AgentBatch = _batches[id]
		_batches.erase(id)
		batch.answer_rest(status, reason)
	var jobs: Array = _jobs.get(id, [])
	_jobs.erase(id)
	for job: PathJob in jobs:
		if _places.erase(job):
			job.answer(NavServerPathResult.without_path(status, reason))


func _take_classes(reply: Message, region: Rect2i, handler: Callable) -> void:
	handler.call(region, reply.get_bytes("classes"))


func _take_reachable(reply: Message) -> void:
	var id: int = reply.get_integer("id")
	var job: ReachableJob = _reachable.get(id)
	_reachable.erase(id)
	if job == null:
		return
	var cells: PackedInt32Array = reply.get_int32s("cells")
	var costs: PackedFloat64Array = reply.get_float64s("costs")
	var found: Dictionary[Vector2i, float] = {}
	for index: int in mini(costs.size(), floori(cells.size() / 2.0)):
		found[Vector2i(cells[2 * index], cells[2 * index + 1])] = costs[index]
	job.answer(found)
