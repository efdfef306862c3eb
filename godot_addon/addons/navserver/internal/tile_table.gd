extends RefCounted
## What the tiles of some layers mean to navigation, read from their TileSets.
##
## A tile whose custom data [code]nav_class[/code] is 1 to 255 is of that class. Any other tile is
## solid if it has a collision polygon over its centre, else of class 0.

const TileLayout := preload("tile_layout.gd")
const WorldState := preload("world_state.gd")

const _ALTERNATIVE_MASK: int = 0xfff
const _CELL_SIZE: int = 12
const _FORMAT_SIZE: int = 2
# Numbers of a blob, three a tile, between two looks at whether to go on.
const _LOOK_INTERVAL: int = 3 * 4096

## Six numbers a tile: layer, source, atlas x, atlas y, alternative, class.
var rows: PackedInt32Array = PackedInt32Array()
## What in the TileSets cannot be taken as it is, each with its remedy.
var problems: PackedStringArray = PackedStringArray()

# For each layer: from the numbers of a tile, packed in one, to its class.
var _classes: Array[Dictionary] = []
var _class_layer: String
var _physics_mask: int
var _scene_class: int


## Reads the TileSets of the layers, bottom first.
func _init(
	layers: Array[TileMapLayer], class_layer: String, physics_mask: int, scene_class: int
) -> void:
	_class_layer = class_layer
	_physics_mask = physics_mask
	_scene_class = scene_class
	var read: Dictionary[TileSet, Dictionary] = {}
	for index: int in layers.size():
		var tile_set: TileSet = layers[index].tile_set
		if tile_set == null:
			_classes.append({})
			continue
		if tile_set not in read:
			read[tile_set] = _read(tile_set)
		var classes: Dictionary = read[tile_set]
		_classes.append(classes)
		for key: int in classes:
			var class_id: int = classes[key]
			rows.append_array([index, key & 0xffff, key >> 16 & 0xffff, key >> 32 & 0xffff])
			rows.append_array([key >> 48, class_id])


## Returns the class of one cell: solid wins, then the topmost tile; -1 if no layer has a tile.
## Layers that were freed have none.
func get_class_of(layers: Array[TileMapLayer], cell: Vector2i) -> int:
	var found: int = -1
	for index: int in range(layers.size() - 1, -1, -1):
		if not is_instance_valid(layers[index]):
			continue
		var layer: TileMapLayer = layers[index]
		var source: int = layer.get_cell_source_id(cell)
		if source < 0:
			continue
		var atlas: Vector2i = layer.get_cell_atlas_coords(cell)
		var alternative: int = layer.get_cell_alternative_tile(cell)
		var key: int = _key(source, atlas, alternative & _ALTERNATIVE_MASK)
		var class_id: int = _classes[index].get(key, WorldState.NO_OPINION)
		if class_id == WorldState.SOLID:
			return class_id
		if found < 0 and class_id != WorldState.NO_OPINION:
			found = class_id
	return found


## Returns the class of each cell of a world, row by row, as its layers have it. Runs on any thread:
## it asks no node. It breaks off when [param must_stop] tells so.
static func read_classes(world: WorldState, must_stop: Callable = Callable()) -> PackedByteArray:
	var size: Vector2i = world.region.size
	var found: PackedByteArray = PackedByteArray()
	found.resize(size.x * size.y)
	found.fill(world.empty_class)
	var tables: Array[Dictionary] = []
	tables.resize(world.blobs.size())
	for at: int in range(0, world.tile_table.size(), 6):
		var row: PackedInt32Array = world.tile_table.slice(at, at + 6)
		tables[row[0]][_key(row[1], Vector2i(row[2], row[3]), row[4])] = row[5]
	# From the bottom up, the later tile wins; only solid ground stays what it is.
	var solid: Dictionary[int, bool] = {}
	for index: int in world.blobs.size():
		_read_blob(world, index, tables[index], found, solid, must_stop)
	return found


static func _read_blob(
	world: WorldState,
	index: int,
	table: Dictionary,
	found: PackedByteArray,
	solid: Dictionary[int, bool],
	must_stop: Callable
) -> void:
	var numbers: PackedInt32Array = world.blobs[index].slice(_FORMAT_SIZE).to_int32_array()
	var origin: Vector2i = world.region.position
	var size: Vector2i = world.region.size
	var layout: TileLayout = world.layout
	for at: int in range(0, numbers.size(), 3):
		if at % _LOOK_INTERVAL == 0 and must_stop.is_valid() and must_stop.call():
			return
		# Two numbers of 16 bits each; x and y have signs.
		var pair: int = numbers[at] & 0xffff_ffff ^ 0x8000_8000
		var cell: Vector2i = Vector2i((pair & 0xffff) - 0x8000, (pair >> 16) - 0x8000)
		if layout != null:
			cell = layout.to_inner(cell)
		cell -= origin
		if cell.x < 0 or cell.y < 0 or cell.x >= size.x or cell.y >= size.y:
			continue
		var key: int = numbers[at + 1] & 0xffff_ffff | (numbers[at + 2] & 0x0fff_ffff) << 32
		var class_id: int = table.get(key, WorldState.NO_OPINION)
		var flat: int = cell.y * size.x + cell.x
		if class_id == WorldState.NO_OPINION or flat in solid:
			continue
		found[flat] = class_id
		if class_id == WorldState.SOLID:
			solid[flat] = true


static func _key(source: int, atlas: Vector2i, alternative: int) -> int:
	return source | (atlas.x & 0xffff) << 16 | (atlas.y & 0xffff) << 32 | alternative << 48


func _read(tile_set: TileSet) -> Dictionary:
	var classes: Dictionary = {}
	var has_classes: bool = tile_set.has_custom_data_layer_by_name(_class_layer)
	for source_index: int in tile_set.get_source_count():
		var source_id: int = tile_set.get_source_id(source_index)
		var source: TileSetSource = tile_set.get_source(source_id)
		for tile_index: int in source.get_tiles_count():
			var atlas: Vector2i = source.get_tile_id(tile_index)
			for other: int in source.get_alternative_tiles_count(atlas):
				var alternative: int = source.get_alternative_tile_id(atlas, other)
				var class_id: int = _scene_class
				if source is TileSetAtlasSource:
					var atlas_source: TileSetAtlasSource = source
					var data: TileData = atlas_source.get_tile_data(atlas, alternative)
					class_id = _read_class(data, has_classes, source_id, atlas)
					if class_id == 0 and _is_solid(tile_set, data):
						class_id = WorldState.SOLID
				classes[_key(source_id, atlas, alternative)] = class_id
	return classes


func _read_class(data: TileData, has_classes: bool, source: int, atlas: Vector2i) -> int:
	if not has_classes:
		return 0
	var value: Variant = data.get_custom_data(_class_layer)
	if value == null:
		return 0
	if value is int:
		var class_id: int = value
		if class_id >= 0 and class_id <= WorldState.SOLID:
			return class_id
	(
		problems
		. append(
			(
				"%s of tile %s in source %d is %s: make the custom data layer of type int, from 0 to 255"
				% [_class_layer, atlas, source, value]
			)
		)
	)
	return 0


func _is_solid(tile_set: TileSet, data: TileData) -> bool:
	for layer: int in tile_set.get_physics_layers_count():
		if tile_set.get_physics_layer_collision_layer(layer) & _physics_mask == 0:
			continue
		for polygon: int in data.get_collision_polygons_count(layer):
			var points: PackedVector2Array = data.get_collision_polygon_points(layer, polygon)
			if Geometry2D.is_point_in_polygon(Vector2.ZERO, points):
				return true
	return false
