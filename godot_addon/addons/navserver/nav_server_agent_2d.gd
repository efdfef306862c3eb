@tool
@icon("res://addons/navserver/icon.svg")
class_name NavServerAgent2D
extends Node
## Finds and follows paths for the [Node2D] above it.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. It is used like
## [NavigationAgent2D]: set [member target_position], and in each [code]_physics_process[/code] walk
## towards [method get_next_path_position] until [method is_navigation_finished]. Answers come in
## the next frame or later; until then the next position is the agent's own.

## The target position has come within [member target_desired_distance], or the path that leads to
## its cell has been walked to the end; once a target.
signal target_reached
## The last point of the path was reached, be it the target or the nearest cell; once a path.
signal navigation_finished
## There is a new path.
signal path_changed
## A point of the path was reached: [code]position[/code] and [code]index[/code].
signal waypoint_reached(details: Dictionary)
## There is no path; [param reason] says why, in words.
signal path_failed(status: NavServerPathResult.Status, reason: String)
## How the body may go, in global coordinates: as [member velocity] wants to, but around others and
## not into walls. Comes at the beginning of each physics frame while [member avoidance_enabled].
signal velocity_computed(safe_velocity: Vector2)

## When to ask for a new path by itself.
enum RepathPolicy {
	## Never: only for a new target.
	NEVER,
	## When an edit of the map has broken the path.
	WHEN_BROKEN,
	## When any cell of the map has changed, since the way may have become shorter. The agent walks
	## on meanwhile.
	WHEN_CHANGED,
}

## Internal: no part of what this class offers.
const AgentBatch := preload("internal/agent_batch.gd")
## Internal: no part of what this class offers.
const AgentKind := preload("internal/agent_kind.gd")
## Internal: no part of what this class offers.
const Avoider := preload("internal/avoider.gd")
## Internal: no part of what this class offers.
const BatchRows := preload("internal/batch_rows.gd")
## Internal: no part of what this class offers.
const DebugDrawing := preload("internal/debug_drawing.gd")
## Internal: no part of what this class offers.
const MapFollower := preload("internal/map_follower.gd")
## Internal: no part of what this class offers.
const NodeName := preload("internal/node_name.gd")
## Internal: no part of what this class offers.
const PathDrawing := preload("internal/path_drawing.gd")
## Internal: no part of what this class offers.
const ReplyFacts := preload("internal/reply_facts.gd")
## Internal: no part of what this class offers.
const RequestLog := preload("internal/request_log.gd")

# Whoever sets the target again within so many physics frames chases somebody.
const _CHASE_FRAMES: int = 4
const _NO_LESS: String = "give 0 or more"

## The map; empty takes the nearest one above, else the only one in the tree.
@export var map: NavServerMap2D = null:
	set(value):
		# Some set it in each frame.
		if is_same(value, map):
			return
		map = value
		_follow_map(null)
		_avoider.follow()
		update_configuration_warnings()
		_ask_otherwise()
## Who walks; null walks over every class but solid at cost 1. Where its costs are changed, a new
## path is asked for as where the map changes.
@export var profile: NavServerProfile = null:
	set(value):
		if value == profile:
			return
		if profile != null:
			profile.changed.disconnect(_on_way_changed)
		if value != null:
			value.changed.connect(_on_way_changed)
		profile = value
		_kind = null
		_avoider.follow()
		_ask_otherwise()
## A disabled agent asks for nothing. A target that it was given meanwhile is asked for once it is
## enabled.
@export var enabled: bool = true:
	set(value):
		enabled = value
		_ask_late()
## When to ask for a new path by itself.
@export var repath_policy: RepathPolicy = RepathPolicy.WHEN_BROKEN:
	set(value):
		repath_policy = value
		if value == RepathPolicy.NEVER:
			_unwatch()
		# Which forgets whom it asked with.
		_follow_map(_follower.map if _follower.is_good() else null)
		if _is_in_game and _wants_to_hear():
			# Nobody watches the path that it has, or looked after it meanwhile.
			_ask()
## Where the target is out of reach, walk to the cell nearest to it.
@export var allow_partial_path: bool = true:
	set(value):
		allow_partial_path = value
		_kind = null
