@tool
@icon("res://addons/navserver/icon.svg")
class_name NavServerMap2D
extends Node2D
## A grid to walk on, made of TileMapLayers, of code, or of both.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. Without any setting a cell is
## solid where a tile has a collision polygon over its centre, or where no layer has a tile. Give
## the TileSet a custom data layer [member class_layer_name] of type int, and tiles of class 1 to
## 254 cost what a [NavServerProfile] says. Methods that [AStarGrid2D] has too do the same here.
## [br][br]
## TileMapLayers do not tell when their cells change: use [NavServerTileMapLayer] for layers that
## are edited while the game runs, or call [method notify_cells_changed].

## The map can be asked; comes again after every [method rebuild].
signal map_ready
## Cells have changed, and whoever finds the paths knows: results from [param version] on heed it.
signal map_changed(version: int, cells: Array[Vector2i])

## Internal: no part of what this class offers.
const AgentBatch := preload("internal/agent_batch.gd")
## Internal: no part of what this class offers.
const DebugDrawing := preload("internal/debug_drawing.gd")
## Internal: no part of what this class offers.
const MapDrawing := preload("internal/map_drawing.gd")
## Internal: no part of what this class offers.
const MapLayers := preload("internal/map_layers.gd")
## Internal: no part of what this class offers.
const MapQuestions := preload("internal/map_questions.gd")
## Internal: no part of what this class offers.
const MapWorld := preload("internal/map_world.gd")
## Internal: no part of what this class offers.
const MoverTable := preload("internal/mover_table.gd")
## Internal: no part of what this class offers.
const NodeName := preload("internal/node_name.gd")
## Internal: no part of what this class offers.
const Overrides := preload("internal/overrides.gd")
## Internal: no part of what this class offers.
const SavedMap := preload("internal/saved_map.gd")
## Internal: no part of what this class offers.
const TileLayout := preload("internal/tile_layout.gd")
## Internal: no part of what this class offers.
const TileTable := preload("internal/tile_table.gd")
## Internal: no part of what this class offers.
const WorldState := preload("internal/world_state.gd")

## Group of all maps in the tree.
const GROUP: StringName = &"navserver_maps"
## Class of cells that nobody enters.
const SOLID: int = WorldState.SOLID

# So long layers are read at once for somebody who waits.
const _HURRY_USEC: int = 1000
# So many cells may be filled before there are any.
const _KEPT_LIMIT: int = 1 << 20
const _NO_CORNERS: AStarGrid2D.DiagonalMode = AStarGrid2D.DIAGONAL_MODE_ONLY_IF_NO_OBSTACLES

## The layers that make the map, bottom first. Empty takes all TileMapLayers below this node, else
## those beside it. Layers that are not enabled do not count, nor do empty slots.
@export var tile_map_layers: Array[TileMapLayer] = []:
	set(value):
		tile_map_layers = value
		_on_setting_changed()
## Only physics layers of the TileSet that are on one of these collision layers make cells solid.
@export_flags_2d_physics var solid_physics_layers: int = 0xffff_ffff:
	set(value):
		solid_physics_layers = value
		_on_setting_changed()
## Custom data layer of the TileSet with the class of a tile, an int: 0 is plain ground unless there
## is a collision polygon, 1 to 254 cost what profiles say, 255 is solid.
@export var class_layer_name: StringName = &"nav_class":
	set(value):
		class_layer_name = value
		_on_setting_changed()
## Class of scene tiles, which have no data of their own; 256 leaves it to the layers below.
@export_range(0, 256) var scene_tile_class: int = 0:
	set(value):
		scene_tile_class = clampi(value, 0, 256)
		_on_setting_changed()
## Those who walk here, so that their classes are known from the beginning; others are added when
## they first ask.
@export var profiles: Array[NavServerProfile] = []
## Which diagonal steps are allowed; the default cuts no corners.
@export var diagonal_mode: AStarGrid2D.DiagonalMode = _NO_CORNERS:
	set(value):
		if value < 0 or value >= AStarGrid2D.DIAGONAL_MODE_MAX:
			push_error(
				"%s: diagonal_mode is %d; give one of AStarGrid2D's" % [NodeName.of(self), value]
			)
			return
		diagonal_mode = value
		_on_setting_changed()
