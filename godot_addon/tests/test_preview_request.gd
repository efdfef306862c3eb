extends "test_case.gd"
## One pair's questions: the newest wish first, one search at a time, without a server.

const Message := preload("res://addons/navserver/internal/message.gd")
const PreviewRequest := preload("res://addons/navserver/editor/preview_request.gd")
const Session := preload("res://addons/navserver/internal/session.gd")
const SidecarBackend := preload("res://addons/navserver/internal/sidecar_backend.gd")

var _session: Session = Session.new("me")
var _backend: SidecarBackend = SidecarBackend.new(_session)
var _request: PreviewRequest = PreviewRequest.new()
# The messages sent so far, by id.
var _sent: Dictionary[int, Message] = {}


func before_each() -> void:
	_session.connected()
	_receive({"type": "hello", "id": 1, "status": "ok", "instance": "a", "server": "navserver"})
	_take_sent()
	_request.set_backend(_backend)


func _receive(header: Dictionary) -> void:
	var message: Message = Message.new()
	message.header = header
	_session.receive_message(message.encode())
	while true:
		var event: Session.Event = _session.next_event()
		if event == Session.Event.NONE:
			break
		if event == Session.Event.REPLY:
			_backend.take_reply(_session.message)


func _take_sent() -> Array[String]:
	var types: Array[String] = []
	for message: Message in _session.take_outgoing():
		_sent[message.get_integer("id")] = message
		types.append(message.get_type())
	return types


func _get_last() -> Message:
	return _sent[_sent.keys().max()]


func _reply(status: String, more: Dictionary = {}) -> void:
	var id: int = -1
	for sent: int in _sent:
		if _sent[sent].get_type() == "explore":
			id = sent
	_sent.erase(id)
	var header: Dictionary = {"type": "explore", "id": id, "status": status, "version": 1}
	header.merge(more)
	_receive(header)


func _wish(goal: int) -> void:
	(
		_request
		. wish(
			{
				"world": "w",
				"start": [0, 0],
				"goal": [goal, 0],
				"profile": "default",
				"diagonal_mode": 3,
				"size": 1,
			}
		)
	)


func test_one_search_at_a_time_and_then_the_newest() -> void:
	_wish(1)
	check_equal(_take_sent(), ["explore"] as Array[String])
	_request.is_hurried = true
	_wish(2)
	_wish(3)
	# The first was a whole search and is no longer wanted.
	check_equal(_take_sent(), ["cancel", "cancel"] as Array[String])
	_reply("cancelled")
	check_equal(_take_sent(), ["explore"] as Array[String])
	check_equal(_get_last().header["goal"], [3, 0])


func test_the_same_wish_is_not_asked_twice() -> void:
	_wish(1)
	_take_sent()
	_reply("found", {"cost": 1.0})
	_wish(1)
	check_equal(_take_sent(), [] as Array[String])
	_request.renew()
	check_equal(_take_sent(), ["explore"] as Array[String])


func test_a_hurried_search_is_cut_short_and_the_whole_follows() -> void:
	_request.is_hurried = true
	_wish(9)
	_take_sent()
	check_equal(_get_last().header["max_expansions"], PreviewRequest.COARSE)
	_reply("partial", {"cost": 2.0})
	check(_request.answer.is_coarse)
	check_equal(_take_sent(), ["explore"] as Array[String])
	check("max_expansions" not in _get_last().header)
	_reply("found", {"cost": 5.0})
	check(not _request.answer.is_coarse)
	check_equal(_take_sent(), [] as Array[String])


func test_where_there_is_no_way_the_ways_out_are_asked() -> void:
	_wish(1)
	_take_sent()
	_reply("partial", {"cost": 2.0})
	check_equal(_take_sent(), ["nearest", "what_opens"] as Array[String])
	for id: int in _sent:
		if _sent[id].get_type() == "nearest":
			_receive({"type": "nearest", "id": id, "status": "found", "cell": [4, 5]})
	check_equal(_request.answer.nearest, [Vector2i(4, 5)] as Array[Vector2i])


func test_what_a_lost_sidecar_was_asked_is_asked_anew() -> void:
	_wish(1)
	_take_sent()
	_request.set_backend(null)
	_reply("found", {"cost": 1.0})
	check(_request.answer == null)
	_wish(2)
	check_equal(_take_sent(), [] as Array[String])
	_request.set_backend(_backend)
	check_equal(_take_sent(), ["explore"] as Array[String])
	check_equal(_get_last().header["goal"], [2, 0])
