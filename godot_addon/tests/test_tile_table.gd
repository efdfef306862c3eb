extends "test_case.gd"
## What tiles mean, read cell by cell and from whole layers.

const TileMaps := preload("tile_maps.gd")
const TileTable := preload("res://addons/navserver/internal/tile_table.gd")
const WorldState := preload("res://addons/navserver/internal/world_state.gd")

const _ALL: Array[String] = [".#~-w% "]


func _world_of(layers: Array[TileMapLayer], table: TileTable, region: Rect2i) -> WorldState:
	var world: WorldState = WorldState.new()
	world.region = region
	world.tile_table = table.rows
	for layer: TileMapLayer in layers:
		world.blobs.append(layer.tile_map_data)
	return world


## Both ways of reading have to agree, whatever the expected classes are.
func _check_classes(
	layers: Array[TileMapLayer], table: TileTable, region: Rect2i, expected: Array[int]
) -> void:
	var read: PackedByteArray = TileTable.read_classes(_world_of(layers, table, region))
	var one_by_one: Array[int] = []
	for y: int in range(region.position.y, region.end.y):
		for x: int in range(region.position.x, region.end.x):
			var class_id: int = table.get_class_of(layers, Vector2i(x, y))
			one_by_one.append(WorldState.SOLID if class_id < 0 else class_id)
	check_equal(one_by_one, expected)
	check_equal(read, PackedByteArray(expected))


func _layer(picture: Array[String], tiles: TileSet) -> TileMapLayer:
	var layer: TileMapLayer = TileMaps.layer(picture, tiles)
	add_node(layer)
	return layer


func test_collision_alone() -> void:
	var layers: Array[TileMapLayer] = [_layer(_ALL, TileMaps.tile_set(false))]
	var table: TileTable = TileTable.new(layers, "nav_class", 0xffff_ffff, 0)
	_check_classes(layers, table, Rect2i(0, 0, 7, 1), [0, 255, 0, 0, 255, 0, 255])
	check_equal(table.problems.size(), 0)


func test_classes_go_before_collision() -> void:
	var layers: Array[TileMapLayer] = [_layer(_ALL, TileMaps.tile_set())]
	var table: TileTable = TileTable.new(layers, "nav_class", 0xffff_ffff, 0)
	_check_classes(layers, table, Rect2i(0, 0, 7, 1), [0, 255, 1, 0, 2, 255, 255])


func test_only_the_chosen_collision_layers_count() -> void:
	var layers: Array[TileMapLayer] = [_layer(_ALL, TileMaps.tile_set(false))]
	for mask: int in [1, 0, 0xffff_fffd]:
		var table: TileTable = TileTable.new(layers, "nav_class", mask, 0)
		_check_classes(layers, table, Rect2i(0, 0, 7, 1), [0, 0, 0, 0, 0, 0, 255])


func test_the_topmost_tile_wins_but_solid_always() -> void:
	var tiles: TileSet = TileMaps.tile_set()
	var layers: Array[TileMapLayer] = [
		_layer(["~#.% "], tiles), _layer([".. #~"], tiles), _layer(["     "], tiles)
	]
	var table: TileTable = TileTable.new(layers, "nav_class", 0xffff_ffff, 0)
	_check_classes(layers, table, Rect2i(0, 0, 6, 1), [0, 255, 0, 255, 1, 255])


func test_negative_cells_flips_and_cells_outside() -> void:
	var layer: TileMapLayer = _layer(["."], TileMaps.tile_set())
	var flipped: int = TileSetAtlasSource.TRANSFORM_FLIP_H | TileSetAtlasSource.TRANSFORM_TRANSPOSE
	layer.set_cell(Vector2i(-3, -2), 7, TileMaps.SWAMP, flipped)
	layer.set_cell(Vector2i(-32768, 32767), 7, TileMaps.WATER)
	var layers: Array[TileMapLayer] = [layer]
	var table: TileTable = TileTable.new(layers, "nav_class", 0xffff_ffff, 0)
	_check_classes(layers, table, Rect2i(-3, -2, 2, 2), [1, 255, 255, 255])
	_check_classes(layers, table, Rect2i(-32768, 32767, 1, 1), [2])


func test_alternatives_have_classes_of_their_own() -> void:
	var tiles: TileSet = TileMaps.tile_set()
	var source: TileSetAtlasSource = tiles.get_source(7)
	var other: int = source.create_alternative_tile(TileMaps.GROUND)
	source.get_tile_data(TileMaps.GROUND, other).set_custom_data("nav_class", 9)
	var layer: TileMapLayer = _layer([".."], tiles)
	layer.set_cell(Vector2i(1, 0), 7, TileMaps.GROUND, other)
	var layers: Array[TileMapLayer] = [layer]
	_check_classes(layers, TileTable.new(layers, "nav_class", -1, 0), Rect2i(0, 0, 2, 1), [0, 9])


func test_scene_tiles_take_the_class_given() -> void:
	var tiles: TileSet = TileMaps.tile_set()
	var scenes: TileSetScenesCollectionSource = TileSetScenesCollectionSource.new()
	var scene: PackedScene = PackedScene.new()
	var node: Node2D = Node2D.new()
	scene.pack(node)
	node.free()
	var tile: int = scenes.create_scene_tile(scene)
	tiles.add_source(scenes, 8)
	var below: TileMapLayer = _layer(["~"], tiles)
	var above: TileMapLayer = _layer([""], tiles)
	above.set_cell(Vector2i.ZERO, 8, Vector2i.ZERO, tile)
	var layers: Array[TileMapLayer] = [below, above]
	for class_id: int in [0, 5, 255]:
		var table: TileTable = TileTable.new(layers, "nav_class", -1, class_id)
		_check_classes(layers, table, Rect2i(0, 0, 1, 1), [class_id])
	var open: TileTable = TileTable.new(layers, "nav_class", -1, WorldState.NO_OPINION)
	_check_classes(layers, open, Rect2i(0, 0, 1, 1), [1])


func test_odd_data_are_told() -> void:
	var tiles: TileSet = TileMaps.tile_set(false)
	tiles.add_custom_data_layer()
	tiles.set_custom_data_layer_name(0, "nav_class")
	tiles.set_custom_data_layer_type(0, TYPE_STRING)
	var source: TileSetAtlasSource = tiles.get_source(7)
	source.get_tile_data(TileMaps.SWAMP, 0).set_custom_data("nav_class", "deep")
	var layers: Array[TileMapLayer] = [_layer(["~"], tiles)]
	var table: TileTable = TileTable.new(layers, "nav_class", -1, 0)
	check_contains(" ".join(table.problems), "make the custom data layer of type int")
	_check_classes(layers, table, Rect2i(0, 0, 1, 1), [0])
