extends RefCounted
## Carries messages to a server and back; encodes and sends, receives and decodes them.
##
## Where there are threads one of its own does that while the frame goes on, and sleeps when
## nothing is on its way. It has no say over the order: whoever has the work in hand, the thread or
## who calls [method poll], does all of it, sends what [method send] took in that order, and hands
## on what arrives in the order of its arrival. Without threads the caller does the same, at most a
## budget of bytes and time a call. Who has opened it has to [method end] it.

const Message := preload("message.gd")
const Msgpack := preload("msgpack.gd")
const Settings := preload("settings.gd")
const Transport := preload("transport.gd")

# More messages than this wait in the socket until the owner has taken some.
const _INBOX_LIMIT: int = 256
# What has arrived since the thread looked last, longer than this before the frame, is read without
# it if it has no more bytes than that.
const _FRESH_USEC: int = 2000
const _SMALL_SIZE: int = 1 << 14
# How often the thread looks for answers, and for how long after the last frame that asked.
const _PAUSE_USEC: int = 200
const _ATTENTION_USEC: int = 100_000
const _NEVER: int = 1 << 62
# It looks no more so long before the next frame is due.
const _MARGIN_USEC: int = 300

## Where the transport stands, as of the last call of this object.
var state: Transport.State = Transport.State.CLOSED
## Why it closed; empty after [method close].
var reason: String = ""
## The last closing was the peer's refusal of the password.
var refused: bool = false
## Bytes that were sent and received so far.
var moved_bytes: int = 0
## Takes each message that arrived, to make its content of it; of that alone, since it may be called
## on the thread. To be set before opening.
var prepare: Callable = Callable()

# What the owner has taken over and not handed on.
var _received: Array[Message] = []
var _has_refused: bool = false
var _silence_msec: int = 0
var _thread: Thread = null
var _wake: Semaphore = Semaphore.new()
# Whoever holds it may touch the transport and the codec.
var _work: Mutex = Mutex.new()
var _transport: Transport = Transport.new()
var _codec: Msgpack = Msgpack.new()
# Whoever holds it, for a moment, may touch what follows.
var _shared: Mutex = Mutex.new()
var _outbox: Array[Message] = []
var _inbox: Array[Message] = []
var _refused_messages: Array[Message] = []
var _told_state: Transport.State = Transport.State.CLOSED
var _told_reason: String = ""
var _told_refused: bool = false
var _told_silence_msec: int = 0
var _told_moved_bytes: int = 0
var _unsent_size: int = 0
var _attentive_until: int = 0
var _is_awake: bool = false
# Whether the thread waits until it is woken.
var _is_waiting: bool = false
# Whether the scripts of a frame run, since when, and from when on the next ones may.
var _is_held: bool = false
var _held_usec: int = 0
# When somebody has looked for what arrived.
var _looked_usec: int = 0
var _next_usec: int = _NEVER
var _is_ending: bool = false


## Begins to connect; [method poll] goes on with it.
func open(port: int, name: String, password: String) -> void:
	_work.lock()
	_forget()
	_transport.open(port, name, password)
	_tell()
	_work.unlock()
	_take_over()
	if _thread == null and Settings.has_threads():
		_is_ending = false
		_is_awake = true
		_is_waiting = false
		# One that has ended may have left a wakening behind.
		_wake = Semaphore.new()
		_thread = Thread.new()
		_thread.start(_run)


## Ends the connection at once; what is unsent or was not taken is lost.
func close() -> void:
	_work.lock()
	_forget()
	_transport.close()
	_tell()
	_work.unlock()
	_take_over()


## Closes, and ends the thread; opening starts another.
func end() -> void:
	close()
	if _thread == null:
		return
	_shared.lock()
	_is_ending = true
	_shared.unlock()
	_wake.post()
	_thread.wait_to_finish()
	_thread = null


## Takes in what has arrived and sends what is left, unless the thread sees to that; decodes until
## [param deadline_usec] of [Time]. If the thread is at rest and has looked shortly before the
## frame, that will do; else what is large is left to it all the same. Who [param is_waiting] leaves
## nothing.
func poll(deadline_usec: int, is_waiting: bool = false) -> void:
	var is_seen_to: bool = false
	var is_resting: bool = false
	if _thread != null and not is_waiting:
		_shared.lock()
		is_resting = _is_awake and _is_waiting
		var is_fresh: bool = _held_usec - _looked_usec < _FRESH_USEC
		is_seen_to = _is_awake and (not _is_waiting or is_fresh)
		_shared.unlock()
	if not is_seen_to and _work.try_lock():
		if not is_resting or _transport.get_waiting_size() <= _SMALL_SIZE:
			_do_round(deadline_usec)
		_work.unlock()
	_take_over()


## Takes messages to be sent; nobody may change them any more.
func send(messages: Array[Message]) -> void:
	_shared.lock()
	_outbox.append_array(messages)
	_shared.unlock()


## Lets what was taken leave now. With [param is_expecting] somebody waits for answers, which are
## then received meanwhile.
func flush(is_expecting: bool) -> void:
	if _thread == null:
		_send()
		_tell()
		_take_over()
		return
	_shared.lock()
	if is_expecting or not _outbox.is_empty():
		_attentive_until = Time.get_ticks_usec() + _ATTENTION_USEC
		_is_awake = true
	_shared.unlock()
	_wake_up()


