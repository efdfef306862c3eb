extends RefCounted
## The movers of one world at the sidecar, which all crowds and agents on a map share.
##
## One step a physics frame is asked for, so that movers pause, slow down and hurry with the game.
## Where the sidecar falls behind, steps grow longer and then are left out; nothing waits.

const AvoidanceGroup := preload("avoidance_group.gd")
const Message := preload("message.gd")
const MoverGroup := preload("mover_group.gd")
const MoverView := preload("mover_view.gd")
const WorldState := preload("world_state.gd")

## The message that a sidecar with movers takes.
const CAPABILITY: String = "movers_step"

# So many steps may be on their way.
const _WINDOW: int = 3
# A game that stalls is not followed by a leap.
const _LONGEST_STEP: float = 0.1
# After every so many steps it is asked where those outside the area are.
const _WHOLE_EVERY: int = 30

## The world they walk in.
var world: WorldState
## Seconds that the sidecar was given to step.
var stepped_seconds: float = 0.0
## Steps asked for and not answered yet.
var in_flight: int = 0
## Steps that were answered.
var answered: int = 0
## Microseconds of this thread that the last frame's movers took.
var script_usec: int = 0

var _ask_sidecar: Callable
var _get_capabilities: Callable
var _send_edits: Callable
var _groups: Array[MoverGroup] = []
# The agents that avoid each other; null as long as there are none.
var _avoiders: AvoidanceGroup = null
# Whether the sidecar takes velocities.
var _can_steer: bool = false
# The serial of the world that the movers were made in; -1 while there are none.
var _serial: int = -1
var _owed: float = 0.0
var _sent: int = 0
var _told: String = ""
# What a step asks for, and of the columns that groups wanted when that was made.
var _columns: Array[String] = []
var _columns_of: Array[PackedStringArray] = []
# Who the rows of the last view belonged to, for views of the same rows.
var _split_handles: PackedInt64Array = PackedInt64Array()
var _split_runs: Array[PackedInt32Array] = []
var _usec: int = 0


## Serves a world. [param ask_sidecar] sends a message and takes a handler of the reply; [param
## get_capabilities] returns what whoever would get it can do, [param send_edits] sends changes of
## the map that were made before.
func _init(
	the_world: WorldState, ask_sidecar: Callable, get_capabilities: Callable, send_edits: Callable
) -> void:
	world = the_world
	_send_edits = send_edits
	_ask_sidecar = ask_sidecar
	_get_capabilities = get_capabilities


## Takes a group in.
func add_group(group: MoverGroup) -> void:
	if group in _groups:
		return
	_groups.append(group)
	_split_handles.clear()
	group.table = self
	if is_live():
		group.make()


## Takes a group out, with its movers.
func drop_group(group: MoverGroup) -> void:
	if group not in _groups:
		return
	group.unmake()
	group.table = null
	_groups.erase(group)
	_split_handles.clear()


## Returns the agents on the map that avoid each other.
func get_avoiders(map: NavServerMap2D) -> AvoidanceGroup:
	if _avoiders == null:
		_avoiders = AvoidanceGroup.new(map)
	return _avoiders


## Tells agents how they may go; the connection calls it when a physics frame begins.
func tell_velocities(delta: float) -> void:
	if _avoiders != null:
		var began: int = Time.get_ticks_usec()
		_avoiders.tell(delta)
		_usec += Time.get_ticks_usec() - began


## Tells whether the sidecar has the movers of this world.
func is_live() -> bool:
	return _serial >= 0 and _serial == world.put_serial and world.is_read


## Returns the groups whose movers they are.
func get_groups() -> Array[MoverGroup]:
	return _groups


## Returns how many units there are, at the sidecar or not.
func count_units() -> int:
	var count: int = 0
	for group: MoverGroup in _groups:
		count += group.get_count()
	return count


## Returns how many steps of the game are not answered yet, on their way or owed.
func count_ticks_behind() -> int:
	return in_flight + roundi(_owed * Engine.physics_ticks_per_second) if is_live() else 0


## Sends a message about the movers; its reply goes to [param handler] if it is no error and the
## movers are still those.
func ask(message: Message, handler: Callable = Callable()) -> void:
	message.header["world"] = world.name
	# A door that was opened a line before the order is open.
	_send_edits.call()
	_ask_sidecar.call(message, _take_reply.bind(_serial, handler))


## Steps, if it is time; the connection calls it each physics frame.
func advance(delta: float) -> void:
	var began: int = Time.get_ticks_usec()
	_follow_world()
	if is_live() and _is_anyone_active():
		_owed = minf(_owed + delta, _LONGEST_STEP)
		if in_flight < _WINDOW and _owed > 0.0:
			_send_step()
	script_usec = _usec + Time.get_ticks_usec() - began
	_usec = 0


func _follow_world() -> void:
	if is_live():
		return
	if _serial >= 0:
		_serial = -1
		for group: MoverGroup in _groups.duplicate():
			# Who was told before may have taken it out of the tree.
			if group.table == self:
				group.forget()
		if _avoiders != null:
			_avoiders.forget()
	if not _has_anyone() or not world.is_at_sidecar():
		return
	var capabilities: PackedStringArray = _get_capabilities.call()
	if CAPABILITY not in capabilities:
		return
	_can_steer = AvoidanceGroup.CAPABILITY in capabilities
	_serial = world.put_serial
	in_flight = 0
	_owed = 0.0
	for group: MoverGroup in _groups:
		group.make()


func _has_anyone() -> bool:
	return not _groups.is_empty() or _avoiders != null and _avoiders.is_used()


func _is_anyone_active() -> bool:
	if _avoiders != null and _avoiders.is_active():
		return true
	for group: MoverGroup in _groups:
		if group.is_active():
			return true
	return false


