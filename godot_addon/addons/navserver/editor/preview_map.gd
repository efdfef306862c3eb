@tool
extends RefCounted
## The map of the edited scene, and the world that the sidecar makes of it.
##
## It is that of the scene's first NavServerMap2D; a scene without one has the map that all its
## TileMapLayers would make with the settings that nobody has touched.

## Something that the map hangs on has changed without a word in the scene's history.
signal outdated

## What [method refresh] found: nothing, some cells, or all that there is to know.
enum Change { NONE, CELLS, WHOLE }

const PreviewBlobs := preload("preview_blobs.gd")
const PreviewObstacles := preload("preview_obstacles.gd")
const SidecarBackend := preload("../internal/sidecar_backend.gd")
const MapLayers := preload("../internal/map_layers.gd")
const TileLayout := preload("../internal/tile_layout.gd")
const TileTable := preload("../internal/tile_table.gd")
const WorldState := preload("../internal/world_state.gd")

# Cells that are compared around a stroke of the brush.
const _REACH: int = 4
# More in one step of the mouse wait for the end of the stroke.
const _WINDOW_LIMIT: int = 4096

## Why there is no map; empty if there is one.
var problem: String = ""
## The scene's map node; null if it has none.
var map: NavServerMap2D = null
## The layers of the map, bottom first.
var layers: Array[TileMapLayer] = []
## Where cells lie within the layers.
var layout: TileLayout = null
## What the sidecar knows.
var world: WorldState = WorldState.new()
## Those who may walk here; the first costs 1 everywhere.
var profiles: Array[NavServerProfile] = []

## Cells of the layers that the last [method refresh] found changed, if it found no more than that.
var changed_cells: Dictionary[Vector2i, bool] = {}

var _root: Node = null
var _table: TileTable = null
var _obstacles: PreviewObstacles = PreviewObstacles.new()
# What the map hangs on besides tiles, as it was when it was read.
var _settings: Array = []
var _blobs: Array[PackedByteArray] = []
# Classes that the sidecar knows of cells near the brush.
var _stroke: Dictionary[Vector2i, int] = {}


## Takes a scene; null is none.
func set_root(root: Node) -> void:
	_watch_layers(false)
	map = null
	layers = []
	profiles = []
	layout = null
	_table = null
	_root = root
	_settings = []
	_blobs = []
	_stroke = {}
	world = WorldState.new()


## Reads what has changed since it was last read.
func refresh() -> Change:
	if _root == null:
		problem = "no scene is open"
		return Change.NONE
	# Those that are found to have left are not listened to any more.
	_watch_layers(false)
	var settings: Array = _read_settings()
	_watch_layers(true)
	if settings != _settings:
		_settings = settings
		_read_all()
		return Change.WHOLE if problem.is_empty() else Change.NONE
	if layout == null or not layout.problem.is_empty():
		return Change.NONE
	var change: Change = _read_tiles()
	if change == Change.NONE:
		return change
	var region: Rect2i = world.region
	_place()
	if not problem.is_empty():
		return Change.NONE
	return change if region == world.region else Change.WHOLE


## Reads the tiles again, and finds which cells they have changed.
func _read_tiles() -> Change:
	var change: Change = Change.NONE
	changed_cells.clear()
	for index: int in layers.size():
		var blob: PackedByteArray = layers[index].tile_map_data
		if blob == _blobs[index]:
			continue
		var difference: PreviewBlobs = PreviewBlobs.new(_blobs[index], blob)
		_blobs[index] = blob
		if change != Change.WHOLE:
			change = Change.WHOLE if difference.is_too_much else Change.CELLS
		changed_cells.merge(difference.cells)
	return change


## Gives the sidecar the cells that [method refresh] has found changed.
func send_changes(backend: SidecarBackend) -> void:
	_send_cells(backend, changed_cells.keys())


## Tells whether there is a map with a place in the scene.
func is_there() -> bool:
	if not problem.is_empty() or layout == null or has_lost_layers():
		return false
	return _get_base().is_inside_tree()


## Tells whether what the map was read from has been freed since, as scripts do without a word.
func has_lost_layers() -> bool:
	# Whatever was freed must not get into a typed variable.
	if layers.is_empty():
		return layout != null and not is_instance_valid(map)
	return not layers.all(is_instance_valid)


## Gives the sidecar the whole map.
func put(backend: SidecarBackend) -> void:
	world.blobs = _blobs.duplicate()
	backend.put_world(world)


## Returns from cells, as the sidecar counts them, to the scene.
func get_transform() -> Transform2D:
	return _get_base().global_transform * layout.transform


func _get_base() -> Node2D:
	if layers.is_empty():
		return map
	return layers[0]


