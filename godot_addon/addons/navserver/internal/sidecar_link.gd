extends RefCounted
## Keeps the session with a sidecar: starts one if asked to, connects, connects again.
##
## A connection that breaks is taken up again at once, with the same session, so that a hiccup costs
## nothing. Only if that fails is the sidecar [signal lost]; from then on it is looked for, less and
## less often.

## Where it stands has changed.
signal changed(state: State, reason: String)
## The session is open with a server that knows no world of ours.
signal opened
## The sidecar is gone: what was asked and not answered will not be.
signal lost
## The sidecar compiles: groups done of all.
signal progressed(done: int, total: int)

## OFF looks for nothing.
enum State { OFF, STARTING, CONNECTING, READY }

const Message := preload("message.gd")
const MessagePipe := preload("message_pipe.gd")
const RoundTrips := preload("round_trips.gd")
const Session := preload("session.gd")
const SidecarBackend := preload("sidecar_backend.gd")
const SidecarProcess := preload("sidecar_process.gd")
const Transport := preload("transport.gd")

const _USER: String = "navserver"
# A server sends a heartbeat every two seconds.
const _SILENCE_MSEC: int = 10_000
const _HANDSHAKE_MSEC: int = 5000
# Of one group of searches; requests may come after it even if there was no word of its end.
const _WARMING_MSEC: int = 120_000
# A connection file is a few hundred bytes.
const _FILE_LIMIT: int = 1 << 16
const _FIRST_RETRY_MSEC: int = 100
const _LAST_RETRY_MSEC: int = 2000
# A sidecar that ends by itself is started again, so often; one that has served for so long counts
# as the first.
const _STARTS_LIMIT: int = 3
const _STEADY_MSEC: int = 60_000

## Where it stands.
var state: State = State.OFF
## Finds paths while the state is READY.
var backend: SidecarBackend = null
## The sidecar that was started here; null if none was.
var process: SidecarProcess = null
## Takes the times of messages; null if nobody wants to know.
var trips: RoundTrips = null

var _session: Session = null
var _pipe: MessagePipe = MessagePipe.new()
var _file: String = ""
var _command: PackedStringArray = PackedStringArray()
var _file_to_write: String = ""
var _port: int = 0
var _token: String = ""
var _starts: int = 0
# Since when the session has been open; -1 if it has not been since the sidecar was started.
var _opened_msec: int = -1
var _retry_msec: int = _FIRST_RETRY_MSEC
var _retry_at: int = 0
# When the sidecar last told of its compiling; -1 while it does not compile.
var _warming_msec: int = -1
var _reason: String = ""
# The connection broke and its session may go on.
var _resuming: bool = false
# The transport was opened, and its end was not taken note of yet.
var _is_attached: bool = false


## Connects to the sidecar that a connection file tells of, now and whenever it comes back.
func follow_file(path: String) -> void:
	_file = path
	_retry_at = 0
	_set_state(State.CONNECTING, "looking for the sidecar of %s" % path)


## Starts a sidecar and connects to it; starts it again if it ends by itself.
func start(command: PackedStringArray, connection_file: String = "") -> void:
	_command = command
	_file_to_write = connection_file
	_starts += 1
	process = SidecarProcess.new()
	process.start(command, connection_file)
	_set_state(State.STARTING, "starting %s" % " ".join(command))


## Connects to a port.
func connect_to(port: int, token: String) -> void:
	# Who tries once more keeps the reason why the last try failed.
	var is_new: bool = port != _port or state != State.CONNECTING
	_port = port
	_token = token
	_session = Session.new(Session.make_name())
	if backend != null:
		backend.close()
	backend = SidecarBackend.new(_session)
	_attach()
	if is_new:
		_set_state(State.CONNECTING, "connecting to port %d" % port)


## Ends the connection, and the sidecar if it was started here.
func stop(reason: String = "stopped") -> void:
	var was_ready: bool = state == State.READY or _resuming
	_is_attached = false
	_pipe.end()
	_resuming = false
	_warming_msec = -1
	if process != null:
		process.stop()
	process = null
	if backend != null:
		backend.close()
	_file = ""
	_command = PackedStringArray()
	_starts = 0
	_port = 0
	_set_state(State.OFF, reason)
	if was_ready:
		lost.emit()


