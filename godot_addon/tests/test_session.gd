extends "test_case.gd"
## The session's table of states, without a server.

const Message := preload("res://addons/navserver/internal/message.gd")
const Session := preload("res://addons/navserver/internal/session.gd")

var _session: Session = Session.new("me")


func _sent() -> Array[String]:
	var types: Array[String] = []
	for message: Message in _session.take_outgoing():
		types.append("%s %d" % [message.get_type(), message.get_integer("id")])
	return types


func _receive(header: Dictionary) -> void:
	var message: Message = Message.new()
	message.header = header
	_session.receive_message(message.encode())


func _welcome(id: int, instance: String, resumed: bool = false) -> void:
	_receive(
		{
			"type": "hello",
			"id": id,
			"status": "ok",
			"instance": instance,
			"resumed": resumed,
			"server": "navserver 1",
			"capabilities": ["path"],
		}
	)


func _open() -> void:
	_session.connected()
	check_equal(_sent(), ["hello 1"] as Array[String])
	_welcome(1, "a")
	check_equal(_session.next_event(), Session.Event.OPENED)
	check_equal(_session.next_event(), Session.Event.NONE)


func test_nothing_is_sent_before_the_greeting_is_answered() -> void:
	check_equal(_session.request(Message.new("path")), 1)
	check_equal(_sent().size(), 0)
	_session.connected()
	_session.connected()
	check_equal(_sent(), ["hello 2"] as Array[String])
	check_equal(_session.state, Session.State.GREETING)
	_welcome(2, "a")
	check_equal(_session.next_event(), Session.Event.OPENED)
	check_equal(_session.server, "navserver 1")
	check_equal(_session.capabilities, PackedStringArray(["path"]))
	check_equal(_sent(), ["path 1"] as Array[String])
	check_equal(_sent().size(), 0)


func test_each_request_is_answered_once() -> void:
	_open()
	var id: int = _session.request(Message.new("path"))
	_sent()
	for time: int in 2:
		_receive({"type": "path", "id": id, "status": "found"})
	_receive({"type": "path", "id": 99, "status": "found"})
	check_equal(_session.next_event(), Session.Event.REPLY)
	check_equal(_session.message.get_text("status"), "found")
	check_equal(_session.next_event(), Session.Event.NONE)
	check_equal(_session.get_pending_count(), 0)


func test_parts_of_an_answer() -> void:
	_open()
	var id: int = _session.request(Message.new("batch"))
	for more: bool in [true, true, false]:
		_receive({"type": "batch", "id": id, "status": "ok", "more": more})
		check_equal(_session.next_event(), Session.Event.REPLY)
		check_equal(_session.get_pending_count(), 1 if more else 0)


func test_a_broken_connection_is_taken_up_again() -> void:
	_open()
	var first: int = _session.request(Message.new("path"))
	var second: int = _session.request(Message.new("watch"))
	_sent()
	_receive({"type": "path", "id": first, "status": "found"})
	_session.disconnected()
	check_equal(_session.next_event(), Session.Event.REPLY)
	_session.request(Message.new("ping"))
	_session.connected()
	check_equal(_sent(), ["hello 5"] as Array[String])
	_welcome(5, "a", true)
	check_equal(_session.next_event(), Session.Event.OPENED)
	check_equal(_sent(), ["watch %d" % second, "ping 4"] as Array[String])


func test_done_tells_what_is_answered() -> void:
	_open()
	for type: String in ["a", "b", "c"]:
		_session.request(Message.new(type))
	_sent()
	_receive({"type": "a", "id": 2, "status": "ok"})
	_receive({"type": "c", "id": 4, "status": "ok"})
	_session.request(Message.new("d"))
	check_equal(_session.take_outgoing()[0].get_integer("done"), 2)
	_receive({"type": "b", "id": 3, "status": "ok"})
	_session.request(Message.new("e"))
	check_equal(_session.take_outgoing()[0].get_integer("done"), 4)


func test_another_server_has_lost_what_was_asked() -> void:
	_open()
	var id: int = _session.request(Message.new("path"))
	_session.disconnected()
	_session.connected()
	_sent()
	_welcome(3, "b")
	check_equal(_session.next_event(), Session.Event.RESTARTED)
	check_equal(_session.lost, PackedInt64Array([id]))
	check_equal(_sent().size(), 0)
	check_equal(_session.get_pending_count(), 0)


func test_a_forgotten_session_is_lost_even_on_the_same_server() -> void:
	_open()
	_session.disconnected()
	_session.connected()
	_sent()
	_welcome(2, "a", false)
	check_equal(_session.next_event(), Session.Event.RESTARTED)


func test_no_session_greets_again() -> void:
	_open()
	var id: int = _session.request(Message.new("path"))
	_sent()
	_receive({"type": "path", "id": id, "status": "error", "code": "no_session"})
	check_equal(_session.state, Session.State.GREETING)
	check_equal(_sent(), ["hello 3"] as Array[String])
	_welcome(3, "a", true)
	check_equal(_session.next_event(), Session.Event.OPENED)
	check_equal(_sent(), ["path 2"] as Array[String])


func test_a_refused_version_says_what_to_do() -> void:
	_session.connected()
	_sent()
	_receive(
		{
			"type": "hello",
			"id": 1,
			"status": "error",
			"code": "protocol",
			"problem": "is older than 3",
			"remedy": "update the addon",
		}
	)
	check_equal(_session.next_event(), Session.Event.CLOSED)
	check_contains(_session.reason, "update the addon")
	_session.disconnected()
	_session.connected()
	check_equal(_sent().size(), 0)


func test_goodbyes() -> void:
	_open()
	_receive({"type": "goodbye", "reason": "shutdown", "remedy": "start it again"})
	check_equal(_session.next_event(), Session.Event.LEFT)
	check_equal(_session.state, Session.State.DOWN)
	_session.connected()
	_sent()
	_welcome(2, "a", true)
	_session.next_event()
	_receive({"type": "goodbye", "reason": "replaced", "remedy": ""})
	check_equal(_session.next_event(), Session.Event.CLOSED)
	check_contains(_session.reason, "session of its own")


func test_events_of_the_server_are_handed_on() -> void:
	_open()
	_receive({"type": "progress", "done": 1, "total": 3})
	check_equal(_session.next_event(), Session.Event.PUSHED)
	check_equal(_session.message.get_integer("total"), 3)


func test_no_message_ends_the_session_in_words() -> void:
	_open()
	_session.receive_message([PackedByteArray([0xc1])])
	check_equal(_session.next_event(), Session.Event.CLOSED)
	check_contains(_session.reason, "what is no message")


func test_more_requests_than_the_server_takes_wait() -> void:
	_open()
	for index: int in Session.REQUEST_LIMIT + 10:
		_session.request(Message.new("path"))
	check_equal(_sent().size(), Session.REQUEST_LIMIT)
	check_equal(_sent().size(), 0)
	for id: int in range(2, 7):
		_receive({"type": "path", "id": id, "status": "found"})
	check_equal(_sent().size(), 5)
	_session.forget(1033)
	for id: int in range(7, 20):
		_receive({"type": "path", "id": id, "status": "found"})
	check_equal(_sent().size(), 4)


func test_names_of_sessions_differ() -> void:
	check_equal(Session.make_name().length(), 32)
	var first: String = Session.make_name()
	check(first != Session.make_name())
