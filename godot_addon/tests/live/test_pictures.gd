extends "demo_case.gd"
## Pictures of the demos for the documentation, into the folder [code]pictures=[/code].
##
## Needs a display; what a picture shows is played, so it fails where a demo does.


func _take(name: String) -> void:
	await RenderingServer.frame_post_draw
	var picture: Image = tree.root.get_texture().get_image()
	check_equal(picture.get_size(), _WINDOW, name)
	check_equal(picture.save_png(parameters["pictures"].path_join(name + ".png")), OK)


func _walk(scene: String) -> void:
	await play("01_click_to_move/" + scene)
	# The scene asks where the mouse is, and with a display there is a real one.
	tree.root.warp_mouse(Vector2(1040, 560))
	await play_for(0.2)
	click(Vector2(1040, 560))
	await play_for(2.0)
	await _take(scene)


func test_click_to_move() -> void:
	await _walk("click_to_move")


func test_swamp() -> void:
	await _walk("swamp")


func test_tower_defense() -> void:
	var game: Node2D = await play("02_tower_defense/tower_defense")
	var ground: TileMapLayer = game.get_node("Ground")
	var creeps: Node2D = game.get_node("Creeps")
	await play_until(func() -> bool: return creeps.get_child_count() == 4, 20.0, "creeps come")
	for cell: Vector2i in (
		[Vector2i(17, 4), Vector2i(15, 13), Vector2i(16, 16), Vector2i(20, 16), Vector2i(17, 14)]
		as Array[Vector2i]
	):
		click(ground.map_to_local(cell))
		await play_for(0.2)
		await play_until(func() -> bool: return not game.get("_is_deciding"), 30.0, "decided")
	check_equal(game.get("refusal"), "That would close the way")
	await _take("tower_defense")


func test_rts() -> void:
	var crowd: NavServerCrowd2D = (await play("03_rts/rts")).get_node("NavServerCrowd2D")
	await play_until(crowd.is_available, 5.0, "the crowd is there")
	await play_until(
		func() -> bool: return crowd.get_unit_ids().size() == 300, 5.0, "all are told of"
	)
	drag(Vector2(40, 40), Vector2(560, 600))
	click(Vector2(1000, 320), MOUSE_BUTTON_RIGHT)
	var right_of_the_door: Callable = func() -> bool:
		return crowd.get_units_in(Rect2(600, 0, 552, 640)).size() >= 60
	await play_until(right_of_the_door, 60.0, "some are through the door")
	press_key(KEY_SPACE)
	await play_for(2.0)
	await _take("rts")


func test_tactics() -> void:
	var game: Node2D = await play("04_tactics_isometric/tactics")
	var ground: TileMapLayer = game.get_node("Ground")
	var unit: Node2D = game.get_node("Units/Cleo")
	click(unit.position)
	await play_for(0.2)
	var reach: Dictionary = game.get("_reach")
	var farthest: Vector2i = ground.local_to_map(unit.position)
	for cell: Vector2i in reach:
		if cell.x + cell.y > farthest.x + farthest.y:
			farthest = cell
	move_mouse(ground.map_to_local(farthest))
	await play_for(0.2)
	await _take("tactics")


func test_crowd() -> void:
	var center: Vector2 = Vector2(1984, 1184)
	var city: Node2D = await play("05_crowd_2000/crowd")
	var crowd: NavServerCrowd2D = city.get_node("NavServerCrowd2D")
	await play_until(crowd.is_available, 5.0, "the crowd is there")
	for turn: int in 3:
		click(center, MOUSE_BUTTON_WHEEL_DOWN)
	click(center)
	await play_until(func() -> bool: return int(str(city.get("arrived"))) > 200, 60.0, "some stand")
	drag(center - Vector2(260, 260), center + Vector2(40, 260))
	# Frames are slow where a processor draws them.
	(city.get_node("Screen/Counts") as Label).visible = false
	await play_for(0.3)
	await _take("crowd")


func test_y_sorted() -> void:
	var grove: Node2D = await play("05_crowd_2000/y_sorted")
	var crowd: NavServerCrowd2D = grove.get_node("NavServerCrowd2D")
	await play_until(crowd.is_available, 5.0, "the crowd is there")
	click(Vector2(560, 320))
	await play_for(6.0)
	await _take("y_sorted")
