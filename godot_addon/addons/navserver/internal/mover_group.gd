extends RefCounted
## The movers that one node owns, under ids that outlive the sidecar.
##
## What a unit is and where it was sent stands here, so that another sidecar can take over. Until
## the sidecar has answered for a new unit, orders change only what stands here.

## Units have come to their goals, or as near as there was room.
signal arrived(ids: PackedInt64Array)
## Units cannot get on; the reasons are numbers of the protocol's stuck reasons.
signal stuck(ids: PackedInt64Array, reasons: PackedByteArray)
## There is a new [member view].
signal viewed

const Message := preload("message.gd")
const MoverGround := preload("mover_ground.gd")
const MoverTable := preload("mover_table.gd")
const MoverUnit := preload("mover_unit.gd")
const MoverView := preload("mover_view.gd")
const NodeName := preload("node_name.gd")
const WorldState := preload("world_state.gd")

# The protocol's event kinds.
const _ARRIVED: int = 0
const _ARRIVED_CROWD_FULL: int = 1
const _STUCK: int = 4
const _UNREACHABLE: int = 3
# The protocol's mover states.
const _IDLE: int = 1
const _WALKS_PATH: int = 2
const _WALKS_FIELD: int = 3
const _WAITS: int = 4

## Where its movers are moved; null outside the tree.
var table: MoverTable = null
## The node whose movers they are.
var node: Node
## What is wanted of each mover beside handle, position and state.
var columns: PackedStringArray = PackedStringArray()
## Only movers inside are told of; an empty one is everywhere. In the map's coordinates.
var area: Rect2 = Rect2()
## What was told last; null while there is nothing.
var view: MoverView = null
## Whether [signal viewed] has yet to tell of units that stand still.
var is_untold: bool = false

var _units: Dictionary[int, MoverUnit] = {}
var _ids: Dictionary[int, int] = {}
var _next_id: int = 1
# So many views are still on their way of units that were replaced.
var _stale_views: int = 0
# The last view of all units and of other groups' movers, however many of them are looked at.
var _whole: MoverView = null
# Ids and rows of the view, made where somebody asks.
var _listed_ids: PackedInt64Array = PackedInt64Array()
var _listed_rows: PackedInt32Array = PackedInt32Array()
var _listed_handles: PackedInt64Array = PackedInt64Array()
var _is_listed: bool = false


## Makes a group of a node.
func _init(the_node: Node) -> void:
	node = the_node


## Adds units that are alike; returns their ids, in order.
func add(points: PackedVector2Array, kind: MoverUnit.Kind) -> PackedInt64Array:
	var ids: PackedInt64Array = PackedInt64Array()
	ids.resize(points.size())
	var places: PackedVector2Array = kind.ground.find_rooms(points)
	for index: int in points.size():
		var unit: MoverUnit = MoverUnit.new()
		unit.kind = kind
		unit.is_left_out = not places[index].is_finite()
		unit.position = points[index] if unit.is_left_out else places[index]
		ids[index] = _next_id
		_units[_next_id] = unit
		_next_id += 1
	if _is_live():
		_send_units(ids, true)
	else:
		view = null
	return ids


## Takes units out; ids that are not there are passed over.
func remove(ids: PackedInt64Array) -> void:
	var handles: PackedInt64Array = _handles_of(ids)
	for id: int in ids:
		if id in _units:
			_ids.erase(_units[id].handle)
			_units.erase(id)
	_is_listed = false
	if not _is_live():
		view = null
	_send_handles("movers_remove", handles)


## Takes all units out.
func clear() -> void:
	remove(get_ids())


## Puts others in the place of all units.
func replace(units: Dictionary[int, MoverUnit], next_id: int) -> void:
	clear()
	_units = units
	_next_id = next_id
	_whole = null
	# Each step that was asked for tells once more of those who were there.
	_stale_views = table.in_flight if _is_live() else 0
	if _is_live():
		make()
	look_still()


## Sends units to goals: one for all, or one for each.
func order(ids: PackedInt64Array, goals: PackedVector2Array, spread: bool) -> void:
	for index: int in ids.size():
		var unit: MoverUnit = _units.get(ids[index])
		if unit != null:
			unit.has_goal = true
			unit.goal = goals[0 if goals.size() == 1 else index]
			unit.spread = spread
	if _is_live():
		_send_orders(ids, spread)


