extends RefCounted
## The paths that this game has asked for: those on their way, those that ended lately, and counts.
##
## It is kept only while somebody looks, see [code]inspection.gd[/code].

const RecentTimes := preload("recent_times.gd")
const RequestLog := preload("request_log.gd")

# Of those that ended and nobody has fetched; failures have room of their own.
const _KEPT: int = 64

## How many were asked for.
var asked: int = 0
## How many ended without a path, which nobody wished.
var failed: int = 0
## How long answers took, from the question to the node that asked.
var times: RecentTimes = RecentTimes.new()
## Whether to find out which line of a script asked.
var is_tracing: bool = false

var _open: Dictionary[int, Note] = {}
var _failures: Array[Note] = []
var _others: Array[Note] = []
var _left_out: int = 0


## Notes that a node asks for a path, from one global position to another.
func begin(node: Node, from: Vector2, to: Vector2) -> Note:
	asked += 1
	var note: Note = Note.new()
	note.number = asked
	note.own_log = weakref(self)
	note.node_id = node.get_instance_id()
	note.from = from
	note.to = to
	note.asked_usec = Time.get_ticks_usec()
	if is_tracing:
		note.place = _find_place()
	_open[note.number] = note
	return note


## Returns how many are on their way.
func get_open_count() -> int:
	return _open.size()


## Returns those on their way that were asked for first, [param most] at most.
func list_open(most: int) -> Array[Note]:
	var listed: Array[Note] = []
	for number: int in _open:
		if listed.size() == most:
			break
		listed.append(_open[number])
	return listed


## Returns those that ended since the last call, in order; of many, failures first.
func take_ended() -> Array[Note]:
	var ended: Array[Note] = _failures + _others
	ended.sort_custom(func(one: Note, other: Note) -> bool: return one.number < other.number)
	_failures = []
	_others = []
	return ended


## Returns how many have ended and were not kept for [method take_ended].
func get_left_out_count() -> int:
	return _left_out


## Takes a note out that has ended; for the note.
func take_end(note: Note) -> void:
	if not _open.erase(note.number):
		return
	if not note.is_withdrawn():
		times.add(note.msec)
	if note.is_failure():
		failed += 1
		_keep(note, _failures)
	else:
		_keep(note, _others)


func _keep(note: Note, list: Array[Note]) -> void:
	list.append(note)
	if list.size() > _KEPT:
		list.pop_front()
		_left_out += 1


## Returns the line outside the addon that led here; only a debugger knows.
static func _find_place() -> String:
	for frame: Dictionary in get_stack():
		var source: String = frame["source"]
		if not source.begins_with("res://addons/navserver/"):
			return "%s:%d" % [source, frame["line"]]
	return ""


## One path that was asked for.
class Note:
	extends RefCounted

	var own_log: WeakRef
	var number: int
	## Of the node that asked: an agent, or the map whose method was called.
	var node_id: int
	## File and line of the script that asked; empty where that is not known.
	var place: String = ""
	var from: Vector2
	var to: Vector2
	var asked_usec: int
	## How long it took; less than 0 as long as there is no answer.
	var msec: float = -1.0
	var status: NavServerPathResult.Status = NavServerPathResult.Status.FOUND
	var reason: String = ""

	## Notes the answer; a second one changes nothing.
	func end(the_status: NavServerPathResult.Status, the_reason: String = "") -> void:
		if msec >= 0.0:
			return
		msec = (Time.get_ticks_usec() - asked_usec) / 1000.0
		status = the_status
		reason = the_reason
		var owner: RequestLog = own_log.get_ref()
		if owner != null:
			owner.take_end(self)

	## Tells whether the game itself took the question back.
	func is_withdrawn() -> bool:
		return (
			status == NavServerPathResult.Status.CANCELLED
			or status == NavServerPathResult.Status.SUPERSEDED
		)

	## Tells whether there is no path though somebody waited for one.
	func is_failure() -> bool:
		return status > NavServerPathResult.Status.PARTIAL and not is_withdrawn()