## How near a point of the path has to be to count as reached.
@export var path_desired_distance: float = 4.0:
	set(value):
		if _accept("path_desired_distance", value, value >= 0.0, _NO_LESS):
			path_desired_distance = value
			_calm_squared = 0.0
## How near the target has to be to count as reached.
@export var target_desired_distance: float = 4.0:
	set(value):
		if _accept("target_desired_distance", value, value >= 0.0, _NO_LESS):
			target_desired_distance = value
			_calm_squared = 0.0
## Farther from the path than this, a new one is asked for; 0 never does.
@export var path_max_distance: float = 100.0:
	set(value):
		if _accept("path_max_distance", value, value >= 0.0, _NO_LESS):
			path_max_distance = value
			_calm_squared = 0.0

@export_group("Avoidance")
## Whether to keep off other agents on the map that avoid, and off the units of its crowds. Set
## [member velocity] to what you want, and move the body by what [signal velocity_computed] tells.
## Without a sidecar others are not avoided, only walls. How far, how many and how long ahead bodies
## look is one and the same for all on a map: ten within five cells, two seconds ahead.
@export var avoidance_enabled: bool = false:
	set(value):
		avoidance_enabled = value
		_calm_squared = 0.0
		_avoider.follow()
## Radius of the body, for others to avoid. It keeps others away, not walls: wide bodies have a
## [member NavServerProfile.size].
@export_range(0.0, 500.0, 0.1, "or_greater", "suffix:px") var radius: float = 10.0:
	set(value):
		if _accept("radius", value, is_finite(value)):
			radius = value
			_avoider.is_changed = true
## Greatest speed.
@export_range(0.0, 10000.0, 0.1, "or_greater", "suffix:px/s") var max_speed: float = 100.0:
	set(value):
		if _accept("max_speed", value, is_finite(value)):
			max_speed = value
			_avoider.is_changed = true
## What the body is to others: they avoid it if this meets their [member avoidance_mask].
@export_flags_avoidance var avoidance_layers: int = 1:
	set(value):
		avoidance_layers = value
		_avoider.is_changed = true
## Whom the body avoids: those whose [member avoidance_layers] meet this.
@export_flags_avoidance var avoidance_mask: int = 1:
	set(value):
		avoidance_mask = value
		_avoider.is_changed = true
## It gives way to those of equal or higher priority.
@export_range(0.0, 1.0, 0.01) var avoidance_priority: float = 1.0:
	set(value):
		if _accept("avoidance_priority", value, is_finite(value)):
			avoidance_priority = value
			_avoider.is_changed = true

@export_group("Debug", "debug_")
## Draws the path while the game runs. Debug > Visible Navigation does it for all agents.
@export var debug_enabled: bool = false:
	set(value):
		debug_enabled = value
		_follow_debug()
## Draws the path in colors and sizes of its own instead of those of the project settings.
@export var debug_use_custom: bool = false:
	set(value):
		debug_use_custom = value
		_redraw()
## Color of the path if [member debug_use_custom] is set.
@export var debug_path_custom_color: Color = Color.WHITE:
	set(value):
		debug_path_custom_color = value
		_redraw()
## Size of the path's points if [member debug_use_custom] is set; 0 draws none.
@export_range(0.0, 50.0, 0.01, "or_greater", "suffix:px")
var debug_path_custom_point_size: float = 4.0:
	set(value):
		debug_path_custom_point_size = value
		_redraw()
## Width of the path's line if [member debug_use_custom] is set; -1 is as thin as can be.
@export_range(-1.0, 50.0, 0.01, "or_greater", "suffix:px")
var debug_path_custom_line_width: float = -1.0:
	set(value):
		debug_path_custom_line_width = value
		_redraw()

## Where to go, in global coordinates. Setting it asks for a path.
var target_position: Vector2 = Vector2.ZERO:
	set = set_target_position

## How the body wants to go, in global coordinates a second; stays until it is set again.
var velocity: Vector2 = Vector2.ZERO:
	set = set_velocity

