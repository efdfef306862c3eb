extends "test_case.gd"
## Messages on their own; live/test_vectors.gd reads those of the protocol.

const Message := preload("res://addons/navserver/internal/message.gd")
const Msgpack := preload("res://addons/navserver/internal/msgpack.gd")


func _decode(header: Variant, arrays: Array[PackedByteArray] = []) -> Message:
	var frames: Array[PackedByteArray] = [Msgpack.new().encode(header)]
	frames.append_array(arrays)
	var message: Message = Message.new()
	message.decode(frames)
	return message


func test_fields_and_arrays_come_back() -> void:
	var sent: Message = Message.new("path")
	sent.header["goal"] = [1, -2]
	sent.header["overlays"] = {"danger": 2.5}
	sent.add_cells("cells", [1, 2, -3, 4])
	var points: PackedVector2Array = [Vector2(0.5, -1.5)]
	sent.add_array("points", "f32", "1x2", points.to_byte_array())
	sent.add_array("none", "u32", "0", PackedByteArray())
	var got: Message = Message.new()
	got.decode(sent.encode())
	check_equal(got.problem, "")
	check_equal(got.get_type(), "path")
	check_equal(got.header["overlays"], {"danger": 2.5})
	check_equal(got.get_int32s("cells"), PackedInt32Array([1, 2, -3, 4]))
	check_equal(got.get_vectors("points"), points)
	check_equal(got.get_int32s("none", "u32"), PackedInt32Array())
	check_equal(got.get_array_names(), PackedStringArray(["cells", "points", "none"]))
	check_equal(got.get_descriptor("cells"), "i32:2x2")


func test_odd_fields_are_defaults() -> void:
	var message: Message = _decode({"a": "1", "b": 2, "c": 2.5, "d": 3.0, "e": true, "f": [1, "x"]})
	check_equal(message.get_integer("a", 9), 9)
	check_equal(message.get_integer("b"), 2)
	check_equal(message.get_integer("c", 9), 9)
	check_equal(message.get_integer("d"), 3)
	check_equal(message.get_number("b"), 2.0)
	check_equal(message.get_number("e", 9.0), 9.0)
	check_equal(message.get_text("b", "z"), "z")
	check_equal(message.get_flag("b", true), true)
	check_equal(message.get_flag("e"), true)
	check_equal(message.get_texts("f"), PackedStringArray(["x"]))
	check_equal(message.get_texts("a"), PackedStringArray())
	check_equal(message.get_int32s("a"), PackedInt32Array())
	check_equal(message.get_vectors("a"), PackedVector2Array())


func test_what_no_message_can_be_is_refused() -> void:
	var deep: Dictionary = {"a": [[1]]}
	var cases: Array[Array] = [
		[[1], "no map"],
		[{1: 2}, "no text"],
		[{"a": null}, "a holds what a header must not"],
		[{"a": NAN}, "a is not a number"],
		[{"a": [NAN]}, "a is not a number"],
		[{"a": {"b": {}}}, "must not"],
		[{"a": {1: 2}}, "no text"],
		[deep, "must not"],
		[{"a": PackedByteArray([1])}, "must not"],
		[{"a": range(1025)}, "1025 entries"],
		[{"bulk": 1}, "no array"],
		[{"bulk": ["x:u8:1"]}, "1 arrays are described, 0 came"],
	]
	for case: Array in cases:
		check_contains(_decode(case[0]).problem, str(case[1]))
	var empty: Message = Message.new()
	empty.decode([])
	check_contains(empty.problem, "0 frames")
	var many: Array[PackedByteArray] = []
	many.resize(18)
	empty.decode(many)
	check_contains(empty.problem, "18 frames")
	var large: PackedByteArray = PackedByteArray()
	large.resize(65537)
	empty.decode([large])
	check_contains(empty.problem, "65537 bytes")


func test_descriptors_have_to_fit() -> void:
	var bytes: PackedByteArray = PackedByteArray([0, 0, 0, 0])
	for descriptor: String in [
		"x:u8",
		"x:u8:4:4",
		"x:u9:4",
		"x:u8:5",
		"x:u8:-4",
		"x:u8:+4",
		"x:u8:2x2x1",
		"x:u8:",
		"x:u8:4x",
		"x:i32:2",
		"x:u8:4294967300",
		"x:f32:1x1x1",
		"x:u8: 4",
		"x:u8:0x4",
	]:
		check_contains(_decode({"bulk": [descriptor]}, [bytes]).problem, "bulk")
	for descriptor: String in ["x:u8:4", "x:i32:1", "x:u16:1x2", ":f32:1"]:
		check_equal(_decode({"bulk": [descriptor]}, [bytes]).problem, "")
	check_contains(_decode({"bulk": ["x:u8:4", "x:u8:4"]}, [bytes, bytes]).problem, "bulk")
	check_contains(_decode({"bulk": [4]}, [bytes]).problem, "bulk")


func test_headers_without_a_form_are_told() -> void:
	var message: Message = Message.new("x")
	message.header["at"] = Vector2.ZERO
	check(message.encode().is_empty())
	check_contains(message.problem, "Vector2")
	message.header["at"] = "x".repeat(70_000)
	check(message.encode().is_empty())
	check_contains(message.problem, "65536 is the most")