## Lets units stand where they are.
func stop(ids: PackedInt64Array) -> void:
	for id: int in ids:
		if id in _units:
			_units[id].has_goal = false
	_send_handles("movers_stop", _handles_of(ids))


## Puts units somewhere else.
func place(ids: PackedInt64Array, points: PackedVector2Array) -> void:
	# By handles: the sidecar takes each once, so of ids that stand twice the last place counts.
	var placed: Dictionary[int, Vector2] = {}
	var without_room: PackedInt64Array = PackedInt64Array()
	var left_out: PackedInt64Array = PackedInt64Array()
	for index: int in ids.size():
		var unit: MoverUnit = _units.get(ids[index])
		if unit == null:
			continue
		unit.position = points[index]
		if unit.handle != 0:
			var point: Vector2 = table.world.bring_inside([points[index]])[0]
			point = unit.kind.ground.find_room(point)
			if point.is_finite():
				placed[unit.handle] = point
			else:
				without_room.append(ids[index])
		elif unit.is_left_out:
			left_out.append(ids[index])
	_complain_of_walls(without_room)
	if not left_out.is_empty() and _is_live():
		_send_units(left_out)
	if placed.is_empty() or not _is_live():
		view = null if not _is_live() else view
		return
	var message: Message = Message.new("movers_set")
	message.header["space"] = "world"
	_add_handles(message, PackedInt64Array(placed.keys()))
	var places: PackedVector2Array = PackedVector2Array(placed.values())
	message.add_array("positions", "f32", "%dx2" % places.size(), places.to_byte_array())
	table.ask(message)


## Makes units another kind: other speed, body or manners; who they walk as stays.
func change(ids: PackedInt64Array, kind: MoverUnit.Kind) -> void:
	var kinds: Dictionary[MoverGround, MoverUnit.Kind] = {}
	for id: int in ids:
		if id in _units:
			var ground: MoverGround = _units[id].kind.ground
			if ground not in kinds:
				kinds[ground] = MoverUnit.Kind.new()
				kinds[ground].properties = kind.properties
				kinds[ground].ground = ground
			_units[id].kind = kinds[ground]
	var handles: PackedInt64Array = _handles_of(ids)
	if handles.is_empty() or not _is_live():
		return
	var message: Message = Message.new("movers_set")
	_add_handles(message, handles)
	message.header.merge(kind.properties)
	table.ask(message)


## Returns all ids, told of or not.
func get_ids() -> PackedInt64Array:
	return PackedInt64Array(_units.keys())


## Returns the id of the next unit.
func get_next_id() -> int:
	return _next_id


## Returns a unit that is there.
func get_unit(id: int) -> MoverUnit:
	return _units[id]


## Returns how many units there are.
func get_count() -> int:
	return _units.size()


## Returns how many of the units told of last walk, or wait for a way.
func count_walking() -> int:
	if view == null:
		return 0
	var count: int = 0
	for state: int in [_WALKS_PATH, _WALKS_FIELD, _WAITS]:
		count += view.states.count(state)
	return count


## Tells whether a unit is there.
func has(id: int) -> bool:
	return id in _units


## Returns the ids of the units told of last.
func list_ids() -> PackedInt64Array:
	_list()
	return _listed_ids


## Returns the positions of the units told of last, in the order of their ids.
func list_positions() -> PackedVector2Array:
	_list()
	if view == null:
		return PackedVector2Array()
	if _listed_rows.is_empty():
		return view.positions
	var points: PackedVector2Array = PackedVector2Array()
	points.resize(_listed_rows.size())
	for index: int in _listed_rows.size():
		points[index] = view.positions[_listed_rows[index]]
	return points


## Returns what the units told of last do, in the order of their ids.
func list_states() -> PackedByteArray:
	_list()
	if view == null:
		return PackedByteArray()
	if _listed_rows.is_empty():
		return view.states
	var states: PackedByteArray = PackedByteArray()
	for row: int in _listed_rows:
		states.append(view.states[row])
	return states