# What an order to many touches is side by side in memory: first what setting the target does.
var _has_target: bool = false
# Whether the game asks, not an edit that broke the path.
var _is_wish: bool = false
# Whether it was told that the target was reached.
var _is_target_told: bool = false
# The square of how far the body may be from where it was looked at last before anything happens: to
# compare that is most of what an agent does that walks.
var _calm_squared: float = 0.0
# The physics frame in which the target was set last, and whether it was in the one before as well.
var _target_frame: int = -_CHASE_FRAMES - 1
var _is_chasing: bool = false
# Whether the target was set since the question left that is on its way, and whether one question
# has taken the place of another, and none was answered in time since.
var _is_behind: bool = false
var _is_renewed: bool = false
# Whether it has a target that it could not ask for yet.
var _is_late: bool = false
var _is_in_game: bool = false
var _pending: bool = false
# Whether the connection has it among those that have yet to ask.
var _is_queued: bool = false
# Where it waits for an answer; null if it does not, or has yet to ask.
var _batch: AgentBatch = null
# Where whoever debugs the game keeps the question; null if nobody does.
var _note: RequestLog.Note = null
# The game's, once it was needed.
var _connection: NavServerConnection = null
# Then what asking does.
var _watch: int = 0
# Those that it asks with; null if it has not yet, or not in the same way.
var _kind: AgentKind = null
var _row: int = -1
# What walks; null in the editor, outside the tree, and where the parent is something else.
var _body: Node2D = null
# The path that came last, still in the reply with those of others; null once it is unpacked. Many
# come at once, and each is unpacked only when somebody asks for it.
var _packed: BatchRows = null
var _packed_row: int = -1
# Then what walking does: where the body was looked at last, and where it goes; the path in global
# coordinates, empty without one; which of its points is walked to; and whether its end was reached,
# and told.
var _calm_at: Vector2 = Vector2.ZERO
var _next: Vector2 = Vector2.ZERO
var _points: PackedVector2Array = PackedVector2Array()
var _index: int = 0
var _is_over: bool = false
# Counts paths, also those that were given up: whoever is told of something may wait for another.
var _path_number: int = 0
# Whether somebody is being told of a point.
var _is_telling: bool = false
# Whether nobody looks after the path any more, which ought to be.
var _is_unwatched: bool = false
# The answer that the path came with; null with a path means that it is made of a row of a reply
# when it is asked for.
var _result: NavServerPathResult = null
var _facts: ReplyFacts = null
var _facts_row: int = -1
var _avoider: Avoider = Avoider.new(self)
var _follower: MapFollower = MapFollower.new(_on_map_changed, _on_map_ready)
# Null unless the path is drawn.
var _drawing: PathDrawing = null
var _has_complained: bool = false


func _enter_tree() -> void:
	_is_in_game = not Engine.is_editor_hint()
	_body = get_parent() as Node2D
	_follow_debug()
	# Once the whole scene is there.
	_avoider.follow.call_deferred()
	_ask_late()


func _exit_tree() -> void:
	if _is_in_game:
		# What it waits for or would hear of its path it asks for where it comes back.
		_is_late = _is_late or _pending or _wants_to_hear()
		_drop_question()
	_avoider.leave()
	_drawing = null
	_is_in_game = false
	_is_chasing = false
	_follow_map(null)
	_calm_squared = 0.0
	_connection = null
	_body = null


func _get_configuration_warnings() -> PackedStringArray:
	var warnings: PackedStringArray = PackedStringArray()
	if get_parent() is not Node2D:
		warnings.append("Put this node below the Node2D that is to walk.")
	if is_inside_tree() and find_map(self, map) == null:
		warnings.append("%s." % describe_maps(self))
	return warnings


## Returns the map that a node belongs to: the one given, else the nearest above, else the only one
## in the tree; null if there is none. A map that was freed counts as none.
static func find_map(node: Node, given: Variant) -> NavServerMap2D:
	return MapFollower.find(node, given)


## Returns in words why [method find_map] finds none, with the remedy.
static func describe_maps(node: Node) -> String:
	return MapFollower.describe(node)


