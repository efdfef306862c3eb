extends RefCounted
## What a NavServerMap2D makes of its layers and of code, and hands to whoever finds the paths.
##
## A map that is read within a moment is there at once; a larger one takes some frames, and what is
## asked of it waits.

const AgentBatch := preload("agent_batch.gd")
const Overrides := preload("overrides.gd")
const PathJob := preload("path_job.gd")
const TileLayout := preload("tile_layout.gd")
const TileReader := preload("tile_reader.gd")
const TileTable := preload("tile_table.gd")
const WorldState := preload("world_state.gd")

const _NO_CELLS: String = "the map has no cells: paint tiles, or set region"
# So many cells are read at once by whoever asks before the first frame has ended.
const _SMALL: int = 1 << 14
const _NEVER: int = 1 << 62
# Cells are numbered so far.
const _FURTHEST: int = 1 << 30

## The world as the backends know it.
var state: WorldState = WorldState.new()
## Where its cells lie; null until [method begin].
var layout: TileLayout = null
## The cells of the map as its layers number them; without an area as long as it is not known.
var region: Rect2i = Rect2i()
## From the cells' coordinates to the map's.
var layer_transform: Transform2D = Transform2D.IDENTITY
## From a point of the map's coordinates to its cell, as the layers lie; answers keep it when others
## have come, and when the map is gone.
var to_cell: Callable = Callable()
## What code has set.
var overrides: Overrides = Overrides.new()
## Why there is no world; empty if there is one.
var problem: String = ""

var _layers: Array[TileMapLayer] = []
var _tile_sets: Array[TileSet] = []
var _table: TileTable = null
var _reader: TileReader = null
# Whether the layers may still be painted in the frame that began.
var _is_early: bool = false
var _early_hash: int = 0
var _changed: Dictionary[Vector2i, bool] = {}
# What the world calls profiles, by their instance ids, so that they are not kept.
var _names: Dictionary[int, String] = {}


## Begins anew with layers; what code has set stays. [method finish_frame] has to follow at the end
## of the frame.
func begin(
	layers: Array[TileMapLayer],
	the_layout: TileLayout,
	table: TileTable,
	transform: Transform2D,
	given_region: Rect2i,
	diagonal_mode: AStarGrid2D.DiagonalMode
) -> void:
	_layers = layers
	_tile_sets = _list_tile_sets(layers)
	layout = the_layout
	_table = table
	layer_transform = transform
	# Bound, since a Callable keeps no RefCounted alive whose method it is.
	to_cell = _find_cell.bind(layout, layer_transform)
	problem = ""
	region = Rect2i()
	state.region = Rect2i()
	state.transform = transform * layout.transform
	state.diagonal_mode = diagonal_mode
	state.empty_class = 0 if layers.is_empty() else WorldState.SOLID
	state.tile_table = table.rows
	state.layout = null if layout.identical else layout
	_is_early = true
	_start_reading(given_region)


## Begins to read the layers again, for another backend; [method go_on] goes on with it.
func put_again(given_region: Rect2i) -> void:
	_is_early = false
	_start_reading(given_region)


## Takes in what else was painted in the frame of [method begin].
func finish_frame(given_region: Rect2i) -> void:
	if not _is_early:
		return
	_is_early = false
	if state.is_read:
		var again: TileReader = TileReader.new(_layers, given_region)
		var is_whole: bool = again.read(_get_deadline())
		if is_whole and _early_hash != 0 and again.hash_blobs() == _early_hash:
			return
	_start_reading(given_region)
	_go_on(_get_deadline())


## Goes on reading, for a part of a frame, unless this frame has read enough.
func go_on() -> void:
	if _reader == null or _is_early:
		return
	var deadline: int = _get_deadline()
	if Time.get_ticks_usec() < deadline:
		_go_on(deadline)


## Tells whether there is more to read.
func is_reading() -> bool:
	return _reader != null


## Goes on reading until [param deadline_usec] of [Time], for somebody who cannot wait.
func hurry(deadline_usec: int) -> void:
	while _reader != null and Time.get_ticks_usec() < deadline_usec:
		_go_on(deadline_usec)


## Tells whether the region is known and can be; measures it if that is still to come.
func is_known() -> bool:
	if not problem.is_empty() or layout == null:
		return false
	if not state.region.has_area() and _reader != null:
		_reader.measure(_get_deadline())
		_take_region()
		var size: Vector2i = state.region.size
		if _is_early and _reader != null and size.x * size.y * maxi(1, _layers.size()) <= _SMALL:
			hurry(_get_deadline())
	return problem.is_empty() and (state.region.has_area() or _reader != null)


