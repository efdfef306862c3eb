extends "demo_case.gd"
## The demo 05_crowd_2000, played.

const _CENTER: Vector2 = Vector2(1984, 1184)

var _city: Node2D = null
var _crowd: NavServerCrowd2D = null
var _camera: Camera2D = null
var _most_in_view: int = 0


func _begin() -> void:
	_city = await play("05_crowd_2000/crowd")
	_crowd = _city.get_node("NavServerCrowd2D")
	_camera = _city.get_node("Camera2D")
	await play_until(_crowd.is_available, 5.0, "the crowd is there")
	await play_until(
		func() -> bool: return not _crowd.get_unit_ids().is_empty(), 5.0, "some are in view"
	)


func _count_chosen() -> int:
	return (_city.get("chosen") as Dictionary).size()


func _have_arrived(count: int) -> Callable:
	return func() -> bool: return int(str(_city.get("arrived"))) >= count


func _turn_wheel(button: MouseButton, times: int) -> void:
	for turn: int in times:
		click(_CENTER, button)


func _look_along(by: Vector2) -> void:
	press(_CENTER, MOUSE_BUTTON_RIGHT)
	var motion: InputEventMouseMotion = InputEventMouseMotion.new()
	motion.button_mask = MOUSE_BUTTON_MASK_RIGHT
	motion.relative = by
	Input.parse_input_event(motion)
	Input.flush_buffered_events()
	press(_CENTER, MOUSE_BUTTON_RIGHT, false)


func test_only_what_the_camera_sees_is_told_of() -> void:
	await _begin()
	var near: PackedInt64Array = _crowd.get_unit_ids()
	check(near.size() < 400, "%d of 2,000 in view at first" % near.size())
	_turn_wheel(MOUSE_BUTTON_WHEEL_DOWN, 20)
	check_near(_camera.zoom.x, 0.25, 0.01, "zoom")
	await play_for(0.2)
	var far: PackedInt64Array = _crowd.get_unit_ids()
	check(far.size() > near.size(), "%d are not more than %d" % [far.size(), near.size()])
	_turn_wheel(MOUSE_BUTTON_WHEEL_UP, 20)
	_look_along(Vector2(2800, 0))
	await play_for(0.2)
	check(_camera.position.x < _CENTER.x - 1300.0, "the camera is at %s" % _camera.position)
	check(not _crowd.get_unit_ids().is_empty(), "nobody is in view there")
	for id: int in _crowd.get_unit_ids():
		check(id not in near, "%d is still in view" % id)


func test_those_who_are_chosen_go_alone() -> void:
	await _begin()
	drag(_CENTER - Vector2(300, 300), _CENTER + Vector2(300, 300))
	var count: int = _count_chosen()
	check(count > 0 and count < 400, "%d are chosen" % count)
	var goal: Vector2 = _CENTER + Vector2(-700, 0)
	click(goal)
	check_equal(_city.get("arrived"), 2000 - count)
	# Past all those who stand in the streets.
	await play_until(_have_arrived(2000 - count + ceili(count * 0.95)), 30.0, "those are there")
	var far: int = 0
	for id: int in _city.get("chosen") as Dictionary:
		far += int(_crowd.get_unit_position(id).distance_to(goal) > 400.0)
	check(far <= floori(count * 0.05), "%d of %d are elsewhere" % [far, count])
	press_key(KEY_ESCAPE)
	check_equal(_count_chosen(), 0)


## Half a minute of the game in which everybody is sent, and twenty seconds more.
func test_everybody_arrives_and_nothing_grows() -> void:
	await _begin()
	await check_steady(
		func(frame: int) -> void:
			if frame % 1000 == 0:
				click(_CENTER)
			elif frame % 1000 == 900:
				_most_in_view = maxi(_most_in_view, _crowd.get_unit_ids().size())
				click(_CENTER + Vector2(-200, 0))
	)
	check(_most_in_view > 20, "%d at most are in view" % _most_in_view)
	await play_until(_have_arrived(1700), 20.0, "most are there")


func test_a_sidecar_that_is_killed() -> void:
	await _begin()
	click(_CENTER)
	await play_until(_have_arrived(20), 20.0, "some are there")
	await kill_sidecar()
	await play_for(2.0)
	var here: PackedVector2Array = _crowd.get_positions()
	check_equal(here.size(), 2000, "units that stand")
	await play_for(1.0)
	check_equal(_crowd.get_positions(), here)
	await await_sidecar()
	await play_until(_have_arrived(80), 20.0, "more are there")


func test_sprites_follow_the_crowd() -> void:
	var grove: Node2D = await play("05_crowd_2000/y_sorted")
	_crowd = grove.get_node("NavServerCrowd2D")
	await play_until(_crowd.is_available, 5.0, "the crowd is there")
	click(Vector2(1000, 320))
	await play_until(
		func() -> bool: return _crowd.get_unit_position(60).x > 700.0, 20.0, "the last is far off"
	)
	var sprites: Dictionary = grove.get("_sprites")
	var ids: PackedInt64Array = _crowd.get_unit_ids()
	check_equal(ids.size(), 60)
	for index: int in ids.size():
		var sprite: Sprite2D = sprites[ids[index]]
		check_equal(sprite.global_position, _crowd.get_positions()[index])
