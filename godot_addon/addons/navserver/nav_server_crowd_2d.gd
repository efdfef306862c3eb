@tool
@icon("res://addons/navserver/icon.svg")
class_name NavServerCrowd2D
extends Node2D
## Units by the thousand, moved by the sidecar and drawn without a node for each.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. [method spawn] units, [method
## order] them somewhere: they find their ways, keep apart and settle side by side. They are drawn
## by one [MultiMesh] whose buffer comes finished from the sidecar, so a frame of script costs the
## same for ten units and for thousands. What needs more, such as selection or health bars, asks
## [method get_unit_ids] and [method get_positions], whose arrays go together.
## [br][br]
## Units step once a physics frame, so they pause and hurry with the game. They need the sidecar:
## without one [method is_available] is false and they stand still; as soon as one is there they go
## on from where they were. Ids stay the same throughout.
## [br][br]
## A MultiMesh is drawn at one place in the order of nodes. Units that have to be sorted by y among
## trees and houses need nodes: set [member draw_units] to false and move a sprite for each unit to
## [method get_positions].

## Units have come to their goals, or as near as there was room; once an order.
signal units_arrived(ids: PackedInt64Array)
## Units cannot get on; [param reasons] has a [enum StuckReason] for each. Those that are held up by
## others keep trying.
signal units_stuck(ids: PackedInt64Array, reasons: PackedByteArray)
## There are new positions: after each step, and where units are spawned while nobody moves them.
signal units_moved
## Units are moved from now on, or are not.
signal availability_changed(available: bool)

## Why a unit is stuck.
enum StuckReason {
	## Nothing is known.
	NONE,
	## A wall.
	WALL,
	## Other units.
	CROWD,
	## There is no way to the goal.
	UNREACHABLE,
	## Somebody else holds the goal.
	GOAL_TAKEN,
}

## What a unit does.
enum UnitState {
	## Nobody moves it.
	FREE,
	## It has no goal, or has reached it.
	IDLE,
	## It walks along a path.
	PATH,
	## It follows a flow field.
	FIELD,
	## It has a goal and waits for a way there.
	WAITING,
}

## Which units are told of and drawn.
enum AreaOfInterest {
	## Those that the camera sees, and [member camera_margin] around.
	CAMERA,
	## All of them.
	EVERYWHERE,
}

## Internal: no part of what this class offers.
const CrowdDrawing := preload("internal/crowd_drawing.gd")
## Internal: no part of what this class offers.
const CrowdOverlay := preload("internal/crowd_overlay.gd")
## Internal: no part of what this class offers.
const DebugDrawing := preload("internal/debug_drawing.gd")
## Internal: no part of what this class offers.
const MoverGround := preload("internal/mover_ground.gd")
## Internal: no part of what this class offers.
const MoverGroup := preload("internal/mover_group.gd")
## Internal: no part of what this class offers.
const MoverUnit := preload("internal/mover_unit.gd")
## Internal: no part of what this class offers.
const NodeName := preload("internal/node_name.gd")
## Internal: no part of what this class offers.
const SidecarProcess := preload("internal/sidecar_process.gd")
## Internal: no part of what this class offers.
const Settings := preload("internal/settings.gd")

const _COLUMNS: PackedStringArray = ["transforms"]
const _COLUMNS_BETWEEN: PackedStringArray = ["transforms", "transforms_before"]
const _OPTIONS: PackedStringArray = [
	"radius", "max_speed", "acceleration", "turn_rate", "priority", "layers", "mask", "profile"
]
# The most that the sidecar takes, in cells.
const _MOST: Dictionary[String, float] = {"radius": 32.0, "max_speed": 1e6}

## The map; empty takes the nearest one above, else the only one in the tree.
@export var map: NavServerMap2D = null:
	set(value):
		map = value
		update_configuration_warnings()
## Who walks; null walks over every class but solid at cost 1.
@export var profile: NavServerProfile = null