## The cells of the map. Without an area it is what the layers use. A map without layers needs it.
@export var region: Rect2i = Rect2i():
	set(value):
		region = value
		_on_setting_changed()
## Size of the cells of a map without layers.
@export var cell_size: Vector2 = Vector2(16.0, 16.0):
	set(value):
		cell_size = value
		_on_setting_changed()
## Milliseconds that [method get_id_path], [method get_point_path], [method query_blocking] and
## [method get_reachable] block at most.
@export_range(1, 1000) var timeout_msec: int = 4:
	set(value):
		timeout_msec = maxi(value, 1)

@export_group("Debug", "debug_")
## Draws solid cells and classes while the game runs. Debug > Visible Navigation does it for all
## maps.
@export var debug_enabled: bool = false:
	set(value):
		debug_enabled = value
		_follow_debug()

## The version of the map that the last answer or change was for; 0 before [signal map_ready].
var map_version: int = 0
## Whether [signal map_ready] tells of a map as it was, since others find the paths by now; for
## [NavServerAgent2D].
var is_put_again: bool = false

var _world: MapWorld = MapWorld.new()
var _questions: MapQuestions = MapQuestions.new(self, _world)
var _movers: MoverTable = null
var _dirty: bool = false
# Whether the map that was read last is not known yet to whoever finds the paths.
var _is_rebuilt: bool = false
# The layers that count, or might.
var _watched: Array[TileMapLayer] = []
var _is_looking: bool = false
# What was warned of, each once.
var _told: Dictionary[String, bool] = {}
# Null unless the cells are drawn.
var _drawing: MapDrawing = null
# What was told last, so that it is not told again at each request.
var _refusal: String = ""


func _enter_tree() -> void:
	add_to_group(GROUP)
	_follow_debug()


func _ready() -> void:
	if Engine.is_editor_hint():
		return
	_world.state.arrived.connect(_on_world_arrived)
	_world.state.edited.connect(_on_world_edited)
	_world.state.refused.connect(_refuse)
	NavServer.get_connection().backend_changed.connect(_put_again)
	rebuild()
	_call_obstacles()


func _exit_tree() -> void:
	_drawing = null
	if not Engine.is_editor_hint():
		_world.drop()
		_follow_frames()
		# Those that another map beside this one kept from knowing theirs.
		get_tree().call_group_flags(
			SceneTree.GROUP_CALL_DEFERRED, NavServerObstacle2D.GROUP, &"follow_map"
		)
	if _movers != null:
		NavServer.get_connection().drop_mover_table(_movers)


func _notification(what: int) -> void:
	if what == NOTIFICATION_POST_ENTER_TREE and is_node_ready():
		# A map that comes back into the tree has no _ready of its own.
		if _movers != null:
			NavServer.get_connection().add_mover_table(_movers)
		_put_again()
		_call_obstacles()


func _get_configuration_warnings() -> PackedStringArray:
	var layers: Array[TileMapLayer] = find_layers()
	if layers.is_empty() and region.has_area():
		var problem: String = TileLayout.new(null, cell_size).problem
		return [] if problem.is_empty() else [problem + "."]
	if layers.is_empty():
		return ["Add TileMapLayers below this node or name them in tile_map_layers, or set region."]
	var problems: PackedStringArray = MapLayers.find_problems(layers)
	return _read_table(layers).problems if problems.is_empty() else problems


## Returns the layers that make the map, see [member tile_map_layers].
func find_layers() -> Array[TileMapLayer]:
	return MapLayers.select(MapLayers.find_all(self, tile_map_layers))


