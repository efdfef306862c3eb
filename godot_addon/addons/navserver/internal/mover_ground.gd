extends RefCounted
## Where bodies of one profile may be on a map, for movers and for bodies that nobody watches.
##
## Points are those of the map's own coordinates.

const TileLayout := preload("tile_layout.gd")
const WorldState := preload("world_state.gd")

const _HALF: Vector2 = Vector2(0.5, 0.5)
# So far before a wall, in cells, a motion ends that would lead into it.
const _GAP: float = 1e-3
# A body that crosses more cells in one frame is not walking.
const _CELLS_LIMIT: int = 256
const _ROOM_SEARCH: int = 12

## The map.
var map: NavServerMap2D
## Who walks; null walks over every class but solid.
var profile: NavServerProfile
## The map's world.
var world: WorldState


## Looks at a map for a profile.
func _init(the_map: NavServerMap2D, the_profile: NavServerProfile) -> void:
	map = the_map
	profile = the_profile
	world = map.get_movers().world


## Returns the fields of [code]movers_add[/code] that say what blocks the bodies.
func describe() -> Dictionary:
	return {
		"profile": map.get_profile_name(profile),
		"diagonal_mode": map.diagonal_mode,
		"size": 1 if profile == null else profile.size,
	}


## Tells whether a body may be in a cell.
func is_open(cell: Vector2i) -> bool:
	if not map.is_in_boundsv(cell):
		return false
	var class_id: int = map.get_point_class(cell)
	if class_id == NavServerMap2D.SOLID:
		return false
	if profile == null:
		return true
	var cost: float = profile.class_costs.get(class_id, 1.0)
	return not is_inf(cost)


## Tells whether a body may stand in a cell, with all the cells that a wide one covers.
func has_room(cell: Vector2i) -> bool:
	var size: int = 1 if profile == null else profile.size
	if size == 1:
		return is_open(cell)
	var layout: TileLayout = world.layout
	var inner: Vector2i = cell if layout == null else layout.to_inner(cell)
	for y: int in size:
		for x: int in size:
			var other: Vector2i = inner + Vector2i(x, y)
			if not is_open(other if layout == null else layout.to_outer(other)):
				return false
	return true


## Returns the point if there is room in its cell, else the centre of a cell near it that has room;
## the point where there is none.
func find_place(point: Vector2) -> Vector2:
	var place: Vector2 = find_room(point)
	return place if place.is_finite() else point


## As [method find_place]; INF where no room is near.
func find_room(point: Vector2) -> Vector2:
	var cell: Vector2i = map.local_to_map(point)
	if not map.is_known() or has_room(cell):
		return point
	for away: int in range(1, _ROOM_SEARCH + 1):
		for along: int in range(-away, away + 1):
			for near: Vector2i in (
				[
					cell + Vector2i(along, -away),
					cell + Vector2i(along, away),
					cell + Vector2i(-away, along),
					cell + Vector2i(away, along)
				]
				as Array[Vector2i]
			):
				if has_room(near):
					return map.map_to_local(near)
	return Vector2.INF


## Returns as much of a motion as leads into no wall: along a wall it slides. Who is in a wall
## already may go anywhere, so as to come out.
func clip(point: Vector2, motion: Vector2) -> Vector2:
	var place: Transform2D = world.transform
	if not map.is_known() or is_zero_approx(place.determinant()):
		return motion
	var to_cells: Transform2D = place.affine_inverse()
	var from: Vector2 = to_cells * point
	var left: Vector2 = to_cells.basis_xform(motion)
	var cell: Vector2i = Vector2i((from + _HALF).floor())
	if Vector2i((from + left + _HALF).floor()) == cell or not _is_inner_open(cell):
		return motion
	var is_clipped: bool = false
	for turn: int in 3:
		var stop: Vector2 = _find_stop(from, left, cell)
		if stop == left:
			return place.basis_xform(left) if is_clipped else motion
		left = stop
		is_clipped = true
	return Vector2.ZERO


## Returns the motion without the part that leads through the first wall; the motion itself where
## there is none. All in cells.
func _find_stop(from: Vector2, motion: Vector2, start: Vector2i) -> Vector2:
	var cell: Vector2i = start
	var signs: Vector2i = Vector2i(motion.sign())
	# Which part of the motion is over at the next border along each axis.
	var over: Vector2 = Vector2(INF, INF)
	for axis: int in 2:
		if signs[axis] != 0:
			over[axis] = (cell[axis] + 0.5 * signs[axis] - from[axis]) / motion[axis]
	for count: int in _CELLS_LIMIT:
		var axis: int = Vector2.AXIS_X if over.x <= over.y else Vector2.AXIS_Y
		if over[axis] > 1.0:
			return motion
		cell[axis] += signs[axis]
		if not _is_inner_open(cell):
			var stopped: Vector2 = motion
			var room: float = (cell[axis] - (0.5 + _GAP) * signs[axis]) - from[axis]
			stopped[axis] = room if room * signs[axis] > 0.0 else 0.0
			return stopped
		over[axis] += absf(1.0 / motion[axis])
	return Vector2.ZERO


func _is_inner_open(cell: Vector2i) -> bool:
	return is_open(map.local_to_map(world.transform * Vector2(cell)))
