extends "../test_case.gd"
## The demos, played by scripted input against a real sidecar [code]file=[/code].

var _connection: NavServerConnection = NavServer.get_connection()


func before_each() -> void:
	_connection.stop_sidecar()
	_connection.follow_connection_file(parameters["file"])
	await wait_until(NavServer.is_available, 60.0, "for the sidecar")


func after_each() -> void:
	free_nodes()
	_connection.stop_sidecar()


func _play(name: String) -> Node2D:
	var packed: PackedScene = load("res://demo/%s.tscn" % name)
	var scene: Node2D = packed.instantiate()
	add_node(scene)
	return scene


func _crowd_of(scene: Node2D) -> NavServerCrowd2D:
	return scene.get_node("NavServerCrowd2D")


## Presses or releases a button at a place of the scene.
func _press(scene: Node2D, place: Vector2, button: MouseButton, pressed: bool) -> void:
	var event: InputEventMouseButton = InputEventMouseButton.new()
	event.button_index = button
	event.pressed = pressed
	event.position = scene.get_canvas_transform() * scene.to_global(place)
	event.global_position = event.position
	scene.get_viewport().push_input(event, true)


func _click(scene: Node2D, place: Vector2, button: MouseButton) -> void:
	_press(scene, place, button, true)
	_press(scene, place, button, false)


func _drag(scene: Node2D, from: Vector2, to: Vector2) -> void:
	_press(scene, from, MOUSE_BUTTON_LEFT, true)
	var motion: InputEventMouseMotion = InputEventMouseMotion.new()
	motion.position = scene.get_canvas_transform() * scene.to_global(to)
	scene.get_viewport().push_input(motion, true)
	_press(scene, to, MOUSE_BUTTON_LEFT, false)


func _push_action(scene: Node2D, action: StringName) -> void:
	var event: InputEventAction = InputEventAction.new()
	event.action = action
	event.pressed = true
	scene.get_viewport().push_input(event, true)


func _number_of(scene: Node2D, member: StringName) -> int:
	var number: int = scene.get(member)
	return number


func _count_right_of(crowd: NavServerCrowd2D, x: float) -> int:
	var count: int = 0
	for id: int in crowd.get_all_unit_ids():
		count += int(crowd.get_unit_position(id).x > x)
	return count


func test_rts() -> void:
	var scene: Node2D = _play("03_rts/rts")
	var crowd: NavServerCrowd2D = _crowd_of(scene)
	await wait_until(crowd.is_available)
	await wait_until(func() -> bool: return crowd.get_unit_ids().size() == 300)
	_drag(scene, Vector2(40, 40), Vector2(560, 600))
	check_equal((scene.get("chosen") as Dictionary).size(), 300)
	# The door is shut before they are there, and opened again.
	_push_action(scene, &"ui_accept")
	_click(scene, Vector2(1000, 320), MOUSE_BUTTON_RIGHT)
	await wait_until(
		func() -> bool: return _number_of(scene, &"stuck") == 300, 20.0, "to be refused"
	)
	check_equal(_count_right_of(crowd, 592.0), 0)
	_push_action(scene, &"ui_accept")
	_click(scene, Vector2(1000, 320), MOUSE_BUTTON_RIGHT)
	await wait_until(
		func() -> bool: return _count_right_of(crowd, 600.0) >= 100, 50.0, "at the door"
	)
