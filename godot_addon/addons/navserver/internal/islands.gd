extends RefCounted
## Which cells of a grid are connected, kept current over edits.
##
## Two cells of different islands have no way between them. Edits that open cells join islands;
## those that block cells may split one unnoticed, so the answer errs on the side of "there may be a
## way".

var _labels: PackedInt32Array = PackedInt32Array()
var _parents: PackedInt32Array = PackedInt32Array()
var _width: int = 0
var _height: int = 0
var _corners: bool = false
var _must_stop: Callable = Callable()


## Labels the cells that are 1 in [param open], row by row. With [param corners] diagonal neighbours
## are connected as well; under the other diagonal modes such a step always has a way around it. It
## breaks off when [param must_stop] tells so.
func _init(
	open: PackedByteArray, width: int, corners: bool, must_stop: Callable = Callable()
) -> void:
	_width = width
	_height = floori(open.size() / float(width))
	_corners = corners
	_must_stop = must_stop
	_labels.resize(open.size())
	_parents.append(0)
	for cell: int in open.size():
		if open[cell] == 1 and _labels[cell] == 0 and not _flood(open, cell):
			return


## Tells whether there may be a way from one cell to another.
func may_connect(from: int, to: int) -> bool:
	return _root(_labels[from]) == _root(_labels[to])


## Notes that a cell is open from now on.
func open_cell(cell: int) -> void:
	if _labels[cell] != 0:
		return
	_labels[cell] = _parents.size()
	_parents.append(_parents.size())
	for neighbor: int in _neighbors(cell):
		if _labels[neighbor] != 0:
			_parents[_root(_labels[neighbor])] = _root(_labels[cell])


## Labels an island; false if it broke off.
func _flood(open: PackedByteArray, first: int) -> bool:
	var label: int = _parents.size()
	_parents.append(label)
	_labels[first] = label
	var steps: int = 0
	var stack: PackedInt32Array = PackedInt32Array([first])
	while not stack.is_empty():
		steps += 1
		if steps & 4095 == 0 and _must_stop.is_valid() and _must_stop.call():
			return false
		var cell: int = stack[-1]
		stack.resize(stack.size() - 1)
		for neighbor: int in _neighbors(cell):
			if open[neighbor] == 1 and _labels[neighbor] == 0:
				_labels[neighbor] = label
				stack.append(neighbor)
	return true


func _neighbors(cell: int) -> PackedInt32Array:
	var x: int = cell % _width
	var west: bool = x > 0
	var east: bool = x < _width - 1
	var north: bool = cell >= _width
	var south: bool = cell < _labels.size() - _width
	var found: PackedInt32Array = PackedInt32Array()
	if west:
		found.append(cell - 1)
	if east:
		found.append(cell + 1)
	if north:
		found.append(cell - _width)
	if south:
		found.append(cell + _width)
	if _corners:
		if north and west:
			found.append(cell - _width - 1)
		if north and east:
			found.append(cell - _width + 1)
		if south and west:
			found.append(cell + _width - 1)
		if south and east:
			found.append(cell + _width + 1)
	return found


func _root(label: int) -> int:
	while _parents[label] != label:
		_parents[label] = _parents[_parents[label]]
		label = _parents[label]
	return label