## Returns the cell of the layers that a point of the scene lies in.
func cell_at(point: Vector2) -> Vector2i:
	var inner: Vector2 = (get_transform().affine_inverse() * point + Vector2(0.5, 0.5)).floor()
	return layout.to_outer(
		Vector2i(inner).clamp(world.region.position, world.region.end - Vector2i.ONE)
	)


## Tells whether a cell of the layers lies on the map.
func has_cell(cell: Vector2i) -> bool:
	return problem.is_empty() and world.region.has_point(layout.to_inner(cell))


## Returns the class of a cell of the layers, as its tiles say now.
func get_class_of(cell: Vector2i) -> int:
	var tile: int = 0
	if not layers.is_empty():
		var found: int = _table.get_class_of(layers, cell)
		tile = WorldState.SOLID if found < 0 else found
	if tile == WorldState.SOLID:
		return tile
	return _obstacles.classes.get(layout.to_inner(cell), tile)


## Returns a pair to begin with: two open cells in the middle, a third of the map apart.
func propose_pair() -> Vector4i:
	var middle: Vector2i = world.region.get_center()
	var apart: Vector2i = Vector2i(maxi(floori(world.region.size.x / 6.0), 1), 0)
	var start: Vector2i = find_open_cell(layout.to_outer(middle - apart))
	var goal: Vector2i = find_open_cell(layout.to_outer(middle + apart))
	return Vector4i(start.x, start.y, goal.x, goal.y)


## Returns what the tiles on a cell are called.
func describe_tiles(cell: Vector2i) -> String:
	var names: PackedStringArray = PackedStringArray()
	for layer: TileMapLayer in layers:
		var source: int = layer.get_cell_source_id(cell)
		if source >= 0:
			names.append(
				"%s: tile %s of source %d" % [layer.name, layer.get_cell_atlas_coords(cell), source]
			)
	return "no tile" if names.is_empty() else ", ".join(names)


## Remembers the cells around a step of the mouse, before it paints.
func watch_stroke(layer: TileMapLayer, from: Vector2, to: Vector2) -> void:
	for cell: Vector2i in _get_window(layer, from, to):
		if cell not in _stroke:
			_stroke[cell] = get_class_of(cell)


## Sends what a step of the mouse has painted; true if it has painted anything.
func send_stroke(backend: SidecarBackend, layer: TileMapLayer, from: Vector2, to: Vector2) -> bool:
	var painted: Array[Vector2i] = []
	for cell: Vector2i in _get_window(layer, from, to):
		var class_id: int = get_class_of(cell)
		if _stroke.get(cell, class_id) != class_id:
			_stroke[cell] = class_id
			painted.append(cell)
	return _send_cells(backend, painted)


func _send_cells(backend: SidecarBackend, changed: Array[Vector2i]) -> bool:
	var cells: PackedInt32Array = PackedInt32Array()
	var classes: PackedByteArray = PackedByteArray()
	var scales: PackedFloat32Array = PackedFloat32Array()
	for cell: Vector2i in changed:
		var inner: Vector2i = layout.to_inner(cell)
		if world.region.has_point(inner):
			cells.append_array([inner.x, inner.y])
			classes.append(get_class_of(cell))
			scales.append(1.0)
	if classes.is_empty():
		return false
	backend.edit_cells(world, cells, classes, scales)
	return true


## Forgets the stroke of the brush.
func end_stroke() -> void:
	_stroke.clear()


## Returns an open cell near another one, in growing squares around it; that one if there is none.
func find_open_cell(cell: Vector2i) -> Vector2i:
	for reach: int in 16:
		for y: int in range(-reach, reach + 1):
			for x: int in range(-reach, reach + 1):
				var other: Vector2i = cell + Vector2i(x, y)
				if maxi(absi(x), absi(y)) == reach and has_cell(other):
					if get_class_of(other) != WorldState.SOLID:
						return other
	return cell


func _get_window(layer: TileMapLayer, from: Vector2, to: Vector2) -> Array[Vector2i]:
	var cells: Array[Vector2i] = []
	var inverse: Transform2D = layer.global_transform.affine_inverse()
	var box: Rect2i = Rect2i(layer.local_to_map(inverse * from), Vector2i.ZERO)
	box = box.expand(layer.local_to_map(inverse * to)).grow(_REACH)
	if box.get_area() > _WINDOW_LIMIT:
		return cells
	for y: int in range(box.position.y, box.end.y + 1):
		for x: int in range(box.position.x, box.end.x + 1):
			cells.append(Vector2i(x, y))
	return cells


