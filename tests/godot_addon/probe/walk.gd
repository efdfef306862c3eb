extends Node2D
## The game of somebody who has tiles with collision polygons and wants a body to walk: adds a map
## and an agent, walks, and says how that ended. The argument wait lets it wait for a sidecar.

var _map: NavServerMap2D = NavServerMap2D.new()
var _agent: NavServerAgent2D = NavServerAgent2D.new()


func _ready() -> void:
	add_child(_map)
	add_child(_make_layer())
	var body: Node2D = Node2D.new()
	body.position = Vector2(24, 24)
	body.add_child(_agent)
	add_child(body)
	_agent.navigation_finished.connect(_on_finished)
	_agent.path_failed.connect(
		func(_status: NavServerPathResult.Status, reason: String) -> void:
			print("GAME no: ", reason)
	)
	while "wait" in OS.get_cmdline_user_args() and not NavServer.is_available():
		await get_tree().process_frame
	_agent.target_position = Vector2(120, 24)


func _physics_process(_delta: float) -> void:
	if not _agent.is_navigation_finished():
		var body: Node2D = _agent.get_parent()
		body.position = body.position.move_toward(_agent.get_next_path_position(), 4.0)


func _on_finished() -> void:
	var body: Node2D = _agent.get_parent()
	var source: int = _agent.get_current_navigation_result().source
	print("GAME arrived at %s by %s" % [body.position, NavServerPathResult.Source.find_key(source)])
	# The game is over before these are answered, which leaves nothing behind.
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = body.position
	for count: int in 10:
		_map.find_path(query)
	get_tree().quit()


func _make_layer() -> TileMapLayer:
	var tiles: TileSet = TileSet.new()
	tiles.add_physics_layer()
	var source: TileSetAtlasSource = TileSetAtlasSource.new()
	var image: Image = Image.create(32, 16, false, Image.FORMAT_RGBA8)
	source.texture = ImageTexture.create_from_image(image)
	source.texture_region_size = Vector2i(16, 16)
	source.create_tile(Vector2i(0, 0))
	source.create_tile(Vector2i(1, 0))
	tiles.add_source(source, 0)
	var wall: TileData = source.get_tile_data(Vector2i(1, 0), 0)
	wall.add_collision_polygon(0)
	wall.set_collision_polygon_points(
		0, 0, [Vector2(-8, -8), Vector2(8, -8), Vector2(8, 8), Vector2(-8, 8)]
	)
	var layer: TileMapLayer = TileMapLayer.new()
	layer.tile_set = tiles
	for y: int in 8:
		for x: int in 9:
			layer.set_cell(Vector2i(x, y), 0, Vector2i(1 if x == 4 and y < 6 else 0, 0))
	return layer