## Reads all layers and TileSets again: after changes that no other method tells of, such as layers
## that were added or moved (or the map, where they stand beside it), and tiles that mean something
## else. (Layers that are freed, disabled, enabled, or given another TileSet make the map read them
## by itself.) What code has set stays.
## [signal map_ready] tells when the map can be asked; requests until then wait for it.
func rebuild() -> void:
	_dirty = false
	is_put_again = false
	_is_rebuilt = true
	var layers: Array[TileMapLayer] = find_layers()
	_watch_layers()
	var layout: TileLayout = TileLayout.new(null if layers.is_empty() else layers[0], cell_size)
	if not layout.problem.is_empty():
		var problem: String = layout.problem
		if not layers.is_empty():
			problem = "%s %s" % [layers[0].name, problem]
		_refuse(problem)
		if _world.layout == null:
			_world.problem = problem
		return
	var transform_there: Transform2D = Transform2D.IDENTITY
	if not layers.is_empty():
		transform_there = global_transform.affine_inverse() * layers[0].global_transform
	var table: TileTable = _read_table(layers)
	_warn(table.problems)
	if not layers.is_empty():
		_warn(MapLayers.find_problems(layers))
	for profile: NavServerProfile in profiles:
		if profile != null:
			_world.name_profile(profile)
	_world.begin(layers, layout, table, transform_there, region, diagonal_mode)
	# What else this frame paints belongs to it.
	_finish_frame.call_deferred()


## Tells that cells of the layers were changed by code, where the layer is no
## [NavServerTileMapLayer]. What changes in one frame is sent together. A map without a
## [member region] grows with tiles outside of it, which takes a [method rebuild].
func notify_cells_changed(cells: Array[Vector2i]) -> void:
	for cell: Vector2i in cells:
		_mark(cell)
		if not _dirty and not region.has_area() and _world.is_beyond(cell):
			_rebuild_later()


## Asks for a path; never waits. See [NavServerPathRequest] for the answer.
func find_path(query: NavServerPathQuery) -> NavServerPathRequest:
	return _questions.find_path(query)


## Asks for many paths at once, which is what all requests of one frame become anyway.
func find_paths(queries: Array[NavServerPathQuery]) -> Array[NavServerPathRequest]:
	var requests: Array[NavServerPathRequest] = []
	requests.assign(queries.map(find_path))
	return requests


## Returns the cells of a path, as [method AStarGrid2D.get_id_path] does. It blocks the frame for
## [member timeout_msec] at most and returns an empty path after it; [method find_path] never
## blocks.
func get_id_path(
	from_id: Vector2i, to_id: Vector2i, allow_partial_path: bool = false
) -> Array[Vector2i]:
	return query_blocking(from_id, to_id, allow_partial_path).cells


## Returns the points of a path in this node's coordinates, as [method AStarGrid2D.get_point_path]
## does; blocks like [method get_id_path].
func get_point_path(
	from_id: Vector2i, to_id: Vector2i, allow_partial_path: bool = false
) -> PackedVector2Array:
	var result: NavServerPathResult = query_blocking(from_id, to_id, allow_partial_path)
	return global_transform.affine_inverse() * result.path


## Returns a path between cells with its status; blocks like [method get_id_path].
func query_blocking(
	from_id: Vector2i,
	to_id: Vector2i,
	allow_partial_path: bool = false,
	profile: NavServerProfile = null
) -> NavServerPathResult:
	return _questions.find_blocking(from_id, to_id, allow_partial_path, profile)


## Returns the cells that a body reaches from a cell for at most [param budget], such as its action
## points, each with what it costs to get there. The cell itself costs 0. [param blocked_cells]
## count as solid this once, such as those where others stand. Blocks like [method get_id_path];
## empty if there was no answer in time, or where the body cannot stand.
func get_reachable(
	from_id: Vector2i,
	budget: float,
	profile: NavServerProfile = null,
	blocked_cells: Array[Vector2i] = []
) -> Dictionary[Vector2i, float]:
	return _questions.find_reachable(from_id, budget, profile, blocked_cells)


## Returns the cell that a point of this node's coordinates lies in.
func local_to_map(local_position: Vector2) -> Vector2i:
	var layout: TileLayout = _world.layout
	if layout == null:
		return Vector2i.ZERO
	return layout.to_outer(layout.cell_at(_world.layer_transform.affine_inverse() * local_position))