## Changes of a TileSet are told by the layers.
func _watch_layers(is_on: bool) -> void:
	for layer: TileMapLayer in layers.filter(is_instance_valid):
		if is_on != layer.changed.is_connected(_on_layer_changed):
			if is_on:
				layer.changed.connect(_on_layer_changed)
			else:
				layer.changed.disconnect(_on_layer_changed)


func _on_layer_changed() -> void:
	_settings = []
	outdated.emit()


func _read_settings() -> Array:
	var maps: Array[Node] = _root.find_children("*", "NavServerMap2D", true, false)
	if _root is NavServerMap2D:
		maps.push_front(_root)
	map = null if maps.is_empty() else maps[0] as NavServerMap2D
	layers = []
	profiles = []
	var settings: Array = [map]
	if map != null:
		layers = map.find_layers()
		for profile: NavServerProfile in map.profiles:
			if profile != null:
				profiles.append(profile)
		settings.append_array([map.class_layer_name, map.solid_physics_layers])
		settings.append_array([map.scene_tile_class, map.diagonal_mode, map.region, map.cell_size])
	else:
		layers.assign(_root.find_children("*", "TileMapLayer", true, false))
		if _root is TileMapLayer:
			layers.push_front(_root as TileMapLayer)
		layers = MapLayers.select(layers)
		_drop_other_layers()
	_find_profiles()
	settings.append_array(_obstacles.read(_root, map))
	for layer: TileMapLayer in layers:
		settings.append_array([layer, layer.tile_set, layer.global_transform])
	for profile: NavServerProfile in profiles:
		settings.append_array([profile, profile.class_costs.duplicate(), profile.size])
	return settings


## Agents know profiles too.
func _find_profiles() -> void:
	for node: Node in _root.find_children("*", "NavServerAgent2D", true, false):
		var agent: NavServerAgent2D = node as NavServerAgent2D
		if agent.profile != null and agent.profile not in profiles:
			profiles.append(agent.profile)


func _read_all() -> void:
	problem = ""
	layout = null
	if layers.is_empty() and (map == null or not map.region.has_area()):
		problem = "the scene has no TileMapLayer and no NavServerMap2D with a region"
		return
	layout = TileLayout.new(
		null if layers.is_empty() else layers[0], Vector2.ONE if map == null else map.cell_size
	)
	if not layout.problem.is_empty():
		problem = "%s %s" % [layers[0].name, layout.problem]
		return
	var made: NavServerMap2D = map if map != null else NavServerMap2D.new()
	_table = TileTable.new(
		layers, made.class_layer_name, made.solid_physics_layers, made.scene_tile_class
	)
	world.diagonal_mode = made.diagonal_mode
	if map == null:
		made.free()
	_blobs = []
	for layer: TileMapLayer in layers:
		_blobs.append(layer.tile_map_data)
	world.tile_table = _table.rows
	world.empty_class = 0 if layers.is_empty() else WorldState.SOLID
	world.layout = null if layout.identical else layout
	world.transform = layout.transform
	world.profiles.clear()
	for index: int in profiles.size():
		world.profiles[get_profile_name(index)] = profiles[index].get_cost_table()
	_place()


## Returns the sidecar's name of a profile.
static func get_profile_name(index: int) -> String:
	return WorldState.DEFAULT_PROFILE if index < 0 else "preview-%d" % index


## Without a map node only layers of one kind can go together.
func _drop_other_layers() -> void:
	if layers.is_empty():
		return
	var alike: Array[TileMapLayer] = []
	var first: TileLayout = TileLayout.new(layers[0])
	for layer: TileMapLayer in layers:
		var other: TileLayout = TileLayout.new(layer)
		var lies_alike: bool = layer.global_transform.is_equal_approx(layers[0].global_transform)
		if lies_alike and other.transform.is_equal_approx(first.transform):
			alike.append(layer)
	layers = alike


func _place() -> void:
	var cells: Rect2i = Rect2i() if map == null else map.region
	if not cells.has_area():
		for layer: TileMapLayer in layers:
			var used: Rect2i = layer.get_used_rect()
			cells = used if not cells.has_area() else cells.merge(used)
	world.region = layout.to_inner_region(cells)
	problem = WorldState.find_excess(world.region.size)
	if not cells.has_area():
		problem = "the map has no cells: paint tiles, or set region"
	elif problem.is_empty():
		_lay_obstacles()


func _lay_obstacles() -> void:
	_obstacles.lay(get_transform().affine_inverse(), world.region)
	world.edit_cells = PackedInt32Array()
	world.edit_classes = PackedByteArray()
	world.edit_scales = PackedFloat32Array()
	for cell: Vector2i in _obstacles.classes:
		world.edit_cells.append_array([cell.x, cell.y])
		world.edit_classes.append(get_class_of(layout.to_outer(cell)))
		world.edit_scales.append(1.0)