## Tells whether these are the layers that the map is made of, with the TileSets that they had.
func has_layers(layers: Array[TileMapLayer]) -> bool:
	return layers == _layers and _tile_sets == _list_tile_sets(layers)


## Tells whether a cell with a tile lies outside of what the layers used when they were read.
func is_beyond(cell: Vector2i) -> bool:
	if _layers.is_empty() or not state.is_read and problem.is_empty():
		return false
	return (
		not state.region.has_point(layout.to_inner(cell))
		and _table.get_class_of(_layers, cell) >= 0
	)


## Returns the cells of the map with those that layers have tiles on by now.
func find_extent(layers: Array[TileMapLayer]) -> Rect2i:
	var reader: TileReader = TileReader.new(layers, Rect2i())
	reader.measure(_NEVER)
	if not (region.has_area() and reader.region.has_area()):
		return region if region.has_area() else reader.region
	return region.merge(reader.region)


## Tells whether a layer is part of the map.
func has_layer(layer: TileMapLayer) -> bool:
	return layer in _layers


## Tells whether a cell lies within the map.
func has_cell(cell: Vector2i) -> bool:
	return is_known() and state.region.has_point(layout.to_inner(cell))


## Returns the x and y of cells, as a query names them.
func list_inner(cells: Array[Vector2i]) -> PackedInt32Array:
	var listed: PackedInt32Array = PackedInt32Array()
	for cell: Vector2i in cells:
		var inner: Vector2i = layout.to_inner(cell)
		listed.append_array([inner.x, inner.y])
	return listed


## Notes that a cell may have changed; tells whether it is the first since the last
## [method flush].
func mark(cell: Vector2i) -> bool:
	_changed[cell] = true
	return _changed.size() == 1


## Returns the class of a cell.
func get_class_of(cell: Vector2i) -> int:
	var found: int = -1
	if not _layers.is_empty():
		found = _table.get_class_of(_layers, cell)
	if found < 0:
		found = state.empty_class if layout != null else WorldState.SOLID
	return overrides.get_class_of(cell, found)


## Returns the cells whose centres lie in a polygon of the map's coordinates; none beyond the map.
func get_cells_in_polygon(polygon: PackedVector2Array) -> Array[Vector2i]:
	var cells: Array[Vector2i] = []
	if layout == null or polygon.is_empty():
		return cells
	var box: Rect2i = _find_box(polygon)
	for y: int in range(box.position.y, box.end.y):
		for x: int in range(box.position.x, box.end.x):
			var center: Vector2 = layer_transform * (layout.transform * Vector2(x, y))
			if Geometry2D.is_point_in_polygon(center, polygon):
				cells.append(layout.to_outer(Vector2i(x, y)))
	return cells


## Sends what has changed.
func flush() -> void:
	if _changed.is_empty() or not state.is_read:
		return
	var cells: PackedInt32Array = PackedInt32Array()
	var classes: PackedByteArray = PackedByteArray()
	var scales: PackedFloat32Array = PackedFloat32Array()
	for cell: Vector2i in _changed:
		_append_edit(cell, cells, classes, scales)
	_changed.clear()
	if not classes.is_empty():
		NavServer.get_connection().edit_cells(state, cells, classes, scales)


## Forgets the world there; what is asked of it fails.
func drop() -> void:
	if layout == null:
		return
	_reader = null
	state.is_read = false
	NavServer.get_connection().drop_world(state)


## Makes a job between cells; its world may still have to be read.
func make_job(from: Vector2i, to: Vector2i, profile: NavServerProfile) -> PathJob:
	flush()
	var job: PathJob = PathJob.new()
	job.world = state
	job.start = layout.to_inner(from)
	job.goal = layout.to_inner(to)
	if profile != null:
		job.profile = name_profile(profile)
		job.walker = profile
		job.size = profile.size
	return job


## Makes a batch ready to leave.
func settle(batch: AgentBatch, global_transform: Transform2D) -> void:
	flush()
	if batch.profile != null:
		batch.profile_name = name_profile(batch.profile)
	var to_cells: Transform2D = (global_transform * state.transform).affine_inverse()
	batch.settle(state, to_cells, global_transform, to_cell)


## Returns what the world calls a profile.
func name_profile(profile: NavServerProfile) -> String:
	var id: int = profile.get_instance_id()
	if id not in _names:
		_names[id] = _find_free_name()
		profile.changed.connect(_on_profile_changed.bind(id))
		_on_profile_changed(id)
	return _names[id]


