extends RefCounted
## Reads the layers of a map one at a time: the engine hands a layer out whole, and a large one
## fills a good part of a frame.

# Maps up to so many bytes are read again to see whether they are still the same.
const _HASHED_LIMIT: int = 1 << 18

## The cells of the map as the layers number them, once [member is_measured].
var region: Rect2i
## Whether the region is known.
var is_measured: bool = false
## All cells that layers have tiles on, as far as they are measured, also beyond a given region.
var reach: Rect2i = Rect2i()
## tile_map_data of each layer, bottom first, as far as they are read.
var blobs: Array[PackedByteArray] = []

var _layers: Array[TileMapLayer]
var _measured: int = 0


## Begins; [param given] is the region, without an area it is what the layers use.
func _init(layers: Array[TileMapLayer], given: Rect2i) -> void:
	_layers = layers
	region = given
	is_measured = given.has_area() or layers.is_empty()


## Measures layers until [param deadline_usec] of [Time]; tells whether all are.
func measure(deadline_usec: int) -> bool:
	while _measured < _layers.size():
		var used: Rect2i = Rect2i()
		if is_instance_valid(_layers[_measured]):
			used = _layers[_measured].get_used_rect()
		if used.has_area():
			reach = used if not reach.has_area() else reach.merge(used)
		_measured += 1
		if Time.get_ticks_usec() > deadline_usec:
			break
	if _measured == _layers.size() and not is_measured:
		region = reach
		is_measured = true
	return _measured == _layers.size()


## Goes on reading until [param deadline_usec] of [Time]; tells whether all is read.
func read(deadline_usec: int) -> bool:
	var has_measured: bool = _measured < _layers.size()
	if not measure(deadline_usec):
		return false
	if has_measured and Time.get_ticks_usec() > deadline_usec:
		return false
	while blobs.size() < _layers.size():
		# One that was freed in the meantime has no cells; the map is about to read the others anew.
		var blob: PackedByteArray = PackedByteArray()
		if is_instance_valid(_layers[blobs.size()]):
			blob = _layers[blobs.size()].tile_map_data
		blobs.append(blob)
		if Time.get_ticks_usec() > deadline_usec:
			break
	return blobs.size() == _layers.size()


## Returns what tells whether the layers have changed; 0 if they are too large to say.
func hash_blobs() -> int:
	var size: int = 0
	for blob: PackedByteArray in blobs:
		size += blob.size()
	return hash(blobs) if size <= _HASHED_LIMIT else 0
