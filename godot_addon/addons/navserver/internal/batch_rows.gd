extends RefCounted
## The rows of a reply to a batch of paths, handed on as there is time.

const AgentBatch := preload("agent_batch.gd")
const Message := preload("message.gd")

## Whether all arrays are there in the length that they ought to have.
var is_whole: bool
## The request that is answered.
var id: int
## The status of each row, see the enum of NavServerPathResult.
var statuses: PackedByteArray
## Where each row's answer comes from; for [method to_source].
var sources: PackedByteArray
## The version of the map that was searched for each row; for [method to_version].
var versions: PackedInt32Array
## What each row's path costs.
var costs: PackedFloat64Array
## How long each row's path is.
var lengths: PackedFloat64Array

var _next: int = 0
var _more: bool
var _rows: PackedInt32Array
var _offsets: PackedInt32Array
var _points: PackedVector2Array
var _watches: PackedInt32Array
# From the coordinates of the points to those that are wanted.
var _to_global: Transform2D = Transform2D.IDENTITY
var _is_moved: bool = false


## Reads a reply.
func _init(reply: Message) -> void:
	id = reply.get_integer("id")
	_more = reply.get_flag("more")
	statuses = reply.get_bytes("statuses")
	_rows = reply.get_int32s("rows", "u32")
	if not reply.has_array("rows", "u32"):
		_rows = PackedInt32Array(range(statuses.size()))
	sources = reply.get_bytes("sources")
	versions = reply.get_int32s("versions", "u32")
	costs = reply.get_float64s("costs")
	lengths = reply.get_float64s("lengths")
	_offsets = reply.get_int32s("offsets", "u32")
	_points = reply.get_vectors("points")
	_watches = reply.get_int32s("watches", "u32")
	var sizes: Array[int] = [_rows.size(), sources.size(), versions.size()]
	sizes.append_array([costs.size(), lengths.size(), _offsets.size() - 1])
	is_whole = sizes.min() >= statuses.size()


## Hands rows to [param take] until the deadline: row, result, and number of the watch or 0. True
## once all are handed on.
func take_rows(take: Callable, deadline_usec: int) -> bool:
	while _next < statuses.size():
		# An answer may ask again and so come here again.
		var index: int = _next
		_next += 1
		var watch: int = _watches[index] & 0xffff_ffff if index < _watches.size() else 0
		take.call(_rows[index], _make_result(index), watch)
		if Time.get_ticks_usec() > deadline_usec and _next < statuses.size():
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
	_to_global = batch.to_global
	_is_moved = _to_global != Transform2D.IDENTITY
	var agents: Array[NavServerAgent2D] = batch.agents
	while _next < statuses.size():
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
		if statuses[index] <= NavServerPathResult.Status.PARTIAL:
			agent.take_path(self, index, watch)
		else:
			agent.take_answer(_make_result(index), watch)
		if Time.get_ticks_usec() > deadline_usec and _next < statuses.size():
			return false
	return true


## Returns the path of a row, in the coordinates that its batch wants.
func get_path_of(index: int) -> PackedVector2Array:
	# Each when it is asked for: to move all of them at once takes a good part of a frame.
	var points: PackedVector2Array = _points.slice(_offsets[index], _offsets[index + 1])
	return _to_global * points if _is_moved else points


## Returns what a number in [member sources] means.
static func to_source(number: int) -> NavServerPathResult.Source:
	return clampi(number, 0, 5) as NavServerPathResult.Source


## Returns the version that a number in [member versions] stands for, which has no sign.
static func to_version(number: int) -> int:
	return number & 0xffff_ffff


## Tells whether another reply has more rows.
func has_more() -> bool:
	return _more


func _make_result(index: int) -> NavServerPathResult:
	var result: NavServerPathResult = NavServerPathResult.of_number(statuses[index])
	result.map_version = to_version(versions[index])
	result.source = to_source(sources[index])
	if result.has_path():
		result.cost = costs[index]
		result.path_length = lengths[index]
		result.path = _points.slice(_offsets[index], _offsets[index + 1])
	return result
