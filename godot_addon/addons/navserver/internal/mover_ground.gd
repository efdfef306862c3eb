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
const _NO_CELL: Vector2i = Vector2i.MAX

## The map.
var map: NavServerMap2D
## Who walks; null walks over every class but solid.
var profile: NavServerProfile
## The map's world.
var world: WorldState

# What the world calls the profile; empty as long as nobody asked.
var _profile_name: String = ""
# What is known while rooms are looked for: of cells whether a body has room there; of inner ones
# whether they are open, and which one was found closed last.
var _has_room: Dictionary[Vector2i, bool] = {}
var _is_open: Dictionary[Vector2i, bool] = {}
var _last_closed: Vector2i = _NO_CELL


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
	# What whoever finds the paths was told, which the dictionary may differ from.
	if _profile_name.is_empty():
		_profile_name = map.get_profile_name(profile)
	return not is_inf(world.profiles[_profile_name][class_id])


## Returns the point if there is room in its cell for the body, with all the cells that a wide one
## covers, else the centre of a cell near it that has room; INF where no room is near.
func find_room(point: Vector2) -> Vector2:
	return find_rooms([point])[0]


## As [method find_room], for many points: what is found out of a cell serves all of them.
func find_rooms(points: PackedVector2Array) -> PackedVector2Array:
	var found: PackedVector2Array = points.duplicate()
	if not map.is_known():
		return found
	var rooms: Dictionary[Vector2i, Vector2i] = {}
	for index: int in points.size():
		var cell: Vector2i = map.local_to_map(points[index])
		if cell not in rooms:
			rooms[cell] = _find_cell_with_room(cell)
		if rooms[cell] == _NO_CELL:
			found[index] = Vector2.INF
		elif rooms[cell] != cell:
			found[index] = map.map_to_local(rooms[cell])
	_has_room.clear()
	_is_open.clear()
	_last_closed = _NO_CELL
	return found


func _find_cell_with_room(cell: Vector2i) -> Vector2i:
	if _has_room_in(cell):
		return cell
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
				if _has_room_in(near):
					return near
	return _NO_CELL


func _has_room_in(cell: Vector2i) -> bool:
	if cell not in _has_room:
		_has_room[cell] = _look_for_room(cell)
	return _has_room[cell]


func _look_for_room(cell: Vector2i) -> bool:
	var size: int = 1 if profile == null else profile.size
	if size == 1:
		return is_open(cell)
	var layout: TileLayout = world.layout
	var inner: Vector2i = cell if layout == null else layout.to_inner(cell)
	# What was in the way of a body beside this one mostly is in its way, too.
	if Rect2i(inner, Vector2i(size, size)).has_point(_last_closed):
		return false
	for y: int in range(inner.y, inner.y + size):
		for x: int in range(inner.x, inner.x + size):
			var other: Vector2i = Vector2i(x, y)
			if other not in _is_open:
				_is_open[other] = is_open(other if layout == null else layout.to_outer(other))
			if not _is_open[other]:
				_last_closed = other
				return false
	return true


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
