@tool
extends RefCounted
## Msgpack in both directions, over its whole range of types.
##
## nil, bool, int, float, str, bin, array, map and ext are null, bool, int, float, [String],
## [PackedByteArray], [Array], [Dictionary] and [Extension]. Whatever the bytes, decoding ends with
## a value or with [member problem] in words, and never with an error of the engine.
## [br][br]
## Refused beyond what msgpack refuses: integers that an [int] cannot hold, text that is not UTF-8
## or holds a NUL (a [String] cannot hold one), the same key twice, containers nested deeper than
## [constant MAX_DEPTH], and bytes after the value.

## Containers may hold containers down to this depth.
const MAX_DEPTH: int = 32

# Short texts recur, above all as names of fields: each is written and read in full only once.
const _KNOWN_SIZE: int = 48
const _KNOWN_LIMIT: int = 1024

## What was wrong with the last value or bytes; empty if nothing was.
var problem: String = ""

var _stream: StreamPeerBuffer = StreamPeerBuffer.new()
var _size: int = 0
# What was written and read before. Each codec has its own, as it may be another thread's.
var _written: Dictionary[String, PackedByteArray] = {}
var _read: Dictionary[PackedByteArray, String] = {}


func _init() -> void:
	_stream.big_endian = true


## Returns the bytes of [param value]; none, and a [member problem], if it has no msgpack form.
func encode(value: Variant) -> PackedByteArray:
	problem = ""
	_stream.clear()
	_put(value, 0)
	return _stream.data_array if problem.is_empty() else PackedByteArray()


## Returns the one value that [param bytes] are; null, and a [member problem], if they are none.
func decode(bytes: PackedByteArray) -> Variant:
	problem = ""
	_size = bytes.size()
	_stream.data_array = bytes
	_stream.seek(0)
	var value: Variant = _take(0)
	if problem.is_empty() and _stream.get_position() != _size:
		_fail("%d bytes follow the value" % (_size - _stream.get_position()))
	_stream.clear()
	return value if problem.is_empty() else null


func _fail(reason: String) -> void:
	if problem.is_empty():
		problem = reason


func _put(value: Variant, depth: int) -> void:
	match typeof(value):
		TYPE_NIL:
			_stream.put_u8(0xc0)
		TYPE_BOOL:
			_stream.put_u8(0xc3 if value else 0xc2)
		TYPE_INT:
			var number: int = value
			_put_int(number)
		TYPE_FLOAT:
			var number: float = value
			_stream.put_u8(0xcb)
			_stream.put_double(number)
		TYPE_STRING, TYPE_STRING_NAME:
			var text: String = value
			_put_text(text)
		TYPE_PACKED_BYTE_ARRAY:
			var bytes: PackedByteArray = value
			_put_length(bytes.size(), 0xc4, 0xc5, 0xc6)
			_stream.put_data(bytes)
		TYPE_ARRAY:
			var array: Array = value
			_put_array(array, depth + 1)
		TYPE_DICTIONARY:
			var map: Dictionary = value
			_put_map(map, depth + 1)
		TYPE_OBJECT when value is Extension:
			var extension: Extension = value
			_put_extension(extension)
		var type:
			_fail("%s has no msgpack form" % type_string(type))


func _put_text(text: String) -> void:
	var known: PackedByteArray = _written.get(text, PackedByteArray())
	if not known.is_empty():
		_stream.put_data(known)
		return
	var bytes: PackedByteArray = text.to_utf8_buffer()
	var at: int = _stream.get_position()
	if bytes.size() < 32:
		_stream.put_u8(0xa0 | bytes.size())
	else:
		_put_length(bytes.size(), 0xd9, 0xda, 0xdb)
	_stream.put_data(bytes)
	if bytes.size() <= _KNOWN_SIZE:
		if _written.size() >= _KNOWN_LIMIT:
			_written.clear()
		_written[text] = _stream.data_array.slice(at)


