extends RefCounted
## Bytes that a libzmq ROUTER with PLAIN sends, for tests without a socket.

const MECHANISM: String = "PLAIN"


static func greeting(major: int = 3, mechanism: String = MECHANISM) -> PackedByteArray:
	var bytes: PackedByteArray = PackedByteArray([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, major, 1])
	bytes.append_array(mechanism.to_ascii_buffer())
	bytes.resize(64)
	bytes[32] = 1
	return bytes


static func command(name: String, rest: PackedByteArray = PackedByteArray()) -> PackedByteArray:
	var body: PackedByteArray = PackedByteArray([name.length()])
	body.append_array(name.to_ascii_buffer())
	body.append_array(rest)
	return frame(body, 4)


static func ready(type: String = "ROUTER") -> PackedByteArray:
	var metadata: PackedByteArray = PackedByteArray([11])
	metadata.append_array("Socket-Type".to_ascii_buffer())
	metadata.append_array([0, 0, 0, type.length()])
	metadata.append_array(type.to_ascii_buffer())
	return command("READY", metadata)


static func frame(body: PackedByteArray, flags: int = 0) -> PackedByteArray:
	var bytes: PackedByteArray = PackedByteArray([flags, body.size()])
	if body.size() > 255:
		bytes = PackedByteArray([flags | 2, 0, 0, 0, 0, 0, 0, 0, 0])
		for index: int in 8:
			bytes[8 - index] = body.size() >> 8 * index & 0xff
	bytes.append_array(body)
	return bytes


static func handshake() -> PackedByteArray:
	return greeting() + command("WELCOME") + ready()