## Returns what a profile was called that is gone, since a world has only so many; else a new name.
func _find_free_name() -> String:
	for id: int in _names:
		if not is_instance_id_valid(id):
			var free: String = _names[id]
			_names.erase(id)
			return free
	return "profile-%d" % (_names.size() + 1)


## Returns the inner cells that a polygon may cover. However far it reaches, only what the map has
## is looked at; as long as that is not known, nothing if it reaches far.
func _find_box(polygon: PackedVector2Array) -> Rect2i:
	if state.transform.determinant() == 0.0:
		return Rect2i()
	var points: PackedVector2Array = state.transform.affine_inverse() * polygon
	var box: Rect2 = Rect2(points[0], Vector2.ZERO)
	for point: Vector2 in points:
		box = box.expand(point)
	if not box.is_finite():
		return Rect2i()
	box = Rect2(box.position.round(), Vector2.ZERO).expand(box.end.round() + Vector2.ONE)
	if state.region.has_area():
		return Rect2i(box.intersection(Rect2(state.region)))
	return Rect2i() if box.get_area() > _SMALL else Rect2i(box)


static func _find_cell(point: Vector2, its_layout: TileLayout, from_layer: Transform2D) -> Vector2i:
	return its_layout.to_outer(its_layout.cell_at(from_layer.affine_inverse() * point))


static func _list_tile_sets(layers: Array[TileMapLayer]) -> Array[TileSet]:
	var tile_sets: Array[TileSet] = []
	for layer: TileMapLayer in layers:
		tile_sets.append(layer.tile_set)
	return tile_sets


func _start_reading(given_region: Rect2i) -> void:
	_reader = TileReader.new(_layers, given_region)
	state.is_read = false


static func _get_deadline() -> int:
	return NavServer.get_connection().get_reading_deadline()


func _go_on(deadline_usec: int) -> void:
	if not _reader.read(deadline_usec):
		return
	_take_region()
	if _reader != null:
		_put()


func _take_region() -> void:
	if not _reader.is_measured:
		return
	var cells: Rect2i = layout.to_inner_region(_reader.region)
	problem = _find_problem(cells)
	if problem.is_empty():
		region = _reader.region
		state.region = cells
	else:
		_reader = null
		# Levels that are made while the game runs begin without a tile: whoever asks is told.
		if problem != _NO_CELLS or _layers.is_empty():
			state.refuse(problem)


func _find_problem(cells: Rect2i) -> String:
	if not cells.has_area():
		return _NO_CELLS
	var excess: String = WorldState.find_excess(cells.size)
	if not excess.is_empty():
		return excess
	# In 64 bits: a rectangle at the end of its numbers wraps.
	for axis: int in 2:
		var first: int = cells.position[axis]
		if first < -_FURTHEST or first + cells.size[axis] > _FURTHEST:
			return "region is %s: give one within cells -2^30 to 2^30" % cells
	# TileMapLayers keep coordinates in 16 bits and wrap beyond them without a word.
	# Such a tile would count within a region that does not have it.
	if not Rect2i(-32768, -32768, 65536, 65536).encloses(_reader.reach):
		return "the map reaches beyond cell 32767, where TileMapLayers wrap: move it to the origin"
	return ""


## Hands the whole map to whoever finds the paths.
func _put() -> void:
	if _is_early:
		_early_hash = _reader.hash_blobs()
	state.blobs = _reader.blobs
	_reader = null
	state.edit_cells = PackedInt32Array()
	state.edit_classes = PackedByteArray()
	state.edit_scales = PackedFloat32Array()
	for cell: Vector2i in overrides.get_cells():
		_append_edit(cell, state.edit_cells, state.edit_classes, state.edit_scales)
	state.is_read = true
	NavServer.get_connection().put_world(state)
	# The layers have them still.
	state.blobs = []
	flush()


func _append_edit(
	cell: Vector2i, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> void:
	var inner: Vector2i = layout.to_inner(cell)
	if state.region.has_point(inner):
		cells.append(inner.x)
		cells.append(inner.y)
		classes.append(get_class_of(cell))
		scales.append(overrides.get_scale_of(cell))


func _on_profile_changed(id: int) -> void:
	var profile: NavServerProfile = instance_from_id(id)
	var profile_name: String = _names[id]
	var costs: PackedFloat32Array = profile.get_cost_table()
	state.profiles[profile_name] = costs
	if state.is_read:
		NavServer.get_connection().set_profile(state, profile_name, costs)
