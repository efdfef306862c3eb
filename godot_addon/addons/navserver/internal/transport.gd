extends RefCounted
## The addon's one socket: TCP to a server on this machine, with a ZMTP connection on top.
##
## [method poll] is called once a frame. It never waits, and it reads and writes at most a budget of
## bytes: what is left stays with the system until the next frame.

## From opening to [constant State.CLOSED], which opening again leads out of.
enum State { CLOSED, CONNECTING, OPEN }

const ZmtpConnection := preload("zmtp_connection.gd")

## Bytes that a poll reads and that it writes at most; to parse 1 MiB takes about 6 ms.
const DEFAULT_BUDGET: int = 1 << 18
# localhost may mean IPv6, and the server listens on this address alone.
const _HOST: String = "127.0.0.1"
const _CHUNK: int = 1 << 16

## Where the transport stands.
var state: State = State.CLOSED
## Why it closed; empty after [method close].
var reason: String = ""
## The last closing was the peer's refusal of the password: to try again is useless.
var refused: bool = false
## Bytes that were sent and received, on all connections.
var moved_bytes: int = 0

var _heard_msec: int = 0
var _stream: StreamPeerTCP = null
var _connection: ZmtpConnection = null
var _unsent: Array[PackedByteArray] = []
# How much of the first of _unsent is sent.
var _sent: int = 0


## Begins to connect; [method poll] goes on with it.
func open(port: int, name: String, password: String) -> void:
	close()
	if port < 1 or port > 65535:
		_close("%d is no port" % port)
		return
	_stream = StreamPeerTCP.new()
	_connection = ZmtpConnection.new(name, password)
	state = State.CONNECTING
	_heard_msec = Time.get_ticks_msec()
	if _stream.connect_to_host(_HOST, port) != OK:
		_close("the system does not connect to %s:%d" % [_HOST, port])


## Ends the connection at once; what is unsent is lost.
func close() -> void:
	if _stream != null:
		_stream.disconnect_from_host()
	_stream = null
	_connection = null
	_unsent.clear()
	_sent = 0
	state = State.CLOSED
	reason = ""
	refused = false


## Moves bytes in both directions, at most [param budget] in each.
func poll(budget: int = DEFAULT_BUDGET) -> void:
	if state == State.CLOSED:
		return
	_stream.poll()
	match _stream.get_status():
		StreamPeerTCP.STATUS_CONNECTING:
			return
		StreamPeerTCP.STATUS_CONNECTED:
			_exchange(budget)
		_:
			var nobody: bool = state == State.CONNECTING
			_close("nobody listens there" if nobody else "the peer closed the connection")


## Sends what is queued, as far as the system takes it, and at most [param budget] bytes.
func flush(budget: int = DEFAULT_BUDGET) -> void:
	if state == State.OPEN:
		_send(budget)


## Returns the frames of the next message that arrived; none if there is none.
func next_message() -> Array[PackedByteArray]:
	if _connection == null:
		return []
	var message: Array[PackedByteArray] = _connection.next_message()
	_follow_connection()
	return message


## Queues a message; fails unless the transport is open.
func send_message(frames: Array[PackedByteArray]) -> Error:
	return ERR_UNCONFIGURED if _connection == null else _connection.send_message(frames)


## Returns how many queued bytes the system has not taken yet.
func get_unsent_size() -> int:
	var size: int = -_sent
	for part: PackedByteArray in _unsent:
		size += part.size()
	return size


## Returns how many bytes have arrived and are no message yet.
func get_waiting_size() -> int:
	if state != State.OPEN:
		return 0
	return _stream.get_available_bytes() + _connection.get_unread_size()


## Returns for how long the peer has said nothing; a server sends a heartbeat every two seconds.
func get_silence_msec() -> int:
	return Time.get_ticks_msec() - _heard_msec


func _close(why: String, by_refusal: bool = false) -> void:
	close()
	reason = why
	refused = by_refusal


func _exchange(budget: int) -> void:
	if state == State.CONNECTING:
		_stream.set_no_delay(true)
	_receive(budget)
	if state == State.CONNECTING:
		# There are no messages before the handshake is over, only its own steps.
		_connection.next_message()
		_follow_connection()
	_send(budget)


func _follow_connection() -> void:
	if _connection.is_over():
		_close(_connection.reason, _connection.state == ZmtpConnection.State.REFUSED)
	elif state == State.CONNECTING and _connection.state == ZmtpConnection.State.OPEN:
		state = State.OPEN


func _receive(budget: int) -> void:
	while budget > 0 and state != State.CLOSED:
		var available: int = mini(_stream.get_available_bytes(), budget)
		if available <= 0:
			return
		var answer: Array = _stream.get_partial_data(available)
		var error: Error = answer[0]
		var bytes: PackedByteArray = answer[1]
		if error != OK:
			_close("the peer closed the connection")
		elif bytes.is_empty():
			return
		else:
			_connection.receive_data(bytes)
			_heard_msec = Time.get_ticks_msec()
			budget -= bytes.size()
			moved_bytes += bytes.size()
			if bytes.size() == available:
				# What comes meanwhile is for the next time.
				return


func _send(budget: int) -> void:
	if state == State.CLOSED:
		return
	_unsent.append_array(_connection.take_outgoing())
	while budget > 0 and not _unsent.is_empty():
		var chunk: PackedByteArray = _unsent[0]
		if _sent > 0 or chunk.size() > mini(_CHUNK, budget):
			chunk = chunk.slice(_sent, _sent + mini(_CHUNK, budget))
		var answer: Array = _stream.put_partial_data(chunk)
		var error: Error = answer[0]
		var count: int = answer[1]
		if error != OK:
			_close("the peer closed the connection")
			return
		budget -= count
		moved_bytes += count
		_sent += count
		if _sent == _unsent[0].size():
			_unsent.pop_front()
			_sent = 0
		elif count < chunk.size():
			return
