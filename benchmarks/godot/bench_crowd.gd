extends SceneTree
## Times 2,000 units in a running game; bench_godot.py says what its figures mean.
##
## Usage: [code]-s res://bench_crowd.gd -- results=FILE file=FILE [quick=1][/code]. One scene, one
## after the other: without units, with a NavServerCrowd2D (the sidecar's connection file is named),
## with as many NavigationAgent2D that avoid each other. The results are a JSON object: contender to
## metric to value.

const _COUNT: int = 2000
const _AREA: Rect2i = Rect2i(0, 0, 124, 74)
const _BLOCK: Rect2i = Rect2i(4, 4, 8, 6)
const _PERIOD: Vector2i = Vector2i(12, 10)
const _CELL: float = 32.0
const _RADIUS: float = 6.0
const _SPEED: float = 120.0
const _FRAMES_A_SECOND: int = 60
const _OTHER_WORK_USEC: int = 2000

var _parameters: Dictionary[String, String] = {}
var _results: Dictionary[String, Dictionary] = {}
var _map: NavServerMap2D = null
var _camera: Camera2D = Camera2D.new()
var _goal: Vector2 = _CELL * Vector2(62.0, 32.0)
# Of the frame under way: its begin, and what scripts of the contender took of it.
var _began: int = 0
var _script: int = 0
var _opened: int = 0
var _is_noting: bool = false
var _frames: PackedFloat64Array = PackedFloat64Array()
var _scripts: PackedFloat64Array = PackedFloat64Array()


func _initialize() -> void:
	for argument: String in OS.get_cmdline_user_args():
		_parameters[argument.get_slice("=", 0)] = argument.substr(argument.find("=") + 1)
	ProjectSettings.set_setting("navserver/sidecar/autostart", false)
	Engine.max_fps = _FRAMES_A_SECOND
	physics_interpolation = true
	# Before the connection's own: what comes between them is its answers.
	physics_frame.connect(_begin_frame)
	physics_frame.connect(_open)
	process_frame.connect(_open)
	# Where nothing is drawn, a frame ends with its last callback.
	if DisplayServer.get_name() == "headless":
		var last: _Probe = _Probe.new(Callable(), _end_frame)
		last.process_priority = 1 << 24
		root.add_child.call_deferred(last)
	else:
		RenderingServer.frame_post_draw.connect(_end_frame)
	_run()


func _begin_frame() -> void:
	# A camera that moves: units come into view and leave it all the time.
	_camera.position = _goal + Vector2.from_angle(Time.get_ticks_msec() / 2000.0) * 400.0
	# A processor that has just been woken is slow at first, and a game does something else as well.
	var woken: int = Time.get_ticks_usec()
	while Time.get_ticks_usec() < woken + _OTHER_WORK_USEC:
		pass
	_began = Time.get_ticks_usec()
	_script = 0


func _open() -> void:
	_opened = Time.get_ticks_usec()


func _close() -> void:
	_script += Time.get_ticks_usec() - _opened


func _end_frame() -> void:
	if _is_noting and _began > 0:
		_frames.append((Time.get_ticks_usec() - _began) / 1000.0)
		_scripts.append(_script / 1000.0)
	_began = 0


func _run() -> void:
	await process_frame
	root.size = Vector2i(1152, 648)
	var connection: NavServerConnection = NavServer.get_connection()
	connection.follow_connection_file(_parameters["file"])
	while not NavServer.is_available():
		await process_frame
	physics_frame.connect(_close)
	process_frame.connect(_close)
	_map = NavServerMap2D.new()
	_map.add_child(_make_layer())
	root.add_child(_map)
	_camera.process_callback = Camera2D.CAMERA2D_PROCESS_PHYSICS
	_map.add_child(_camera)
	_camera.make_current()
	await _map.map_ready
	# Around the connection's turn: what it does where there are no units is no cost of theirs.
	var probes: Array[_Probe] = [_Probe.new(_open), _Probe.new(_close)]
	for index: int in 2:
		probes[index].process_priority = connection.process_priority + 2 * index - 1
		probes[index].process_physics_priority = probes[index].process_priority
		_map.add_child(probes[index])
	await _time("empty")
	await _time_crowd()
	for probe: _Probe in probes:
		probe.free()
	await _time_engine()
	var file: FileAccess = FileAccess.open(_parameters["results"], FileAccess.WRITE)
	file.store_string(JSON.stringify(_results))
	file.close()
	quit()


func _time(contender: String) -> void:
	for frame: int in 120:
		await process_frame
	_frames.clear()
	_scripts.clear()
	_is_noting = true
	for frame: int in 300 if "quick" in _parameters else 1200:
		await process_frame
	_is_noting = false
	_frames.sort()
	_scripts.sort()
	_results[contender] = {
		"frame_p50_ms": _frames[floori(_frames.size() * 0.5)],
		"frame_p99_ms": _frames[floori(_frames.size() * 0.99)],
		"frame_worst_ms": _frames[-1],
		"script_p50_ms": _scripts[floori(_scripts.size() * 0.5)],
		"script_p99_ms": _scripts[floori(_scripts.size() * 0.99)],
		"script_worst_ms": _scripts[-1],
	}


func _time_crowd() -> void:
	var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
	crowd.radius = _RADIUS
	crowd.max_speed = _SPEED
	var arrived: PackedInt64Array = PackedInt64Array()
	crowd.units_arrived.connect(func(ids: PackedInt64Array) -> void: arrived.append_array(ids))
	# Between these two, and in the connection's turn, is all that the crowd's scripts do.
	for part: Node in [_Probe.new(_open), crowd, _Probe.new(_close)] as Array[Node]:
		_map.add_child(part)
	var ids: PackedInt64Array = crowd.spawn(_find_places())
	crowd.order(ids, _goal)
	while crowd.get_unit_ids().is_empty():
		await process_frame
	await _time("navserver")
	_results["navserver"]["in_view"] = crowd.get_unit_ids().size()
	_results["navserver"]["arrived"] = arrived.size()
	crowd.free()