## Keeps the thread at rest until [method release], while the scripts of a frame run. Threads that
## run scripts meet in locks of the engine that do not sleep: if one loses its core to the other
## while it holds such a lock, the other waits for it in vain until its time slice is over. From the
## times of frames the thread tells when the next is due, and is at rest by then.
func hold() -> void:
	var now: int = Time.get_ticks_usec()
	_shared.lock()
	_is_held = true
	_next_usec = now + (now - _held_usec) - _MARGIN_USEC
	_held_usec = now
	_shared.unlock()


## Ends what [method hold] began.
func release() -> void:
	_shared.lock()
	_is_held = false
	_shared.unlock()
	_wake_up()


## Returns the next message that arrived, with its problem if it is none; null if none did.
func next_message() -> Message:
	return null if _received.is_empty() else _received.pop_front()


## Returns the messages that could not be sent, each with its problem, and forgets them.
func take_refused() -> Array[Message]:
	if not _has_refused:
		return []
	_has_refused = false
	_shared.lock()
	var taken: Array[Message] = _refused_messages
	_refused_messages = []
	_shared.unlock()
	return taken


## Returns for how long the peer has said nothing.
func get_silence_msec() -> int:
	return _silence_msec


func _run() -> void:
	while _rest():
		_work.lock()
		_do_round(_NEVER)
		_work.unlock()


## Wakes the thread if there is something to do and it may.
func _wake_up() -> void:
	_shared.lock()
	var is_due: bool = _is_waiting and _is_awake and not _is_held
	if is_due:
		_is_waiting = false
	_shared.unlock()
	if is_due:
		_wake.post()


## Lets the thread wait until there may be something to do; false at the end.
func _rest() -> bool:
	_shared.lock()
	var is_busy: bool = not _outbox.is_empty() and _told_state == Transport.State.OPEN
	var is_attentive: bool = (
		_told_state != Transport.State.CLOSED
		and (_unsent_size > 0 or Time.get_ticks_usec() < _attentive_until)
	)
	_is_awake = is_busy or is_attentive
	var is_frame_due: bool = Time.get_ticks_usec() + _PAUSE_USEC > _next_usec
	_is_waiting = not _is_awake or _is_held or is_frame_due
	var waits: bool = _is_waiting
	var is_over: bool = _is_ending
	_shared.unlock()
	if is_over:
		return false
	if waits:
		_wake.wait()
	elif not is_busy:
		OS.delay_usec(_PAUSE_USEC)
	return true


## Does what there is to do; whoever holds the work calls it.
func _do_round(deadline_usec: int) -> void:
	if _transport.state != Transport.State.CLOSED:
		_transport.poll()
		_receive(deadline_usec)
		_send()
	_tell()


func _receive(deadline_usec: int) -> void:
	_shared.lock()
	var room: int = _INBOX_LIMIT - _inbox.size()
	_shared.unlock()
	var arrived: Array[Message] = []
	while arrived.size() < room and _transport.state == Transport.State.OPEN:
		var frames: Array[PackedByteArray] = _transport.next_message()
		if frames.is_empty():
			break
		var message: Message = Message.new()
		message.decode(frames, _codec)
		if prepare.is_valid() and message.problem.is_empty():
			prepare.call(message)
		arrived.append(message)
		if Time.get_ticks_usec() > deadline_usec:
			break
	if arrived.is_empty():
		return
	_shared.lock()
	_inbox.append_array(arrived)
	_shared.unlock()


func _send() -> void:
	if _transport.state != Transport.State.OPEN:
		return
	_shared.lock()
	var messages: Array[Message] = _outbox
	_outbox = []
	_shared.unlock()
	for message: Message in messages:
		var frames: Array[PackedByteArray] = message.encode(_codec)
		if not frames.is_empty():
			_transport.send_message(frames)
			continue
		_shared.lock()
		_refused_messages.append(message)
		_shared.unlock()
	_transport.flush()


## Makes known where the transport stands.
func _tell() -> void:
	_shared.lock()
	_told_state = _transport.state
	_told_reason = _transport.reason
	_told_refused = _transport.refused
	_told_silence_msec = _transport.get_silence_msec()
	_told_moved_bytes = _transport.moved_bytes
	_unsent_size = _transport.get_unsent_size()
	_looked_usec = Time.get_ticks_usec()
	_shared.unlock()


## Forgets all messages; the work has to be in hand.
func _forget() -> void:
	_shared.lock()
	_outbox.clear()
	_inbox.clear()
	_refused_messages.clear()
	_shared.unlock()
	_received.clear()


## Takes over what has been made known.
func _take_over() -> void:
	_shared.lock()
	state = _told_state
	reason = _told_reason
	refused = _told_refused
	_has_refused = not _refused_messages.is_empty()
	_silence_msec = _told_silence_msec
	moved_bytes = _told_moved_bytes
	if not _inbox.is_empty():
		_received.append_array(_inbox)
		_inbox.clear()
	_shared.unlock()
