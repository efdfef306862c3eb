extends RefCounted
## TileSets and layers made by code, for tests.

## The tiles of the TileSet: atlas coordinates by what they are.
const GROUND: Vector2i = Vector2i(0, 0)
const WALL: Vector2i = Vector2i(1, 0)
const SWAMP: Vector2i = Vector2i(2, 0)
## A collision polygon that leaves the centre free.
const FENCE: Vector2i = Vector2i(3, 0)
## Of class 2 in spite of its polygon.
const WATER: Vector2i = Vector2i(4, 0)
## Of class 255 without a polygon.
const VOID: Vector2i = Vector2i(5, 0)
## Two rooms with a door between them.
const ROOMS: Array[String] = [
	"#########",
	"#...#...#",
	"#...#...#",
	"#.......#",
	"#...#...#",
	"#########",
]

const _COUNT: int = 6


## Makes a TileSet; with [param classes] it has a custom data layer nav_class.
static func tile_set(
	classes: bool = true,
	shape: TileSet.TileShape = TileSet.TILE_SHAPE_SQUARE,
	layout: TileSet.TileLayout = TileSet.TILE_LAYOUT_STACKED,
	axis: TileSet.TileOffsetAxis = TileSet.TILE_OFFSET_AXIS_HORIZONTAL,
	tile_size: Vector2i = Vector2i(16, 16)
) -> TileSet:
	var made: TileSet = TileSet.new()
	made.tile_shape = shape
	made.tile_layout = layout
	made.tile_offset_axis = axis
	made.tile_size = tile_size
	made.add_physics_layer()
	made.set_physics_layer_collision_layer(0, 2)
	if classes:
		made.add_custom_data_layer()
		made.set_custom_data_layer_name(0, "nav_class")
		made.set_custom_data_layer_type(0, TYPE_INT)
	var source: TileSetAtlasSource = TileSetAtlasSource.new()
	var image: Image = Image.create(16 * _COUNT, 16, false, Image.FORMAT_RGBA8)
	source.texture = ImageTexture.create_from_image(image)
	source.texture_region_size = Vector2i(16, 16)
	for index: int in _COUNT:
		source.create_tile(Vector2i(index, 0))
	made.add_source(source, 7)
	_add_polygon(source, WALL, Rect2(-8, -8, 16, 16))
	_add_polygon(source, FENCE, Rect2(-8, -8, 16, 4))
	_add_polygon(source, WATER, Rect2(-8, -8, 16, 16))
	if classes:
		source.get_tile_data(SWAMP, 0).set_custom_data("nav_class", 1)
		source.get_tile_data(WATER, 0).set_custom_data("nav_class", 2)
		source.get_tile_data(VOID, 0).set_custom_data("nav_class", 255)
	return made


## Makes a layer from a picture: [code].#~-w%[/code] are the tiles above, a space is none.
static func layer(picture: Array[String], tiles: TileSet, script: Script = null) -> TileMapLayer:
	var made: TileMapLayer = TileMapLayer.new()
	if script != null:
		made.set_script(script)
	made.tile_set = tiles
	for y: int in picture.size():
		for x: int in picture[y].length():
			var tile: int = ".#~-w%".find(picture[y][x])
			if tile >= 0:
				made.set_cell(Vector2i(x, y), 7, Vector2i(tile, 0))
	return made


static func _add_polygon(source: TileSetAtlasSource, tile: Vector2i, box: Rect2) -> void:
	var data: TileData = source.get_tile_data(tile, 0)
	data.add_collision_polygon(0)
	data.set_collision_polygon_points(
		0,
		0,
		[
			box.position,
			Vector2(box.end.x, box.position.y),
			box.end,
			Vector2(box.position.x, box.end.y)
		]
	)
