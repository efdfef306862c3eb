@tool
extends RefCounted
## One message of the navserver protocol: a header of named values, and arrays of numbers.
##
## What a header holds is asked for by type, so that a peer's odd value is a default and no error.

const Message := preload("message.gd")
const Msgpack := preload("msgpack.gd")

## A header may not be larger.
const HEADER_LIMIT: int = 1 << 16
## A message may not have more frames, the header included.
const FRAME_LIMIT: int = 17
## An array or map in a header may not have more entries.
const ITEM_LIMIT: int = 1024

const _ITEM_SIZES: Dictionary[String, int] = {
	"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f32": 4, "f64": 8
}

# For who has none of its own: the main thread alone.
static var _main_codec: Msgpack = Msgpack.new()

## The header's fields; [code]bulk[/code] is made from the arrays.
var header: Dictionary = {}
## Number of the request that a received message answers; 0 if it answers none.
var id: int = 0
## Whether another message will answer that request as well.
var has_more: bool = false
## Whether a received message says that a request failed.
var is_error: bool = false
## What was made of the message before it was handed on; null if nothing was.
var content: RefCounted = null
## Why the frames are no message; empty if they are.
var problem: String = ""

# Descriptor without the name, such as "i32:4x2", and the bytes of each array, in order.
var _descriptors: Dictionary[String, String] = {}
var _frames: Dictionary[String, PackedByteArray] = {}


## Begins a message of a type.
func _init(type: String = "") -> void:
	if not type.is_empty():
		header["type"] = type


## Adds an array: its dtype, its shape such as [code]4x2[/code], and its bytes, little-endian.
func add_array(name: String, dtype: String, shape: String, bytes: PackedByteArray) -> void:
	_descriptors[name] = dtype + ":" + shape
	_frames[name] = bytes


## Adds pairs of i32, one after the other.
func add_cells(name: String, cells: PackedInt32Array) -> void:
	add_array(name, "i32", "%dx2" % floori(cells.size() / 2.0), cells.to_byte_array())


## Returns a message of the same arrays, with a header that is no longer this one's.
func seal() -> Message:
	var sealed: Message = Message.new()
	sealed.header = header.duplicate()
	sealed._descriptors = _descriptors
	sealed._frames = _frames
	return sealed


## Returns the frames to send; none, and a [member problem], if the header has no form. Threads
## other than the main one bring a [param codec] of their own.
func encode(codec: Msgpack = _main_codec) -> Array[PackedByteArray]:
	if not _frames.is_empty():
		var bulk: Array[String] = []
		for name: String in _frames:
			bulk.append(name + ":" + _descriptors[name])
		header["bulk"] = bulk
	var frames: Array[PackedByteArray] = [codec.encode(header)]
	problem = codec.problem
	if problem.is_empty() and frames[0].size() > HEADER_LIMIT:
		problem = "the header has %d bytes, %d is the most" % [frames[0].size(), HEADER_LIMIT]
	if not problem.is_empty():
		return []
	for name: String in _frames:
		frames.append(_frames[name])
	return frames


## Reads frames; see [member problem] for whether they were a message. As for [method encode].
func decode(frames: Array[PackedByteArray], codec: Msgpack = _main_codec) -> void:
	header = {}
	_descriptors.clear()
	_frames.clear()
	problem = _read(frames, codec)
	if not problem.is_empty():
		header = {}
		_descriptors.clear()
		_frames.clear()
	# Who hands the message on looks at these alone.
	id = get_integer("id")
	has_more = get_flag("more")
	is_error = get_text("status") == "error"


## Forgets all but [member id] and its like, once everything else is in [member content].
func strip() -> void:
	header = {}
	_descriptors = {}
	_frames = {}


## Returns the message's type; nothing if it has none.
func get_type() -> String:
	return get_text("type")


## Returns a text of the header.
func get_text(name: String, default: String = "") -> String:
	var value: Variant = header.get(name)
	return value if value is String else default


## Returns a whole number of the header.
func get_integer(name: String, default: int = 0) -> int:
	var value: Variant = header.get(name)
	if value is int:
		return value
	if value is float:
		var number: float = value
		if number == floorf(number) and absf(number) < 9.0e18:
			return int(number)
	return default


## Returns a number of the header.
func get_number(name: String, default: float = 0.0) -> float:
	var value: Variant = header.get(name)
	if value is float or value is int:
		return value
	return default


## Returns a truth value of the header.
func get_flag(name: String, default: bool = false) -> bool:
	var value: Variant = header.get(name)
	return value if value is bool else default


## Returns a cell of the header; none if there is none.
func find_cell(name: String) -> Array[Vector2i]:
	var cells: Array[Vector2i] = []
	var value: Variant = header.get(name)
	if value is Array:
		var numbers: Array = value
		if numbers.size() == 2 and numbers[0] is int and numbers[1] is int:
			var x: int = numbers[0]
			var y: int = numbers[1]
			cells.append(Vector2i(x, y))
	return cells