@export_group("Units")
## Radius of a unit's body, for others to avoid, up to 32 cells; 0 takes two fifths of a cell.
@export_range(0.0, 256.0, 0.5, "or_greater", "suffix:px") var radius: float = 0.0
## Greatest speed of a unit.
@export_range(0.0, 1000.0, 1.0, "or_greater", "suffix:px/s") var max_speed: float = 64.0
## Most change of speed a second; 0 is no limit.
@export_range(0.0, 4000.0, 1.0, "or_greater", "suffix:px/s²") var acceleration: float = 0.0
## Most turn a second; 0 is no limit.
@export_range(0.0, 36.0, 0.1, "or_greater", "radians_as_degrees") var turn_rate: float = 0.0

@export_group("Drawing")
## Whether the crowd draws its units.
@export var draw_units: bool = true:
	set(value):
		draw_units = value
		_drawing.instance.visible = value
## What a unit looks like, pointing right; null draws discs.
@export var texture: Texture2D = null:
	set(value):
		texture = value
		_dress()
## Size of a unit's picture; zero takes that of the texture, or of the body.
@export var unit_size: Vector2 = Vector2.ZERO:
	set(value):
		unit_size = value
		_dress()
## A mesh to draw instead of the texture's rectangle.
@export var mesh: Mesh = null:
	set(value):
		mesh = value
		_dress()
## Color of the units.
@export var color: Color = Color.WHITE:
	set(value):
		color = value
		_dress()
## Which units are told of and drawn.
@export var area_of_interest: AreaOfInterest = AreaOfInterest.CAMERA
## How far around what the camera sees units are told of as well.
@export_range(0.0, 1024.0, 1.0, "or_greater", "suffix:px") var camera_margin: float = 64.0

@export_group("Debug", "debug_")
## Draws what each unit does and where it goes. Debug > Visible Navigation does it for all crowds.
@export var debug_enabled: bool = false:
	set(value):
		debug_enabled = value
		_follow_debug()

var _group: MoverGroup = MoverGroup.new(self)
var _drawing: CrowdDrawing = CrowdDrawing.new()
# Null unless states and goals are drawn.
var _overlay: CrowdOverlay = null
var _found: NavServerMap2D = null
var _was_available: bool = false
# Where this node and the map were when the drawing was put in its place.
var _here: Transform2D = Transform2D.IDENTITY
var _there: Transform2D = Transform2D.IDENTITY
# From global coordinates to the map's.
var _to_there: Transform2D = Transform2D.IDENTITY
var _has_complained: bool = false


func _init() -> void:
	_group.arrived.connect(units_arrived.emit)
	_group.stuck.connect(units_stuck.emit)
	_group.viewed.connect(_on_viewed)


func _enter_tree() -> void:
	if not Engine.is_editor_hint():
		_follow_map.call_deferred()
	_follow_debug()


func _ready() -> void:
	if Engine.is_editor_hint():
		set_physics_process(false)
		return
	add_child(_drawing.instance, false, Node.INTERNAL_MODE_FRONT)
	_dress()


func _exit_tree() -> void:
	_leave_map()
	_found = null
	_overlay = null
	_tell_availability()


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE and not _drawing.instance.is_inside_tree():
		_drawing.instance.queue_free()


func _get_configuration_warnings() -> PackedStringArray:
	var warnings: PackedStringArray = PackedStringArray()
	if is_inside_tree() and NavServerAgent2D.find_map(self, map) == null:
		warnings.append("%s." % NavServerAgent2D.describe_maps(self))
	var wish: String = Settings.get_program()
	if SidecarProcess.find_command(wish, ProjectSettings.globalize_path("res://")).is_empty():
		warnings.append(
			"Crowds need the sidecar, and there is none: %s" % SidecarProcess.describe_missing(wish)
		)
	return warnings