## Sets [member target_position] and asks for a path to it: at once, or as soon as the agent is in
## the tree and enabled. It may be set in each frame, as to chase somebody: the agent then walks the
## path that it has until there is a newer one.
func set_target_position(position: Vector2) -> void:
	if not position.is_finite():
		_accept("target_position", position, false)
		return
	target_position = position
	_has_target = true
	_is_wish = true
	_is_target_told = false
	_calm_squared = 0.0
	var frame: int = Engine.get_physics_frames()
	if frame != _target_frame:
		_is_chasing = frame - _target_frame <= _CHASE_FRAMES or _is_renewed
		_target_frame = frame
	if _is_chasing and _batch != null:
		# If each target took the place of the one before, none would ever be answered.
		_is_behind = true
	else:
		_is_renewed = _batch != null
		_ask()


## Sets [member velocity].
func set_velocity(value: Vector2) -> void:
	if not _accept("velocity", value, value.is_finite()):
		return
	velocity = value
	if avoidance_enabled:
		_avoider.wish()


## Sets [member velocity] and tells that the body moves so by now, as after it was put elsewhere:
## others expect it to go on like that.
func set_velocity_forced(value: Vector2) -> void:
	set_velocity(value)
	_avoider.is_forced = velocity == value


## Forgets target and path.
func stop() -> void:
	_drop_question()
	_has_target = false
	_is_late = false
	_drop_path()
	_result = null
	_redraw()


## Returns where to walk next, in global coordinates; to be called once a physics frame. It is the
## agent's own position while a path is on its way, and when there is none. (Who sets the target in
## each frame, and so is always on the way to a newer one, goes on by the path there is.)
func get_next_path_position() -> Vector2:
	var here: Vector2 = Vector2.ZERO if _body == null else _body.global_position
	if here.distance_squared_to(_calm_at) < _calm_squared:
		return _next
	# After an order many wait, so this calls nothing for them.
	if _pending and not _is_chasing or not _advance(here):
		return here
	if not _pending and _is_left(here):
		_is_chasing = false
		_ask()
		return here
	return _next


## Tells whether there is nothing more to walk. False while a path is on its way. Like [method
## get_next_path_position] it notices what the body has reached, and tells of it.
func is_navigation_finished() -> bool:
	if _pending:
		return false
	if _packed == null and (_is_over or _points.is_empty()):
		# Nobody tells when the authority changes, which may have come here.
		return not (_is_late and enabled and is_multiplayer_authority() and _ask())
	var here: Vector2 = Vector2.ZERO if _body == null else _body.global_position
	if here.distance_squared_to(_calm_at) < _calm_squared:
		return false
	return not _advance(here) and not _pending


## Tells whether the target is within [member target_desired_distance], or [signal target_reached]
## has told of it.
func is_target_reached() -> bool:
	return _has_target and (_is_target_told or distance_to_target() <= target_desired_distance)


## Tells whether the path leads to the target.
func is_target_reachable() -> bool:
	if get_current_navigation_path().is_empty():
		return false
	var status: int = _facts.statuses[_facts_row] if _result == null else _result.status
	return status == NavServerPathResult.Status.FOUND


## Returns the distance to the target.
func distance_to_target() -> float:
	return _get_position().distance_to(target_position)


## Returns the last point of the path; the agent's own position without one.
func get_final_position() -> Vector2:
	var path: PackedVector2Array = get_current_navigation_path()
	return _get_position() if path.is_empty() else path[-1]


## Returns the path in global coordinates.
func get_current_navigation_path() -> PackedVector2Array:
	if _packed != null:
		_unpack()
	return _points


## Returns the length of the path in global coordinates, from its first point to its last.
func get_path_length() -> float:
	var path: PackedVector2Array = get_current_navigation_path()
	var length: float = 0.0
	for index: int in range(1, path.size()):
		length += path[index - 1].distance_to(path[index])
	return length


## Sets a bit of [member avoidance_layers]; layers are numbered from 1 to 32.
func set_avoidance_layer_value(layer_number: int, value: bool) -> void:
	avoidance_layers = _with_bit("layer_number", layer_number, avoidance_layers, value)


## Tells whether a bit of [member avoidance_layers] is set.
func get_avoidance_layer_value(layer_number: int) -> bool:
	return avoidance_layers & _with_bit("layer_number", layer_number, 0, true) != 0


## Sets a bit of [member avoidance_mask]; layers are numbered from 1 to 32.
func set_avoidance_mask_value(mask_number: int, value: bool) -> void:
	avoidance_mask = _with_bit("mask_number", mask_number, avoidance_mask, value)


