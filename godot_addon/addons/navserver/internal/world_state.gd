@tool
extends RefCounted
## What a backend has to know of a map to search it.

## The backend has the world, at a version.
signal arrived(version: int)
## An edit is carried out; it made a version.
signal edited(version: int, cells: PackedInt32Array)
## The backend cannot hold the world.
signal refused(reason: String)

const TileLayout := preload("tile_layout.gd")
const WorldState := preload("world_state.gd")

## Class of cells that nobody enters.
const SOLID: int = 255
## Class of a tile that leaves the decision to the layers below.
const NO_OPINION: int = 256
## The profile that every world has: each class costs 1.
const DEFAULT_PROFILE: String = "default"
## Most cells a side.
const SIDE_LIMIT: int = 8192

const _HALF: Vector2 = Vector2(0.5, 0.5)
# So far within the map, in cells, that rounding leads no point out of it.
const _RIM: float = 0.01

static var _made: int = 0

## Names the world; no other one has it.
var name: String = ""
## Whether its layers are read and it was handed over; what is asked of it waits until then.
var is_read: bool = false
## The cells, of the layout within.
var region: Rect2i = Rect2i()
## From a cell to its centre, in the map's own coordinates.
var transform: Transform2D = Transform2D.IDENTITY
## As AStarGrid2D's.
var diagonal_mode: AStarGrid2D.DiagonalMode = AStarGrid2D.DIAGONAL_MODE_ONLY_IF_NO_OBSTACLES
## tile_map_data of the layers, bottom first; empty where [member classes] are given.
var blobs: Array[PackedByteArray] = []
## Layer, source, atlas x, atlas y, alternative, class: six numbers a tile.
var tile_table: PackedInt32Array = PackedInt32Array()
## Class of cells that no layer has a tile on.
var empty_class: int = SOLID
## Class of each cell, row by row; empty where the layers say it.
var classes: PackedByteArray = PackedByteArray()
## Places the layers' cells where inner and outer ones differ, else null. (No Callable: it would not
## keep the layout alive for another thread.)
var layout: TileLayout = null
## Edits on top: x and y of each cell, its class, and its factor of the cost.
var edit_cells: PackedInt32Array = PackedInt32Array()
var edit_classes: PackedByteArray = PackedByteArray()
var edit_scales: PackedFloat32Array = PackedFloat32Array()
## Cost of each class by the profile's name.
var profiles: Dictionary[String, PackedFloat32Array] = {}
## Counts how often the world was handed over or dropped.
var put_serial: int = 0
## The [member put_serial] that the sidecar has; movers of an earlier one are gone.
var ready_serial: int = 0


## Makes a world with a name of its own.
func _init() -> void:
	_made += 1
	name = "godot-%d-%d" % [OS.get_process_id(), _made]


## Returns why a map of so many cells is too large, with the remedy; nothing if it is not.
static func find_excess(size: Vector2i) -> String:
	if maxi(size.x, size.y) <= SIDE_LIMIT:
		return ""
	return "the map has %s cells, %d a side are the most: set a smaller region" % [size, SIDE_LIMIT]


## Returns what another thread may read while this one changes.
func copy() -> WorldState:
	var made: WorldState = WorldState.new()
	made.name = name
	made.region = region
	made.transform = transform
	made.diagonal_mode = diagonal_mode
	made.blobs = blobs.duplicate()
	made.tile_table = tile_table
	made.empty_class = empty_class
	made.classes = classes
	made.layout = layout
	made.edit_cells = edit_cells
	made.edit_classes = edit_classes
	made.edit_scales = edit_scales
	made.profiles = profiles.duplicate()
	made.put_serial = put_serial
	return made


## Tells that the backend has the world; for backends.
func tell_arrived(version: int) -> void:
	arrived.emit(version)


## Tells that an edit is carried out; for backends.
func tell_edited(version: int, cells: PackedInt32Array) -> void:
	edited.emit(version, cells)


## Tells why the backend cannot hold the world.
func refuse(reason: String) -> void:
	refused.emit(reason)


## Returns points of the map's coordinates; in place of those beyond the map the nearest in it.
func bring_inside(points: PackedVector2Array) -> PackedVector2Array:
	if not region.has_area() or transform.determinant() == 0.0:
		return points
	# Whole numbers are the centres of cells.
	var inside: Rect2 = Rect2(Vector2(region.position) - _HALF, region.size).grow(-_RIM)
	var cells: PackedVector2Array = transform.affine_inverse() * points
	var found: PackedVector2Array = points
	for index: int in cells.size():
		if not inside.has_point(cells[index]):
			found[index] = transform * cells[index].clamp(inside.position, inside.end)
	return found


## Tells whether the sidecar has the world as it was handed over last.
func is_at_sidecar() -> bool:
	return is_read and put_serial > 0 and ready_serial == put_serial
