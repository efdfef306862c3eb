extends "demo_case.gd"
## The demo 04_tactics_isometric, played.

const _ROAD_END: Vector2i = Vector2i(6, 7)

var _game: Node2D = null
var _ground: TileMapLayer = null


func _begin() -> void:
	_game = await play("04_tactics_isometric/tactics")
	_ground = _game.get_node("Ground")


func _unit(name: String) -> Node2D:
	return _game.get_node("Units/%s" % name)


func _cell_of(name: String) -> Vector2i:
	return _ground.local_to_map(_unit(name).position)


func _points_of(name: String) -> float:
	return (_game.get("points") as Dictionary)[_unit(name)]


func _reach() -> Dictionary[Vector2i, float]:
	return _game.get("_reach")


func _message() -> String:
	return _game.get("message")


func _is_free() -> bool:
	return not _game.get("is_busy")


func _click_cell(cell: Vector2i) -> void:
	click(_ground.map_to_local(cell))
	await play_until(_is_free, 10.0, "nobody walks")


func _end_turn() -> void:
	var button: Button = _game.get_node("Screen/EndTurn")
	click(_game.to_local(button.get_global_rect().get_center()))
	check(not _is_free(), "the enemy's turn")
	await play_until(_is_free, 20.0, "the enemy's turn is over")


## How far an enemy is from the nearest of ours, in steps.
func _distance_of(enemy: String) -> int:
	var least: int = 1 << 30
	for name: String in ["Anna", "Bert", "Cleo"]:
		var apart: Vector2i = (_cell_of(enemy) - _cell_of(name)).abs()
		least = mini(least, apart.x + apart.y)
	return least


## Nobody stands where another does, or in a rock.
func _check_places() -> void:
	var seen: Dictionary[Vector2i, bool] = {}
	for unit: Node2D in _game.get_node("Units").get_children():
		var cell: Vector2i = _ground.local_to_map(unit.position)
		check(cell not in seen, "two in %s" % cell)
		check(_ground.get_cell_atlas_coords(cell) != Vector2i(3, 0), "%s in a rock" % unit.name)
		seen[cell] = true


func _play_a_turn() -> void:
	await _click_cell(_cell_of("Anna"))
	await _click_cell(_ROAD_END)
	check_equal(_cell_of("Anna"), _ROAD_END)
	var before: Array[int] = [_distance_of("Ivan"), _distance_of("Olga")]
	await _end_turn()
	check(_distance_of("Ivan") < before[0], "Ivan has not come nearer")
	check(_distance_of("Olga") < before[1], "Olga has not come nearer")
	_check_places()


func test_a_turn() -> void:
	await _begin()
	await _click_cell(_cell_of("Anna"))
	check_equal(_game.get("selected"), _unit("Anna"))
	# One step down to the road, and five along it, for half a point each.
	check_equal(_reach()[_ROAD_END], 3.0)
	check_equal(_reach()[Vector2i(1, 5)], 1.0)
	check(Vector2i(2, 6) in _reach())
	check(Vector2i(2, 3) not in _reach(), "a rock")
	move_mouse(_ground.map_to_local(_ROAD_END))
	await play_for(0.1)
	var way: NavServerPathResult = _game.get("_way")
	check_near(way.cost, 3.0, 1e-6)
	check_equal(way.cells[-1], _ROAD_END)
	await _click_cell(Vector2i(8, 1))
	check_contains(_message(), "not enough points")
	check_equal(_cell_of("Anna"), Vector2i(1, 6))
	await _play_a_turn()
	check_equal(_points_of("Anna"), 5.0)


func test_occupied_cells_are_refused_and_gone_around() -> void:
	await _begin()
	await _click_cell(_cell_of("Bert"))
	await _click_cell(Vector2i(1, 7))
	check_equal(_points_of("Bert"), 4.5)
	# Bert stands on the road: Anna has to step around him.
	await _click_cell(_cell_of("Anna"))
	check(_cell_of("Bert") not in _reach())
	check_near(_reach()[Vector2i(2, 7)], 1.5, 1e-6)
	for turn: int in 20:
		if _distance_of("Ivan") == 1 and _distance_of("Olga") == 1:
			break
		await _end_turn()
	check_equal(_distance_of("Ivan"), 1, "Ivan came as near as can be")
	_check_places()
	await _click_cell(_cell_of("Anna"))
	var before: Vector2i = _cell_of("Anna")
	await _click_cell(_cell_of("Ivan"))
	check_equal(_message(), "Ivan stands there")
	check_equal(_cell_of("Anna"), before)


func test_a_sidecar_that_is_killed() -> void:
	await _begin()
	await _click_cell(_cell_of("Cleo"))
	await kill_sidecar()
	await _click_cell(Vector2i(5, 10))
	check_equal(_cell_of("Cleo"), Vector2i(5, 10))
	await _play_a_turn()
	await await_sidecar()
	await _end_turn()
	_check_places()


func test_nothing_grows() -> void:
	await _begin()
	var places: Array[Vector2i] = [Vector2i(1, 6), Vector2i(3, 7)]
	await check_steady(
		func(frame: int) -> void:
			match frame % 250:
				0:
					click(_ground.map_to_local(_cell_of("Anna")))
				10:
					move_mouse(_ground.map_to_local(places[1]))
				20:
					click(_ground.map_to_local(places[floori(frame / 250.0) % 2]))
				100:
					var button: Button = _game.get_node("Screen/EndTurn")
					click(_game.to_local(button.get_global_rect().get_center()))
	)
