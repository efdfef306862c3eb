@tool
extends RefCounted
## Finds which cells differ between two states of a layer's [code]tile_map_data[/code].
##
## Comparing and slicing bytes is the engine's work, so that a large layer takes a few milliseconds
## where a loop over its cells would take seconds.

const _FORMAT_SIZE: int = 2
const _CELL_SIZE: int = 12
# More changes than this are better sent as a whole.
const _MOST: int = 4096

## There are more changes than are worth naming.
var is_too_much: bool = false
## The cells that differ; where cells were added or erased, some beside them.
var cells: Dictionary[Vector2i, bool] = {}

var _old: PackedByteArray
var _new: PackedByteArray


func _init(old: PackedByteArray, new: PackedByteArray) -> void:
	_old = old
	_new = new
	if old.size() == new.size():
		_compare(0, _count(old))
	else:
		_compare_middle()


static func _count(blob: PackedByteArray) -> int:
	return maxi(0, floori((blob.size() - _FORMAT_SIZE) / float(_CELL_SIZE)))


static func _cut(blob: PackedByteArray, from: int, to: int) -> PackedByteArray:
	return blob.slice(_FORMAT_SIZE + from * _CELL_SIZE, _FORMAT_SIZE + to * _CELL_SIZE)


func _read(blob: PackedByteArray, from: int, to: int) -> void:
	for record: int in range(from, to):
		var at: int = _FORMAT_SIZE + record * _CELL_SIZE
		cells[Vector2i(blob.decode_s16(at), blob.decode_s16(at + 2))] = true
	is_too_much = is_too_much or cells.size() > _MOST


## Halves what differs until it is one cell.
func _compare(from: int, to: int) -> void:
	if is_too_much or from >= to or _cut(_old, from, to) == _cut(_new, from, to):
		return
	if to - from == 1:
		_read(_old, from, to)
		_read(_new, from, to)
		return
	var middle: int = (from + to) >> 1
	_compare(from, middle)
	_compare(middle, to)


## Cells were added or erased: what differs lies between an equal beginning and an equal end.
func _compare_middle() -> void:
	var shorter: int = mini(_count(_old), _count(_new))
	var head: int = _find_equal(shorter, true)
	var tail: int = mini(_find_equal(shorter, false), shorter - head)
	if maxi(_count(_old), _count(_new)) - head - tail > _MOST:
		is_too_much = true
		return
	_read(_old, head, _count(_old) - tail)
	_read(_new, head, _count(_new) - tail)


## Returns how many records are equal from the beginning, or from the end.
func _find_equal(most: int, is_head: bool) -> int:
	var least: int = 0
	while least < most:
		var tried: int = (least + most + 1) >> 1
		if _are_equal(least, tried, is_head):
			least = tried
		else:
			most = tried - 1
	return least


func _are_equal(from: int, to: int, is_head: bool) -> bool:
	if is_head:
		return _cut(_old, from, to) == _cut(_new, from, to)
	var old: int = _count(_old)
	var new: int = _count(_new)
	return _cut(_old, old - to, old - from) == _cut(_new, new - to, new - from)