## Goes on with whatever is under way; hands on what arrived until [param deadline_usec] of [Time].
## Who [param is_waiting] has nothing else to do.
func poll(deadline_usec: int, is_waiting: bool = false) -> void:
	if process != null:
		process.poll()
		if state == State.STARTING and process.state == SidecarProcess.State.READY:
			connect_to(process.port, process.token)
		elif process.state == SidecarProcess.State.ENDED:
			_take_end_of_process()
		elif state == State.STARTING:
			var wait: String = process.describe_wait()
			if not wait.is_empty():
				_set_state(State.STARTING, wait)
	if state == State.OFF or state == State.STARTING:
		return
	if not _is_attached:
		_look_again()
		return
	# What has arrived before comes first, however much there is.
	if backend != null:
		backend.poll(deadline_usec)
	_pipe.poll(deadline_usec, is_waiting)
	_exchange(deadline_usec)
	if state != State.OFF:
		backend.poll(deadline_usec)
	if state != State.OFF and _is_attached:
		_watch_connection()


## Notices that the connection has ended, whoever used it last, or hangs.
func _watch_connection() -> void:
	if _warming_msec >= 0 and Time.get_ticks_msec() - _warming_msec > _WARMING_MSEC:
		_open_up()
		return
	var limit: int = _SILENCE_MSEC
	if _pipe.state == Transport.State.CONNECTING:
		limit = _HANDSHAKE_MSEC
	if _pipe.state == Transport.State.CLOSED:
		_take_break(_pipe.reason, _pipe.refused)
	elif _pipe.get_silence_msec() > limit:
		_take_break("the sidecar says nothing", false)


func _attach() -> void:
	_is_attached = true
	_pipe.prepare = SidecarBackend.prepare
	_pipe.open(_port, _USER, _token)


func _detach() -> void:
	_is_attached = false
	_pipe.close()


## Lets leave what was asked for.
func flush() -> void:
	if state == State.READY:
		_send_requests()
		_pipe.flush(_session.get_pending_count() > 0)


## Leaves the processor to the scripts of a frame, until [method release].
func hold() -> void:
	_pipe.hold()


## Ends what [method hold] began.
func release() -> void:
	_pipe.release()


## Tells whether there is a server at the other end, be it compiling.
func is_connected_to_server() -> bool:
	return state == State.READY or _pipe.state == Transport.State.OPEN


## Returns how many bytes were sent and received so far.
func get_moved_bytes() -> int:
	return _pipe.moved_bytes


## Tells whether every request is answered.
func is_idle() -> bool:
	return state != State.READY or _session.get_pending_count() == 0 and backend.is_idle()


func _set_state(next: State, reason: String) -> void:
	if next != state or reason != _reason:
		state = next
		_reason = reason
		changed.emit(state, reason)


func _exchange(deadline_usec: int) -> void:
	if _pipe.state == Transport.State.OPEN:
		_session.connected()
	# What arrived before a connection broke counts; there is nothing more once it is given up.
	var message: Message = _pipe.next_message()
	while message != null:
		if _session.take_reply(message):
			_take_reply(message)
		else:
			_session.receive(message)
			_take_events()
		if Time.get_ticks_usec() > deadline_usec:
			break
		message = _pipe.next_message()
	if _send_requests():
		_pipe.flush(true)


## Hands requests to the pipe; tells whether there were any.
func _send_requests() -> bool:
	if _pipe.state != Transport.State.OPEN:
		return false
	for message: Message in _pipe.take_refused():
		push_error("navserver: a request was not sent: %s" % message.problem)
		_session.forget(message.get_integer("id"))
	var outgoing: Array[Message] = _session.take_outgoing()
	if not outgoing.is_empty():
		_pipe.send(outgoing)
	if trips != null:
		for message: Message in outgoing:
			trips.begin(message.get_integer("id"))
	return not outgoing.is_empty()


