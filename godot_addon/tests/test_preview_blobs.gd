extends "test_case.gd"
## Which cells differ between two states of a layer, beside a loop over all cells.

const PreviewBlobs := preload("res://addons/navserver/editor/preview_blobs.gd")
const TileMaps := preload("tile_maps.gd")

const SIDE: int = 40

var _numbers: RandomNumberGenerator = RandomNumberGenerator.new()


func _read(blob: PackedByteArray) -> Dictionary[Vector2i, PackedByteArray]:
	var found: Dictionary[Vector2i, PackedByteArray] = {}
	for at: int in range(2, blob.size(), 12):
		var cell: Vector2i = Vector2i(blob.decode_s16(at), blob.decode_s16(at + 2))
		found[cell] = blob.slice(at, at + 12)
	return found


func test_every_cell_that_differs_is_named() -> void:
	_numbers.seed = 5
	var layer: TileMapLayer = TileMapLayer.new()
	layer.tile_set = TileMaps.tile_set()
	add_node(layer)
	for y: int in SIDE:
		for x: int in SIDE:
			layer.set_cell(Vector2i(x - 9, y), 7, TileMaps.GROUND)
	for turn: int in 60:
		var old: PackedByteArray = layer.tile_map_data
		for edit: int in _numbers.randi_range(0, 6):
			var cell: Vector2i = Vector2i(_numbers.randi() % SIDE, _numbers.randi() % SIDE)
			if turn % 3 == 0 and edit < 2:
				layer.erase_cell(cell)
			else:
				layer.set_cell(cell, 7, Vector2i(_numbers.randi() % 3, 0))
		var new: PackedByteArray = layer.tile_map_data
		var difference: PreviewBlobs = PreviewBlobs.new(old, new)
		check(not difference.is_too_much)
		var before: Dictionary[Vector2i, PackedByteArray] = _read(old)
		var after: Dictionary[Vector2i, PackedByteArray] = _read(new)
		for cell: Vector2i in before:
			if before[cell] != after.get(cell, PackedByteArray()):
				check(cell in difference.cells, "%s was changed or erased" % cell)
		for cell: Vector2i in after:
			if cell not in before:
				check(cell in difference.cells, "%s was added" % cell)


func test_equal_states_and_states_without_anything_alike() -> void:
	var layer: TileMapLayer = TileMaps.layer(["..", ".."], TileMaps.tile_set())
	add_node(layer)
	var blob: PackedByteArray = layer.tile_map_data
	check(PreviewBlobs.new(blob, blob.duplicate()).cells.is_empty())
	check_equal(PreviewBlobs.new(PackedByteArray(), blob).cells.size(), 4)
	check_equal(PreviewBlobs.new(blob, PackedByteArray()).cells.size(), 4)
	for y: int in 80:
		for x: int in 80:
			layer.set_cell(Vector2i(x, y), 7, TileMaps.WALL)
	check(PreviewBlobs.new(blob, layer.tile_map_data).is_too_much)
