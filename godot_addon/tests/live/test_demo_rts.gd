extends "demo_case.gd"
## The demo 03_rts, played.

var _rts: Node2D = null
var _crowd: NavServerCrowd2D = null


func _begin() -> void:
	_rts = await play("03_rts/rts")
	_crowd = _rts.get_node("NavServerCrowd2D")
	await play_until(_crowd.is_available, 5.0, "the crowd is there")
	await play_until(
		func() -> bool: return _crowd.get_unit_ids().size() == 300, 5.0, "all are told of"
	)
	drag(Vector2(40, 40), Vector2(560, 600))


func _count_right_of(x: float) -> int:
	var count: int = 0
	for id: int in _crowd.get_all_unit_ids():
		count += int(_crowd.get_unit_position(id).x > x)
	return count


func _has_crossed(count: int) -> Callable:
	return func() -> bool: return _count_right_of(600.0) >= count


func test_the_door_is_shut_and_opened_again() -> void:
	await _begin()
	check_equal((_rts.get("chosen") as Dictionary).size(), 300)
	# The door is shut before they are there, and opened again.
	press_key(KEY_SPACE)
	click(Vector2(1000, 320), MOUSE_BUTTON_RIGHT)
	await play_until(func() -> bool: return _rts.get("stuck") == 300, 20.0, "all are refused")
	check_equal(_count_right_of(592.0), 0)
	press_key(KEY_SPACE)
	click(Vector2(1000, 320), MOUSE_BUTTON_RIGHT)
	await play_until(_has_crossed(290), 40.0, "they are through the door")
	await play_until(
		func() -> bool: return int(str(_rts.get("arrived"))) >= 290, 40.0, "they are there"
	)


func test_a_sidecar_that_is_killed() -> void:
	await _begin()
	click(Vector2(1000, 320), MOUSE_BUTTON_RIGHT)
	await play_until(_has_crossed(5), 30.0, "some are through the door")
	await kill_sidecar()
	await play_for(5.0)
	check_equal(_crowd.get_unit_ids().size(), 300, "units that stand still")
	await await_sidecar()
	await play_until(_has_crossed(290), 40.0, "they went on with another sidecar")


func test_nothing_grows() -> void:
	await _begin()
	await check_steady(
		func(frame: int) -> void:
			if frame % 500 == 0:
				var is_there: bool = frame % 1000 == 0
				click(Vector2(1000 if is_there else 200, 320), MOUSE_BUTTON_RIGHT)
	)
