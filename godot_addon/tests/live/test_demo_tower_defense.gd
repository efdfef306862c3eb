extends "demo_case.gd"
## The demo 02_tower_defense, played.

# The only two cells where creeps get through the row of rocks.
const _GAPS: Array[Vector2i] = [Vector2i(17, 4), Vector2i(17, 14)]
const _GRASS: Vector2i = Vector2i(0, 0)
const _TOWER: Vector2i = Vector2i(2, 0)

var _game: Node2D = null
var _ground: TileMapLayer = null
var _creeps: Node2D = null


func _begin() -> void:
	_game = await play("02_tower_defense/tower_defense")
	_ground = _game.get_node("Ground")
	_creeps = _game.get_node("Creeps")


func _number(member: StringName) -> int:
	var number: int = _game.get(member)
	return number


func _is_tower(cell: Vector2i) -> bool:
	return _ground.get_cell_atlas_coords(cell) == _TOWER


func _build(cell: Vector2i) -> void:
	click(_ground.map_to_local(cell))
	await play_for(0.1)
	# Whoever finds the paths now may still be reading the map.
	await play_until(func() -> bool: return not _game.get("_is_deciding"), 30.0, "it is decided")


func _sell(cell: Vector2i) -> void:
	click(_ground.map_to_local(cell), MOUSE_BUTTON_RIGHT)
	await play_for(0.1)


## Whether every creep has a way that leaves a cell out.
func _avoid(cell: Vector2i) -> bool:
	for creep: Node2D in _creeps.get_children():
		var agent: NavServerAgent2D = creep.get_node("NavServerAgent2D")
		var path: PackedVector2Array = agent.get_current_navigation_path()
		if path.is_empty() or _ground.map_to_local(cell) in path:
			return false
	return true


## Closes one gap and is refused the other.
func _close_the_way() -> void:
	await _build(_GAPS[0])
	check(_is_tower(_GAPS[0]), _game.get("refusal") as String)
	await play_until(_avoid.bind(_GAPS[0]), 1.0, "all go by the other gap")
	var money: int = _number(&"money")
	var version: int = (_game.get_node("NavServerMap2D") as NavServerMap2D).map_version
	await _build(_GAPS[1])
	check_equal(_game.get("refusal"), "That would close the way")
	check_equal((_game.get_node("Refusal") as Label).text, "That would close the way")
	check_equal(_ground.get_cell_atlas_coords(_GAPS[1]), _GRASS)
	check_equal(_number(&"money"), money)
	check_equal((_game.get_node("NavServerMap2D") as NavServerMap2D).map_version, version)


func test_a_game() -> void:
	await _begin()
	await play_until(func() -> bool: return _creeps.get_child_count() == 3, 10.0, "creeps come")
	await _close_the_way()
	# Money comes back, and the way with it.
	await _sell(_GAPS[0])
	check_equal(_number(&"money"), 95)
	await _build(_GAPS[1])
	check(_is_tower(_GAPS[1]))
	await play_until(_avoid.bind(_GAPS[1]), 1.0, "all go by the first gap again")
	# Nobody is walled in.
	var creep: Node2D = _creeps.get_child(0)
	await _build(_ground.local_to_map(creep.position))
	check_equal(_game.get("refusal"), "A creep is there")
	await play_until(func() -> bool: return _number(&"lives") < 10, 20.0, "a creep is through")
	for cell: Vector2i in [Vector2i(15, 4), Vector2i(19, 5), Vector2i(16, 6)] as Array[Vector2i]:
		await _build(cell)
	var lives: int = _number(&"lives")
	await play_until(func() -> bool: return _number(&"money") >= 40, 20.0, "towers have hit")
	check(_number(&"lives") >= lives - 8, "%d lives" % _number(&"lives"))


func test_lost_and_begun_again() -> void:
	await _begin()
	await play_until(func() -> bool: return _number(&"lives") == 0, 40.0, "the creeps have won")
	await _build(_GAPS[0])
	check(not _is_tower(_GAPS[0]), "a tower after the end")
	press_key(KEY_SPACE)
	await play_for(0.5)
	check_equal(_number(&"lives"), 10)
	check_equal(_creeps.get_child_count(), 0)
	await _build(_GAPS[0])
	check(_is_tower(_GAPS[0]))


func test_a_sidecar_that_is_killed() -> void:
	await _begin()
	await play_for(5.0)
	await kill_sidecar()
	await _close_the_way()
	await play_until(func() -> bool: return _number(&"lives") < 10, 20.0, "a creep is through")
	await await_sidecar()
	await _sell(_GAPS[0])
	await _build(_GAPS[1])
	await play_until(_avoid.bind(_GAPS[1]), 1.0, "all go by the first gap again")


func test_nothing_grows() -> void:
	await _begin()
	await check_steady(
		func(frame: int) -> void:
			# Whoever plays here never loses, and never earns enough either.
			_game.set("lives", 10)
			_game.set("money", 100)
			var place: Vector2 = _ground.map_to_local(_GAPS[0])
			if frame % 100 == 0:
				click(place)
			elif frame % 100 == 50:
				click(place, MOUSE_BUTTON_RIGHT)
	)
