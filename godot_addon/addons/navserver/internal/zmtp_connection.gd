extends RefCounted
## The client's side of one ZMTP 3.1 connection: a DEALER that gives a name and a password (PLAIN).
##
## Without a socket: what arrived goes into [method receive_data], [method next_message] works it
## off and returns whole messages, and [method take_outgoing] returns what is to be sent, of the
## handshake and of heartbeats too. Whatever the bytes, there is no error of the engine: the
## connection ends in [constant State.REFUSED] or [constant State.FAILED] with a [member reason].
## [br][br]
## The wire is that of ZeroMQ RFC 37 (ZMTP 3.1) with RFC 24 (PLAIN). No id is sent: the peer makes
## one up for each connection.

## Where the connection stands; each state but the last three waits for one thing of the peer.
enum State { GREETING, WELCOME, READY, OPEN, REFUSED, FAILED }

## A message may not be larger, whatever its frames announce.
const DEFAULT_MESSAGE_LIMIT: int = 1 << 26
## A message may not have more frames.
const FRAME_LIMIT: int = 64

const _GREETING_SIZE: int = 64
const _MECHANISM: String = "PLAIN"
const _FLAG_MORE: int = 1
const _FLAG_LONG: int = 2
const _FLAG_COMMAND: int = 4
# Commands are short; libzmq's READY has about 40 bytes.
const _COMMAND_LIMIT: int = 4096
const _PONG_CONTEXT_LIMIT: int = 16
# Read bytes are cut off once there are so many, and then only if they outweigh the unread.
const _COMPACT_SIZE: int = 1 << 16

## Where the connection stands.
var state: State = State.GREETING
## Why the state is REFUSED or FAILED.
var reason: String = ""
## Messages above this many bytes end the connection.
var message_limit: int = DEFAULT_MESSAGE_LIMIT

var _name: String
var _password: String
var _incoming: PackedByteArray = PackedByteArray()
var _at: int = 0
var _outgoing: Array[PackedByteArray] = []
# Whether more may be appended to the last part of it.
var _may_join: bool = false
# The frames of a message that is not whole yet.
var _frames: Array[PackedByteArray] = []
var _frames_size: int = 0
# The frame that _take_frame found.
var _flags: int = 0
var _body: PackedByteArray = PackedByteArray()


## Begins a connection: the greeting is ready to be sent.
func _init(name: String, password: String) -> void:
	_name = name
	_password = password
	_outgoing.append(_make_greeting())


## Takes in bytes from the peer; nothing is read in them yet.
func receive_data(bytes: PackedByteArray) -> void:
	if not is_over():
		_incoming.append_array(bytes)


## Returns the frames of the next whole message; none if more bytes are needed.
func next_message() -> Array[PackedByteArray]:
	while not is_over():
		if state == State.GREETING:
			if not _take_greeting():
				break
			continue
		if not _take_frame():
			break
		if _flags & _FLAG_COMMAND:
			_take_command()
			continue
		if state != State.OPEN:
			_end(State.FAILED, "a message came before the handshake was over")
			break
		_frames.append(_body)
		_frames_size += _body.size()
		if _flags & _FLAG_MORE:
			continue
		var message: Array[PackedByteArray] = _frames
		_frames = []
		_frames_size = 0
		return message
	return []


## Queues a message of one or more frames; fails unless the connection is open.
func send_message(frames: Array[PackedByteArray]) -> Error:
	if state != State.OPEN:
		return ERR_UNCONFIGURED
	if frames.is_empty() or frames.size() > FRAME_LIMIT:
		return ERR_INVALID_PARAMETER
	for index: int in frames.size():
		var last: bool = index == frames.size() - 1
		_queue_frame(0 if last else _FLAG_MORE, frames[index])
	return OK


## Returns what is to be sent, in order, and forgets it.
func take_outgoing() -> Array[PackedByteArray]:
	var taken: Array[PackedByteArray] = _outgoing
	_outgoing = []
	_may_join = false
	return taken


