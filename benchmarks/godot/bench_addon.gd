extends SceneTree
## Times the addon in a running game; bench_godot.py says what its figures mean.
##
## Usage: [code]-s res://bench_addon.gd -- contender=NAME results=FILE [file=FILE] [quick=1][/code].
## The contender is off (no addon in the scene), fallback or sidecar (its connection file is named).
## The results are a JSON object: metric to value.

const _SIDE: int = 96
const _LARGE_SIDE: int = 512
const _AGENTS: int = 500
const _FRAMES_A_SECOND: int = 60

var _parameters: Dictionary[String, String] = {}
var _results: Dictionary[String, float] = {}
var _frames: PackedFloat64Array = PackedFloat64Array()
var _last_usec: int = 0
# What the scripts of each frame take together, from its first physics step to its last deferred
# call: the pause that keeps 60 frames a second hides it from the intervals.
var _busy: PackedFloat64Array = PackedFloat64Array()
var _busy_since: int = 0
var _tiles: TileSet = null


func _initialize() -> void:
	for argument: String in OS.get_cmdline_user_args():
		_parameters[argument.get_slice("=", 0)] = argument.substr(argument.find("=") + 1)
	ProjectSettings.set_setting("navserver/sidecar/autostart", false)
	Engine.max_fps = _FRAMES_A_SECOND
	_tiles = _make_tile_set()
	physics_frame.connect(_note_begin)
	process_frame.connect(_note_frame)
	# Tweens come after all nodes and deferred calls.
	create_tween().tween_method(_note_end, 0.0, 1.0, 1.0e9)
	_run()


func _note_begin() -> void:
	if _busy_since == 0:
		_busy_since = Time.get_ticks_usec()


func _note_frame() -> void:
	_note_begin()
	var now: int = Time.get_ticks_usec()
	_frames.append((now - _last_usec) / 1000.0)
	_last_usec = now


func _note_end(_progress: float) -> void:
	_busy.append((Time.get_ticks_usec() - _busy_since) / 1000.0)
	_busy_since = 0


func _clear_frames() -> void:
	_frames.clear()
	_busy.clear()


func _run() -> void:
	await _wait(30)
	var off: bool = _parameters["contender"] == "off"
	if _parameters["contender"] == "sidecar":
		var connection: NavServerConnection = NavServer.get_connection()
		connection.follow_connection_file(_parameters["file"])
		while not NavServer.is_available():
			await process_frame
	_clear_frames()
	await _wait(120)
	_note_intervals("still")
	await _time_yardsticks()
	await _time_load(off)
	if not off:
		var map: NavServerMap2D = await _make_map(_SIDE)
		await _warm_up(map)
		await _time_clicks(map)
		await _time_edits(map)
		await _time_agents(map)
		await _time_order(map)
		if _parameters["contender"] == "sidecar":
			await _time_kill(map)
	var file: FileAccess = FileAccess.open(_parameters["results"], FileAccess.WRITE)
	file.store_string(JSON.stringify(_results))
	file.close()
	quit()


func _wait(frames: int) -> void:
	for frame: int in frames:
		await process_frame


func _count(full: int) -> int:
	return full if "quick" not in _parameters else maxi(10, floori(full / 10.0))


func _note_intervals(name: String) -> void:
	_note_sorted(name, _frames)
	_note_sorted(name + "_busy", _busy)


func _note_sorted(name: String, values: PackedFloat64Array) -> void:
	var sorted: PackedFloat64Array = values.duplicate()
	sorted.sort()
	_results[name + "_p50_ms"] = sorted[floori(sorted.size() * 0.5)]
	_results[name + "_p99_ms"] = sorted[floori(sorted.size() * 0.99)]
	_results[name + "_worst_ms"] = sorted[-1]


func _make_tile_set() -> TileSet:
	var made: TileSet = TileSet.new()
	made.add_physics_layer()
	var source: TileSetAtlasSource = TileSetAtlasSource.new()
	var image: Image = Image.create(32, 16, false, Image.FORMAT_RGBA8)
	source.texture = ImageTexture.create_from_image(image)
	source.texture_region_size = Vector2i(16, 16)
	source.create_tile(Vector2i(0, 0))
	source.create_tile(Vector2i(1, 0))
	made.add_source(source, 0)
	var wall: TileData = source.get_tile_data(Vector2i(1, 0), 0)
	wall.add_collision_polygon(0)
	wall.set_collision_polygon_points(
		0, 0, [Vector2(-8, -8), Vector2(8, -8), Vector2(8, 8), Vector2(-8, 8)]
	)
	return made