## Returns the cell that a point of global coordinates lies in.
func global_to_map(point: Vector2) -> Vector2i:
	return local_to_map(to_local(point))


## Returns the centre of a cell in this node's coordinates.
func map_to_local(map_position: Vector2i) -> Vector2:
	var layout: TileLayout = _world.layout
	if layout == null:
		return Vector2.ZERO
	return _world.layer_transform * (layout.transform * Vector2(layout.to_inner(map_position)))


## Returns the centre of a cell in this node's coordinates, under [AStarGrid2D]'s name.
func get_point_position(id: Vector2i) -> Vector2:
	return map_to_local(id)


## Tells whether a cell lies within the map.
func is_in_boundsv(id: Vector2i) -> bool:
	return is_known() and _world.has_cell(id)


## As [method is_in_boundsv].
func is_in_bounds(x: int, y: int) -> bool:
	return is_in_boundsv(Vector2i(x, y))


## Makes a cell solid or walkable, whatever its tile says.
func set_point_solid(id: Vector2i, solid: bool = true) -> void:
	_world.overrides.solid[id] = solid
	_mark(id)


## Tells whether a cell is solid: its tile, what code has set, or an obstacle on it.
func is_point_solid(id: Vector2i) -> bool:
	return get_point_class(id) == SOLID


## Multiplies what a cell costs by 0, or by a number from 1.2e-38 to 3.4e38.
func set_point_weight_scale(id: Vector2i, weight_scale: float) -> void:
	if not _check_scale(weight_scale):
		return
	_world.overrides.scales[id] = weight_scale
	_mark(id)


## Returns by what the cost of a cell is multiplied.
func get_point_weight_scale(id: Vector2i) -> float:
	return _world.overrides.get_scale_of(id)


## Makes all cells of a rectangle solid or walkable; what of it lies beyond the map does not count,
## even if the map grows later. A map that has neither tiles nor a [member region] yet keeps
## 1,048,576 cells at most for later.
func fill_solid_region(cells: Rect2i, solid: bool = true) -> void:
	var part: Rect2i = _clip(cells)
	for y: int in range(part.position.y, part.end.y):
		for x: int in range(part.position.x, part.end.x):
			set_point_solid(Vector2i(x, y), solid)


## Multiplies what the cells of a rectangle cost, as [method set_point_weight_scale] does; of which
## cells as in [method fill_solid_region].
func fill_weight_scale_region(cells: Rect2i, weight_scale: float) -> void:
	if not _check_scale(weight_scale):
		return
	var part: Rect2i = _clip(cells)
	for y: int in range(part.position.y, part.end.y):
		for x: int in range(part.position.x, part.end.x):
			set_point_weight_scale(Vector2i(x, y), weight_scale)


## Takes back what code has set; the tiles hold again.
func clear_overrides() -> void:
	for cell: Vector2i in _world.overrides.get_cells():
		_mark(cell)
	_world.overrides.clear()


## Returns the class of a cell: 255 is solid.
func get_point_class(id: Vector2i) -> int:
	return _world.get_class_of(id)


## Lays a class over cells while an obstacle stands there; for [NavServerObstacle2D].
func set_obstacle(obstacle: Object, cells: Array[Vector2i], class_id: int) -> void:
	for cell: Vector2i in _world.overrides.set_obstacle(obstacle, cells, class_id):
		_mark(cell)


## Returns the cells whose centres lie in a polygon of this node's coordinates.
func get_cells_in_polygon(polygon: PackedVector2Array) -> Array[Vector2i]:
	return _world.get_cells_in_polygon(polygon)


## Returns what code has set, and the units of the map's crowds with where they stand and go, for
## save games; tiles and other nodes come from the scene again.
func get_state() -> PackedByteArray:
	return SavedMap.pack(_world.overrides, _movers, self)