## Returns where a unit was when it was told of last.
func get_position_of(id: int) -> Vector2:
	var unit: MoverUnit = _units.get(id)
	if unit == null:
		return Vector2(NAN, NAN)
	for seen: MoverView in [view, _whole] as Array[MoverView]:
		var row: int = -1 if seen == null or unit.handle == 0 else seen.handles.find(unit.handle)
		if row >= 0:
			return seen.positions[row]
	return unit.position


## Returns what names a unit to the sidecar; 0 if it does not know it.
func get_handle_of(id: int) -> int:
	var unit: MoverUnit = _units.get(id)
	return 0 if unit == null else unit.handle


## Returns where a unit is sent, in the map's coordinates; INF if nowhere.
func get_goal_of(id: int) -> Vector2:
	var unit: MoverUnit = _units.get(id)
	return Vector2.INF if unit == null or not unit.has_goal else unit.goal


## Tells whether a mover is one of these.
func owns(handle: int) -> bool:
	return handle in _ids


## Tells whether its movers have to be moved now.
func is_active() -> bool:
	return not _units.is_empty() and node.is_inside_tree() and node.can_process()


## Takes note that the units are on another map from now on; the last one may be freed.
func follow(map: NavServerMap2D) -> void:
	var world: WorldState = map.get_movers().world
	for id: int in _units:
		var kind: MoverUnit.Kind = _units[id].kind
		if kind.ground.world != world:
			kind.ground = MoverGround.new(map, kind.ground.profile)


## Makes the movers at a sidecar that knows none of them.
func make() -> void:
	if not _units.is_empty():
		_send_units(get_ids())


## Notes where the units were seen last.
func keep_positions() -> void:
	_keep_positions(_whole)
	_keep_positions(view)


## Takes note that the movers are gone; the units stay where they were seen last.
func forget() -> void:
	_forget_movers()
	if not _units.is_empty():
		look_still()


## Removes the movers, not the units. Nobody is told: the tree may be busy taking the node out.
func unmake() -> void:
	_send_handles("movers_remove", PackedInt64Array(_ids.keys()))
	_forget_movers()
	if not _units.is_empty():
		_make_still_view()


## Takes what a step has come to.
func take_view(next: MoverView) -> void:
	if _stale_views > 0:
		_stale_views -= 1
		return
	view = next
	if next.is_whole:
		_whole = next
	_is_listed = false
	viewed.emit()


## Takes where all movers of the world are; those that are told of each step know better.
func take_whole(whole: MoverView) -> void:
	_whole = whole


## Takes what has happened, to movers of others as well.
func take_events(
	handles: PackedInt64Array, kinds: PackedByteArray, reasons: PackedByteArray
) -> void:
	var come: PackedInt64Array = PackedInt64Array()
	var held: PackedInt64Array = PackedInt64Array()
	var why: PackedByteArray = PackedByteArray()
	for index: int in handles.size():
		var id: int = _ids.get(handles[index], 0)
		if id == 0:
			continue
		if kinds[index] == _ARRIVED or kinds[index] == _ARRIVED_CROWD_FULL:
			_units[id].has_goal = false
			come.append(id)
		elif kinds[index] == _STUCK:
			if reasons[index] == _UNREACHABLE:
				_units[id].has_goal = false
			held.append(id)
			why.append(reasons[index])
	if not come.is_empty():
		arrived.emit(come)
	if not held.is_empty():
		stuck.emit(held, why)


## Makes a view of units that nobody moves, and tells of it.
func look_still() -> void:
	_make_still_view()
	is_untold = false
	viewed.emit()


func _forget_movers() -> void:
	keep_positions()
	_stale_views = 0
	for id: int in _units:
		_units[id].handle = 0
	_ids.clear()
	_whole = null


func _make_still_view() -> void:
	var still: MoverView = MoverView.new()
	# Ids stand for handles, which these do not have.
	still.handles = get_ids()
	still.states.resize(_units.size())
	still.states.fill(_IDLE)
	still.positions.resize(_units.size())
	# All of them in the frame that loses the sidecar: nothing is made for each.
	still.transforms.resize(_units.size() * MoverView.INSTANCE_SIZE)
	still.transforms.fill(0.0)
	var at: int = 0
	for index: int in still.handles.size():
		var point: Vector2 = _units[still.handles[index]].position
		still.positions[index] = point
		still.transforms[at] = 1.0
		still.transforms[at + 3] = point.x
		still.transforms[at + 5] = 1.0
		still.transforms[at + 7] = point.y
		at += MoverView.INSTANCE_SIZE
	still.transforms_before = still.transforms
	view = still
	_listed_ids = still.handles
	_listed_rows = PackedInt32Array()
	_listed_handles = PackedInt64Array()
	_is_listed = true
	is_untold = true


