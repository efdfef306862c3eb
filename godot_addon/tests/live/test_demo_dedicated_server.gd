extends "demo_case.gd"
## The demo 06_dedicated_server, beside the runs that test_demos.py makes of it.

var _server: Node2D = null
var _bots: NavServerCrowd2D = null


func _begin() -> void:
	_server = await play("06_dedicated_server/server")
	# It would end the run of the tests.
	(_server.get("settings") as Dictionary)["ticks"] = 1 << 30
	_bots = _server.get_node("Bots")
	await play_until(func() -> bool: return _bots.get_unit_ids().size() == 200, 5.0, "bots walk")


func _count_arrivals() -> int:
	return int(str(_server.get("arrivals")))


func test_a_sidecar_that_is_killed() -> void:
	await _begin()
	await play_until(func() -> bool: return _count_arrivals() > 10, 20.0, "some are there")
	await kill_sidecar()
	var tick: int = int(str(_server.get("tick")))
	var here: PackedVector2Array = _bots.get_positions()
	await play_for(3.0)
	check_equal(_bots.get_positions(), here)
	check(int(str(_server.get("tick"))) >= tick + 180, "the game went on")
	await await_sidecar()
	var before: int = _count_arrivals()
	await play_until(func() -> bool: return _count_arrivals() > before + 10, 20.0, "they go on")


func test_nothing_grows() -> void:
	await _begin()
	await check_steady()
	check(_count_arrivals() > 500, "%d arrivals" % _count_arrivals())
