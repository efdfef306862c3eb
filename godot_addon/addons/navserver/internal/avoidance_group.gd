extends RefCounted
## The agents on a map that avoid each other and its crowds, as movers of the sidecar.
##
## In a physics frame all of them say in one message where they are and how they want to go, and at
## the beginning of the next one each is told how it may go. Where an answer is late, what the last
## one has changed holds on for a moment; whoever has none goes as it wants to, but not into walls.

const Avoider := preload("avoider.gd")
const Message := preload("message.gd")
const MoverTable := preload("mover_table.gd")

## The message that a sidecar takes whose movers can be steered.
const CAPABILITY: String = "movers_steer"

# What an answer has changed holds for so many frames, as where a slow game steps several at once.
const _KEPT_FRAMES: int = 6
# Asked for again after so many frames, where the sidecar could not add a mover.
const _RETRY_FRAMES: int = 120
# What a mover may be, in cells and cells a second.
const _LARGEST: float = 32.0
const _FASTEST: float = 1e6
# A body may stand so far off the map, in cells, and still count.
const _MARGIN: float = 1.0

## Where they walk.
var map: NavServerMap2D

var _avoiders: Dictionary[Avoider, bool] = {}
# By the handles of their movers.
var _known: Dictionary[int, Avoider] = {}
# Handles of those who have left, and of those whom the sidecar has yet to remove.
var _gone: PackedInt64Array = PackedInt64Array()
var _leaving: Dictionary[int, bool] = {}


## Serves a map.
func _init(the_map: NavServerMap2D) -> void:
	map = the_map


## Takes an agent in.
func join(avoider: Avoider) -> void:
	avoider.forget()
	_avoiders[avoider] = true


## Takes an agent out, with its mover.
func leave(avoider: Avoider) -> void:
	_avoiders.erase(avoider)
	_drop_mover(avoider)


## Tells whether there is anybody to add or to remove.
func is_used() -> bool:
	return not _avoiders.is_empty() or not _gone.is_empty()


## Tells whether anybody has to be moved now.
func is_active() -> bool:
	for avoider: Avoider in _avoiders:
		if avoider.agent.can_process():
			return true
	return false


## Tells whether there are movers of agents among those that the sidecar has.
func has_movers() -> bool:
	return not _known.is_empty() or not _leaving.is_empty()


## Returns how many agents have movers.
func count_movers() -> int:
	return _known.size()


## Returns the rows of agents' movers among those of a view, in their order.
func find_rows(handles: PackedInt64Array) -> PackedInt32Array:
	var rows: PackedInt32Array = PackedInt32Array()
	for handles_there: Dictionary in [_known, _leaving] as Array[Dictionary]:
		for handle: int in handles_there:
			var row: int = handles.find(handle)
			if row >= 0:
				rows.append(row)
	rows.sort()
	return rows


## Takes note that the movers are gone.
func forget() -> void:
	for avoider: Avoider in _avoiders:
		avoider.forget()
	_known.clear()
	_gone.clear()
	_leaving.clear()


## Tells the sidecar, before a step, who is there, where they are and how they want to go. Returns
## whose velocities the step has to tell; null if it is nobody's.
func send(table: MoverTable) -> Wishes:
	var fresh: Array[Avoider] = []
	var changed: Array[Avoider] = []
	var steered: Array[Avoider] = []
	var frame: int = Engine.get_physics_frames()
	for avoider: Avoider in _avoiders:
		if not avoider.is_active():
			_drop_mover(avoider)
		elif avoider.handle != 0:
			steered.append(avoider)
			if avoider.is_changed:
				avoider.is_changed = false
				changed.append(avoider)
		elif avoider.asked_at < 0 or frame - avoider.asked_at > _RETRY_FRAMES:
			avoider.asked_at = frame
			avoider.is_changed = false
			fresh.append(avoider)
	_send_gone(table)
	_send_fresh(table, fresh)
	if not changed.is_empty():
		var message: Message = Message.new("movers_set")
		_add_handles(message, changed)
		_add_properties(message, changed)
		table.ask(message)
	return null if steered.is_empty() else _send_wishes(table, steered)


## Takes the velocities that a step has made of wishes, in the map's coordinates.
func take(velocities: PackedVector2Array, wishes: Wishes) -> void:
	if velocities.size() != wishes.handles.size():
		return
	var place: Transform2D = map.global_transform
	place.origin = Vector2.ZERO
	var told: PackedVector2Array = place * velocities
	for index: int in told.size():
		var avoider: Avoider = _known.get(wishes.handles[index])
		if avoider != null:
			avoider.safe_velocity = told[index]
			avoider.asked_velocity = wishes.velocities[index]
			avoider.answered_frame = wishes.frame