func _put_int(value: int) -> void:
	if value >= -32 and value < 128:
		_stream.put_8(value)
	elif value >= 0:
		if value < 0x100:
			_stream.put_u8(0xcc)
			_stream.put_u8(value)
		elif value < 0x1_0000:
			_stream.put_u8(0xcd)
			_stream.put_u16(value)
		elif value < 0x1_0000_0000:
			_stream.put_u8(0xce)
			_stream.put_u32(value)
		else:
			_stream.put_u8(0xcf)
			_stream.put_u64(value)
	elif value >= -0x80:
		_stream.put_u8(0xd0)
		_stream.put_8(value)
	elif value >= -0x8000:
		_stream.put_u8(0xd1)
		_stream.put_16(value)
	elif value >= -0x8000_0000:
		_stream.put_u8(0xd2)
		_stream.put_32(value)
	else:
		_stream.put_u8(0xd3)
		_stream.put_64(value)


## Writes a length by the narrowest of its tags; [param tag8] is -1 where there is none.
func _put_length(length: int, tag8: int, tag16: int, tag32: int) -> void:
	if length < 0x100 and tag8 >= 0:
		_stream.put_u8(tag8)
		_stream.put_u8(length)
	elif length < 0x1_0000:
		_stream.put_u8(tag16)
		_stream.put_u16(length)
	else:
		_stream.put_u8(tag32)
		_stream.put_u32(length)


func _put_array(values: Array, depth: int) -> void:
	if not _is_depth_allowed(depth):
		return
	if values.size() < 16:
		_stream.put_u8(0x90 | values.size())
	else:
		_put_length(values.size(), -1, 0xdc, 0xdd)
	for value: Variant in values:
		_put(value, depth)


func _put_map(values: Dictionary, depth: int) -> void:
	if not _is_depth_allowed(depth):
		return
	if values.size() < 16:
		_stream.put_u8(0x80 | values.size())
	else:
		_put_length(values.size(), -1, 0xde, 0xdf)
	for key: Variant in values:
		_put(key, depth)
		_put(values[key], depth)


func _put_extension(extension: Extension) -> void:
	if extension.type < -128 or extension.type > 127:
		_fail("extension type %d is not within -128 and 127" % extension.type)
		return
	match extension.data.size():
		1:
			_stream.put_u8(0xd4)
		2:
			_stream.put_u8(0xd5)
		4:
			_stream.put_u8(0xd6)
		8:
			_stream.put_u8(0xd7)
		16:
			_stream.put_u8(0xd8)
		var length:
			_put_length(length, 0xc7, 0xc8, 0xc9)
	_stream.put_8(extension.type)
	_stream.put_data(extension.data)


func _is_depth_allowed(depth: int) -> bool:
	if depth > MAX_DEPTH:
		_fail("nested deeper than %d" % MAX_DEPTH)
	return depth <= MAX_DEPTH


## Tells whether so many bytes are left; nothing is read without asking.
func _has(count: int) -> bool:
	var left: int = _size - _stream.get_position()
	if count > left:
		_fail("%d more bytes are announced, %d are left" % [count, left])
	return count <= left


func _take(depth: int) -> Variant:
	if not _has(1):
		return null
	var tag: int = _stream.get_u8()
	if tag < 0x80:
		return tag
	if tag < 0x90:
		return _take_map(tag & 0x0f, depth + 1)
	if tag < 0xa0:
		return _take_array(tag & 0x0f, depth + 1)
	if tag < 0xc0:
		return _take_text(tag & 0x1f)
	if tag >= 0xe0:
		return tag - 0x100
	return _take_tagged(tag, depth)


func _take_tagged(tag: int, depth: int) -> Variant:
	match tag:
		0xc0:
			return null
		0xc2:
			return false
		0xc3:
			return true
		0xc4, 0xc5, 0xc6:
			return _take_bytes(_take_unsigned(1 << (tag - 0xc4)))
		0xc7, 0xc8, 0xc9:
			return _take_extension(_take_unsigned(1 << (tag - 0xc7)))
		0xca:
			return _stream.get_float() if _has(4) else 0.0
		0xcb:
			return _stream.get_double() if _has(8) else 0.0
		0xcc, 0xcd, 0xce, 0xcf:
			return _take_unsigned(1 << (tag - 0xcc))
		0xd0, 0xd1, 0xd2, 0xd3:
			return _take_signed(1 << (tag - 0xd0))
		0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
			return _take_extension(1 << (tag - 0xd4))
		0xd9, 0xda, 0xdb:
			return _take_text(_take_unsigned(1 << (tag - 0xd9)))
		0xdc, 0xdd:
			return _take_array(_take_unsigned(2 << (tag - 0xdc)), depth + 1)
		0xde, 0xdf:
			return _take_map(_take_unsigned(2 << (tag - 0xde)), depth + 1)
	_fail("0x%02x begins no value" % tag)
	return null