## The engine's agents as its documentation drives them.
func _time_engine() -> void:
	var region: NavigationRegion2D = NavigationRegion2D.new()
	region.navigation_polygon = _make_polygon()
	root.add_child(region)
	for place: Vector2 in _find_places():
		var walker: _Walker = _Walker.new()
		walker.position = place
		region.add_child(walker)
	await physics_frame
	await physics_frame
	for walker: _Walker in region.get_children():
		walker.agent.target_position = _goal
	region.add_child(_Probe.new(_close))
	var first: _Probe = _Probe.new(_open)
	region.add_child(first)
	region.move_child(first, 0)
	await _time("engine")
	region.free()


func _make_layer() -> TileMapLayer:
	var tiles: TileSet = TileSet.new()
	tiles.tile_size = Vector2i.ONE * int(_CELL)
	tiles.add_physics_layer()
	var source: TileSetAtlasSource = TileSetAtlasSource.new()
	var image: Image = Image.create(64, 32, false, Image.FORMAT_RGBA8)
	image.fill_rect(Rect2i(32, 0, 32, 32), Color.DIM_GRAY)
	source.texture = ImageTexture.create_from_image(image)
	source.texture_region_size = tiles.tile_size
	source.create_tile(Vector2i(0, 0))
	source.create_tile(Vector2i(1, 0))
	tiles.add_source(source, 0)
	var half: float = _CELL * 0.5
	var wall: TileData = source.get_tile_data(Vector2i(1, 0), 0)
	wall.add_collision_polygon(0)
	wall.set_collision_polygon_points(
		0, 0, [-half * Vector2.ONE, Vector2(half, -half), half * Vector2.ONE, Vector2(-half, half)]
	)
	var layer: TileMapLayer = TileMapLayer.new()
	layer.tile_set = tiles
	for y: int in _AREA.size.y:
		for x: int in _AREA.size.x:
			layer.set_cell(Vector2i(x, y), 0, Vector2i(int(_is_wall(x, y)), 0))
	return layer


func _is_wall(x: int, y: int) -> bool:
	return _BLOCK.has_point(Vector2i(x % _PERIOD.x, y % _PERIOD.y))


## The same streets as a mesh, off which walls keep the radius of a body.
func _make_polygon() -> NavigationPolygon:
	var polygon: NavigationPolygon = NavigationPolygon.new()
	polygon.agent_radius = _RADIUS
	var geometry: NavigationMeshSourceGeometryData2D = NavigationMeshSourceGeometryData2D.new()
	geometry.add_traversable_outline(_outline(Rect2(Vector2.ZERO, _AREA.size * _CELL)))
	for y: int in range(0, _AREA.size.y, _PERIOD.y):
		for x: int in range(0, _AREA.size.x, _PERIOD.x):
			var block: Rect2i = Rect2i(Vector2i(x, y) + _BLOCK.position, _BLOCK.size)
			block = block.intersection(_AREA)
			if block.has_area():
				geometry.add_obstruction_outline(
					_outline(Rect2(block.position * _CELL, block.size * _CELL))
				)
	NavigationServer2D.bake_from_source_geometry_data(polygon, geometry)
	return polygon


func _outline(rect: Rect2) -> PackedVector2Array:
	return PackedVector2Array(
		[
			rect.position,
			Vector2(rect.end.x, rect.position.y),
			rect.end,
			Vector2(rect.position.x, rect.end.y),
		]
	)


## Four to a cell, evenly over the streets.
func _find_places() -> PackedVector2Array:
	var open: PackedVector2Array = PackedVector2Array()
	for y: int in range(1, _AREA.size.y - 1):
		for x: int in range(1, _AREA.size.x - 1):
			if not _is_wall(x, y):
				open.append(Vector2(x + 0.5, y + 0.5) * _CELL)
	var places: PackedVector2Array = PackedVector2Array()
	for index: int in _COUNT:
		var place: Vector2 = open[floori(floori(index / 4.0) * open.size() * 4.0 / _COUNT)]
		places.append(place + Vector2(index % 2 * 16 - 8, floori(index / 2.0) % 2 * 16 - 8))
	return places


## Calls something at its turn of each frame.
class _Probe:
	extends Node

	var _in_physics: Callable
	var _in_process: Callable

	func _init(in_physics: Callable, in_process: Callable = in_physics) -> void:
		_in_physics = in_physics
		_in_process = in_process

	func _process(_delta: float) -> void:
		_in_process.call()

	func _physics_process(_delta: float) -> void:
		if _in_physics.is_valid():
			_in_physics.call()


## One unit with an agent of the engine, told as much of the others as a unit of the sidecar.
class _Walker:
	extends Sprite2D

	var agent: NavigationAgent2D = NavigationAgent2D.new()

	func _init() -> void:
		agent.radius = _RADIUS
		agent.max_speed = _SPEED
		agent.avoidance_enabled = true
		agent.neighbor_distance = 5.0 * _CELL
		agent.max_neighbors = 10
		agent.time_horizon_agents = 2.0
		agent.velocity_computed.connect(_on_velocity_computed)
		add_child(agent)

	func _ready() -> void:
		texture = PlaceholderTexture2D.new()

	func _physics_process(_delta: float) -> void:
		if agent.is_navigation_finished():
			return
		agent.velocity = global_position.direction_to(agent.get_next_path_position()) * _SPEED

	func _on_velocity_computed(safe: Vector2) -> void:
		global_position += safe * get_physics_process_delta_time()