## Tells whether a bit of [member avoidance_mask] is set.
func get_avoidance_mask_value(mask_number: int) -> bool:
	return avoidance_mask & _with_bit("mask_number", mask_number, 0, true) != 0


## Returns the index of the point that is walked to.
func get_current_navigation_path_index() -> int:
	if _packed != null:
		_unpack()
	return _index


## Returns the answer that the path came with; null without one.
func get_current_navigation_result() -> NavServerPathResult:
	if _packed != null:
		_unpack()
	if _result == null and not _points.is_empty():
		_result = _facts.make_result(_facts_row)
		_result.path = _points
		_result.locate(_facts.to_global, _facts.to_cell)
	return _result


## Passes what the body has reached, and tells whether it is to walk on to [member _next].
func _advance(here: Vector2) -> bool:
	_calm_squared = 0.0
	if _packed != null:
		_unpack()
	if _pending and not _is_chasing or _points.is_empty() or _is_over:
		return false
	if _is_telling:
		# Whoever is told of a point asks where it lies.
		_next = _points[_index]
		return true
	var path: int = _path_number
	if not _is_target_told and here.distance_to(target_position) <= target_desired_distance:
		_finish(true)
		return false
	while here.distance_to(_points[_index]) <= path_desired_distance or _is_point_passed(here):
		_is_telling = true
		waypoint_reached.emit({"position": _points[_index], "index": _index})
		_is_telling = false
		if path != _path_number or _pending and not _is_chasing:
			# Who was told has set another target, or has even waited for the path there.
			return false
		if _index == _points.size() - 1:
			# A path ends at the centre of a cell: all of that cell counts as its target.
			_finish(not (_is_target_told or _pending or _is_late) and is_target_reachable())
			return false
		_index += 1
	_next = _points[_index]
	_look_around(here)
	return true


func _finish(is_reached: bool) -> void:
	var path: int = _path_number
	# Who is told may take the agent out of the tree, and it has nothing to go on with.
	_is_over = true
	if is_reached:
		_is_target_told = true
		target_reached.emit()
	if path == _path_number:
		navigation_finished.emit()


## Notes how far the body can go from where it is before there is anything to do or to tell.
func _look_around(here: Vector2) -> void:
	# Who goes around others passes points that it never comes near to.
	if avoidance_enabled:
		return
	var calm: float = here.distance_to(_next) - path_desired_distance
	if not _is_target_told:
		calm = minf(calm, here.distance_to(target_position) - target_desired_distance)
	if _index > 0 and path_max_distance > 0.0:
		calm = minf(calm, path_max_distance - _get_distance_from_path(here))
	# Vectors have 32 bits a number.
	calm -= 0.01
	if calm > 0.0:
		_calm_at = here
		_calm_squared = calm * calm


## Who goes around others may have to leave a point of the path aside, as one where somebody stands.
func _is_point_passed(here: Vector2) -> bool:
	if not avoidance_enabled or _index >= _points.size() - 1:
		return false
	var next: Vector2 = _points[_index + 1]
	var is_beyond: bool = here.distance_squared_to(next) < _points[_index].distance_squared_to(next)
	return is_beyond and _avoider.sees(here, next)


## Tells whether the body is farther from the path than it may be.
func _is_left(here: Vector2) -> bool:
	var most: float = path_max_distance
	return _index > 0 and most > 0.0 and _get_distance_from_path(here) > most


func _get_distance_from_path(here: Vector2) -> float:
	var start: Vector2 = _points[_index - 1]
	return here.distance_to(Geometry2D.get_closest_point_to_segment(here, start, _points[_index]))


func _get_position() -> Vector2:
	return Vector2.ZERO if _body == null else _body.global_position


func _accept(
	what: String, value: Variant, is_good: bool, remedy: String = "give finite numbers"
) -> bool:
	if not is_good:
		push_error("%s: %s is %s; %s" % [NodeName.of(self), what, value, remedy])
	return is_good


func _with_bit(what: String, number: int, bits: int, value: bool) -> int:
	if number < 1 or number > 32:
		push_error("%s: %s is %d; give 1 to 32" % [NodeName.of(self), what, number])
		return bits
	var bit: int = 1 << (number - 1)
	return bits | bit if value else bits & ~bit