func _is_live() -> bool:
	return table != null and table.is_live()


func _keep_positions(seen: MoverView) -> void:
	if seen == null:
		return
	for row: int in seen.handles.size():
		var id: int = _ids.get(seen.handles[row], 0)
		if id in _units:
			_units[id].position = seen.positions[row]


func _list() -> void:
	if _is_listed or view == null:
		if view == null:
			_listed_ids = PackedInt64Array()
			_listed_rows = PackedInt32Array()
		return
	_is_listed = true
	if view.handles == _listed_handles and _listed_ids.size() == view.handles.size():
		# The units are those of the last list, unless some of them were removed since.
		if _listed_ids.size() == _units.size() or _listed_rows.is_empty() and _are_all_there():
			return
	_listed_handles = view.handles
	_listed_ids = PackedInt64Array()
	_listed_rows = PackedInt32Array()
	for row: int in view.handles.size():
		var id: int = _ids.get(view.handles[row], 0)
		if id != 0:
			_listed_ids.append(id)
			_listed_rows.append(row)
	if _listed_ids.size() == view.handles.size():
		_listed_rows = PackedInt32Array()


func _are_all_there() -> bool:
	for id: int in _listed_ids:
		if id not in _units:
			return false
	return true


## Returns what names units to the sidecar, each once: it refuses a list where one stands twice.
func _handles_of(ids: PackedInt64Array) -> PackedInt64Array:
	var handles: Dictionary[int, bool] = {}
	for id: int in ids:
		var unit: MoverUnit = _units.get(id)
		if unit != null and unit.handle != 0:
			handles[unit.handle] = true
	return PackedInt64Array(handles.keys())


func _send_handles(type: String, handles: PackedInt64Array) -> void:
	if not handles.is_empty() and _is_live():
		_send_handles_to(table, type, handles)


static func _send_handles_to(there: MoverTable, type: String, handles: PackedInt64Array) -> void:
	var message: Message = Message.new(type)
	_add_handles(message, handles)
	there.ask(message)


static func _add_handles(message: Message, handles: PackedInt64Array) -> void:
	message.add_array("handles", "i64", str(handles.size()), handles.to_byte_array())


## Makes movers of units; [param are_looked_at] tells that room was just looked for where they are.
func _send_units(ids: PackedInt64Array, are_looked_at: bool = false) -> void:
	var by_kind: Dictionary[MoverUnit.Kind, PackedInt64Array] = {}
	for id: int in ids:
		var kind: MoverUnit.Kind = _units[id].kind
		if kind not in by_kind:
			by_kind[kind] = PackedInt64Array()
		by_kind[kind].append(id)
	var without_room: PackedInt64Array = PackedInt64Array()
	for kind: MoverUnit.Kind in by_kind:
		var places: PackedVector2Array = _find_places(kind, by_kind[kind], are_looked_at)
		var added: PackedInt64Array = PackedInt64Array()
		for index: int in places.size():
			var id: int = by_kind[kind][index]
			# For one in a wall the sidecar would refuse all.
			_units[id].is_left_out = not places[index].is_finite()
			if _units[id].is_left_out:
				without_room.append(id)
			else:
				_units[id].position = places[index]
				added.append(id)
		if not added.is_empty():
			_send_alike(kind, added)
	_complain_of_walls(without_room)