func _take_unsigned(width: int) -> int:
	if not _has(width):
		return 0
	match width:
		1:
			return _stream.get_u8()
		2:
			return _stream.get_u16()
		4:
			return _stream.get_u32()
	var value: int = _stream.get_u64()
	if value < 0:
		_fail("an integer is beyond the signed 64 bits")
	return value


func _take_signed(width: int) -> int:
	if not _has(width):
		return 0
	match width:
		1:
			return _stream.get_8()
		2:
			return _stream.get_16()
		4:
			return _stream.get_32()
	return _stream.get_64()


func _take_bytes(length: int) -> PackedByteArray:
	if not problem.is_empty() or not _has(length):
		return PackedByteArray()
	var at: int = _stream.get_position()
	_stream.seek(at + length)
	return _stream.data_array.slice(at, at + length)


func _take_text(length: int) -> String:
	var bytes: PackedByteArray = _take_bytes(length)
	if bytes in _read:
		return _read[bytes]
	# The engine's own conversion would print an error for each fault.
	if not _is_text(bytes):
		_fail("a text is not UTF-8 or holds a NUL")
		return ""
	var text: String = bytes.get_string_from_utf8()
	# It takes a leading U+FEFF for a byte order mark and drops it.
	if bytes.size() >= 3 and bytes[0] == 0xef and bytes[1] == 0xbb and bytes[2] == 0xbf:
		text = String.chr(0xfeff) + text
	if bytes.size() <= _KNOWN_SIZE:
		if _read.size() >= _KNOWN_LIMIT:
			_read.clear()
		_read[bytes] = text
	return text


func _take_extension(length: int) -> Extension:
	if not problem.is_empty() or not _has(1 + length):
		return null
	var type: int = _stream.get_8()
	return Extension.new(type, _take_bytes(length))


func _take_array(count: int, depth: int) -> Array:
	var values: Array = []
	# Each value takes a byte or more, so a count beyond the bytes left is a lie.
	if not problem.is_empty() or not _is_depth_allowed(depth) or not _has(count):
		return values
	values.resize(count)
	for index: int in count:
		values[index] = _take(depth)
		if not problem.is_empty():
			break
	return values


func _take_map(count: int, depth: int) -> Dictionary:
	var values: Dictionary = {}
	if not problem.is_empty() or not _is_depth_allowed(depth) or not _has(2 * count):
		return values
	for index: int in count:
		var key: Variant = _take(depth)
		if problem.is_empty() and values.has(key):
			_fail("the key %s comes twice" % str(key).left(40))
		var value: Variant = _take(depth)
		if not problem.is_empty():
			break
		values[key] = value
	return values


static func _is_text(bytes: PackedByteArray) -> bool:
	var at: int = 0
	var size: int = bytes.size()
	while at < size:
		var lead: int = bytes[at]
		at += 1
		if lead > 0 and lead < 0x80:
			continue
		# The second byte's bounds shut out overlong forms, surrogates and what is past U+10FFFF.
		var low: int = 0x80
		var high: int = 0xbf
		var more: int = 0
		if lead >= 0xc2 and lead < 0xe0:
			more = 1
		elif lead >= 0xe0 and lead < 0xf0:
			more = 2
			low = 0xa0 if lead == 0xe0 else 0x80
			high = 0x9f if lead == 0xed else 0xbf
		elif lead >= 0xf0 and lead < 0xf5:
			more = 3
			low = 0x90 if lead == 0xf0 else 0x80
			high = 0x8f if lead == 0xf4 else 0xbf
		if more == 0 or at + more > size or bytes[at] < low or bytes[at] > high:
			return false
		for index: int in range(at + 1, at + more):
			if bytes[index] & 0xc0 != 0x80:
				return false
		at += more
	return true


## Data of a type that the application defines; -1 is msgpack's own timestamp.
class Extension:
	extends RefCounted

	## From -128 to 127.
	var type: int = 0
	## The data as it is.
	var data: PackedByteArray = PackedByteArray()

	func _init(the_type: int = 0, the_data: PackedByteArray = PackedByteArray()) -> void:
		type = the_type
		data = the_data