func _take_events() -> void:
	while true:
		match _session.next_event():
			Session.Event.NONE:
				return
			Session.Event.OPENED:
				_take_opened(not _resuming)
			Session.Event.RESTARTED:
				_take_opened(true)
			Session.Event.REPLY:
				_take_reply(_session.message)
			Session.Event.PUSHED:
				_take_pushed(_session.message)
			Session.Event.LEFT:
				var is_over: bool = _session.message.get_text("reason") == "shutdown"
				_take_break("the sidecar ended%s" % ("" if is_over else " the session"), false)
			Session.Event.CLOSED:
				stop(_session.reason)


func _take_reply(reply: Message) -> void:
	if trips != null:
		trips.end(reply.id)
	backend.take_reply(reply)


func _take_opened(anew: bool) -> void:
	_resuming = false
	_opened_msec = Time.get_ticks_msec()
	_retry_msec = _FIRST_RETRY_MSEC
	var hello: Message = _session.message
	var done: int = hello.get_integer("warm_up_done")
	var total: int = hello.get_integer("warm_up_total")
	if not anew:
		_set_state(State.READY, "connected to %s" % _session.server)
	elif done < total:
		_warming_msec = Time.get_ticks_msec()
		_set_state(State.CONNECTING, "%s compiles its searches" % _session.server)
	else:
		_open_up()
	if done < total:
		progressed.emit(done, total)


## Lets requests in; before, they would wait for the compiler.
func _open_up() -> void:
	_warming_msec = -1
	if trips != null:
		trips.forget()
	backend.forget_watches()
	_set_state(State.READY, "connected to %s" % _session.server)
	# Who was told may have stopped it.
	if state == State.READY:
		opened.emit()


func _take_progress(done: int, total: int) -> void:
	progressed.emit(done, total)
	if _warming_msec >= 0:
		_warming_msec = Time.get_ticks_msec()
		if done >= total:
			_open_up()


func _take_pushed(event: Message) -> void:
	match event.get_type():
		"path_invalid":
			backend.take_path_invalid(event)
		"progress":
			_take_progress(event.get_integer("done"), event.get_integer("total"))


func _take_break(reason: String, refused: bool) -> void:
	_detach()
	_session.disconnected()
	_warming_msec = -1
	if state == State.READY:
		_resuming = true
		_set_state(State.CONNECTING, reason)
		_attach()
		return
	if _resuming:
		_resuming = false
		lost.emit()
	if refused and _file.is_empty():
		stop(reason)
		return
	_retry_at = Time.get_ticks_msec() + _retry_msec
	_retry_msec = mini(_retry_msec * 2, _LAST_RETRY_MSEC)
	_set_state(State.CONNECTING, "port %d: %s; trying again" % [_port, reason])


func _look_again() -> void:
	if Time.get_ticks_msec() < _retry_at:
		return
	if _file.is_empty():
		if _port != 0:
			connect_to(_port, _token)
		return
	var ready: SidecarProcess = SidecarProcess.new()
	if ready.read_ready_line(_read_file()):
		connect_to(ready.port, ready.token)
		return
	_retry_at = Time.get_ticks_msec() + _retry_msec
	_retry_msec = mini(_retry_msec * 2, _LAST_RETRY_MSEC)


## Returns what the connection file says; empty as long as it says nothing.
func _read_file() -> Dictionary:
	var bytes: PackedByteArray = PackedByteArray()
	if FileAccess.file_exists(_file):
		bytes = FileAccess.get_file_as_bytes(_file)
	var json: JSON = JSON.new()
	# Of what is no text the engine prints an error for each byte.
	if bytes.is_empty() or bytes[0] != 0x7b or bytes.size() > _FILE_LIMIT:
		return {}
	if json.parse(bytes.get_string_from_utf8()) != OK or json.data is not Dictionary:
		return {}
	return json.data


func _take_end_of_process() -> void:
	var problem: String = process.problem
	if _opened_msec >= 0 and Time.get_ticks_msec() - _opened_msec > _STEADY_MSEC:
		_starts = 0
	_opened_msec = -1
	if not process.may_recover:
		stop(problem)
		return
	if _starts >= _STARTS_LIMIT:
		stop("%s; it was started %d times" % [problem, _starts])
		return
	var was_ready: bool = state == State.READY or _resuming
	_detach()
	_resuming = false
	if was_ready:
		lost.emit()
	start(_command, _file_to_write)