## Returns how many bytes have come in of messages that were not returned.
func get_unread_size() -> int:
	return _frames_size + _incoming.size() - _at


## Tells whether the connection has ended, refused or failed.
func is_over() -> bool:
	return state >= State.REFUSED


func _end(final: State, why: String) -> void:
	state = final
	reason = why
	_incoming.clear()
	_at = 0
	_frames.clear()
	_outgoing.clear()
	_may_join = false


static func _make_greeting() -> PackedByteArray:
	var greeting: PackedByteArray = PackedByteArray()
	greeting.resize(_GREETING_SIZE)
	greeting[0] = 0xff
	greeting[9] = 0x7f
	greeting[10] = 3
	greeting[11] = 1
	var mechanism: PackedByteArray = _MECHANISM.to_ascii_buffer()
	for index: int in mechanism.size():
		greeting[12 + index] = mechanism[index]
	return greeting


func _take_greeting() -> bool:
	var size: int = _incoming.size() - _at
	# A peer of another kind may never send 64 bytes, so each byte is judged when it is there.
	if size > 0 and _incoming[_at] != 0xff or size > 9 and _incoming[_at + 9] & 1 == 0:
		_end(State.FAILED, "what listens there does not speak ZeroMQ")
	elif size > 10 and _incoming[_at + 10] < 3:
		_end(State.FAILED, "the peer speaks ZMTP %d, not 3" % _incoming[_at + 10])
	elif size >= _GREETING_SIZE:
		var mechanism: PackedByteArray = _incoming.slice(_at + 12, _at + 32)
		if mechanism != _make_greeting().slice(12, 32):
			_end(State.FAILED, "the peer does not ask for a password (PLAIN)")
			return false
		_discard(_GREETING_SIZE)
		var hello: PackedByteArray = PackedByteArray()
		_append_short(hello, "HELLO".to_ascii_buffer())
		_append_short(hello, _name.to_utf8_buffer())
		_append_short(hello, _password.to_utf8_buffer())
		_queue_frame(_FLAG_COMMAND, hello)
		state = State.WELCOME
		return true
	return false


## Takes one whole frame into _flags and _body; a size beyond the limits ends the connection.
func _take_frame() -> bool:
	var size: int = _incoming.size() - _at
	if size < 2:
		return false
	var flags: int = _incoming[_at]
	var head: int = 9 if flags & _FLAG_LONG else 2
	if flags > 7 or flags & _FLAG_COMMAND and flags & _FLAG_MORE:
		_end(State.FAILED, "0x%02x are no flags of a frame" % flags)
		return false
	if size < head:
		return false
	var length: int = 0
	for index: int in range(_at + 1, _at + head):
		length = length << 8 | _incoming[index]
	if not _is_frame_allowed(flags, length) or size < head + length:
		return false
	_flags = flags
	_body = _incoming.slice(_at + head, _at + head + length)
	_discard(head + length)
	return true


func _is_frame_allowed(flags: int, length: int) -> bool:
	# 64 bits of length may read as a negative number.
	if flags & _FLAG_COMMAND:
		if length < 0 or length > _COMMAND_LIMIT:
			_end(State.FAILED, "a command is larger than %d bytes" % _COMMAND_LIMIT)
	elif length < 0 or length > message_limit - _frames_size:
		_end(State.FAILED, "a message is larger than %d bytes" % message_limit)
	elif _frames.size() >= FRAME_LIMIT:
		_end(State.FAILED, "a message has more than %d frames" % FRAME_LIMIT)
	return not is_over()


func _discard(count: int) -> void:
	_at += count
	if _at == _incoming.size():
		_incoming.clear()
		_at = 0
	elif _at > _COMPACT_SIZE and _at * 2 > _incoming.size():
		_incoming = _incoming.slice(_at)
		_at = 0