func _ask_late() -> void:
	if _is_late:
		_ask()


## Asks once more, since it is another path that is wanted now.
func _ask_otherwise() -> void:
	if _is_in_game and (_pending or _is_walking()):
		_is_chasing = false
		_ask()


## Asks once more, since there may be a better path by now. It walks on by the one it has, and what
## changes in each frame does not keep it from ever being answered.
func _on_way_changed() -> void:
	if not _is_in_game or not _wants_to_hear():
		return
	# Who waits for a path to a new target does not walk to the old one.
	_is_chasing = _is_chasing or not _pending
	if _batch != null:
		_is_behind = true
	else:
		_ask()


## Asks for a path to the target, and tells whether one is on its way now.
func _ask() -> bool:
	_is_behind = false
	_is_late = not enabled or not _is_in_game
	if _is_late:
		return false
	if _batch != null:
		# The newer question takes the place of this one by itself.
		_batch.take_back(_row)
		_batch = null
	_pending = true
	_calm_squared = 0.0
	if _note != null:
		_end_note(NavServerPathResult.Status.SUPERSEDED)
	# Many may do this in one frame, so it calls as little as it can; all else has its turn in ask().
	if _connection == null:
		_connection = NavServer.get_connection()
	if not _is_queued:
		_is_queued = true
		_connection.asking.append(self)
	if _connection.is_measured:
		_note = _connection.note_question(self, _get_position(), target_position)
	return true


## Joins the agents that ask in this frame; the connection calls it when it is this agent's turn.
## False if it has to come again, since its map is still being read.
func ask(connection: NavServerConnection) -> bool:
	if not _is_queued:
		return true
	if not is_multiplayer_authority():
		_is_queued = false
		_pending = false
		_is_late = true
		if _note != null:
			_end_note(NavServerPathResult.Status.CANCELLED)
		return true
	if _watch != 0:
		connection.ended_watches.append(_watch)
		_watch = 0
	var batch: AgentBatch = null if _kind == null else _kind.batch
	if batch == null:
		batch = _find_batch(connection)
		if batch == null:
			_is_queued = _pending
			return not _pending
		_kind = batch.kind
	_is_queued = false
	_batch = batch
	var agents: Array[Node] = batch.agents
	_row = agents.size()
	agents.append(self)
	var ends: PackedVector2Array = batch.ends
	ends.append(Vector2.ZERO if _body == null else _body.global_position)
	ends.append(target_position)
	return true


## Returns where to ask; null if there is no map, which is told, or if it is still being read.
func _find_batch(connection: NavServerConnection) -> AgentBatch:
	if not _follower.is_good():
		_follow_map(find_map(self, map))
	if _body == null:
		_fail_for_good("%s walks nothing: put it below the Node2D that is to walk" % get_path())
		return null
	if _follower.map == null:
		_fail_for_good("%s has no map. %s" % [get_path(), describe_maps(self)])
		return null
	if not _follower.map.is_known():
		_fail_for_good("%s: %s" % [get_path(), _follower.map.describe_problem()])
		return null
	_has_complained = false
	if not _follower.map.is_read():
		return null
	var watch: bool = repath_policy == RepathPolicy.WHEN_BROKEN
	return connection.get_batch(_follower.map, profile, allow_partial_path, watch, _kind)


## Asks once more, since nobody will answer what was asked; for the connection.
func ask_again() -> void:
	_batch = null
	_is_behind = false
	_watch = 0
	_pending = true
	_calm_squared = 0.0
	_is_queued = true
	NavServer.get_connection().asking.append(self)


## Takes an answer; for the batch that it asked in.
func take_answer(result: NavServerPathResult, watch_number: int) -> void:
	_batch = null
	_watch = watch_number
	_pending = false
	_is_unwatched = false
	_result = result
	if not result.has_path():
		_fail(result.status, result.reason)
		return
	_drop_path()
	_begin(result.path)
	if _note != null:
		_end_note(result.status)
	_go_on_asking()
	path_changed.emit()


