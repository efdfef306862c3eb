extends "test_case.gd"
## The ZMTP client against bytes; tests/godot_addon holds it against libzmq.

const ZmtpConnection := preload("res://addons/navserver/internal/zmtp_connection.gd")
const Peer := preload("zmtp_peer.gd")


func _open() -> ZmtpConnection:
	var connection: ZmtpConnection = ZmtpConnection.new("navserver", "secret")
	connection.receive_data(Peer.handshake())
	check_equal(connection.next_message().size(), 0)
	check_equal(connection.state, ZmtpConnection.State.OPEN, connection.reason)
	connection.take_outgoing()
	return connection


func _joined(parts: Array[PackedByteArray]) -> PackedByteArray:
	var bytes: PackedByteArray = PackedByteArray()
	for part: PackedByteArray in parts:
		bytes.append_array(part)
	return bytes


func _bytes(size: int) -> PackedByteArray:
	var bytes: PackedByteArray = PackedByteArray()
	bytes.resize(size)
	for index: int in size:
		bytes[index] = index & 0xff
	return bytes


func _check_fails(bytes: PackedByteArray, part: String) -> void:
	var connection: ZmtpConnection = ZmtpConnection.new("navserver", "secret")
	connection.receive_data(bytes)
	while not connection.next_message().is_empty():
		pass
	check_equal(connection.state, ZmtpConnection.State.FAILED, part)
	check_contains(connection.reason, part)
	connection.receive_data(bytes)
	check(connection.next_message().is_empty())
	check(connection.take_outgoing().is_empty())


func test_handshake_step_by_step() -> void:
	var connection: ZmtpConnection = ZmtpConnection.new("navserver", "secret")
	var greeting: PackedByteArray = _joined(connection.take_outgoing())
	check_equal(greeting.size(), 64)
	check_equal(greeting.slice(10, 17), PackedByteArray([3, 1, 80, 76, 65, 73, 78]))
	check_equal(connection.send_message([PackedByteArray()]), ERR_UNCONFIGURED)
	connection.receive_data(Peer.greeting())
	connection.next_message()
	check_equal(connection.state, ZmtpConnection.State.WELCOME)
	var hello: PackedByteArray = PackedByteArray([4, 23, 5])
	hello.append_array("HELLO\tnavserver".to_ascii_buffer())
	hello.append(6)
	hello.append_array("secret".to_ascii_buffer())
	check_equal(_joined(connection.take_outgoing()), hello)
	connection.receive_data(Peer.command("WELCOME"))
	connection.next_message()
	check_equal(connection.state, ZmtpConnection.State.READY)
	var initiate: PackedByteArray = _joined(connection.take_outgoing())
	check_equal(initiate.slice(2, 11).get_string_from_ascii(), "\bINITIATE")
	check_equal(initiate.slice(-6).get_string_from_ascii(), "DEALER")
	connection.receive_data(Peer.ready())
	connection.next_message()
	check_equal(connection.state, ZmtpConnection.State.OPEN)


func test_frames_short_long_and_many() -> void:
	for size: int in [0, 1, 255, 256, 65535, 65536, 200_000]:
		var connection: ZmtpConnection = _open()
		var sent: Array[PackedByteArray] = [_bytes(size), PackedByteArray([1]), _bytes(size)]
		check_equal(connection.send_message(sent), OK)
		var bytes: PackedByteArray = _joined(connection.take_outgoing())
		check_equal(
			bytes, Peer.frame(sent[0], 1) + Peer.frame(sent[1], 1) + Peer.frame(sent[2]), str(size)
		)
		connection.receive_data(bytes)
		check_equal(connection.next_message(), sent, str(size))
		check(connection.next_message().is_empty())


func test_byte_by_byte_it_is_the_same() -> void:
	var connection: ZmtpConnection = ZmtpConnection.new("navserver", "secret")
	var bytes: PackedByteArray = Peer.handshake() + Peer.frame(_bytes(3), 1)
	bytes += Peer.command("PING", PackedByteArray([0, 9, 7])) + Peer.frame(_bytes(300))
	for index: int in bytes.size() - 1:
		connection.receive_data(bytes.slice(index, index + 1))
		check(connection.next_message().is_empty())
	connection.take_outgoing()
	connection.receive_data(bytes.slice(-1))
	check_equal(connection.next_message(), [_bytes(3), _bytes(300)] as Array[PackedByteArray])


func test_pings_are_answered_with_their_context() -> void:
	var connection: ZmtpConnection = _open()
	connection.receive_data(Peer.command("PING", PackedByteArray([0, 100, 65, 66])))
	check(connection.next_message().is_empty())
	check_equal(
		_joined(connection.take_outgoing()), Peer.command("PONG", PackedByteArray([65, 66]))
	)
	connection.receive_data(Peer.command("PONG"))
	check(connection.next_message().is_empty())
	check_equal(connection.state, ZmtpConnection.State.OPEN)


func test_any_odd_answer_to_the_password_is_a_refusal() -> void:
	for answer: PackedByteArray in [
		Peer.command("ERROR", PackedByteArray([3, 52, 48, 48])),
		Peer.frame("\u0005ERROR400".to_ascii_buffer(), 4),
		Peer.frame(PackedByteArray(), 4),
		Peer.ready(),
	]:
		var connection: ZmtpConnection = ZmtpConnection.new("navserver", "wrong")
		connection.receive_data(Peer.greeting() + answer)
		connection.next_message()
		check_equal(connection.state, ZmtpConnection.State.REFUSED)
		check_contains(connection.reason, "refuses the password")


