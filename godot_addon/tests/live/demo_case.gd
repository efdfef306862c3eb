extends "../test_case.gd"
## What tests that play a demo extend: a player with a mouse and keys, and time of the game's own.
##
## They run with [code]--fixed-fps 60[/code], where each frame is a sixtieth of a second however
## long it takes, and in lockstep with the sidecar of the connection file [code]file=[/code].
## Whoever started that sidecar starts it again when it ends.
## [br][br]
## Replies come in the frame that asked, and what the sidecar tells of its own accord, such as that
## a path is broken, in the next one.

const Message := preload("../../addons/navserver/internal/message.gd")

const _FPS: int = 60
const _WINDOW: Vector2i = Vector2i(1152, 648)
const _STEADY_FRAMES: int = 3000
const _ANSWER_USEC: int = 30_000_000
# The engine's own lists grow now and then; what is kept each frame makes more than this.
const _MEMORY_TOLERANCE: int = 64 * 1024
const _COUNTERS: Dictionary[String, Performance.Monitor] = {
	"objects": Performance.OBJECT_COUNT,
	"nodes": Performance.OBJECT_NODE_COUNT,
	"orphan nodes": Performance.OBJECT_ORPHAN_NODE_COUNT,
	"bytes of static memory": Performance.MEMORY_STATIC,
}

var _connection: NavServerConnection = NavServer.get_connection()
var _scene: Node2D = null


func before_each() -> void:
	limit_seconds = 900.0
	# Without a display the window is one of 64 x 64.
	tree.root.size = _WINDOW
	_connection.stop_sidecar()
	_connection.follow_connection_file(parameters["file"])
	_connection.lockstep = true
	await wait_until(NavServer.is_available, 60.0, "for the sidecar")


func after_each() -> void:
	free_nodes()
	_connection.lockstep = false
	_connection.stop_sidecar()


## Opens a demo, such as [code]03_rts/rts[/code], and lets it set itself up.
func play(name: String) -> Node2D:
	var packed: PackedScene = load("res://demo/%s.tscn" % name)
	_scene = packed.instantiate()
	add_node(_scene)
	await play_for(0.5)
	return _scene


## Lets the game go on for so many of its seconds; [param each_frame] is called with the number of
## each frame.
func play_for(seconds: float, each_frame: Callable = Callable()) -> void:
	for frame: int in roundi(seconds * _FPS):
		if each_frame.is_valid():
			each_frame.call(frame)
		await _next_frame()


## Lets the game go on until [param condition] holds, for [param seconds] of the game at most; it
## has to.
func play_until(condition: Callable, seconds: float, what: String) -> bool:
	for _frame: int in roundi(seconds * _FPS):
		if condition.call():
			return true
		await _next_frame()
	if condition.call():
		return true
	fail("played %.1f s in vain until %s" % [seconds, what])
	return false


## Moves the mouse to a place in the scene's coordinates.
func move_mouse(place: Vector2) -> void:
	var motion: InputEventMouseMotion = InputEventMouseMotion.new()
	_put(motion, place)
	_send(motion)


## Presses or releases a button of the mouse there.
func press(place: Vector2, button: MouseButton, pressed: bool = true) -> void:
	var event: InputEventMouseButton = InputEventMouseButton.new()
	event.button_index = button
	event.pressed = pressed
	_put(event, place)
	_send(event)


## Moves the mouse there and clicks.
func click(place: Vector2, button: MouseButton = MOUSE_BUTTON_LEFT) -> void:
	move_mouse(place)
	press(place, button, true)
	press(place, button, false)


## Drags with the left button.
func drag(from: Vector2, to: Vector2) -> void:
	move_mouse(from)
	press(from, MOUSE_BUTTON_LEFT, true)
	move_mouse(to)
	press(to, MOUSE_BUTTON_LEFT, false)


## Presses a key and releases it.
func press_key(key: Key) -> void:
	for pressed: bool in [true, false]:
		var event: InputEventKey = InputEventKey.new()
		event.keycode = key
		event.physical_keycode = key
		event.pressed = pressed
		_send(event)


## Kills the sidecar; the game notices that it is gone.
func kill_sidecar() -> void:
	var fields: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(parameters["file"]))
	OS.kill(int(str(fields["pid"]).to_float()))
	await wait_until(
		func() -> bool: return not NavServer.is_available(), 30.0, "for the end of the sidecar"
	)


## Waits until a sidecar is there again.
func await_sidecar() -> void:
	await wait_until(NavServer.is_available, 60.0, "for another sidecar")


## Plays 3,000 frames and holds if neither objects nor nodes nor static memory grow. [param
## each_frame] is called with the number of each frame, for what the player does again and again;
## what it does has to repeat within 1,000 frames.
func check_steady(each_frame: Callable = Callable()) -> void:
	# The least of each third: what a message or a sprite on its way holds for a frame is no growth.
	var floors: Array[Dictionary] = [{}, {}, {}]
	var thirds: int = ceili(_STEADY_FRAMES / 3.0)
	for frame: int in _STEADY_FRAMES:
		if each_frame.is_valid():
			each_frame.call(frame)
		await _next_frame()
		var least: Dictionary = floors[floori(float(frame) / thirds)]
		for counter: String in _COUNTERS:
			var value: int = int(Performance.get_monitor(_COUNTERS[counter]))
			least[counter] = mini(value, int(str(least.get(counter, value))))
	# The first third is there to fill pools and caches.
	for counter: String in _COUNTERS:
		var growth: int = floors[2][counter] - floors[1][counter]
		var tolerance: int = (
			_MEMORY_TOLERANCE if _COUNTERS[counter] == Performance.MEMORY_STATIC else 0
		)
		check(
			growth <= tolerance,
			"%s grew by %d in 1,000 frames, to %d" % [counter, growth, floors[2][counter]]
		)


## Goes on by a frame. A round trip to the sidecar sees to it that what it told before is here.
func _next_frame() -> void:
	await tree.process_frame
	var answered: Array[bool] = [false]
	var take: Callable = func(_reply: Message) -> void: answered[0] = true
	if _connection.ask(Message.new("ping"), take):
		_connection.wait_for(
			func() -> bool: return answered[0] or not NavServer.is_available(),
			Time.get_ticks_usec() + _ANSWER_USEC
		)


func _put(event: InputEventMouse, place: Vector2) -> void:
	event.position = (
		_scene.get_viewport().get_screen_transform()
		* _scene.get_canvas_transform()
		* (_scene.to_global(place))
	)
	event.global_position = event.position


## Sends an event the way of the engine's own; it has reached the scene when this returns.
func _send(event: InputEvent) -> void:
	Input.parse_input_event(event)
	Input.flush_buffered_events()