## A fifth of the cells is solid, at random, but not the first column and row.
func _make_layer(side: int) -> TileMapLayer:
	var random: RandomNumberGenerator = RandomNumberGenerator.new()
	random.seed = 1
	var layer: NavServerTileMapLayer = NavServerTileMapLayer.new()
	layer.tile_set = _tiles
	for y: int in side:
		for x: int in side:
			var solid: bool = random.randf() < 0.2 and x > 0 and y > 0
			layer.set_cell(Vector2i(x, y), 0, Vector2i(1 if solid else 0, 0))
	return layer


func _make_map(side: int) -> NavServerMap2D:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(_make_layer(side))
	root.add_child(map)
	await map.map_ready
	await _wait(10)
	return map


func _make_agent(map: NavServerMap2D, cell: Vector2i) -> NavServerAgent2D:
	var body: Node2D = Node2D.new()
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	body.add_child(agent)
	body.position = map.map_to_local(cell)
	map.add_child(body)
	return agent


## Whoever answers may have to compile, or to make its grid, at the first request.
func _warm_up(map: NavServerMap2D) -> void:
	var agent: NavServerAgent2D = _make_agent(map, Vector2i.ZERO)
	for cell: Vector2i in [Vector2i(_SIDE - 1, 0), Vector2i(0, _SIDE - 1)]:
		agent.target_position = map.map_to_local(cell)
		await agent.path_changed
	agent.get_parent().queue_free()


## What the engine itself takes here, to compare with: a loop after a frame's pause as an edit is
## timed, and its own agents as ours are.
func _time_yardsticks() -> void:
	var usec: PackedFloat64Array = PackedFloat64Array()
	for trial: int in _count(200):
		await process_frame
		var began: int = Time.get_ticks_usec()
		for step: int in 1000:
			pass
		usec.append(Time.get_ticks_usec() - began)
	usec.sort()
	_results["still_loop_1000_us"] = usec[floori(usec.size() * 0.5)]
	var region: NavigationRegion2D = NavigationRegion2D.new()
	var polygon: NavigationPolygon = NavigationPolygon.new()
	polygon.vertices = [Vector2.ZERO, Vector2(900, 0), Vector2(900, 900), Vector2(0, 900)]
	polygon.add_polygon([0, 1, 2, 3])
	region.navigation_polygon = polygon
	root.add_child(region)
	var agents: Array[NavigationAgent2D] = []
	for index: int in 100:
		var body: Node2D = Node2D.new()
		var agent: NavigationAgent2D = NavigationAgent2D.new()
		body.add_child(agent)
		body.position = Vector2(10, 10)
		region.add_child(body)
		agents.append(agent)
	for frame: int in 5:
		await physics_frame
	_results["agent_of_the_engine_idle_us"] = _time_engine_ticks(agents)
	for agent: NavigationAgent2D in agents:
		agent.target_position = Vector2(800, 800)
	_results["agent_of_the_engine_walking_us"] = _time_engine_ticks(agents)
	region.free()


func _time_engine_ticks(agents: Array[NavigationAgent2D]) -> float:
	var usec: PackedFloat64Array = PackedFloat64Array()
	for tick: int in 101:
		var began: int = Time.get_ticks_usec()
		for agent: NavigationAgent2D in agents:
			if not agent.is_navigation_finished():
				agent.get_next_path_position()
		usec.append(Time.get_ticks_usec() - began)
	usec.sort()
	return usec[50] / agents.size()


## How long frames take while a large layer enters the tree, alone or with a map on it.
func _time_load(off: bool) -> void:
	var layer: TileMapLayer = _make_layer(_LARGE_SIDE)
	root.add_child(layer)
	await _wait(60)
	# What no map can do without: the engine hands its cells out whole.
	var asked: int = Time.get_ticks_usec()
	var cells: PackedByteArray = layer.tile_map_data
	_results["load_512_call_of_the_engine_ms"] = (Time.get_ticks_usec() - asked) / 1000.0
	cells.clear()
	await _wait(10)
	_clear_frames()
	if not off:
		var map: NavServerMap2D = NavServerMap2D.new()
		map.tile_map_layers = [layer]
		var began: int = Time.get_ticks_usec()
		root.add_child(map)
		_results["load_512_ready_call_ms"] = (Time.get_ticks_usec() - began) / 1000.0
		began = Time.get_ticks_usec()
		await map.map_ready
		_results["load_512_until_ready_ms"] = (Time.get_ticks_usec() - began) / 1000.0
		await _wait(30)
		_note_intervals("load_512")
		map.free()
	else:
		await _wait(60)
		_note_intervals("load_512")
	layer.free()
	await _wait(10)