## Tells each agent how it may go; at the beginning of a physics frame.
func tell(delta: float) -> void:
	# Who was told before may have freed any of them.
	if not is_instance_valid(map):
		return
	var frame: int = Engine.get_physics_frames()
	var to_map: Transform2D = map.global_transform.affine_inverse()
	for avoider: Avoider in _avoiders.keys():
		if not is_instance_valid(map):
			return
		if avoider not in _avoiders or not avoider.is_active():
			continue
		var agent: NavServerAgent2D = avoider.agent
		if not agent.can_process():
			continue
		var velocity: Vector2 = avoider.get_wish()
		if avoider.answered_frame >= 0 and frame - avoider.answered_frame <= _KEPT_FRAMES:
			velocity += avoider.safe_velocity - avoider.asked_velocity
			velocity = velocity.limit_length(agent.max_speed)
		if velocity != Vector2.ZERO and delta > 0.0:
			# Also where the sidecar has looked: the body may be elsewhere by now.
			var motion: Vector2 = to_map.basis_xform(velocity * delta)
			var free: Vector2 = avoider.ground.clip(to_map * avoider.get_position(), motion)
			if free != motion:
				velocity = map.global_transform.basis_xform(free) / delta
		agent.tell_velocity(velocity)


func _drop_mover(avoider: Avoider) -> void:
	if avoider.handle != 0:
		_gone.append(avoider.handle)
		_leaving[avoider.handle] = true
		_known.erase(avoider.handle)
	avoider.forget()


func _send_gone(table: MoverTable) -> void:
	if _gone.is_empty():
		return
	var message: Message = Message.new("movers_remove")
	message.add_array("handles", "i64", str(_gone.size()), _gone.to_byte_array())
	table.ask(message, _take_removal.bind(_gone))
	_gone = PackedInt64Array()


func _take_removal(_reply: Message, handles: PackedInt64Array) -> void:
	for handle: int in handles:
		_leaving.erase(handle)


## Adds movers, in one message for each profile.
func _send_fresh(table: MoverTable, fresh: Array[Avoider]) -> void:
	var by_profile: Dictionary[NavServerProfile, Array] = {}
	for avoider: Avoider in fresh:
		if avoider.ground.profile not in by_profile:
			by_profile[avoider.ground.profile] = [] as Array[Avoider]
		by_profile[avoider.ground.profile].append(avoider)
	for profile: NavServerProfile in by_profile:
		var alike: Array[Avoider] = []
		var points: PackedVector2Array = PackedVector2Array()
		for avoider: Avoider in by_profile[profile]:
			var point: Vector2 = _find_room(avoider, table)
			# For one without a place the sidecar would refuse all.
			if point.is_finite():
				alike.append(avoider)
				points.append(point)
		if alike.is_empty():
			continue
		var message: Message = Message.new("movers_add")
		message.header["space"] = "world"
		message.header.merge(alike[0].ground.describe())
		message.add_array("positions", "f32", "%dx2" % points.size(), points.to_byte_array())
		_add_properties(message, alike)
		table.ask(message, _take_handles.bind(alike))


## Returns where an agent's mover is to be, in the map's coordinates; INF where it has no room.
func _find_room(avoider: Avoider, table: MoverTable) -> Vector2:
	var here: Vector2 = avoider.get_position()
	var point: Vector2 = Vector2.INF
	if here.is_finite():
		var to_map: Transform2D = map.global_transform.affine_inverse()
		point = avoider.ground.find_room(table.world.bring_inside([to_map * here])[0])
	if not point.is_finite() and not avoider.is_left_out:
		push_error(
			(
				(
					"%s: nobody avoids it, since its body at %s is deep in walls or nowhere: put it"
					+ " elsewhere, or give it a profile of a smaller size"
				)
				% [avoider.agent.get_path(), here]
			)
		)
	# Told once, however often it is tried.
	avoider.is_left_out = not point.is_finite()
	return point


func _take_handles(reply: Message, avoiders: Array[Avoider]) -> void:
	var handles: PackedInt64Array = reply.get_bytes("handles", "i64").to_int64_array()
	if handles.size() != avoiders.size():
		return
	for index: int in handles.size():
		var avoider: Avoider = avoiders[index]
		if avoider in _avoiders and avoider.handle == 0 and avoider.asked_at >= 0:
			avoider.handle = handles[index]
			_known[avoider.handle] = avoider
		else:
			_gone.append(handles[index])
			_leaving[handles[index]] = true


func _add_handles(message: Message, avoiders: Array[Avoider]) -> void:
	var handles: PackedInt64Array = PackedInt64Array()
	for avoider: Avoider in avoiders:
		handles.append(avoider.handle)
	message.add_array("handles", "i64", str(handles.size()), handles.to_byte_array())