## Takes what [method get_state] returned; false, and an error that says why, if it is something
## else. Units go into the crowds that have the same path from this node.
func set_state(state: PackedByteArray) -> bool:
	var saved: SavedMap = SavedMap.new()
	var before: Array[Vector2i] = _world.overrides.get_cells()
	var problem: String = saved.read(state)
	if problem.is_empty():
		problem = saved.give_overrides(_world.overrides)
	if not problem.is_empty():
		push_error("%s: set_state: %s; give what get_state returned" % [NodeName.of(self), problem])
		return false
	for cell: Vector2i in before + _world.overrides.get_cells():
		_mark(cell)
	saved.give_units(_movers, self)
	return true


## Tells whether a layer is part of the map; for [NavServerTileMapLayer].
func has_layer(layer: TileMapLayer) -> bool:
	return _world.has_layer(layer)


## Makes a batch of agents ready to leave; for [NavServerConnection].
func settle_batch(batch: AgentBatch) -> void:
	_world.settle(batch, global_transform)


## Tells whether the map can be asked; for [NavServerAgent2D]. What is asked while it is still being
## read waits.
func is_known() -> bool:
	return is_inside_tree() and is_node_ready() and _world.is_known()


## Returns in words why the map cannot be asked, with the remedy.
func describe_problem() -> String:
	if is_inside_tree() and not _world.problem.is_empty():
		return _world.problem
	return "the map is not there: add it to the tree, with layers or a region"


## Tells whether the layers are read and handed over.
func is_read() -> bool:
	return _world.state.is_read


## Returns the rectangle of cells in the numbering of searches; for whoever debugs the game.
func get_used_region() -> Rect2i:
	return _world.state.region


## Returns the units on this map that the sidecar moves, for crowds and agents.
func get_movers() -> MoverTable:
	if _movers == null:
		var connection: NavServerConnection = NavServer.get_connection()
		_movers = MoverTable.new(
			_world.state, connection.ask, connection.get_capabilities, _flush_changes
		)
		connection.add_mover_table(_movers)
	return _movers


## Returns how long a cell is in this node's coordinates; of isometric ones the side of the diamond.
func get_cell_length() -> float:
	if _world.layout == null:
		return cell_size.x
	var place: Transform2D = _world.state.transform
	return (place.x.length() + place.y.length()) * 0.5


## Returns the name of a profile on the wire; null has one, too.
func get_profile_name(profile: NavServerProfile) -> String:
	return WorldState.DEFAULT_PROFILE if profile == null else _world.name_profile(profile)


## Obstacles that were there before this map belong to it, unless they have another.
func _call_obstacles() -> void:
	if not Engine.is_editor_hint():
		for obstacle: NavServerObstacle2D in get_tree().get_nodes_in_group(
			NavServerObstacle2D.GROUP
		):
			obstacle.follow_map()


func _follow_debug() -> void:
	if not DebugDrawing.is_wanted(self, debug_enabled):
		_drawing = null
	elif _drawing == null:
		_drawing = MapDrawing.new(self, _world.state)


func _on_setting_changed() -> void:
	update_configuration_warnings()
	if is_node_ready() and not Engine.is_editor_hint():
		_rebuild_later()


## Several reasons in one frame make one rebuild.
func _rebuild_later() -> void:
	if not _dirty:
		_dirty = true
		rebuild.call_deferred()


func _watch_layers() -> void:
	MapLayers.unwatch(_watched, _on_layer_changed)
	_watched = MapLayers.find_all(self, tile_map_layers)
	MapLayers.watch(_watched, _on_layer_changed)


## It may be about anything; only who counts is of interest, once the frame is over.
func _on_layer_changed() -> void:
	if not _is_looking:
		_is_looking = true
		_look_at_layers.call_deferred()


func _look_at_layers() -> void:
	_is_looking = false
	var here: Array[TileMapLayer] = MapLayers.select(_watched).filter(
		func(layer: TileMapLayer) -> bool: return layer.is_inside_tree()
	)
	# Of a map without any layer nothing is left to read.
	if is_inside_tree() and not here.is_empty() and not _world.has_layers(here):
		_rebuild_later()


