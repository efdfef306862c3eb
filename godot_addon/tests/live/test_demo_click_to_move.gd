extends "demo_case.gd"
## The demo 01_click_to_move, played.

const _GOAL: Vector2 = Vector2(1040, 560)

var _walker: Node2D = null
var _agent: NavServerAgent2D = null


func _begin(name: String) -> void:
	var scene: Node2D = await play("01_click_to_move/%s" % name)
	_walker = scene.get_node("Walker")
	_agent = _walker.get_node("NavServerAgent2D")


func test_it_walks_around_a_wall_that_is_put_up() -> void:
	await _begin("click_to_move")
	click(_GOAL)
	await play_for(0.2)
	var path: PackedVector2Array = _agent.get_current_navigation_path()
	check(path.size() > 10, "%d points" % path.size())
	var broken: Vector2 = path[path.size() - 5]
	click(broken, MOUSE_BUTTON_RIGHT)
	await play_for(0.1)
	check(broken not in _agent.get_current_navigation_path(), "a path through a wall")
	await play_until(_agent.is_target_reached, 30.0, "it is there")


func test_a_sidecar_that_is_killed() -> void:
	await _begin("swamp")
	click(_GOAL)
	await play_for(1.0)
	await kill_sidecar()
	await play_until(_agent.is_target_reached, 30.0, "it is there")
	click(Vector2(80, 80))
	await play_until(_agent.is_target_reached, 30.0, "it is back")


func test_nothing_grows() -> void:
	await _begin("click_to_move")
	await check_steady(
		func(frame: int) -> void:
			if frame % 250 == 0:
				click(_GOAL if frame % 500 == 0 else Vector2(80, 80))
			if frame % 100 == 30:
				click(Vector2(560, 300), MOUSE_BUTTON_RIGHT)
	)
