extends "backend.gd"
## Finds paths by the sidecar: turns worlds and jobs into messages of a session, and back.
##
## Jobs of one call for one world and profile leave as one batch; its rows are answered as they
## become ready.

const Message := preload("message.gd")
const Session := preload("session.gd")
const TileTable := preload("tile_table.gd")
const WatchedPaths := preload("watched_paths.gd")

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
const _REMOVED: String = "the map was removed while the request waited"
const _BATCH_LIMIT: int = 4096

var _session: Session
# What to do with the reply to a request, by id.
var _handlers: Dictionary[int, Callable] = {}
# The jobs of a path or batch by id; a job that is answered is null.
var _jobs: Dictionary[int, Array] = {}
# Id and row of a job that has no answer.
var _places: Dictionary[PathJob, Vector2i] = {}
var _watched: Dictionary[int, PathJob] = {}
var _watched_here: WatchedPaths = WatchedPaths.new()
var _batches: Array[BatchRows] = []
var _preparations: Dictionary[WorldState, Preparation] = {}
var _watches: Dictionary[PathJob, int] = {}


## Speaks over a session; the owner hands its replies to [method take_reply].
func _init(session: Session) -> void:
	_session = session


func put_world(world: WorldState) -> void:
	if world.layout == null:
		_put(world, world)
	elif not _is_held(world, _prepare.bind(world, world.copy())):
		_prepare(world, world.copy())


## Waits for threads; nothing but [method take_unanswered] may be called after it.
func close() -> void:
	for world: WorldState in _preparations:
		_preparations[world].finish()


func poll(deadline_usec: int) -> void:
	while not _batches.is_empty():
		if _batches[0].take_rows(self, deadline_usec):
			_batches.pop_front()
		else:
			return
	for world: WorldState in _preparations.keys():
		var preparation: Preparation = _preparations[world]
		if not preparation.is_over():
			continue
		preparation.finish()
		_preparations.erase(world)
		_put(preparation.world, world)
		for held: Callable in preparation.held:
			held.call()
		find_paths(preparation.jobs)


## Numbers the cells of a world's layers as they lie, on another thread.
func _prepare(world: WorldState, copy: WorldState) -> void:
	if not _is_held(world, _prepare.bind(world, copy)):
		_preparations[world] = Preparation.new(copy)


## Keeps for later what concerns a world that is being prepared.
func _is_held(world: WorldState, task: Callable) -> bool:
	if world not in _preparations:
		return false
	_preparations[world].held.append(task)
	return true


## Sends a world as it stood in [param copy].
func _put(copy: WorldState, world: WorldState) -> void:
	var made: Message = Message.new("world_create")
	(
		made
		. header
		. merge(
			{
				"world": world.name,
				"width": copy.region.size.x,
				"height": copy.region.size.y,
				"position": [copy.region.position.x, copy.region.position.y],
				"transform": _numbers_of(copy.transform),
				"fill": copy.empty_class,
				"replace": true,
				"owned": true,
			}
		)
	)
	if not copy.classes.is_empty():
		var shape: String = "%dx%d" % [copy.region.size.y, copy.region.size.x]
		made.add_array("classes", "u8", shape, copy.classes)
	_send(made, _take_world_reply.bind(world))
	if not copy.blobs.is_empty():
		_send(_make_tiles(copy), _take_world_reply.bind(world))
	for name: String in copy.profiles:
		_send_profile(world, name, copy.profiles[name])
	if copy.edit_cells.is_empty():
		# Whatever it is, its reply says that all before it is done.
		var info: Message = Message.new("world_info")
		info.header["world"] = world.name
		_send(info, _take_world_ready.bind(world))
	else:
		var edit: Message = _make_edit(world, copy.edit_cells, copy.edit_classes, copy.edit_scales)
		_send(edit, _take_world_ready.bind(world))


func drop_world(world: WorldState) -> void:
	if _is_held(world, drop_world.bind(world)):
		return
	var message: Message = Message.new("world_delete")
	message.header["world"] = world.name
	_send(message, _ignore)