func _physics_process(_delta: float) -> void:
	if _is_map_open() and not _follow_map():
		return
	_follow_place()
	_group.area = _get_area()
	_group.columns = _get_columns()
	if _was_available != is_available():
		# Whoever is told may free this node: nothing comes after it.
		_tell_availability()
	elif not _was_available and _group.get_count() > 0:
		_stand_still()


## Lets the units be seen where they stand, while nobody moves them.
func _stand_still() -> void:
	if not _has_complained and _is_hopeless():
		_has_complained = true
		push_warning(
			(
				"%s: the units stand still, since crowds need the sidecar and there is none: %s"
				% [get_path(), NavServer.get_connection().state_reason]
			)
		)
	if _group.view == null or _group.is_untold:
		# Whoever is told may free this node: nothing comes after it.
		_group.look_still()


## Adds units at positions in global coordinates; returns their ids, which stay the same as long as
## the units live. Who would stand in a wall is put into the nearest open cell, and so is who would
## stand beyond the map once the sidecar moves the units. [param options] may
## hold [code]radius[/code], [code]max_speed[/code], [code]acceleration[/code],
## [code]turn_rate[/code] and [code]profile[/code] in place of the crowd's own, and
## [code]priority[/code] (0 to 1: units give way to those of equal or higher priority),
## [code]layers[/code] and [code]mask[/code] (units avoid those whose layers meet their mask).
func spawn(positions: PackedVector2Array, options: Dictionary = {}) -> PackedInt64Array:
	if not _follow_map() or not _are_known(options) or positions.is_empty():
		return PackedInt64Array()
	if not _are_places("positions", positions) or not _are_possible(options):
		return PackedInt64Array()
	return _group.add(_to_map(positions), _make_kind(options))


## Sends units to a goal in global coordinates; beyond the map they go to the place in it that is
## nearest. Each gets a place of its own around it; without
## [param spread] all go to the very point.
func order(ids: PackedInt64Array, goal: Vector2, spread: bool = true) -> void:
	var goals: PackedVector2Array = PackedVector2Array([goal])
	if _are_places("goal", goals) and _follow_map():
		_group.order(ids, _to_map(goals), spread)


## Sends units to goals in global coordinates, each to its own.
func order_each(ids: PackedInt64Array, goals: PackedVector2Array) -> void:
	if _is_one_each("goals", goals, ids) and _follow_map():
		_group.order(ids, _to_map(goals), true)


## Lets units stand where they are.
func stop(ids: PackedInt64Array) -> void:
	_group.stop(ids)


## Removes units.
func remove(ids: PackedInt64Array) -> void:
	_group.remove(ids)


## Puts units somewhere else, in global coordinates, where they stand still; as with [method spawn]
## nobody is put into a wall.
func teleport(ids: PackedInt64Array, positions: PackedVector2Array) -> void:
	if _is_one_each("positions", positions, ids) and _follow_map():
		_group.place(ids, _to_map(positions))


## Gives units other properties, as in [method spawn]; what is left out is the crowd's own. Their
## profile stays.
func set_properties(ids: PackedInt64Array, options: Dictionary) -> void:
	if _follow_map() and _are_known(options) and _are_possible(options):
		_group.change(ids, _make_kind(options))


## Returns how many units there are.
func get_unit_count() -> int:
	return _group.get_count()


## Returns the ids of all units, in the order they were spawned.
func get_all_unit_ids() -> PackedInt64Array:
	return _group.get_ids()


## Returns the ids of the units that were told of last, see [member area_of_interest].
func get_unit_ids() -> PackedInt64Array:
	return _group.list_ids()


## Returns the positions of [method get_unit_ids] in global coordinates, in the same order.
func get_positions() -> PackedVector2Array:
	if not is_instance_valid(_found):
		return PackedVector2Array()
	return _found.global_transform * _group.list_positions()


