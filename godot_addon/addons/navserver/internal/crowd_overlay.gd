extends "debug_drawing.gd"
## Shows what the units of a crowd do that are told of: their states, goals, and who is stuck.

const MoverGroup := preload("mover_group.gd")

# Of more units the picture would say nothing.
const _MOST_UNITS: int = 512
const _STUCK_MSEC: int = 2000
const _STUCK: Color = Color(1.0, 0.2, 0.15)
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
	for index: int in mini(ids.size(), _MOST_UNITS):
		var at: Vector2 = positions[index]
		var color: Color = _COLORS[mini(states[index], _COLORS.size() - 1)]
		if _is_stuck(ids[index]):
			draw_cross(at, radius * 2.5, _STUCK, 2.0)
		RenderingServer.canvas_item_add_circle(item, at, radius, color)
		var goal: Vector2 = _group.get_goal_of(ids[index])
		if goal.is_finite():
			_append_cross(aims, goal, radius)
			aims.append_array([at, goal])
	if not aims.is_empty():
		RenderingServer.canvas_item_add_multiline(item, aims, [_GOAL])


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
