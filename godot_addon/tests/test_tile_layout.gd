extends "test_case.gd"
## Cells and points against TileMapLayer's own, in every layout.

const TileLayout := preload("res://addons/navserver/internal/tile_layout.gd")
const TileMaps := preload("tile_maps.gd")

const _SIDES: Array[TileSet.CellNeighbor] = [
	TileSet.CELL_NEIGHBOR_BOTTOM_RIGHT_SIDE,
	TileSet.CELL_NEIGHBOR_BOTTOM_LEFT_SIDE,
	TileSet.CELL_NEIGHBOR_TOP_LEFT_SIDE,
	TileSet.CELL_NEIGHBOR_TOP_RIGHT_SIDE,
]
# From an inner cell to those it shares a side with.
const _STEPS: Array[Vector2i] = [Vector2i(1, 0), Vector2i(0, 1), Vector2i(-1, 0), Vector2i(0, -1)]


func _layer_of(
	shape: TileSet.TileShape, layout: TileSet.TileLayout, axis: TileSet.TileOffsetAxis
) -> TileMapLayer:
	var tiles: TileSet = TileMaps.tile_set(false, shape, layout, axis, Vector2i(32, 16))
	var layer: TileMapLayer = TileMaps.layer(["."], tiles)
	add_node(layer)
	return layer


func _check_layer(layer: TileMapLayer, layout: TileLayout, what: String) -> void:
	check_equal(layout.problem, "", what)
	for y: int in range(-5, 6):
		for x: int in range(-5, 6):
			var cell: Vector2i = Vector2i(x, y)
			var inner: Vector2i = layout.to_inner(cell)
			var center: Vector2 = layout.transform * Vector2(inner)
			check(center.is_equal_approx(layer.map_to_local(cell)), "%s %s" % [what, cell])
			check_equal(layout.to_outer(inner), cell, what)
			var around: Array[Vector2i] = layer.get_surrounding_cells(cell)
			check_equal(around.size(), _STEPS.size(), what)
			for step: Vector2i in _STEPS:
				check(layout.to_outer(inner + step) in around, "%s %s %s" % [what, cell, step])
			for offset: Vector2 in [Vector2(3, 2), Vector2(-5, 1), Vector2(0, -4)]:
				var found: Vector2i = layout.to_outer(layout.cell_at(center + offset))
				check_equal(found, layer.local_to_map(center + offset), what)


func test_square_cells() -> void:
	var layer: TileMapLayer = _layer_of(
		TileSet.TILE_SHAPE_SQUARE, TileSet.TILE_LAYOUT_STACKED, TileSet.TILE_OFFSET_AXIS_HORIZONTAL
	)
	var layout: TileLayout = TileLayout.new(layer)
	check(layout.identical)
	_check_layer(layer, layout, "square")


func test_every_isometric_layout() -> void:
	for axis: int in [TileSet.TILE_OFFSET_AXIS_HORIZONTAL, TileSet.TILE_OFFSET_AXIS_VERTICAL]:
		for kind: int in range(TileSet.TILE_LAYOUT_STACKED, TileSet.TILE_LAYOUT_DIAMOND_DOWN + 1):
			var what: String = "layout %d axis %d" % [kind, axis]
			var layer: TileMapLayer = _layer_of(
				TileSet.TILE_SHAPE_ISOMETRIC,
				kind as TileSet.TileLayout,
				axis as TileSet.TileOffsetAxis
			)
			var layout: TileLayout = TileLayout.new(layer)
			check_equal(layout.identical, kind >= TileSet.TILE_LAYOUT_DIAMOND_RIGHT, what)
			_check_layer(layer, layout, what)
			for cell: Vector2i in [Vector2i(0, 0), Vector2i(3, -2), Vector2i(-4, 5)]:
				for side: TileSet.CellNeighbor in _SIDES:
					var step: Vector2i = (
						layout.to_inner(layer.get_neighbor_cell(cell, side)) - layout.to_inner(cell)
					)
					check_equal(absi(step.x) + absi(step.y), 1, what)


func test_a_region_holds_all_of_its_cells() -> void:
	for kind: int in range(TileSet.TILE_LAYOUT_STACKED, TileSet.TILE_LAYOUT_DIAMOND_DOWN + 1):
		var layer: TileMapLayer = _layer_of(
			TileSet.TILE_SHAPE_ISOMETRIC,
			kind as TileSet.TileLayout,
			TileSet.TILE_OFFSET_AXIS_HORIZONTAL
		)
		var layout: TileLayout = TileLayout.new(layer)
		for region: Rect2i in [Rect2i(-3, 2, 5, 4), Rect2i(0, 0, 1, 1), Rect2i(1, 1, 2, 7)]:
			var inner: Rect2i = layout.to_inner_region(region)
			for y: int in range(region.position.y, region.end.y):
				for x: int in range(region.position.x, region.end.x):
					check(inner.has_point(layout.to_inner(Vector2i(x, y))), "layout %d" % kind)


func test_cells_with_six_neighbours_are_refused() -> void:
	for shape: int in [TileSet.TILE_SHAPE_HEXAGON, TileSet.TILE_SHAPE_HALF_OFFSET_SQUARE]:
		var layer: TileMapLayer = _layer_of(
			shape as TileSet.TileShape,
			TileSet.TILE_LAYOUT_STACKED,
			TileSet.TILE_OFFSET_AXIS_HORIZONTAL
		)
		check_contains(TileLayout.new(layer).problem, "use square or isometric tiles")
	var bare: TileMapLayer = TileMapLayer.new()
	add_node(bare)
	check_contains(TileLayout.new(bare).problem, "has no TileSet")


func test_cells_without_a_layer() -> void:
	var layout: TileLayout = TileLayout.new(null, Vector2(10, 20))
	check_equal(layout.transform * Vector2(2, 3), Vector2(25, 70))
	check_equal(layout.cell_at(Vector2(29.9, 79.9)), Vector2i(2, 3))
	check_equal(layout.cell_at(Vector2(-0.1, -0.1)), Vector2i(-1, -1))
	for size: Vector2 in [Vector2(1e-30, 16), Vector2(16, 1e30)] as Array[Vector2]:
		var problem: String = TileLayout.new(null, size).problem
		check_contains(problem, "cell_size is (1")
		check_contains(problem, "from 1e-5 to 1e6")
	check_equal(TileLayout.new(null, Vector2(1e-5, 1e6)).problem, "")