func test_strangers_are_told_by_their_first_bytes() -> void:
	_check_fails("HTTP/1.1 400".to_ascii_buffer(), "does not speak ZeroMQ")
	_check_fails(PackedByteArray([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7e]), "does not speak ZeroMQ")
	_check_fails(Peer.greeting(2).slice(0, 11), "ZMTP 2")
	_check_fails(Peer.greeting(3, "NULL"), "does not ask for a password")
	_check_fails(Peer.greeting(3, "PLAINLY"), "does not ask for a password")


func test_faults_of_the_peer_end_the_connection() -> void:
	var open: PackedByteArray = Peer.handshake()
	_check_fails(Peer.greeting() + Peer.frame(_bytes(1)), "before the handshake")
	_check_fails(Peer.greeting() + Peer.command("WELCOME") + Peer.ready("PUB"), "no ROUTER")
	_check_fails(Peer.greeting() + Peer.command("WELCOME") + Peer.command("READY"), "no ROUTER")
	_check_fails(open + PackedByteArray([8, 0]), "no flags")
	_check_fails(open + PackedByteArray([5, 0]), "no flags")
	_check_fails(open + Peer.command("PING"), "PING of 0 bytes")
	_check_fails(open + Peer.command("PING", _bytes(19)), "PING of 19 bytes")
	_check_fails(open + Peer.command("ERROR"), "reports an error")
	_check_fails(open + Peer.frame(_bytes(5000), 4), "command is larger")
	for size: PackedByteArray in [
		PackedByteArray([0, 0, 0, 0, 4, 0, 0, 1]), PackedByteArray([255, 0, 0, 0, 0, 0, 0, 0])
	]:
		_check_fails(open + PackedByteArray([2]) + size, "message is larger")
	var many: PackedByteArray = open.duplicate()
	for index: int in 65:
		many += Peer.frame(PackedByteArray(), 1)
	_check_fails(many, "more than 64 frames")


func test_the_limit_is_that_of_the_whole_message() -> void:
	var connection: ZmtpConnection = _open()
	connection.message_limit = 10
	connection.receive_data(Peer.frame(_bytes(5), 1) + Peer.frame(_bytes(5)))
	check_equal(connection.next_message().size(), 2)
	connection.receive_data(Peer.frame(_bytes(5), 1) + Peer.frame(_bytes(6)).slice(0, 2))
	check(connection.next_message().is_empty())
	check_equal(connection.state, ZmtpConnection.State.FAILED)


func test_messages_that_cannot_be_sent_are_refused() -> void:
	var connection: ZmtpConnection = _open()
	check_equal(connection.send_message([]), ERR_INVALID_PARAMETER)
	var many: Array[PackedByteArray] = []
	many.resize(65)
	check_equal(connection.send_message(many), ERR_INVALID_PARAMETER)
	check(connection.take_outgoing().is_empty())


func test_damaged_streams_end_in_words_however_they_are_cut() -> void:
	# Invariant: no error of the engine, and the same messages and end for any cut of the stream.
	var random: RandomNumberGenerator = RandomNumberGenerator.new()
	random.seed = get_number("seed", 1)
	var ends: Dictionary[int, int] = {}
	for turn: int in get_number("count", 2000):
		var stream: PackedByteArray = _random_stream(random)
		var whole: Array = _replay(stream, [stream.size()])
		var cuts: Array[int] = []
		while cuts.size() < 20:
			cuts.append(random.randi_range(1, 40))
		check_equal(_replay(stream, cuts), whole, "turn %d" % turn)
		ends[whole[0]] = ends.get(whole[0], 0) + 1
		if not failures.is_empty():
			return
	check(ends.size() >= 4, "the streams end in %s only" % ends)


func _random_stream(random: RandomNumberGenerator) -> PackedByteArray:
	var stream: PackedByteArray = Peer.handshake()
	for index: int in random.randi_range(0, 8):
		var body: PackedByteArray = _bytes(random.randi_range(0, 20) * random.randi_range(0, 20))
		match random.randi_range(0, 3):
			0:
				stream += Peer.command("PING", body.slice(0, random.randi_range(0, 22)))
			1:
				stream += Peer.frame(body, 1)
			_:
				stream += Peer.frame(body)
	for index: int in random.randi_range(0, 2):
		stream[random.randi() % stream.size()] = random.randi() & 0xff
	if random.randf() < 0.3:
		stream = stream.slice(0, random.randi() % stream.size())
	return stream


func _replay(stream: PackedByteArray, cuts: Array[int]) -> Array:
	var connection: ZmtpConnection = ZmtpConnection.new("navserver", "secret")
	connection.message_limit = 2000
	var messages: Array = []
	var at: int = 0
	var turn: int = 0
	while at < stream.size():
		var cut: int = cuts[turn % cuts.size()]
		connection.receive_data(stream.slice(at, at + cut))
		at += cut
		turn += 1
		var message: Array[PackedByteArray] = connection.next_message()
		while not message.is_empty():
			messages.append(message)
			message = connection.next_message()
	return [connection.state, connection.reason, messages]
