extends "../test_case.gd"
## The message pipe, with and without its thread, against the ROUTER of
## tests/godot_addon/test_transport.py: it sends every message back.

const Message := preload("res://addons/navserver/internal/message.gd")
const MessagePipe := preload("res://addons/navserver/internal/message_pipe.gd")
const Settings := preload("res://addons/navserver/internal/settings.gd")
const Transport := preload("res://addons/navserver/internal/transport.gd")

var _pipe: MessagePipe = null


func after_each() -> void:
	if _pipe != null:
		_pipe.end()
	ProjectSettings.set_setting(Settings.THREADS, true)


func _open(is_threaded: bool) -> void:
	ProjectSettings.set_setting(Settings.THREADS, is_threaded)
	_pipe = MessagePipe.new()
	_pipe.prepare = func(message: Message) -> void: message.content = RefCounted.new()
	_pipe.open(get_number("router", 0), "navserver", parameters["token"])
	await wait_until(_is_settled)
	check_equal(_pipe.state, Transport.State.OPEN, _pipe.reason)


func _is_settled() -> bool:
	_pipe.poll(Time.get_ticks_usec() + 1000)
	return _pipe.state != Transport.State.CONNECTING


## A message that tells its number, with an array of so many bytes.
func _numbered(number: int, size: int) -> Message:
	var message: Message = Message.new("ping")
	message.header["id"] = number
	var bytes: PackedByteArray = PackedByteArray()
	bytes.resize(size)
	bytes.fill(number & 0xff)
	message.add_array("bytes", "u8", str(size), bytes)
	return message


func _is_numbered(message: Message, number: int, size: int) -> bool:
	var bytes: PackedByteArray = message.get_bytes("bytes")
	return (
		message.problem.is_empty()
		and message.content != null
		and message.get_integer("id") == number
		and bytes.size() == size
		and bytes.count(number & 0xff) == size
	)


## Sends messages of many sizes, some each frame, and takes what comes back meanwhile.
func _exchange(count: int) -> void:
	var next: int = 0
	var sent: int = 0
	var deadline: int = Time.get_ticks_msec() + 50_000
	while next < count and Time.get_ticks_msec() < deadline:
		var messages: Array[Message] = []
		while sent < count and messages.size() < 100:
			messages.append(_numbered(sent, _size_of(sent)))
			sent += 1
		if not messages.is_empty():
			_pipe.send(messages)
		_pipe.flush(true)
		await tree.process_frame
		_pipe.poll(Time.get_ticks_usec() + 2000)
		var message: Message = _pipe.next_message()
		while message != null:
			if not _is_numbered(message, next, _size_of(next)):
				fail("message %d is another: %s" % [next, message.problem])
				return
			next += 1
			message = _pipe.next_message()
	check_equal(next, count, _pipe.reason)


func _size_of(number: int) -> int:
	return 3_000_000 if number == 700 else number * 37 % 5000


func test_all_come_back_in_order_by_the_thread() -> void:
	await _open(true)
	await _exchange(2000)


func test_all_come_back_in_order_without_a_thread() -> void:
	await _open(false)
	await _exchange(2000)


func test_what_has_no_form_is_handed_back() -> void:
	for is_threaded: bool in [true, false]:
		await _open(is_threaded)
		var bad: Message = _numbered(0, 10)
		bad.header["at"] = Vector2.ZERO
		_pipe.send([bad, _numbered(1, 10)])
		_pipe.flush(true)
		var got: Array[Message] = []
		await wait_until(
			func() -> bool:
				_pipe.poll(Time.get_ticks_usec() + 1000)
				var message: Message = _pipe.next_message()
				if message != null:
					got.append(message)
				return not got.is_empty()
		)
		check_equal(got[0].get_integer("id"), 1)
		var refused: Array[Message] = _pipe.take_refused()
		check_equal(refused.size(), 1)
		check_contains(refused[0].problem, "Vector2 has no msgpack form")
		check(_pipe.take_refused().is_empty())
		_pipe.end()