func _take_command() -> void:
	var name: PackedByteArray = _short_at(_body, 0)
	var rest: PackedByteArray = _body.slice(1 + name.size())
	# get_string_from_ascii() would complain about bytes that are none.
	if state == State.WELCOME and name == "WELCOME".to_ascii_buffer():
		_queue_frame(_FLAG_COMMAND, _make_initiate())
		state = State.READY
	elif state == State.READY and name == "READY".to_ascii_buffer():
		if _socket_type(rest) == "ROUTER".to_ascii_buffer():
			state = State.OPEN
		else:
			_end(State.FAILED, "the peer is no ROUTER")
	elif state == State.OPEN:
		if name == "PING".to_ascii_buffer():
			_answer_ping(rest)
		elif name == "ERROR".to_ascii_buffer():
			_end(State.FAILED, "the peer reports an error of the connection")
	else:
		# libzmq's ERROR is malformed under PLAIN, so any other command is a refusal.
		_end(State.REFUSED, "the peer refuses the password")


func _answer_ping(ttl_and_context: PackedByteArray) -> void:
	if ttl_and_context.size() < 2 or ttl_and_context.size() > 2 + _PONG_CONTEXT_LIMIT:
		_end(State.FAILED, "a PING of %d bytes" % ttl_and_context.size())
		return
	var pong: PackedByteArray = PackedByteArray()
	_append_short(pong, "PONG".to_ascii_buffer())
	pong.append_array(ttl_and_context.slice(2))
	_queue_frame(_FLAG_COMMAND, pong)


static func _make_initiate() -> PackedByteArray:
	var initiate: PackedByteArray = PackedByteArray()
	_append_short(initiate, "INITIATE".to_ascii_buffer())
	_append_short(initiate, "Socket-Type".to_ascii_buffer())
	var type: PackedByteArray = "DEALER".to_ascii_buffer()
	initiate.append_array([0, 0, 0, type.size()])
	initiate.append_array(type)
	return initiate


## Returns what the metadata of READY call the peer's type; nothing where they are malformed.
static func _socket_type(metadata: PackedByteArray) -> PackedByteArray:
	var at: int = 0
	while at < metadata.size():
		var key: PackedByteArray = _short_at(metadata, at)
		at += 1 + key.size()
		if at + 4 > metadata.size():
			break
		var length: int = 0
		for index: int in range(at, at + 4):
			length = length << 8 | metadata[index]
		at += 4
		if at + length > metadata.size():
			break
		if key.size() == 11 and key.get_string_from_ascii().to_lower() == "socket-type":
			return metadata.slice(at, at + length)
		at += length
	return PackedByteArray()


static func _append_short(bytes: PackedByteArray, item: PackedByteArray) -> void:
	var whole: PackedByteArray = item.slice(0, 255)
	bytes.append(whole.size())
	bytes.append_array(whole)


## Returns the item at [param at] that is preceded by a byte of length, as much of it as is there.
static func _short_at(bytes: PackedByteArray, at: int) -> PackedByteArray:
	if at >= bytes.size():
		return PackedByteArray()
	return bytes.slice(at + 1, at + 1 + bytes[at])


func _queue_frame(flags: int, body: PackedByteArray) -> void:
	var head: PackedByteArray = PackedByteArray()
	if body.size() < 256:
		head.append(flags)
		head.append(body.size())
	else:
		head.resize(9)
		head[0] = flags | _FLAG_LONG
		var length: int = body.size()
		for index: int in range(8, 0, -1):
			head[index] = length & 0xff
			length >>= 8
	_queue(head, true)
	_queue(body, false)


## Queues bytes. Small ones join those before them, since the system is called for each part; what
## is not ours is never written to.
func _queue(bytes: PackedByteArray, is_ours: bool) -> void:
	if _may_join and _outgoing[-1].size() + bytes.size() < _COMPACT_SIZE:
		_outgoing[-1].append_array(bytes)
	else:
		_outgoing.append(bytes)
		_may_join = is_ours
