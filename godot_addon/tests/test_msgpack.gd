extends "test_case.gd"
## Msgpack on its own; tests/godot_addon holds it against Python's msgpack.

const Msgpack := preload("res://addons/navserver/internal/msgpack.gd")

var _msgpack: Msgpack = Msgpack.new()


func test_values_come_back() -> void:
	var long_text: String = "wayfinding ".repeat(7000)
	for value: Variant in [
		null,
		true,
		0,
		-1,
		-32,
		-33,
		127,
		128,
		255,
		256,
		65535,
		65536,
		4294967295,
		4294967296,
		9223372036854775807,
		-9223372036854775807 - 1,
		0.5,
		-0.0,
		INF,
		"",
		"grün 𝕏",
		long_text,
		PackedByteArray([0, 255]),
		[],
		range(20),
		[1, [2, [3]]],
		{},
		{"a": 1, 2: "b"},
	]:
		var bytes: PackedByteArray = _msgpack.encode(value)
		check_equal(_msgpack.problem, "", str(value).left(40))
		check_equal(_msgpack.decode(bytes), value)
		check_equal(_msgpack.problem, "", str(value).left(40))


func test_nan_and_minus_zero_keep_their_bits() -> void:
	var nan: float = _msgpack.decode(_msgpack.encode(NAN))
	check(is_nan(nan))
	check_equal(_msgpack.encode(-0.0), PackedByteArray([0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0]))


func test_names_are_texts() -> void:
	check_equal(_msgpack.decode(_msgpack.encode(&"path")), "path")


func test_extensions_of_every_length() -> void:
	for length: int in [0, 1, 2, 3, 4, 8, 15, 16, 17, 255, 256, 65536]:
		var data: PackedByteArray = PackedByteArray()
		data.resize(length)
		data.fill(7)
		var bytes: PackedByteArray = _msgpack.encode(Msgpack.Extension.new(-5, data))
		var back: Msgpack.Extension = _msgpack.decode(bytes)
		check_equal(back.type, -5)
		check_equal(back.data, data)
	_msgpack.encode(Msgpack.Extension.new(128, PackedByteArray()))
	check_contains(_msgpack.problem, "extension type 128")


func test_depth_has_a_limit_both_ways() -> void:
	var value: Array = []
	for depth: int in Msgpack.MAX_DEPTH - 1:
		value = [value]
	var bytes: PackedByteArray = _msgpack.encode(value)
	check_equal(_msgpack.decode(bytes), value)
	check(_msgpack.encode([value]).is_empty())
	check_contains(_msgpack.problem, "nested deeper than 32")
	var deeper: PackedByteArray = PackedByteArray([0x91])
	deeper.append_array(bytes)
	check_equal(_msgpack.decode(deeper), null)
	check_contains(_msgpack.problem, "nested deeper than 32")


func test_types_without_a_form_are_named() -> void:
	check(_msgpack.encode({"at": Vector2.ZERO}).is_empty())
	check_contains(_msgpack.problem, "Vector2 has no msgpack form")
	check(_msgpack.encode(RefCounted.new()).is_empty())
	check_contains(_msgpack.problem, "Object has no msgpack form")


func test_bad_bytes_are_told_in_words() -> void:
	var cases: Dictionary[String, PackedByteArray] = {
		"announced": PackedByteArray([0xdd, 255, 255, 255, 255]),
		"1 more bytes are announced, 0 are left": PackedByteArray(),
		"begins no value": PackedByteArray([0xc1]),
		"2 bytes follow": PackedByteArray([1, 2, 3]),
		"beyond the signed": PackedByteArray([0xcf, 128, 0, 0, 0, 0, 0, 0, 0]),
		"not UTF-8": PackedByteArray([0xa1, 0xff]),
		"holds a NUL": PackedByteArray([0xa1, 0]),
		"the key a comes twice": PackedByteArray([0x82, 0xa1, 97, 1, 0xa1, 97, 2]),
	}
	for part: String in cases:
		check_equal(_msgpack.decode(cases[part]), null)
		check_contains(_msgpack.problem, part)


func test_a_failure_leaves_nothing_behind() -> void:
	_msgpack.decode(PackedByteArray([0xc1]))
	check_equal(_msgpack.decode(PackedByteArray([5])), 5)
	check_equal(_msgpack.problem, "")
