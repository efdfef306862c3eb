extends RefCounted
## The rows of a reply to a batch of paths, handed on as there is time.

const AgentBatch := preload("agent_batch.gd")
const Message := preload("message.gd")
const ReplyFacts := preload("reply_facts.gd")

## Whether all arrays are there in the length that they ought to have.
var is_whole: bool
## The request that is answered.
var id: int
## What the reply tells of the rows, but for their paths.
var facts: ReplyFacts

var _next: int = 0
var _more: bool
var _statuses: PackedByteArray
var _rows: PackedInt32Array
var _offsets: PackedInt32Array
var _points: PackedVector2Array
var _watches: PackedInt32Array
# Whether the points lie elsewhere in the coordinates that are wanted.
var _is_moved: bool = false


## Reads a reply.
func _init(reply: Message) -> void:
	id = reply.get_integer("id")
	_more = reply.get_flag("more")
	facts = ReplyFacts.new(reply)
	_statuses = facts.statuses
	_rows = reply.get_int32s("rows", "u32")
	if not reply.has_array("rows", "u32"):
		_rows = PackedInt32Array(range(_statuses.size()))
	_offsets = reply.get_int32s("offsets", "u32")
	_points = reply.get_vectors("points")
	_watches = reply.get_int32s("watches", "u32")
	is_whole = mini(facts.get_count(), mini(_rows.size(), _offsets.size() - 1)) >= _statuses.size()


## Hands rows to [param take] until the deadline: row, result, and number of the watch or 0. True
## once all are handed on.
func take_rows(take: Callable, deadline_usec: int) -> bool:
	while _next < _statuses.size():
		# An answer may ask again and so come here again.
		var index: int = _next
		_next += 1
		var watch: int = _watches[index] & 0xffff_ffff if index < _watches.size() else 0
		take.call(_rows[index], _make_result(index), watch)
		if Time.get_ticks_usec() > deadline_usec and _next < _statuses.size():
			return false
	return true


## Hands rows to the agents of a batch until the deadline, as [method take_rows] does. Who is told
## when a path breaks goes into [param watchers]; watches that nobody wants, into
## [param unwatched].
func take_agent_rows(
	batch: AgentBatch,
	watchers: Dictionary[int, Object],
	unwatched: PackedInt32Array,
	deadline_usec: int
) -> bool:
	facts.to_global = batch.to_global
	facts.to_cell = batch.to_cell
	_is_moved = batch.to_global != Transform2D.IDENTITY
	var agents: Array[Node] = batch.agents
	while _next < _statuses.size():
		var index: int = _next
		_next += 1
		var watch: int = _watches[index] & 0xffff_ffff if index < _watches.size() else 0
		var row: int = _rows[index]
		var agent: NavServerAgent2D = null
		if row >= 0 and row < agents.size():
			agent = agents[row]
			agents[row] = null
		if agent == null:
			# It has asked again, or is gone.
			if watch != 0:
				unwatched.append(watch)
			continue
		if watch != 0:
			watchers[watch] = agent
		if _statuses[index] <= NavServerPathResult.Status.PARTIAL:
			agent.take_path(self, index, watch)
		else:
			agent.take_answer(_make_result(index), watch)
		# To look at the clock takes a good part of what a row takes.
		if index & 3 == 3 and Time.get_ticks_usec() > deadline_usec and _next < _statuses.size():
			return false
	return true


## Returns the path of a row, in the coordinates that its batch wants.
func get_path_of(index: int) -> PackedVector2Array:
	# Each when it is asked for: to move all of them at once takes a good part of a frame.
	var points: PackedVector2Array = _points.slice(_offsets[index], _offsets[index + 1])
	return facts.to_global * points if _is_moved else points


## Tells whether another reply has more rows.
func has_more() -> bool:
	return _more


func _make_result(index: int) -> NavServerPathResult:
	var result: NavServerPathResult = facts.make_result(index)
	if result.has_path():
		result.path = _points.slice(_offsets[index], _offsets[index + 1])
	return result
