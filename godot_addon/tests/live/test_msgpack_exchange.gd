extends "../test_case.gd"
## Decodes what tests/godot_addon/test_msgpack.py wrote, and writes what it makes of it.
##
## The file [code]inputs=[/code] is a sequence of items, each a u32 of length and that many bytes.
## The file [code]results=[/code] has as many: the value encoded again, or 0xc1 (no msgpack value
## begins with it) and the problem in UTF-8.

const Msgpack := preload("res://addons/navserver/internal/msgpack.gd")


func test_exchange() -> void:
	var inputs: FileAccess = FileAccess.open(parameters["inputs"], FileAccess.READ)
	var results: FileAccess = FileAccess.open(parameters["results"], FileAccess.WRITE)
	var msgpack: Msgpack = Msgpack.new()
	while inputs.get_position() < inputs.get_length():
		var value: Variant = msgpack.decode(inputs.get_buffer(inputs.get_32()))
		var answer: PackedByteArray = PackedByteArray([0xc1])
		if msgpack.problem.is_empty():
			answer = msgpack.encode(value)
		else:
			answer.append_array(msgpack.problem.to_utf8_buffer())
		results.store_32(answer.size())
		results.store_buffer(answer)
	results.close()
	check(msgpack.problem.length() < 200)
