extends "../test_case.gd"
## Every example of PROTOCOL.md, from the folder [code]vectors=[/code].

const Message := preload("res://addons/navserver/internal/message.gd")
const Peer := preload("../zmtp_peer.gd")
const Session := preload("res://addons/navserver/internal/session.gd")
const ZmtpConnection := preload("res://addons/navserver/internal/zmtp_connection.gd")


func _each_vector(take: Callable) -> void:
	var count: int = 0
	for file: String in DirAccess.get_files_at(parameters["vectors"]):
		if not file.ends_with(".json"):
			continue
		var text: String = FileAccess.get_file_as_string(parameters["vectors"].path_join(file))
		for vector: Dictionary in JSON.parse_string(text):
			var frames: Array[PackedByteArray] = []
			for frame: String in vector["frames"]:
				# hex_decode() complains about nothing at all.
				frames.append(PackedByteArray() if frame.is_empty() else frame.hex_decode())
			take.call("%s %s" % [file, vector["part"]], vector, frames)
			count += 1
	check_equal(count, get_number("count", -1), "vectors")


func _decode(frames: Array[PackedByteArray]) -> Message:
	var message: Message = Message.new()
	message.decode(frames)
	return message


func test_decode() -> void:
	_each_vector(_check_decoded)


func _check_decoded(name: String, vector: Dictionary, frames: Array[PackedByteArray]) -> void:
	var message: Message = _decode(frames)
	check_equal(message.problem, "", name)
	check(_is_same(message.header, vector["header"]), "%s: %s" % [name, message.header])
	var arrays: Dictionary = vector["arrays"]
	check_equal(message.get_array_names(), PackedStringArray(arrays.keys()), name)
	for array: String in arrays:
		var expected: Dictionary = arrays[array]
		var values: Array = expected["values"]
		var dtype: String = str(expected["dtype"])
		check(_is_same(_read(message, array, dtype), values), "%s: %s" % [name, array])


func _is_same(actual: Variant, expected: Variant) -> bool:
	if actual is Dictionary and expected is Dictionary:
		var map: Dictionary = actual
		var other: Dictionary = expected
		if map.keys() != other.keys():
			return false
		return map.keys().all(func(key: String) -> bool: return _is_same(map[key], other[key]))
	if actual is Array and expected is Array:
		var items: Array = actual
		var others: Array = expected
		if items.size() != others.size():
			return false
		return range(items.size()).all(
			func(at: int) -> bool: return _is_same(items[at], others[at])
		)
	if actual is float or actual is int:
		if expected is String:
			return str(actual) == {"inf": "inf", "Infinity": "inf"}.get(expected, expected)
		return is_equal_approx(str(actual).to_float(), str(expected).to_float())
	return actual == expected


func _read(message: Message, array: String, dtype: String) -> Array:
	var bytes: PackedByteArray = message.get_bytes(array, dtype)
	match dtype:
		"u8":
			return Array(bytes)
		"i8":
			return range(bytes.size()).map(func(at: int) -> int: return bytes.decode_s8(at))
		"u16":
			return range(0, bytes.size(), 2).map(func(at: int) -> int: return bytes.decode_u16(at))
		"u32":
			return range(0, bytes.size(), 4).map(func(at: int) -> int: return bytes.decode_u32(at))
		"i32":
			return Array(message.get_int32s(array))
		"i64":
			return Array(bytes.to_int64_array())
		"f32":
			return Array(bytes.to_float32_array())
		"f64":
			return Array(message.get_float64s(array))
	fail("no test reads %s" % dtype)
	return []


func test_encode() -> void:
	_each_vector(_check_encoded)


func _check_encoded(name: String, _vector: Dictionary, frames: Array[PackedByteArray]) -> void:
	var message: Message = _decode(frames)
	check(message.encode() == frames, name)


func test_byte_by_byte() -> void:
	_each_vector(_check_byte_by_byte)


func _check_byte_by_byte(name: String, _vector: Dictionary, frames: Array[PackedByteArray]) -> void:
	var connection: ZmtpConnection = ZmtpConnection.new("navserver", "x")
	var stream: PackedByteArray = Peer.handshake()
	for index: int in frames.size():
		stream += Peer.frame(frames[index], 1 if index < frames.size() - 1 else 0)
	for index: int in stream.size():
		check(connection.next_message().is_empty(), name)
		connection.receive_data(stream.slice(index, index + 1))
	check(connection.next_message() == frames, name)


func test_cut_at_each_length() -> void:
	_each_vector(_check_cut)


func _check_cut(name: String, _vector: Dictionary, frames: Array[PackedByteArray]) -> void:
	for frame: int in frames.size():
		for length: int in frames[frame].size():
			var damaged: Array[PackedByteArray] = frames.duplicate()
			damaged[frame] = frames[frame].slice(0, length)
			check(not _decode(damaged).problem.is_empty(), "%s cut to %d" % [name, length])
	if frames.size() > 1:
		check(not _decode(frames.slice(0, -1)).problem.is_empty(), name)


func test_trailing_bytes() -> void:
	_each_vector(_check_trailing)


func _check_trailing(name: String, _vector: Dictionary, frames: Array[PackedByteArray]) -> void:
	for frame: int in frames.size():
		var damaged: Array[PackedByteArray] = frames.duplicate()
		damaged[frame] = frames[frame] + PackedByteArray([0])
		check(not _decode(damaged).problem.is_empty(), name)
	check(
		not _decode(frames + ([PackedByteArray([0])] as Array[PackedByteArray])).problem.is_empty()
	)


func test_one_byte_flipped() -> void:
	_each_vector(_check_flipped)


## Whatever a byte becomes, a session takes the message in words and without an error.
func _check_flipped(_name: String, _vector: Dictionary, frames: Array[PackedByteArray]) -> void:
	for at: int in frames[0].size():
		for mask: int in [0xff, 0x01, 0x80]:
			var damaged: Array[PackedByteArray] = frames.duplicate()
			damaged[0] = frames[0].duplicate()
			damaged[0][at] ^= mask
			var session: Session = Session.new("me")
			session.connected()
			for id: int in 10:
				session.request(Message.new("path"))
			session.receive_message(damaged)
			while session.next_event() != Session.Event.NONE:
				pass