func _time_clicks(map: NavServerMap2D) -> void:
	var agent: NavServerAgent2D = _make_agent(map, Vector2i.ZERO)
	var body: Node2D = agent.get_parent()
	var counts: PackedFloat64Array = PackedFloat64Array()
	for trial: int in _count(200):
		# Clicks come before the frame's own work, as input does; and not frame by frame, as when
		# somebody is chased, who is followed by the path there is.
		await _wait(10)
		agent.target_position = map.map_to_local(
			Vector2i(_SIDE - 1 - trial % 7, 0) if trial % 2 == 0 else Vector2i(0, _SIDE - 1)
		)
		var frames: int = 0
		while agent.get_next_path_position() == body.global_position:
			await physics_frame
			frames += 1
		counts.append(frames)
	counts.sort()
	_results["click_p50_frames"] = counts[floori(counts.size() * 0.5)]
	_results["click_p99_frames"] = counts[floori(counts.size() * 0.99)]
	body.queue_free()


## A cell of the path is blocked and opened again: until there is another path, and what we take.
func _time_edits(map: NavServerMap2D) -> void:
	var agent: NavServerAgent2D = _make_agent(map, Vector2i.ZERO)
	var layer: TileMapLayer = map.find_layers()[0]
	agent.target_position = map.map_to_local(Vector2i(_SIDE - 1, 0))
	await agent.path_changed
	var counts: PackedFloat64Array = PackedFloat64Array()
	for trial: int in _count(60):
		var path: PackedVector2Array = agent.get_current_navigation_path()
		var cell: Vector2i = map.local_to_map(path[floori(path.size() * 0.5)])
		var changed: Array[bool] = [false]
		agent.path_changed.connect(func() -> void: changed[0] = true, CONNECT_ONE_SHOT)
		layer.set_cell(cell, 0, Vector2i(1, 0))
		var frames: int = 0
		while not changed[0]:
			await process_frame
			frames += 1
		counts.append(frames)
		layer.set_cell(cell, 0, Vector2i(0, 0))
		await _wait(5)
		agent.target_position = map.map_to_local(Vector2i(_SIDE - 1, 0))
		await agent.path_changed
	counts.sort()
	_results["edit_p50_frames"] = counts[floori(counts.size() * 0.5)]
	_results["edit_p99_frames"] = counts[floori(counts.size() * 0.99)]
	agent.get_parent().queue_free()
	var usec: PackedFloat64Array = PackedFloat64Array()
	for trial: int in _count(200):
		await process_frame
		usec.append(_time_edit(map))
	usec.sort()
	_results["edit_main_thread_p50_us"] = usec[floori(usec.size() * 0.5)]
	# One after the other, so that the code is in the processor's caches.
	usec.clear()
	for trial: int in _count(200):
		usec.append(_time_edit(map))
		if trial % 20 == 19:
			await _wait(2)
	usec.sort()
	_results["edit_main_thread_warm_p50_us"] = usec[floori(usec.size() * 0.5)]


func _time_edit(map: NavServerMap2D) -> int:
	var began: int = Time.get_ticks_usec()
	map.notify_cells_changed([Vector2i(5, 5)])
	map.call("_flush_changes")
	NavServer.get_connection().call("_flush")
	return Time.get_ticks_usec() - began


## What a physics frame of an agent costs that stands, and of one that walks.
func _time_agents(map: NavServerMap2D) -> void:
	var agents: Array[NavServerAgent2D] = []
	for index: int in 100:
		agents.append(_make_agent(map, Vector2i.ZERO))
	_results["idle_agent_us"] = _time_ticks(agents, 0.0)
	for agent: NavServerAgent2D in agents:
		agent.target_position = map.map_to_local(Vector2i(_SIDE - 1, 0))
	for agent: NavServerAgent2D in agents:
		if agent.get_current_navigation_path().is_empty():
			await agent.path_changed
	_results["walking_agent_us"] = _time_ticks(agents, 0.5)
	for agent: NavServerAgent2D in agents:
		agent.get_parent().queue_free()