func test_a_sleeping_thread_leaves_it_to_the_caller() -> void:
	await _open(true)
	# Nobody expects an answer, so that the thread sleeps once the message has left.
	_pipe.send([_numbered(3, 10)])
	_pipe.flush(false)
	var got: Array[Message] = []
	await wait_until(
		func() -> bool:
			_pipe.poll(Time.get_ticks_usec() + 1000)
			var message: Message = _pipe.next_message()
			if message != null:
				got.append(message)
			return not got.is_empty()
	)
	check(_is_numbered(got[0], 3, 10))


func test_a_held_thread_leaves_the_frame_alone() -> void:
	await _open(true)
	_pipe.hold()
	var before: int = _pipe.get("_told_moved_bytes")
	_pipe.send([_numbered(5, 10)])
	_pipe.flush(true)
	OS.delay_msec(50)
	check_equal(_pipe.get("_told_moved_bytes"), before, "nothing has left")
	_pipe.release()
	# Nobody else sees to it.
	for trial: int in 1000:
		OS.delay_msec(1)
		if not (_pipe.get("_inbox") as Array).is_empty():
			break
	_pipe.poll(Time.get_ticks_usec() + 1000)
	check(_is_numbered(_pipe.next_message(), 5, 10))


func test_the_thread_is_at_rest_when_the_next_frame_is_due() -> void:
	await _open(true)
	_pipe.hold()
	_pipe.release()
	OS.delay_msec(40)
	_pipe.hold()
	_pipe.send([_numbered(6, 10)])
	_pipe.flush(true)
	_pipe.release()
	# It would look for an answer for much longer.
	OS.delay_msec(60)
	check_equal(_pipe.get("_is_waiting"), true)
	_pipe.hold()
	_pipe.release()
	_pipe.poll(Time.get_ticks_usec() + 1000)
	check(_is_numbered(_pipe.next_message(), 6, 10))
	await _exchange(300)


func test_of_what_comes_while_the_thread_rests_the_frame_reads_what_is_small() -> void:
	for size: int in [10, 100_000]:
		await _open(true)
		_pipe.hold()
		_pipe.send([_numbered(7, size)])
		_pipe.flush(true)
		# Whoever waits sends it.
		_pipe.poll(Time.get_ticks_usec() + 1000, true)
		OS.delay_msec(200)
		_pipe.poll(Time.get_ticks_usec() + 1000)
		check_equal(_pipe.next_message(), null, "somebody has looked in this frame")
		_pipe.hold()
		_pipe.poll(Time.get_ticks_usec() + 1000)
		var message: Message = _pipe.next_message()
		check_equal(message != null, size == 10, str(size))
		_pipe.release()
		while message == null:
			await tree.process_frame
			_pipe.poll(Time.get_ticks_usec() + 1000)
			message = _pipe.next_message()
		check(_is_numbered(message, 7, size))
		_pipe.end()


func test_closing_amid_traffic_leaves_nothing_behind() -> void:
	for trial: int in 10:
		await _open(true)
		var messages: Array[Message] = []
		for number: int in 200:
			messages.append(_numbered(number, 5000))
		_pipe.send(messages)
		_pipe.flush(true)
		if trial % 2 == 0:
			await tree.process_frame
		_pipe.close()
		check_equal(_pipe.state, Transport.State.CLOSED)
		check_equal(_pipe.reason, "")
		_pipe.poll(Time.get_ticks_usec() + 1000)
		check_equal(_pipe.next_message(), null)
		# The same pipe is used again, as after a connection that broke.
		_pipe.open(get_number("router", 0), "navserver", parameters["token"])
		await wait_until(_is_settled)
		await _exchange(20)
		_pipe.end()


func test_nobody_listens() -> void:
	for is_threaded: bool in [true, false]:
		ProjectSettings.set_setting(Settings.THREADS, is_threaded)
		_pipe = MessagePipe.new()
		_pipe.open(get_number("nobody", 0), "navserver", "x")
		await wait_until(_is_settled)
		check_equal(_pipe.state, Transport.State.CLOSED)
		check_contains(_pipe.reason, "nobody listens there")
		_pipe.end()


func test_a_wrong_password_is_a_refusal() -> void:
	_pipe = MessagePipe.new()
	_pipe.open(get_number("router", 0), "navserver", "wrong")
	await wait_until(_is_settled)
	check(_pipe.refused)
	check_contains(_pipe.reason, "refuses the password")