func _send_step() -> void:
	var wishes: AvoidanceGroup.Wishes = null
	if _avoiders != null and _can_steer:
		wishes = _avoiders.send(self)
	var message: Message = Message.new()
	message.header = {"type": CAPABILITY, "world": world.name, "dt": _owed, "space": "world"}
	var area: Rect2 = Rect2()
	var is_whole: bool = false
	for group: MoverGroup in _groups:
		var wanted: Rect2 = group.area
		is_whole = is_whole or not wanted.has_area()
		area = area.merge(wanted) if area.has_area() else wanted
	if not _groups.is_empty():
		message.header["columns"] = _get_columns()
	if not is_whole:
		message.header["area"] = [area.position.x, area.position.y, area.end.x, area.end.y]
	stepped_seconds += _owed
	_owed = 0.0
	_sent += 1
	in_flight += 1
	if wishes != null:
		var count: String = str(wishes.handles.size())
		message.add_array("watched", "i64", count, wishes.handles.to_byte_array())
	_send_edits.call()
	_ask_sidecar.call(message, _take_step.bind(_serial, is_whole, wishes))
	if not _groups.is_empty() and not is_whole and _sent % _WHOLE_EVERY == 1:
		_ask_for_all()


## Returns what is wanted of each mover by any group; it is the same array as long as they want the
## same, and whoever sends it changes nothing in it.
func _get_columns() -> Array[String]:
	var is_known: bool = _columns_of.size() == _groups.size()
	for index: int in _groups.size() if is_known else 0:
		is_known = is_known and _columns_of[index] == _groups[index].columns
	if is_known:
		return _columns
	_columns = ["handles", "positions", "states"]
	_columns_of.clear()
	for group: MoverGroup in _groups:
		_columns_of.append(group.columns)
		for column: String in group.columns:
			if column not in _columns:
				_columns.append(column)
	return _columns


## Asks where everybody is. A view of its own, so that those who are drawn stay the same, and nobody
## goes through them all in one frame.
func _ask_for_all() -> void:
	var message: Message = Message.new("movers_view")
	message.header["space"] = "world"
	message.header["columns"] = ["handles", "positions", "states"] as Array[String]
	ask(message, _take_all)


func _take_all(reply: Message) -> void:
	var whole: MoverView = MoverView.find(reply)
	if whole != null:
		for group: MoverGroup in _groups:
			group.take_whole(whole)


func _take_reply(reply: Message, serial: int, handler: Callable) -> void:
	if serial != _serial or serial != world.put_serial:
		return
	var began: int = Time.get_ticks_usec()
	if reply.is_error:
		_complain(reply)
	elif handler.is_valid() and _is_good(reply):
		handler.call(reply)
	_usec += Time.get_ticks_usec() - began


static func _is_good(reply: Message) -> bool:
	return reply.content is MoverView or reply.get_text("status") == "ok"


func _complain(reply: Message) -> void:
	var said: String = (
		"navserver: %s: %s %s %s; %s"
		% [
			reply.get_type(),
			reply.get_text("field"),
			reply.get_text("value"),
			reply.get_text("problem"),
			reply.get_text("remedy"),
		]
	)
	# What goes wrong each frame is told once.
	if said != _told:
		_told = said
		push_error(said)


func _take_step(reply: Message, serial: int, is_whole: bool, wishes: AvoidanceGroup.Wishes) -> void:
	if serial != _serial or serial != world.put_serial:
		return
	var began: int = Time.get_ticks_usec()
	in_flight -= 1
	if reply.is_error:
		_complain(reply)
	elif _is_good(reply):
		var view: MoverView = MoverView.find(reply)
		if view == null:
			push_error("navserver: movers_step: arrays differ in length; update addon or sidecar")
		else:
			answered += 1
			view.is_whole = is_whole
			if wishes != null:
				_avoiders.take(view.watched_velocities, wishes)
			_hand_on(view)
	_usec += Time.get_ticks_usec() - began


func _hand_on(view: MoverView) -> void:
	if _groups.size() == 1 and (_avoiders == null or not _avoiders.has_movers()):
		_groups[0].take_view(view)
	else:
		_split(view)
		var groups: Array[MoverGroup] = _groups.duplicate()
		for index: int in groups.size():
			# Who was told before may have taken it out of the tree.
			if groups[index].table == self:
				groups[index].take_view(view.pick(_split_runs[index]))
	if view.event_handles.is_empty():
		return
	for group: MoverGroup in _groups.duplicate():
		group.take_events(view.event_handles, view.event_kinds, view.event_reasons)


## Finds out whose rows are whose, unless they are those of the last view.
func _split(view: MoverView) -> void:
	if view.handles == _split_handles and _split_runs.size() == _groups.size():
		return
	_split_handles = view.handles
	_split_runs.clear()
	if _groups.size() == 1:
		_split_runs.append(_find_runs_between(_avoiders.find_rows(view.handles), view))
		return
	for group: MoverGroup in _groups:
		var runs: PackedInt32Array = PackedInt32Array()
		var is_open: bool = false
		for row: int in view.handles.size():
			if group.owns(view.handles[row]) != is_open:
				is_open = not is_open
				runs.append(row)
		if is_open:
			runs.append(view.handles.size())
		_split_runs.append(runs)


## Returns the runs of rows that are left without some.
func _find_runs_between(rows: PackedInt32Array, view: MoverView) -> PackedInt32Array:
	var runs: PackedInt32Array = PackedInt32Array()
	var from: int = 0
	rows.append(view.handles.size())
	for row: int in rows:
		if row > from:
			runs.append(from)
			runs.append(row)
		from = row + 1
	return runs
