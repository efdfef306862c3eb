extends "../test_case.gd"
## The transport against sockets that tests/godot_addon/test_transport.py holds open.
##
## [code]router=[/code] is the port of a libzmq ROUTER that wants the password [code]token=[/code],
## sends every message back, and sends heartbeats. [code]http=[/code] answers as a web server does,
## [code]silent=[/code] accepts and says nothing, [code]nobody=[/code] has no listener.

const Transport := preload("res://addons/navserver/internal/transport.gd")


func _connect_router() -> Transport:
	var transport: Transport = Transport.new()
	transport.open(get_number("router", 0), "navserver", parameters["token"])
	await wait_until(_settled.bind(transport))
	check_equal(transport.state, Transport.State.OPEN, transport.reason)
	return transport


func _settled(transport: Transport) -> bool:
	transport.poll()
	return transport.state != Transport.State.CONNECTING


func _next(transport: Transport) -> Array[PackedByteArray]:
	var deadline: int = Time.get_ticks_msec() + 60_000
	while Time.get_ticks_msec() < deadline and transport.state == Transport.State.OPEN:
		transport.poll()
		var message: Array[PackedByteArray] = transport.next_message()
		if not message.is_empty():
			return message
	fail("no message came: %s" % transport.reason)
	return []


func _bytes(size: int) -> PackedByteArray:
	var bytes: PackedByteArray = PackedByteArray()
	bytes.resize(size)
	bytes.fill(size & 0xff)
	return bytes


func test_messages_of_any_size_come_back() -> void:
	var transport: Transport = await _connect_router()
	for size: int in [0, 1, 255, 256, 65_535, 65_536, 1_000_000, 9_000_000]:
		var message: Array[PackedByteArray] = [_bytes(size), _bytes(3), _bytes(size >> 1)]
		check_equal(transport.send_message(message), OK)
		check(_next(transport) == message, "%d bytes differ" % size)
	check_equal(transport.get_unsent_size(), 0)


func test_many_messages_come_back_in_order() -> void:
	var transport: Transport = await _connect_router()
	for number: int in 5000:
		transport.send_message([str(number).to_ascii_buffer()])
	for number: int in 5000:
		var expected: Array[PackedByteArray] = [str(number).to_ascii_buffer()]
		if _next(transport) != expected:
			fail("message %d is another" % number)
			return


func test_a_poll_keeps_to_its_budget() -> void:
	var transport: Transport = await _connect_router()
	transport.send_message([_bytes(300_000)])
	for index: int in 3:
		transport.poll(100_000)
		check(transport.get_unsent_size() >= 300_000 - 100_000 * 2 * (index + 1))
	check(_next(transport)[0].size() == 300_000)


func test_heartbeats_are_answered_while_nothing_is_said() -> void:
	var transport: Transport = await _connect_router()
	var end: int = Time.get_ticks_msec() + 1500
	while Time.get_ticks_msec() < end:
		transport.poll()
		check(transport.next_message().is_empty())
		await tree.process_frame
	check_equal(transport.state, Transport.State.OPEN, transport.reason)
	transport.send_message([_bytes(5)])
	check_equal(_next(transport).size(), 1)


func _check_closes(port: String, password: String, part: String, refused: bool) -> void:
	var transport: Transport = Transport.new()
	transport.open(get_number(port, 0), "navserver", password)
	await wait_until(_settled.bind(transport), 10.0, port)
	check_equal(transport.state, Transport.State.CLOSED)
	check_contains(transport.reason, part)
	check_equal(transport.refused, refused)
	check_equal(transport.send_message([_bytes(1)]), ERR_UNCONFIGURED)
	check(transport.next_message().is_empty())
	transport.poll()


func test_a_wrong_password_is_refused() -> void:
	await _check_closes("router", "wrong", "refuses the password", true)
	await _check_closes("router", "", "refuses the password", true)


func test_a_web_server_is_told() -> void:
	await _check_closes("http", "x", "does not speak ZeroMQ", false)


func test_no_listener_is_told() -> void:
	await _check_closes("nobody", "x", "nobody listens", false)


func test_a_silent_peer_is_neither_open_nor_an_error() -> void:
	var transport: Transport = Transport.new()
	transport.open(get_number("silent", 0), "navserver", "x")
	for index: int in 30:
		transport.poll()
		await tree.process_frame
	check_equal(transport.state, Transport.State.CONNECTING)
	transport.close()
	check_equal(transport.state, Transport.State.CLOSED)


func test_a_bad_port_is_told_at_once() -> void:
	for port: int in [0, -1, 65536]:
		var transport: Transport = Transport.new()
		transport.open(port, "navserver", "x")
		check_contains(transport.reason, "is no port")