## Returns what the units of [method get_unit_ids] do, a [enum UnitState] each, in the same order.
func get_states() -> PackedByteArray:
	return _group.list_states()


## Tells whether a unit is there.
func has_unit(id: int) -> bool:
	return _group.has(id)


## Returns where a unit is, in global coordinates; outside the area of interest that may be half a
## second old. NAN for a unit that is not there.
func get_unit_position(id: int) -> Vector2:
	if not is_instance_valid(_found):
		return Vector2(NAN, NAN)
	return _found.global_transform * _group.get_position_of(id)


## Returns the ids of the units in a rectangle of global coordinates, among those told of.
func get_units_in(rectangle: Rect2) -> PackedInt64Array:
	var ids: PackedInt64Array = PackedInt64Array()
	# One that was dragged upwards or to the left has a negative size.
	var area: Rect2 = rectangle.abs()
	var positions: PackedVector2Array = get_positions()
	var told: PackedInt64Array = get_unit_ids()
	for index: int in positions.size():
		if area.has_point(positions[index]):
			ids.append(told[index])
	return ids


## Tells whether the sidecar moves the units.
func is_available() -> bool:
	return _group.table != null and _group.table.is_live()


## Returns what holds the units; for [NavServerMap2D], whose state has them. Null without a map.
func get_mover_group() -> MoverGroup:
	return _group if _follow_map() else null


func _follow_map() -> bool:
	if not is_inside_tree():
		push_error("%s: is in no scene tree: add it first" % NodeName.of(self))
		return false
	var next: NavServerMap2D = NavServerAgent2D.find_map(self, map) if _is_map_open() else _found
	if next != _found:
		_leave_map()
		_found = next
		if next != null:
			_group.columns = _get_columns()
			_group.follow(next)
			next.get_movers().add_group(_group)
	if next == null and not _has_complained:
		_has_complained = true
		push_error("%s has no map. %s" % [get_path(), NavServerAgent2D.describe_maps(self)])
	return next != null


func _leave_map() -> void:
	# Also where the map itself was freed: its table and the units would keep each other.
	if _group.table != null:
		_group.table.drop_group(_group)


## Looking for the map goes through the tree: not each frame.
func _is_map_open() -> bool:
	return _found == null or not is_instance_valid(_found) or map != null and map != _found


## Draws the units on the map, wherever this node is.
func _follow_place() -> void:
	var here: Transform2D = global_transform
	var there: Transform2D = _found.global_transform
	if here != _here or there != _there:
		_here = here
		_there = there
		_to_there = there.affine_inverse()
		_drawing.instance.transform = here.affine_inverse() * there


## Nobody comes who could move the units.
func _is_hopeless() -> bool:
	var connection: NavServerConnection = NavServer.get_connection()
	return connection.state == NavServerConnection.State.FALLBACK and not connection.is_waiting()


func _tell_availability() -> void:
	if is_available() != _was_available:
		_was_available = not _was_available
		availability_changed.emit(_was_available)


func _get_columns() -> PackedStringArray:
	if not draw_units:
		return PackedStringArray()
	return _COLUMNS_BETWEEN if _drawing.is_interpolated() else _COLUMNS


func _get_area() -> Rect2:
	if area_of_interest == AreaOfInterest.EVERYWHERE:
		return Rect2()
	var seen: Rect2 = get_canvas_transform().affine_inverse() * get_viewport_rect()
	return _to_there * seen.grow(camera_margin)


func _to_map(positions: PackedVector2Array) -> PackedVector2Array:
	return _found.global_transform.affine_inverse() * positions