func _time_ticks(agents: Array[NavServerAgent2D], step: float) -> float:
	# The median tick: others on the machine stretch some of them.
	var usec: PackedFloat64Array = PackedFloat64Array()
	for tick: int in 101:
		var nexts: PackedVector2Array = PackedVector2Array()
		nexts.resize(agents.size())
		var began: int = Time.get_ticks_usec()
		for index: int in agents.size():
			if not agents[index].is_navigation_finished():
				nexts[index] = agents[index].get_next_path_position()
		usec.append(Time.get_ticks_usec() - began)
		for index: int in agents.size():
			if step > 0.0:
				var body: Node2D = agents[index].get_parent()
				body.position = body.position.move_toward(nexts[index], step)
	usec.sort()
	return usec[50] / agents.size()


## One order to many agents in one frame, again and again to another cell. Each is asked where to go
## next in each physics step, as by a body that walks, before the order too.
func _time_order(map: NavServerMap2D) -> void:
	var agents: Array[NavServerAgent2D] = []
	for index: int in _AGENTS:
		agents.append(_make_agent(map, Vector2i(0, index % _SIDE)))
	var figures: Dictionary[String, PackedFloat64Array] = {}
	for name: String in [
		"call_ms", "before_busy_ms", "busy_second_ms", "busy_worst_ms", "until_90_percent_frames"
	]:
		figures[name] = PackedFloat64Array()
	for trial: int in _count(30):
		var moving: Dictionary[String, int] = {"count": 0}
		var tick: Callable = func() -> void: moving["count"] = _count_moving(agents)
		physics_frame.connect(tick)
		await _wait(40)
		_busy.sort()
		var before: float = _busy[floori(_busy.size() * 0.5)]
		_clear_frames()
		var target: Vector2 = map.map_to_local(Vector2i(_SIDE - 1 - trial, 0))
		var began: int = Time.get_ticks_usec()
		for agent: NavServerAgent2D in agents:
			agent.target_position = target
		var call_usec: int = Time.get_ticks_usec() - began
		var frames: int = 0
		await physics_frame
		while frames == 0 or moving["count"] < 0.9 * _AGENTS and frames < 600:
			await process_frame
			frames += 1
		await _wait(20)
		physics_frame.disconnect(tick)
		_busy.sort()
		figures["call_ms"].append(call_usec / 1000.0)
		figures["before_busy_ms"].append(before)
		# One frame may have been interrupted by the sidecar, where there are but two cores.
		figures["busy_second_ms"].append(_busy[-2])
		figures["busy_worst_ms"].append(_busy[-1])
		figures["until_90_percent_frames"].append(frames)
		_clear_frames()
	for name: String in figures:
		figures[name].sort()
		var count: int = figures[name].size()
		_results["order_500_p50_of_" + name] = figures[name][floori(count * 0.5)]
		_results["order_500_worst_of_" + name] = figures[name][-1]
	for agent: NavServerAgent2D in agents:
		agent.get_parent().queue_free()


func _count_moving(agents: Array[NavServerAgent2D]) -> int:
	var count: int = 0
	for agent: NavServerAgent2D in agents:
		if not agent.is_navigation_finished():
			var body: Node2D = agent.get_parent()
			count += 0 if agent.get_next_path_position() == body.global_position else 1
	return count


func _time_kill(map: NavServerMap2D) -> void:
	var fields: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(_parameters["file"]))
	# What was timed before frees its agents, and may still be on the stack of an answer.
	await _wait(30)
	_clear_frames()
	# On a thread, as by somebody else: what is killed is taken apart on the core of who kills it.
	var killer: Thread = Thread.new()
	killer.start(OS.kill.bind(int(str(fields["pid"]).to_float())))
	await _wait(180)
	killer.wait_to_finish()
	_note_intervals("killed")
	var agent: NavServerAgent2D = _make_agent(map, Vector2i.ZERO)
	agent.target_position = map.map_to_local(Vector2i(_SIDE - 1, 0))
	await agent.path_changed
	_results["killed_answered_by_fallback"] = float(
		agent.get_current_navigation_result().source == NavServerPathResult.Source.FALLBACK
	)
