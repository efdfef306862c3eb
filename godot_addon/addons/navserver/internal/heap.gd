extends RefCounted
## Cells by their cost, the cheapest first.

var _costs: PackedFloat64Array = PackedFloat64Array()
var _cells: Array[Vector2i] = []


## Tells whether there are none.
func is_empty() -> bool:
	return _cells.is_empty()


## Returns the least cost.
func get_least() -> float:
	return _costs[0]


## Adds a cell; it may be there already.
func push(cost: float, cell: Vector2i) -> void:
	var at: int = _cells.size()
	_costs.append(cost)
	_cells.append(cell)
	while at > 0:
		var above: int = (at - 1) >> 1
		if _costs[above] <= cost:
			break
		_costs[at] = _costs[above]
		_cells[at] = _cells[above]
		at = above
	_costs[at] = cost
	_cells[at] = cell


## Takes out the cell of the least cost.
func pop() -> Vector2i:
	var least: Vector2i = _cells[0]
	var cost: float = _costs[-1]
	var cell: Vector2i = _cells.pop_back()
	_costs.resize(_costs.size() - 1)
	var size: int = _cells.size()
	if size == 0:
		return least
	var at: int = 0
	while 2 * at + 1 < size:
		var below: int = 2 * at + 1
		if below + 1 < size and _costs[below + 1] < _costs[below]:
			below += 1
		if cost <= _costs[below]:
			break
		_costs[at] = _costs[below]
		_cells[at] = _cells[below]
		at = below
	_costs[at] = cost
	_cells[at] = cell
	return least