func _are_known(options: Dictionary) -> bool:
	for option: Variant in options:
		if str(option) not in _OPTIONS:
			push_error(
				(
					"%s: option %s is unknown; choose among %s"
					% [NodeName.of(self), option, ", ".join(_OPTIONS)]
				)
			)
			return false
		var value: Variant = options[option]
		if str(option) == "profile":
			if value != null and value is not NavServerProfile:
				push_error(
					"%s: option profile is %s; give a NavServerProfile" % [NodeName.of(self), value]
				)
				return false
		elif not _is_amount(value) and not (value is int and str(option) in ["layers", "mask"]):
			push_error(
				(
					"%s: option %s is %s; give a finite number of 0 or more"
					% [NodeName.of(self), option, value]
				)
			)
			return false
	return true


## Tells whether the sidecar would make such units, and what is wrong if not.
func _are_possible(options: Dictionary) -> bool:
	var cell: float = _found.get_cell_length()
	for option: String in _MOST:
		var own: float = get(option)
		var value: float = _number(options, option, own)
		if value > _MOST[option] * cell:
			push_error(
				(
					"%s: %s is %s px; give %s px at most, which are %d cells of the map"
					% [NodeName.of(self), option, value, _MOST[option] * cell, _MOST[option]]
				)
			)
			return false
	return true


static func _is_amount(value: Variant) -> bool:
	if value is not float and value is not int:
		return false
	var number: float = value
	return is_finite(number) and number >= 0.0


## Tells whether units can be there, and what is wrong if not.
func _are_places(what: String, points: PackedVector2Array) -> bool:
	for point: Vector2 in points:
		if not point.is_finite():
			push_error("%s: %s has %s; give finite numbers" % [NodeName.of(self), what, point])
			return false
	return true


func _is_one_each(what: String, points: PackedVector2Array, ids: PackedInt64Array) -> bool:
	if ids.size() == points.size():
		return _are_places(what, points)
	push_error(
		(
			"%s: %s has %d entries for %d units; give each unit one"
			% [NodeName.of(self), what, points.size(), ids.size()]
		)
	)
	return false


func _make_kind(options: Dictionary) -> MoverUnit.Kind:
	var kind: MoverUnit.Kind = MoverUnit.Kind.new()
	var cell: float = _found.get_cell_length()
	var body: float = _number(options, "radius", radius)
	var speed_limit: float = _number(options, "acceleration", acceleration)
	var turn_limit: float = _number(options, "turn_rate", turn_rate)
	kind.properties = {
		"body_radius": body / cell if body > 0.0 else 0.4,
		"max_speed": _number(options, "max_speed", max_speed) / cell,
		"acceleration": speed_limit / cell if speed_limit > 0.0 else INF,
		"turn_rate": turn_limit if turn_limit > 0.0 else INF,
	}
	if "priority" in options:
		kind.properties["priority"] = clampf(_number(options, "priority", 0.5), 0.0, 1.0)
	for bits: String in ["layers", "mask"]:
		if bits in options:
			var set_there: int = options[bits]
			kind.properties[bits] = set_there & 0xffff_ffff
	var walker: NavServerProfile = profile
	if options.get("profile") is NavServerProfile:
		walker = options["profile"]
	kind.ground = MoverGround.new(_found, walker)
	return kind


static func _number(options: Dictionary, option: String, default: float) -> float:
	var value: Variant = options.get(option, default)
	# The crowd's own properties are not asked when they are set.
	return value if _is_amount(value) else 0.0


func _dress() -> void:
	if not is_node_ready() or Engine.is_editor_hint():
		return
	var size: Vector2 = unit_size
	if size == Vector2.ZERO and texture == null:
		size = Vector2.ONE * 2.0 * (radius if radius > 0.0 else 6.0)
	_drawing.dress(mesh, texture, size, color)


func _on_viewed() -> void:
	if draw_units:
		_drawing.show(_group.view)
	if _overlay != null and is_instance_valid(_found):
		_overlay.draw(_found)
	units_moved.emit()


func _follow_debug() -> void:
	if not DebugDrawing.is_wanted(self, debug_enabled):
		_overlay = null
	elif _overlay == null:
		_overlay = CrowdOverlay.new(self, _group)