## Returns where units of one kind are to be on the map as it is by now; INF where no room is near.
func _find_places(
	kind: MoverUnit.Kind, ids: PackedInt64Array, are_looked_at: bool
) -> PackedVector2Array:
	var here: PackedVector2Array = PackedVector2Array()
	for id: int in ids:
		here.append(_units[id].position)
	var inside: PackedVector2Array = table.world.bring_inside(here.duplicate())
	if not are_looked_at:
		return kind.ground.find_rooms(inside)
	# Only who was far off the map may have room elsewhere.
	var others: PackedVector2Array = PackedVector2Array()
	for index: int in ids.size():
		if _units[ids[index]].is_left_out and inside[index] != here[index]:
			others.append(inside[index])
	others = kind.ground.find_rooms(others)
	var next: int = 0
	for index: int in ids.size():
		if _units[ids[index]].is_left_out:
			var is_other: bool = inside[index] != here[index]
			inside[index] = others[next] if is_other else Vector2.INF
			next += int(is_other)
	return inside


## Sends units of one kind, where they stand.
func _send_alike(kind: MoverUnit.Kind, added: PackedInt64Array) -> void:
	var points: PackedVector2Array = PackedVector2Array()
	var units: Array[MoverUnit] = []
	for id: int in added:
		units.append(_units[id])
		points.append(_units[id].position)
	var message: Message = Message.new("movers_add")
	message.header["space"] = "world"
	message.header.merge(kind.properties)
	message.header.merge(kind.ground.describe())
	message.add_array("positions", "f32", "%dx2" % points.size(), points.to_byte_array())
	var there: MoverTable = table
	# The group lives until it is told: whoever is made for nobody has to go again.
	table.ask(
		message,
		func(reply: Message) -> void: _take_handles(reply, there, added, units, kind, points)
	)


func _complain_of_walls(ids: PackedInt64Array) -> void:
	if not ids.is_empty():
		push_error(
			(
				"%s: %d units would stand deep in walls, the first is %d: teleport or remove them"
				% [NodeName.of(node), ids.size(), ids[0]]
			)
		)


## Takes the handles of units that were sent so; what has been said of them since is told now.
func _take_handles(
	reply: Message,
	there: MoverTable,
	ids: PackedInt64Array,
	units: Array[MoverUnit],
	kind: MoverUnit.Kind,
	points: PackedVector2Array
) -> void:
	var handles: PackedInt64Array = reply.get_bytes("handles", "i64").to_int64_array()
	if handles.size() != ids.size():
		return
	if there != table:
		_send_handles_to(there, "movers_remove", handles)
		return
	var gone: PackedInt64Array = PackedInt64Array()
	var sent: PackedInt64Array = PackedInt64Array()
	var placed: PackedInt64Array = PackedInt64Array()
	var places: PackedVector2Array = PackedVector2Array()
	var changed: Dictionary[MoverUnit.Kind, PackedInt64Array] = {}
	for index: int in ids.size():
		var unit: MoverUnit = _units.get(ids[index])
		# Another may have its id by now, and it another mover.
		if unit != units[index] or unit.handle != 0:
			gone.append(handles[index])
			continue
		unit.handle = handles[index]
		_ids[unit.handle] = ids[index]
		if unit.has_goal:
			sent.append(ids[index])
		if unit.position != points[index]:
			placed.append(ids[index])
			places.append(unit.position)
		if unit.kind != kind:
			if unit.kind not in changed:
				changed[unit.kind] = PackedInt64Array()
			changed[unit.kind].append(ids[index])
	_is_listed = false
	_send_handles("movers_remove", gone)
	place(placed, places)
	for other: MoverUnit.Kind in changed:
		change(changed[other], other)
	for spread: bool in [true, false]:
		_send_orders(sent, spread)


## Sends those of the units to their goals that the sidecar knows and that spread so.
func _send_orders(ids: PackedInt64Array, spread: bool) -> void:
	var sent: Dictionary[int, Vector2] = {}
	for id: int in ids:
		var unit: MoverUnit = _units.get(id)
		if unit != null and unit.handle != 0 and unit.has_goal and unit.spread == spread:
			sent[unit.handle] = unit.goal
	if sent.is_empty():
		return
	var goals: PackedVector2Array = PackedVector2Array(sent.values())
	if goals.count(goals[0]) == goals.size():
		goals.resize(1)
	goals = table.world.bring_inside(goals)
	var message: Message = Message.new("movers_order")
	message.header["space"] = "world"
	message.header["spread"] = spread
	_add_handles(message, PackedInt64Array(sent.keys()))
	message.add_array("goals", "f32", "%dx2" % goals.size(), goals.to_byte_array())
	table.ask(message)