func edit_cells(
	world: WorldState, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> void:
	if not _is_held(world, edit_cells.bind(world, cells, classes, scales)):
		_send(
			_make_edit(world, cells, classes, scales), _take_edit_reply.bind(world, cells, classes)
		)


func set_profile(world: WorldState, name: String, costs: PackedFloat32Array) -> void:
	if not _is_held(world, set_profile.bind(world, name, costs)):
		_send_profile(world, name, costs)


func _send_profile(world: WorldState, name: String, costs: PackedFloat32Array) -> void:
	var message: Message = Message.new("profile_set")
	message.header["world"] = world.name
	message.header["profile"] = name
	message.add_array("costs", "f32", "256", costs.to_byte_array())
	_send(message, _take_world_reply.bind(world))


func find_paths(jobs: Array[PathJob]) -> void:
	var groups: Dictionary[Array, Array] = {}
	for job: PathJob in jobs:
		if job.is_over():
			continue
		if job.world in _preparations:
			_preparations[job.world].jobs.append(job)
			continue
		if not job.world.region.has_point(job.start):
			job.answer(make_result(NavServerPathResult.Status.START_BLOCKED))
			continue
		if not job.world.region.has_point(job.goal):
			job.answer(make_result(NavServerPathResult.Status.GOAL_BLOCKED))
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


func cancel(job: PathJob) -> void:
	if job not in _places:
		if job.world in _preparations and not job.is_over():
			job.answer(make_result(NavServerPathResult.Status.CANCELLED))
		return
	var message: Message = Message.new("cancel")
	message.header["target"] = _places[job].x
	if _jobs[_places[job].x].size() > 1:
		var rows: PackedInt32Array = PackedInt32Array([_places[job].y])
		message.add_array("rows", "u32", "1", rows.to_byte_array())
	_send(message, _ignore)


func unwatch(job: PathJob) -> void:
	_watched_here.remove(job)
	if job not in _watches:
		return
	var watch: int = _watches[job]
	_watches.erase(job)
	_watched.erase(watch)
	var message: Message = Message.new("unwatch")
	message.add_array("watches", "u32", "1", PackedInt32Array([watch]).to_byte_array())
	_send(message, _ignore)


func take_unanswered() -> Array[PathJob]:
	var jobs: Array[PathJob] = _places.keys()
	for world: WorldState in _preparations:
		jobs.append_array(_preparations[world].jobs)
		_preparations[world].jobs.clear()
	_places.clear()
	_batches.clear()
	_jobs.clear()
	_handlers.clear()
	return jobs


func get_capabilities() -> PackedStringArray:
	return _session.capabilities


## Takes a reply of the session.
func take_reply(reply: Message) -> void:
	var id: int = reply.get_integer("id")
	var handler: Callable = _handlers.get(id, _ignore)
	if not reply.get_flag("more"):
		_handlers.erase(id)
	handler.call(reply)


## Tells whether every answer that came is handed on.
func is_idle() -> bool:
	return _batches.is_empty() and _preparations.is_empty()


## Takes the event path_invalid.
func take_path_invalid(event: Message) -> void:
	var watches: PackedInt32Array = event.get_int32s("watches", "u32")
	var indices: PackedInt32Array = event.get_int32s("indices", "u32")
	for at: int in mini(watches.size(), indices.size()):
		var watch: int = watches[at] & 0xffff_ffff
		if watch in _watched:
			var job: PathJob = _watched[watch]
			_watched.erase(watch)
			_watches.erase(job)
			job.invalidate(indices[at])


## Ends all watches without a word; the server knows none of them.
func forget_watches() -> void:
	_watched.clear()
	_watches.clear()
	_watched_here.clear()


static func _numbers_of(transform: Transform2D) -> Array:
	return [
		transform.x.x,
		transform.y.x,
		transform.origin.x,
		transform.x.y,
		transform.y.y,
		transform.origin.y
	]


func _send(message: Message, handler: Callable) -> int:
	var id: int = _session.request(message)
	_handlers[id] = handler
	return id


func _make_tiles(world: WorldState) -> Message:
	var message: Message = Message.new("world_tiles")
	message.header["world"] = world.name
	message.header["empty_class"] = world.empty_class
	var tiles: PackedByteArray = PackedByteArray()
	var sizes: PackedInt32Array = PackedInt32Array()
	for blob: PackedByteArray in world.blobs:
		tiles.append_array(blob)
		sizes.append(blob.size())
	var table: PackedByteArray = PackedByteArray()
	table.resize(2 * world.tile_table.size())
	for index: int in world.tile_table.size():
		table.encode_u16(2 * index, world.tile_table[index])
	message.add_array("tiles", "u8", str(tiles.size()), tiles)
	message.add_array("sizes", "u32", str(sizes.size()), sizes.to_byte_array())
	message.add_array("table", "u16", "%dx6" % floori(world.tile_table.size() / 6.0), table)
	return message


func _make_edit(
	world: WorldState, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> Message:
	var message: Message = Message.new("world_edit")
	message.header["world"] = world.name
	message.add_cells("cells", cells)
	message.add_array("class_ids", "u8", str(classes.size()), classes)
	message.add_array("scales", "f32", str(scales.size()), scales.to_byte_array())
	return message


func _ask_one(job: PathJob) -> void:
	var message: Message = _make_question("path", job)
	message.header["start"] = [job.start.x, job.start.y]
	message.header["goal"] = [job.goal.x, job.goal.y]
	message.header["size"] = job.size
	message.header["priority"] = job.priority
	if job.deadline_msec > 0.0:
		message.header["deadline_ms"] = job.deadline_msec
	if job.agent >= 0:
		message.header["agent"] = job.agent
	if not job.blocked_cells.is_empty():
		message.add_cells("blocked_cells", job.blocked_cells)
	var id: int = _send(message, _take_path)
	_jobs[id] = [job]
	_places[job] = Vector2i(id, 0)


func _ask_many(jobs: Array[PathJob]) -> void:
	var message: Message = _make_question("batch", jobs[0])
	message.header["parts"] = true
	var starts: PackedInt32Array = PackedInt32Array()
	var goals: PackedInt32Array = PackedInt32Array()
	var sizes: PackedByteArray = PackedByteArray()
	var priorities: PackedByteArray = PackedByteArray()
	var deadlines: PackedFloat32Array = PackedFloat32Array()
	var agents: PackedInt64Array = PackedInt64Array()
	for job: PathJob in jobs:
		starts.append_array([job.start.x, job.start.y])
		goals.append_array([job.goal.x, job.goal.y])
		sizes.append(job.size)
		priorities.append(job.priority & 0xff)
		deadlines.append(job.deadline_msec)
		agents.append(job.agent)
	var count: String = str(jobs.size())
	message.add_cells("starts", starts)
	message.add_cells("goals", goals)
	message.add_array("sizes", "u8", count, sizes)
	message.add_array("priorities", "i8", count, priorities)
	message.add_array("deadlines", "f32", count, deadlines.to_byte_array())
	message.add_array("agents", "i64", count, agents.to_byte_array())
	var id: int = _send(message, _take_batch)
	_jobs[id] = jobs
	for row: int in jobs.size():
		_places[jobs[row]] = Vector2i(id, row)


func _make_question(type: String, job: PathJob) -> Message:
	var message: Message = Message.new(type)
	message.header["world"] = job.world.name
	message.header["profile"] = job.profile
	message.header["diagonal_mode"] = job.world.diagonal_mode
	message.header["allow_partial"] = job.allow_partial
	if job.watch and _is_watch_offered():
		message.header["watch"] = true
	return message


func _is_watch_offered() -> bool:
	return "watch" in _session.capabilities


func _ignore(_reply: Message) -> void:
	pass


static func _say_error(reply: Message) -> String:
	return (
		"%s: %s %s; %s"
		% [
			reply.get_text("field"),
			reply.get_text("value"),
			reply.get_text("problem"),
			reply.get_text("remedy"),
		]
	)


func _take_world_reply(reply: Message, world: WorldState) -> void:
	if reply.get_text("status") == "error":
		world.refused.emit(_say_error(reply))


func _take_world_ready(reply: Message, world: WorldState) -> void:
	if reply.get_text("status") == "error":
		world.refused.emit(_say_error(reply))
	else:
		world.arrived.emit(reply.get_integer("version"))


func _take_edit_reply(
	reply: Message, world: WorldState, cells: PackedInt32Array, classes: PackedByteArray
) -> void:
	if reply.get_text("status") == "error":
		world.refused.emit(_say_error(reply))
	else:
		world.edited.emit(reply.get_integer("version"), cells)
		_watched_here.note_edit(world, cells, classes)


func _take_path(reply: Message) -> void:
	var id: int = reply.get_integer("id")
	var status: int = _STATUSES.find(reply.get_text("status"))
	if status < 0:
		fail_all(id, _say_error(reply))
		return
	var result: NavServerPathResult = make_result(status)
	result.map_version = reply.get_integer("version")
	result.source = maxi(0, _SOURCES.find(reply.get_text("source"))) as NavServerPathResult.Source
	if result.has_path():
		result.cost = reply.get_number("cost", INF)
		result.path_length = reply.get_number("length", INF)
		result.path = reply.get_vectors("points")
	answer(id, 0, result, reply.get_integer("watch"))
	_jobs.erase(id)


func _take_batch(reply: Message) -> void:
	var id: int = reply.get_integer("id")
	if reply.get_text("status") != "ok":
		var status: int = _STATUSES.find(reply.get_text("status"))
		if status >= 0:
			_end_all(id, make_result(status))
		else:
			fail_all(id, _say_error(reply))
		return
	var rows: BatchRows = BatchRows.new(id, reply)
	if rows.is_whole:
		_batches.append(rows)
	else:
		fail_all(id, "batch: the reply's arrays differ in length; update addon or server")


## Makes a result of a status by its number.
func make_result(status: int) -> NavServerPathResult:
	if status >= NavServerPathResult.Status.FAILED:
		return NavServerPathResult.without_path(NavServerPathResult.Status.FAILED, _REMOVED)
	return NavServerPathResult.without_path(status as NavServerPathResult.Status)


## Answers one job of a request.
func answer(id: int, row: int, result: NavServerPathResult, watch: int) -> void:
	var jobs: Array = _jobs.get(id, [])
	if row < 0 or row >= jobs.size():
		return
	var job: PathJob = jobs[row]
	if not _places.erase(job):
		return
	if watch != 0 and job.watch:
		_watched[watch & 0xffff_ffff] = job
		_watches[job] = watch & 0xffff_ffff
	elif job.watch and result.has_path() and not _is_watch_offered():
		_watched_here.add(job, result.path)
	job.answer(result)


## Answers what a request has not answered yet.
func fail_all(id: int, reason: String) -> void:
	_end_all(id, NavServerPathResult.without_path(NavServerPathResult.Status.FAILED, reason))


## Ends what a request has not answered yet; each job gets a result of its own.
func _end_all(id: int, result: NavServerPathResult) -> void:
	var jobs: Array = _jobs.get(id, [])
	_jobs.erase(id)
	for job: PathJob in jobs:
		if _places.erase(job):
			job.answer(NavServerPathResult.without_path(result.status, result.reason))


## The rows of a reply to a batch, handed on as there is time.
class BatchRows:
	extends RefCounted

	## Whether all arrays are there in the length that they ought to have.
	var is_whole: bool

	var _id: int
	var _next: int = 0
	var _more: bool
	var _rows: PackedInt32Array
	var _statuses: PackedByteArray
	var _sources: PackedByteArray
	var _versions: PackedInt32Array
	var _costs: PackedFloat64Array
	var _lengths: PackedFloat64Array
	var _offsets: PackedInt32Array
	var _points: PackedVector2Array
	var _watches: PackedInt32Array

	func _init(id: int, reply: Message) -> void:
		_id = id
		_more = reply.get_flag("more")
		_statuses = reply.get_bytes("statuses")
		_rows = reply.get_int32s("rows", "u32")
		if not reply.has_array("rows", "u32"):
			_rows = PackedInt32Array(range(_statuses.size()))
		_sources = reply.get_bytes("sources")
		_versions = reply.get_int32s("versions", "u32")
		_costs = reply.get_float64s("costs")
		_lengths = reply.get_float64s("lengths")
		_offsets = reply.get_int32s("offsets", "u32")
		_points = reply.get_vectors("points")
		_watches = reply.get_int32s("watches", "u32")
		var sizes: Array[int] = [_rows.size(), _sources.size(), _versions.size()]
		sizes.append_array([_costs.size(), _lengths.size(), _offsets.size() - 1])
		is_whole = sizes.min() >= _statuses.size()

	## Hands rows to [param backend] until the deadline; true once all are handed on.
	func take_rows(backend: RefCounted, deadline_usec: int) -> bool:
		while _next < _statuses.size():
			# An answer may ask again and so come here again.
			_next += 1
			_take_row(backend, _next - 1)
			if Time.get_ticks_usec() > deadline_usec and _next < _statuses.size():
				return false
		if not _more:
			backend.call("fail_all", _id, "batch: the server left this row out; update it")
		return true

	func _take_row(backend: RefCounted, index: int) -> void:
		var result: NavServerPathResult = backend.call("make_result", _statuses[index])
		result.map_version = _versions[index] & 0xffff_ffff
		result.source = clampi(_sources[index], 0, 5) as NavServerPathResult.Source
		result.cost = _costs[index]
		result.path_length = _lengths[index]
		if result.has_path():
			result.path = _points.slice(_offsets[index], _offsets[index + 1])
		var watch: int = _watches[index] if index < _watches.size() else 0
		backend.call("answer", _id, _rows[index], result, watch)


## A world whose cells are being numbered on another thread, and what has to wait for that.
class Preparation:
	extends RefCounted

	## The world; its classes are there when this is over.
	var world: WorldState
	## What else was asked of the world, in order.
	var held: Array[Callable] = []
	## Jobs in the world; they may wait for all that is held.
	var jobs: Array[PathJob] = []

	var _task: int

	func _init(the_world: WorldState) -> void:
		world = the_world
		_task = WorkerThreadPool.add_task(_run, false, "navserver layout")

	func is_over() -> bool:
		return WorkerThreadPool.is_task_completed(_task)

	## The pool wants each task waited for.
	func finish() -> void:
		WorkerThreadPool.wait_for_task_completion(_task)

	func _run() -> void:
		world.classes = TileTable.read_classes(world)
		world.blobs.clear()
