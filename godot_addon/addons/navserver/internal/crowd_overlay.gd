extends "debug_drawing.gd"
## Shows what the units of a crowd do that are told of: their states, goals, ways, and who is stuck.

const Message := preload("message.gd")
const MoverGroup := preload("mover_group.gd")

# Of more units the picture would say nothing.
const _MOST_UNITS: int = 512
const _STUCK_MSEC: int = 2000
# The sidecar is asked for the ways of some units, so often.
const _WAYS: String = "movers_routes"
const _WAYS_MSEC: int = 300
const _MOST_WAYS: int = 128
const _STUCK: Color = Color(1.0, 0.2, 0.15)
const _WAY: Color = Color(0.35, 0.8, 1.0, 0.7)
const _GOAL: Color = Color(1.0, 1.0, 1.0, 0.35)
# By the number of the state.
const _COLORS: PackedColorArray = [
	Color(0.5, 0.5, 0.5),
	Color(0.7, 0.7, 0.7),
	Color(0.3, 0.9, 0.4),
	Color(0.2, 0.85, 0.9),
	Color(1.0, 0.85, 0.2),
	Color(0.8, 0.5, 1.0),
]

var _crowd: NavServerCrowd2D
var _group: MoverGroup
var _map: NavServerMap2D = null
# Until when units are shown as stuck.
var _stuck_until: Dictionary[int, int] = {}
# The waypoints that units have still to pass, as told last.
var _ways: Dictionary[int, PackedVector2Array] = {}
var _next_ways_msec: int = 0


## Follows a crowd.
func _init(crowd: NavServerCrowd2D, group: MoverGroup) -> void:
	super(crowd.get_canvas_item())
	_crowd = crowd
	_group = group
	group.stuck.connect(_on_stuck)


## Draws the units as they are now, on their map.
func draw(map: NavServerMap2D) -> void:
	if map != _map:
		_map = map
		RenderingServer.canvas_item_set_parent(item, map.get_canvas_item())
	clear()
	var ids: PackedInt64Array = _group.list_ids()
	var positions: PackedVector2Array = _group.list_positions()
	var states: PackedByteArray = _group.list_states()
	var radius: float = map.get_cell_length() * 0.12
	var aims: PackedVector2Array = PackedVector2Array()
	var ways: PackedVector2Array = PackedVector2Array()
	for index: int in mini(ids.size(), _MOST_UNITS):
		var at: Vector2 = positions[index]
		var color: Color = _COLORS[mini(states[index], _COLORS.size() - 1)]
		if _is_stuck(ids[index]):
			draw_cross(at, radius * 2.5, _STUCK, 2.0)
		RenderingServer.canvas_item_add_circle(item, at, radius, color)
		var goal: Vector2 = _group.get_goal_of(ids[index])
		if goal.is_finite():
			_append_cross(aims, goal, radius)
			if ids[index] in _ways:
				_append_way(ways, at, _ways[ids[index]])
			else:
				aims.append_array([at, goal])
	if not aims.is_empty():
		RenderingServer.canvas_item_add_multiline(item, aims, [_GOAL])
	if not ways.is_empty():
		RenderingServer.canvas_item_add_multiline(item, ways, [_WAY])
	_ask_for_ways(ids)


static func _append_cross(lines: PackedVector2Array, at: Vector2, radius: float) -> void:
	(
		lines
		. append_array(
			[
				at - Vector2(radius, 0.0),
				at + Vector2(radius, 0.0),
				at - Vector2(0.0, radius),
				at + Vector2(0.0, radius),
			]
		)
	)


static func _append_way(
	lines: PackedVector2Array, at: Vector2, waypoints: PackedVector2Array
) -> void:
	var from: Vector2 = at
	for point: Vector2 in waypoints:
		lines.append(from)
		lines.append(point)
		from = point


func _ask_for_ways(ids: PackedInt64Array) -> void:
	if Time.get_ticks_msec() < _next_ways_msec or _WAYS not in NavServer.get_capabilities():
		return
	_next_ways_msec = Time.get_ticks_msec() + _WAYS_MSEC
	var asked: PackedInt64Array = PackedInt64Array()
	var handles: PackedInt64Array = PackedInt64Array()
	for id: int in ids.slice(0, _MOST_WAYS):
		if _group.get_handle_of(id) != 0:
			asked.append(id)
			handles.append(_group.get_handle_of(id))
	if handles.is_empty() or _group.table == null or not _group.table.is_live():
		_ways.clear()
		return
	var message: Message = Message.new(_WAYS)
	message.header["space"] = "world"
	message.add_array("handles", "i64", str(handles.size()), handles.to_byte_array())
	_group.table.ask(message, _take_ways.bind(asked))


func _take_ways(reply: Message, ids: PackedInt64Array) -> void:
	var points: PackedVector2Array = reply.get_vectors("points")
	var offsets: PackedInt32Array = reply.get_int32s("offsets", "u32")
	_ways.clear()
	for index: int in mini(ids.size(), offsets.size() - 1):
		var way: PackedVector2Array = points.slice(offsets[index], offsets[index + 1])
		if not way.is_empty():
			_ways[ids[index]] = way


func _is_stuck(id: int) -> bool:
	if id not in _stuck_until:
		return false
	if Time.get_ticks_msec() > _stuck_until[id]:
		_stuck_until.erase(id)
		return false
	return true


func _on_stuck(ids: PackedInt64Array, _reasons: PackedByteArray) -> void:
	for id: int in ids:
		_stuck_until[id] = Time.get_ticks_msec() + _STUCK_MSEC