func _warn(problems: PackedStringArray) -> void:
	for problem: String in problems:
		if problem not in _told:
			_told[problem] = true
			push_warning("%s: %s" % [NodeName.of(self), problem])


func _read_table(layers: Array[TileMapLayer]) -> TileTable:
	return TileTable.new(layers, class_layer_name, solid_physics_layers, scene_tile_class)


func _refuse(reason: String) -> void:
	if reason == _refusal:
		return
	_refusal = reason
	push_error("%s: %s" % [NodeName.of(self), reason])


func _check_scale(weight_scale: float) -> bool:
	var problem: String = Overrides.find_scale_problem(weight_scale)
	if not problem.is_empty():
		push_error("%s: weight_scale %s" % [NodeName.of(self), problem])
	return problem.is_empty()


## Returns what of a rectangle is part of the map, or will be once this frame has ended: whoever
## makes a level may paint and fill in one go.
func _clip(cells: Rect2i) -> Rect2i:
	if not cells.has_area() or not _dirty and _world.region.encloses(cells):
		return cells
	var extent: Rect2i = region if region.has_area() else _world.find_extent(find_layers())
	if extent.has_area():
		var excess: String = WorldState.find_excess(extent.size)
		if excess.is_empty():
			return cells.intersection(extent)
		# It may have more cells than could ever be gone through.
		push_error("%s: nothing is filled, since %s" % [NodeName.of(self), excess])
		return Rect2i()
	# Its own area wraps at 32 bits.
	if cells.size.x * cells.size.y <= _KEPT_LIMIT:
		return cells
	push_error(
		(
			"%s: %s are more cells than a map without any keeps: paint tiles before, or set region"
			% [NodeName.of(self), cells]
		)
	)
	return Rect2i()


func _finish_frame() -> void:
	if not is_inside_tree():
		return
	if not _world.has_layers(find_layers()):
		# They came after this node.
		rebuild()
		return
	_world.finish_frame(region)
	_follow_frames()


## Frames go on with reading as long as there is more to read. Those of the tree: the node's own
## stop while the game is paused, as it often is just to load a level.
func _follow_frames() -> void:
	var frames: Signal = get_tree().process_frame
	if _world.is_reading() and not frames.is_connected(_read_on):
		frames.connect(_read_on)
	elif not _world.is_reading() and frames.is_connected(_read_on):
		frames.disconnect(_read_on)


func _read_on() -> void:
	# Whoever is told of the frame before may take the map out of the tree.
	if not is_inside_tree():
		return
	if not NavServer.get_connection().is_frame_full:
		_world.go_on()
	_follow_frames()


## Hands the whole map to whoever finds the paths from now on.
func _put_again() -> void:
	if not is_inside_tree() or _world.layout == null:
		return
	if not _world.has_layers(MapLayers.select(_watched)):
		# They went while nobody looked, such as outside of the tree.
		rebuild()
		return
	is_put_again = not _is_rebuilt
	_world.put_again(region)
	var connection: NavServerConnection = NavServer.get_connection()
	if connection.is_awaited:
		# No frame goes on with it before the answer is wanted.
		_world.hurry(Time.get_ticks_usec() + _HURRY_USEC)
	elif not connection.is_frame_full:
		_world.go_on()
	_follow_frames()


func _mark(cell: Vector2i) -> void:
	if _world.mark(cell):
		_flush_changes.call_deferred()


## Sends what has changed in this frame.
func _flush_changes() -> void:
	if is_inside_tree():
		_world.flush()


func _on_world_arrived(version: int) -> void:
	map_version = version
	_is_rebuilt = false
	_refusal = ""
	map_ready.emit()


func _on_world_edited(version: int, inner: PackedInt32Array) -> void:
	map_version = version
	var cells: Array[Vector2i] = []
	for index: int in range(0, inner.size(), 2):
		cells.append(_world.layout.to_outer(Vector2i(inner[index], inner[index + 1])))
	map_changed.emit(version, cells)