func _add_properties(message: Message, avoiders: Array[Avoider]) -> void:
	var place: Transform2D = map.global_transform * avoiders[0].ground.world.transform
	var cell: float = (place.x.length() + place.y.length()) * 0.5
	# Where cells are longer one way than another nobody is to be slower the long way.
	var shortest: float = _get_shortest(place)
	var radii: PackedFloat32Array = PackedFloat32Array()
	var speeds: PackedFloat32Array = PackedFloat32Array()
	var priorities: PackedFloat32Array = PackedFloat32Array()
	var layers: PackedInt32Array = PackedInt32Array()
	var masks: PackedInt32Array = PackedInt32Array()
	for avoider: Avoider in avoiders:
		var agent: NavServerAgent2D = avoider.agent
		radii.append(clampf(agent.radius / cell, 0.0, _LARGEST))
		speeds.append(clampf(agent.max_speed / shortest, 0.0, _FASTEST))
		priorities.append(clampf(agent.avoidance_priority, 0.0, 1.0))
		layers.append(agent.avoidance_layers)
		masks.append(agent.avoidance_mask)
	var count: String = str(avoiders.size())
	message.add_array("body_radii", "f32", count, radii.to_byte_array())
	message.add_array("max_speeds", "f32", count, speeds.to_byte_array())
	message.add_array("priorities", "f32", count, priorities.to_byte_array())
	message.add_array("layer_sets", "u32", count, layers.to_byte_array())
	message.add_array("masks", "u32", count, masks.to_byte_array())


func _send_wishes(table: MoverTable, avoiders: Array[Avoider]) -> Wishes:
	var place: Transform2D = map.global_transform * table.world.transform
	var handles: PackedInt64Array = PackedInt64Array()
	var points: PackedVector2Array = PackedVector2Array()
	var wishes: PackedVector2Array = PackedVector2Array()
	var current: PackedVector2Array = PackedVector2Array()
	var some_are_forced: bool = false
	# A little less than what is refused, for what is lost by rounding.
	var fastest: float = 0.999 * _FASTEST * _get_shortest(place)
	var some_are_too_fast: bool = false
	for avoider: Avoider in avoiders:
		var agent: NavServerAgent2D = avoider.agent
		var here: Vector2 = avoider.get_position()
		if not here.is_finite():
			# For one that is nowhere the sidecar would refuse all.
			_drop_mover(avoider)
			continue
		handles.append(avoider.handle)
		points.append(here)
		wishes.append(avoider.get_wish() if agent.can_process() else Vector2.ZERO)
		current.append(agent.velocity if avoider.is_forced else avoider.safe_velocity)
		some_are_forced = some_are_forced or avoider.is_forced
		some_are_too_fast = some_are_too_fast or agent.max_speed > fastest
		avoider.is_forced = false
	if handles.is_empty():
		return null
	var region: Rect2 = Rect2(table.world.region).grow(_MARGIN)
	points = place.affine_inverse() * points
	for index: int in points.size():
		if not region.has_point(points[index]):
			points[index] = points[index].clamp(region.position, region.end)
		# Far away what is finite there may not be so here, and a rectangle has what is NAN.
		if not points[index].is_finite():
			points[index] = region.end
	place.origin = Vector2.ZERO
	var to_cells: Transform2D = place.affine_inverse()
	var velocities: PackedVector2Array = to_cells * wishes
	if some_are_too_fast:
		_limit(velocities)
	var message: Message = Message.new("movers_steer")
	var pairs: String = "%dx2" % handles.size()
	message.add_array("handles", "i64", str(handles.size()), handles.to_byte_array())
	message.add_array("velocities", "f32", pairs, velocities.to_byte_array())
	message.add_array("positions", "f32", pairs, points.to_byte_array())
	if some_are_forced:
		var velocities_now: PackedVector2Array = to_cells * current
		_limit(velocities_now)
		message.add_array("current_velocities", "f32", pairs, velocities_now.to_byte_array())
	table.ask(message)
	return Wishes.new(handles, wishes)


## Brings velocities, in cells, to what the sidecar takes: for one beyond it, it would refuse all.
static func _limit(velocities: PackedVector2Array) -> void:
	for index: int in velocities.size():
		velocities[index] = velocities[index].clampf(-_FASTEST, _FASTEST)


## Returns the least length that a cell has in any direction.
static func _get_shortest(place: Transform2D) -> float:
	var sum: float = place.x.length_squared() + place.y.length_squared()
	var area: float = absf(place.determinant())
	var spread: float = sqrt(maxf(sum * sum - 4.0 * area * area, 0.0))
	return sqrt(maxf((sum - spread) * 0.5, 1e-12))


## What was asked for in a frame.
class Wishes:
	extends RefCounted

	## Whose movers, in their order.
	var handles: PackedInt64Array
	## How they want to go, in global coordinates.
	var velocities: PackedVector2Array
	## The physics frame.
	var frame: int = Engine.get_physics_frames()

	func _init(the_handles: PackedInt64Array, the_velocities: PackedVector2Array) -> void:
		handles = the_handles
		velocities = the_velocities