## Returns the texts in an array of the header.
func get_texts(name: String) -> PackedStringArray:
	var texts: PackedStringArray = PackedStringArray()
	var value: Variant = header.get(name)
	if value is Array:
		var items: Array = value
		for item: Variant in items:
			if item is String:
				texts.append(str(item))
	return texts


## Tells whether there is an array of that name and dtype.
func has_array(name: String, dtype: String) -> bool:
	return name in _frames and _descriptors[name].begins_with(dtype + ":")


## Returns the names of the arrays.
func get_array_names() -> PackedStringArray:
	return PackedStringArray(_frames.keys())


## Returns the dtype and shape of an array, such as [code]i32:4x2[/code].
func get_descriptor(name: String) -> String:
	return _descriptors.get(name, "")


## Returns the bytes of an array.
func get_bytes(name: String, dtype: String = "u8") -> PackedByteArray:
	return _frames[name] if has_array(name, dtype) else PackedByteArray()


## Returns an array of i32 or, with numbers from 2^31 on negative, of u32.
func get_int32s(name: String, dtype: String = "i32") -> PackedInt32Array:
	return get_bytes(name, dtype).to_int32_array()


## Returns an array of f64.
func get_float64s(name: String) -> PackedFloat64Array:
	return get_bytes(name, "f64").to_float64_array()


## Returns an array of pairs of f32.
func get_vectors(name: String) -> PackedVector2Array:
	if not has_array(name, "f32") or not _descriptors[name].ends_with("x2"):
		return PackedVector2Array()
	return _frames[name].to_vector2_array()


func _read(frames: Array[PackedByteArray], codec: Msgpack) -> String:
	if frames.is_empty() or frames.size() > FRAME_LIMIT:
		return "%d frames, 1 to %d make a message" % [frames.size(), FRAME_LIMIT]
	if frames[0].size() > HEADER_LIMIT:
		return "a header of %d bytes, %d is the most" % [frames[0].size(), HEADER_LIMIT]
	var value: Variant = codec.decode(frames[0])
	if not codec.problem.is_empty():
		return "header: " + codec.problem
	if value is not Dictionary:
		return "the header is no map"
	header = value
	if header.size() > ITEM_LIMIT:
		return "the header has %d fields, %d is the most" % [header.size(), ITEM_LIMIT]
	for name: Variant in header:
		if name is not String:
			return "a field's name is no text"
		var fault: String = _find_fault(header[name], true)
		if not fault.is_empty():
			return "%s %s" % [str(name).left(40), fault]
	return _read_arrays(frames)


static func _find_fault(value: Variant, may_hold: bool) -> String:
	match typeof(value):
		TYPE_BOOL, TYPE_INT, TYPE_STRING:
			return ""
		TYPE_FLOAT:
			var number: float = value
			return "is not a number" if is_nan(number) else ""
		TYPE_ARRAY when may_hold:
			var items: Array = value
			return _find_fault_within(items, items)
		TYPE_DICTIONARY when may_hold:
			var map: Dictionary = value
			for name: Variant in map:
				if name is not String:
					return "holds a name that is no text"
			return _find_fault_within(map.values(), map.keys())
	return "holds what a header must not"


static func _find_fault_within(items: Array, names: Array) -> String:
	if names.size() > ITEM_LIMIT:
		return "has %d entries, %d is the most" % [names.size(), ITEM_LIMIT]
	for item: Variant in items:
		var fault: String = _find_fault(item, false)
		if not fault.is_empty():
			return fault
	return ""


func _read_arrays(frames: Array[PackedByteArray]) -> String:
	var bulk: Variant = header.get("bulk", [])
	if bulk is not Array:
		return "bulk is no array"
	var described: Array = bulk
	if described.size() != frames.size() - 1:
		return "%d arrays are described, %d came" % [described.size(), frames.size() - 1]
	for index: int in described.size():
		var descriptor: String = str(described[index])
		var parts: PackedStringArray = descriptor.split(":")
		if described[index] is not String or parts.size() != 3 or parts[0] in _frames:
			return "bulk: %s describes no array" % descriptor.left(40)
		var bytes: PackedByteArray = frames[1 + index]
		if _size_of(parts[1], parts[2]) != bytes.size():
			return "bulk: %s came with %d bytes" % [descriptor.left(40), bytes.size()]
		_descriptors[parts[0]] = "%s:%s" % [parts[1], parts[2]]
		_frames[parts[0]] = bytes
	return ""


## Returns the bytes of a dtype and shape; -1 if they are none.
static func _size_of(dtype: String, shape: String) -> int:
	var size: int = _ITEM_SIZES.get(dtype, -1)
	var lengths: PackedStringArray = shape.split("x")
	if size < 0 or lengths.size() > 2:
		return -1
	for length: String in lengths:
		# Ten digits cannot overflow, two of them neither.
		if not length.is_valid_int() or length.length() > 9 or length[0] in ["+", "-"]:
			return -1
		size *= length.to_int()
	return size
