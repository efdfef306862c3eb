extends RefCounted
## Where the cells of a map lie, and who neighbours whom.
##
## Inside, neighbours differ by 1 in x or y. Square maps and diamond isometric ones number their
## cells so already; the other isometric layouts go along other axes, stacked ones in zigzag. All
## are measured on the layer itself, once: it may be freed, and other threads ask. Hexagons and
## half-offset squares have six neighbours: no such grid.

# Whether the column and the row of a cell are odd.
const _PARITIES: Array[Vector2i] = [Vector2i(0, 0), Vector2i(1, 0), Vector2i(0, 1), Vector2i(1, 1)]

# What a side of a cell may be without a layer.
const _LEAST_SIDE: float = 1e-5
const _GREATEST_SIDE: float = 1e6

## Why the cells are no grid; empty if they are.
var problem: String = ""
## From an inner cell to its centre, in the layer's coordinates.
var transform: Transform2D = Transform2D.IDENTITY
## Inner and outer cells are the same.
var identical: bool = true

# Inner cell of an outer one: steps for 1 and for 2 columns, and for 1 and for 2 rows.
var _column: Vector2i = Vector2i(1, 0)
var _columns: Vector2i = Vector2i(2, 0)
var _row: Vector2i = Vector2i(0, 1)
var _rows: Vector2i = Vector2i(0, 2)
var _inverse: Transform2D = Transform2D.IDENTITY


## Measures a layer; without one, the cells are rectangles of [param cell_size] from the origin.
func _init(layer: TileMapLayer, cell_size: Vector2 = Vector2(16.0, 16.0)) -> void:
	if layer == null:
		if not (cell_size.is_finite() and cell_size.x > 0.0 and cell_size.y > 0.0):
			problem = "cell_size is %s: give two numbers above 0" % cell_size
			return
		# Beyond, the area of a cell would be 0 or infinite in float32, and points have no cells.
		if cell_size != cell_size.clampf(_LEAST_SIDE, _GREATEST_SIDE):
			var width: String = String.num_scientific(cell_size.x)
			var height: String = String.num_scientific(cell_size.y)
			problem = "cell_size is (%s, %s): give two numbers from 1e-5 to 1e6" % [width, height]
			return
		_set_axes(cell_size / 2.0, Vector2(cell_size.x, 0.0), Vector2(0.0, cell_size.y))
		return
	if layer.tile_set == null:
		problem = "has no TileSet: give it one"
		return
	var origin: Vector2 = layer.map_to_local(Vector2i.ZERO)
	var half: Vector2 = Vector2(layer.tile_set.tile_size) / 2.0
	match layer.tile_set.tile_shape:
		TileSet.TILE_SHAPE_SQUARE:
			_set_axes(origin, Vector2(half.x * 2.0, 0.0), Vector2(0.0, half.y * 2.0))
		TileSet.TILE_SHAPE_ISOMETRIC:
			_measure_isometric(layer, origin, half)
		_:
			problem = (
				"has hexagons or half-offset squares, which navserver does not know:"
				+ " use square or isometric tiles"
			)


## Returns the inner cell of an outer one.
func to_inner(cell: Vector2i) -> Vector2i:
	if identical:
		return cell
	var pairs: Vector2i = Vector2i((Vector2(cell) / 2.0).floor())
	return _columns * pairs.x + _column * (cell.x & 1) + _rows * pairs.y + _row * (cell.y & 1)


## Returns the outer cell of an inner one.
func to_outer(cell: Vector2i) -> Vector2i:
	if identical:
		return cell
	# What is left without the odd column and row is whole pairs of both, for one of four.
	var area: int = _columns.x * _rows.y - _columns.y * _rows.x
	for odd: Vector2i in _PARITIES:
		var left: Vector2i = cell - _column * odd.x - _row * odd.y
		var across: int = left.x * _rows.y - left.y * _rows.x
		var down: int = _columns.x * left.y - _columns.y * left.x
		if across % area == 0 and down % area == 0:
			return Vector2i(roundi(across / float(area)), roundi(down / float(area))) * 2 + odd
	return cell


## Returns the inner cell that a point of the layer lies in.
func cell_at(point: Vector2) -> Vector2i:
	return Vector2i((_inverse * point + Vector2(0.5, 0.5)).floor())


## Returns the least rectangle of inner cells that has all of a rectangle of outer ones.
func to_inner_region(region: Rect2i) -> Rect2i:
	if identical or not region.has_area():
		return region
	# In zigzag layouts the outermost cell may be one beside a corner.
	var found: Rect2i = Rect2i(to_inner(region.position), Vector2i.ZERO)
	for x: int in [region.position.x, region.position.x + 1, region.end.x - 2, region.end.x - 1]:
		for y: int in [
			region.position.y, region.position.y + 1, region.end.y - 2, region.end.y - 1
		]:
			var cell: Vector2i = Vector2i(x, y)
			if region.has_point(cell):
				found = found.expand(to_inner(cell))
	found.size += Vector2i.ONE
	return found


func _set_axes(origin: Vector2, x_axis: Vector2, y_axis: Vector2) -> void:
	transform = Transform2D(x_axis, y_axis, origin)
	_inverse = transform.affine_inverse()


func _measure_isometric(layer: TileMapLayer, origin: Vector2, half: Vector2) -> void:
	# The sides of the diamonds; the layout's own axes where they are sides.
	var x_axis: Vector2 = layer.map_to_local(Vector2i(1, 0)) - origin
	var y_axis: Vector2 = layer.map_to_local(Vector2i(0, 1)) - origin
	var straight: Vector2 = layer.map_to_local(Vector2i(0, 2)) - origin - y_axis * 2.0
	if not (_is_side(x_axis, half) and _is_side(y_axis, half) and straight.is_zero_approx()):
		x_axis = half
		y_axis = Vector2(-half.x, half.y)
	_set_axes(origin, x_axis, y_axis)
	_column = _measure(layer, Vector2i(1, 0))
	_columns = _measure(layer, Vector2i(2, 0))
	_row = _measure(layer, Vector2i(0, 1))
	_rows = _measure(layer, Vector2i(0, 2))
	identical = (
		_column == Vector2i(1, 0)
		and _row == Vector2i(0, 1)
		and _columns == _column * 2
		and _rows == _row * 2
	)


func _is_side(axis: Vector2, half: Vector2) -> bool:
	return axis.abs().is_equal_approx(half)


func _measure(layer: TileMapLayer, cell: Vector2i) -> Vector2i:
	return Vector2i((_inverse * layer.map_to_local(cell)).round())