## Takes a path that is a row of a reply; for the batch that it asked in.
func take_path(rows: BatchRows, row: int, watch_number: int) -> void:
	_batch = null
	_watch = watch_number
	_pending = false
	_calm_squared = 0.0
	_path_number += 1
	_is_unwatched = false
	_packed = rows
	_packed_row = row
	if _note != null:
		_end_note(rows.facts.statuses[row] as NavServerPathResult.Status)
	_go_on_asking()
	path_changed.emit()


## Notes that an edit of the map has broken the path; for whoever watches it.
func take_break() -> void:
	_watch = 0
	_is_wish = false
	_is_chasing = false
	_ask()


## Notes that nobody looks after its path any more, since others find the paths by now. Any edit
## may break it from here on; for whoever watched it.
func lose_watch() -> void:
	_watch = 0
	if _follower.is_good() and _wants_to_hear():
		_is_unwatched = true
		_follow_map(_follower.map)


## Tells how the body may go; for who keeps it clear of others.
func tell_velocity(safe_velocity: Vector2) -> void:
	velocity_computed.emit(safe_velocity)


## Tells whether it walks a path, and is to hear of what changes on the map.
func _wants_to_hear() -> bool:
	return repath_policy != RepathPolicy.NEVER and _is_walking()


## Tells whether there is a path that it has not come to the end of.
func _is_walking() -> bool:
	return _packed != null or not _points.is_empty() and not _is_over


func _unpack() -> void:
	_facts = _packed.facts
	_facts_row = _packed_row
	_result = null
	_begin(_packed.get_path_of(_packed_row))
	# The reply is large and may go.
	_packed = null


func _begin(path: PackedVector2Array) -> void:
	_points = path
	_is_over = false
	# The first point is the centre of the cell where the body stands already.
	_index = mini(1, path.size() - 1)


func _follow_debug() -> void:
	var body: Node2D = get_parent() as Node2D
	if body == null or not DebugDrawing.is_wanted(self, debug_enabled):
		_drawing = null
	elif _drawing == null:
		_drawing = PathDrawing.new(self, body)


func _redraw() -> void:
	if _drawing != null:
		_drawing.draw()


## Tells whether any change of the map is a reason to ask.
func _hears_changes() -> bool:
	return repath_policy == RepathPolicy.WHEN_CHANGED or _is_unwatched


func _follow_map(found: NavServerMap2D) -> void:
	_kind = null
	_follower.follow(found, _hears_changes())


## Asks for the newest target, or by the newest map, if there is another meanwhile. Until then the
## path that has come is walked.
func _go_on_asking() -> void:
	if _is_behind:
		_is_chasing = true
		_ask()
	else:
		_is_renewed = false


func _unwatch() -> void:
	if _watch != 0:
		NavServer.get_connection().unwatch(_watch)
	_watch = 0


func _drop_question() -> void:
	if _batch != null:
		_batch.take_back(_row)
		NavServer.get_connection().cancel_row(_batch, _row)
		_batch = null
	_is_queued = false
	_is_behind = false
	_is_renewed = false
	_pending = false
	if _note != null:
		_end_note(NavServerPathResult.Status.CANCELLED)
	_unwatch()


func _drop_path() -> void:
	_calm_squared = 0.0
	_packed = null
	_points = PackedVector2Array()
	_path_number += 1


func _fail(status: NavServerPathResult.Status, reason: String) -> void:
	_pending = false
	_drop_path()
	if _note != null:
		_end_note(status, reason)
	_go_on_asking()
	path_failed.emit(status, reason)


## Nobody may listen to [signal path_failed]; what the scene lacks is told aloud, once. Not where a
## level goes and its map with it.
func _fail_for_good(reason: String) -> void:
	if _is_wish and not _has_complained:
		_has_complained = true
		push_error(reason)
	_result = NavServerPathResult.without_path(NavServerPathResult.Status.FAILED, reason)
	_fail(NavServerPathResult.Status.FAILED, reason)


func _end_note(status: NavServerPathResult.Status, reason: String = "") -> void:
	_note.end(status, reason)
	_note = null


func _on_map_changed(_version: int, _cells: Array[Vector2i]) -> void:
	if _hears_changes():
		_on_way_changed()


func _on_map_ready() -> void:
	# Who was told before may have taken it off the map. And whoever finds the paths from now on has
	# the map as it was.
	if _follower.is_good() and not _follower.map.is_put_again and _hears_changes():
		_on_way_changed()
