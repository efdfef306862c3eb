extends RefCounted
## Requests of a session, each with whoever takes its reply.

const Message := preload("message.gd")
const Session := preload("session.gd")

var _session: Session
# What to do with the reply to a request, by id.
var _handlers: Dictionary[int, Callable] = {}


## Speaks over a session; the owner hands its replies to [method take_reply].
func _init(session: Session) -> void:
	_session = session


## Sends a message; [param handler] takes the reply, if anything is to be done with it.
func send(message: Message, handler: Callable = Callable()) -> int:
	var id: int = _session.request(message)
	if handler.is_valid():
		_handlers[id] = handler
	return id


## Takes a reply of the session.
func take_reply(reply: Message) -> void:
	var handler: Callable = _handlers.get(reply.id, Callable())
	if not reply.has_more:
		_handlers.erase(reply.id)
	if handler.is_valid():
		handler.call(reply)


## Forgets who takes which reply.
func clear() -> void:
	_handlers.clear()


## Tells whether the server takes messages of a type.
func is_offered(type: String) -> bool:
	return type in _session.capabilities


## Returns the types of the messages that the server takes.
func get_capabilities() -> PackedStringArray:
	return _session.capabilities


## Returns the problem of a reply in words, with the remedy.
static func say_error(reply: Message) -> String:
	return (
		"%s: %s %s; %s"
		% [
			reply.get_text("field"),
			reply.get_text("value"),
			reply.get_text("problem"),
			reply.get_text("remedy"),
		]
	)
