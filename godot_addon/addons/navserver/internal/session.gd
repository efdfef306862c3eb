extends RefCounted
## The client's side of a session of the navserver protocol, without socket and clock.
##
## It survives its connections: a request keeps its id and is sent again until it is answered, and
## every request is answered once. The table of states stands in PROTOCOL.md. What is to be sent
## comes out of [method take_outgoing], what happened out of [method next_event].

## DOWN until there is a connection, GREETING until the server has answered hello, CLOSED for good.
enum State { DOWN, GREETING, OPEN, CLOSED }

## What [method next_event] tells.
enum Event {
	## Nothing.
	NONE,
	## The session is open; nothing was lost.
	OPENED,
	## The session is open, with a server that knows nothing of it: the ids in lost are not
	## answered.
	RESTARTED,
	## A reply to a request.
	REPLY,
	## An event of the server's own.
	PUSHED,
	## The server ends the session; try again later.
	LEFT,
	## The session cannot go on; the reason says why and what to do.
	CLOSED,
}

const Message := preload("message.gd")

## The version of the protocol that is spoken here.
const PROTOCOL: int = 1
## More requests wait here until some are answered.
const REQUEST_LIMIT: int = 1024

## Where the session stands.
var state: State = State.DOWN
## Why it is closed.
var reason: String = ""
## What the server offers, by the names of its messages.
var capabilities: PackedStringArray = PackedStringArray()
## The server's name and version.
var server: String = ""
## The message of the last REPLY or PUSHED, or the hello of OPENED and RESTARTED.
var message: Message = null
## The ids that RESTARTED lost.
var lost: PackedInt64Array = PackedInt64Array()

var _session: String
var _instance: String = ""
var _next_id: int = 1
var _hello_id: int = 0
# Requests without a reply by id, in order; the later ones may wait for their first sending.
var _pending: Dictionary[int, Message] = {}
var _unsent: Array[int] = []
var _outgoing: Array[Message] = []
var _events: Array[Callable] = []


## Begins a session under a name that nobody else has.
func _init(session: String) -> void:
	_session = session


## Makes a name for a session: 128 random bits.
static func make_name() -> String:
	return Crypto.new().generate_random_bytes(16).hex_encode()


## Notes that there is a connection.
func connected() -> void:
	if state == State.DOWN:
		_greet()


## Notes that the connection is gone.
func disconnected() -> void:
	if state != State.CLOSED:
		state = State.DOWN
	_outgoing.clear()


## Asks for something; returns the id that the reply will have.
func request(asked: Message) -> int:
	var id: int = _next_id
	_next_id += 1
	asked.header["id"] = id
	_pending[id] = asked
	_unsent.append(id)
	return id


## Forgets a request; its reply will be dropped.
func forget(id: int) -> void:
	_pending.erase(id)
	_unsent.erase(id)


## Takes the frames of a message from the server.
func receive_message(frames: Array[PackedByteArray]) -> void:
	var received: Message = Message.new()
	received.decode(frames)
	receive(received)


## Takes a message from the server that is decoded already.
func receive(received: Message) -> void:
	if not received.problem.is_empty():
		_close("the server sent what is no message: %s" % received.problem)
	elif received.id != 0:
		_take_reply(received)
	else:
		_take_pushed(received)


## Takes a message that is decoded already, if it is a reply that tells of nothing but itself and
## everything before it has been told: the short way for what comes in each frame. Else false, and
## it is for [method receive].
func take_reply(received: Message) -> bool:
	if state != State.OPEN or not _events.is_empty() or not received.problem.is_empty():
		return false
	if received.is_error or received.id not in _pending:
		return false
	if not received.has_more:
		_pending.erase(received.id)
	return true


## Returns the next thing that happened; see [member message], [member lost], [member reason].
func next_event() -> Event:
	if _events.is_empty():
		return Event.NONE
	var tell: Callable = _events.pop_front()
	return tell.call()


## Returns the messages to send, in order; they are not touched any more.
func take_outgoing() -> Array[Message]:
	if state == State.OPEN:
		while not _unsent.is_empty() and _pending.size() - _unsent.size() < REQUEST_LIMIT:
			var id: int = _unsent.pop_front()
			if id in _pending:
				_pending[id].header["done"] = _get_done()
				_outgoing.append(_pending[id])
	var taken: Array[Message] = _outgoing
	_outgoing = []
	return taken


## Returns how many requests have no reply.
func get_pending_count() -> int:
	return _pending.size()


func _greet() -> void:
	state = State.GREETING
	var hello: Message = Message.new("hello")
	_hello_id = _next_id
	_next_id += 1
	hello.header["id"] = _hello_id
	hello.header["session"] = _session
	hello.header["protocol"] = PROTOCOL
	hello.header["client"] = "navserver for Godot"
	_outgoing = [hello]


## All requests up to the returned id have been answered.
func _get_done() -> int:
	for id: int in _pending:
		return id - 1
	return _next_id - 1


func _take_reply(received: Message) -> void:
	var id: int = received.id
	var failed: bool = received.is_error
	if state == State.GREETING and id == _hello_id:
		if failed:
			_close("%s; %s" % [received.get_text("problem"), received.get_text("remedy")])
		else:
			_open(received)
	elif state == State.OPEN and failed and received.get_text("code") == "no_session":
		_greet()
	elif state == State.OPEN and id in _pending:
		if not received.has_more:
			_pending.erase(id)
		_events.append(_tell.bind(Event.REPLY, received))


func _take_pushed(received: Message) -> void:
	if received.get_type() != "goodbye":
		_events.append(_tell.bind(Event.PUSHED, received))
		return
	var why: String = received.get_text("reason")
	if why == "replaced":
		_close("another client took this session over; give each client a session of its own")
		return
	state = State.DOWN
	_events.append(_tell.bind(Event.LEFT, received))


func _open(hello: Message) -> void:
	state = State.OPEN
	capabilities = hello.get_texts("capabilities")
	server = hello.get_text("server")
	var instance: String = hello.get_text("instance")
	var known: bool = hello.get_flag("resumed") and instance == _instance
	var first: bool = _instance.is_empty()
	_instance = instance
	_unsent.clear()
	if known or first:
		_unsent.assign(_pending.keys())
		if known:
			# Those that were sent may be in the hands of another thread still.
			for id: int in _pending:
				_pending[id] = _pending[id].seal()
		_events.append(_tell.bind(Event.OPENED, hello))
		return
	var ids: PackedInt64Array = PackedInt64Array(_pending.keys())
	_pending.clear()
	_events.append(_tell_lost.bind(ids, hello))


func _close(why: String) -> void:
	if state == State.CLOSED:
		return
	state = State.CLOSED
	reason = why
	_outgoing.clear()
	_events.append(_tell.bind(Event.CLOSED, null))


func _tell(event: Event, told: Message) -> Event:
	message = told
	return event


func _tell_lost(ids: PackedInt64Array, hello: Message) -> Event:
	lost = ids
	message = hello
	return Event.RESTARTED
