extends "test_case.gd"
## The map of an edited scene: what is found, and which strokes of the brush are sent.

const PreviewMap := preload("res://addons/navserver/editor/preview_map.gd")
const PreviewPairs := preload("res://addons/navserver/editor/preview_pairs.gd")
const Session := preload("res://addons/navserver/internal/session.gd")
const SidecarBackend := preload("res://addons/navserver/internal/sidecar_backend.gd")
const TileMaps := preload("tile_maps.gd")

var _map: PreviewMap = PreviewMap.new()
var _root: Node2D = Node2D.new()
var _layer: TileMapLayer = null


func before_each() -> void:
	_layer = TileMaps.layer(["......", "..##..", "......"], TileMaps.tile_set())
	_root.add_child(_layer)
	add_node(_root)
	_map.set_root(_root)


func test_a_scene_of_layers_needs_no_map() -> void:
	check_equal(_map.refresh(), PreviewMap.Change.WHOLE)
	check_equal(_map.problem, "")
	check_equal(_map.world.region, Rect2i(0, 0, 6, 3))
	check_equal(_map.get_class_of(Vector2i(2, 1)), 255)
	check_equal(_map.get_class_of(Vector2i(9, 9)), 255)
	check_equal(_map.refresh(), PreviewMap.Change.NONE)


func test_what_has_changed_is_read_again() -> void:
	_map.refresh()
	_layer.set_cell(Vector2i(0, 0), 7, TileMaps.WALL)
	check_equal(_map.refresh(), PreviewMap.Change.CELLS, "a tile")
	check_equal(_map.changed_cells.keys(), [Vector2i(0, 0)])
	_layer.set_cell(Vector2i(7, 0), 7, TileMaps.GROUND)
	check_equal(_map.refresh(), PreviewMap.Change.WHOLE, "a tile outside")
	check_equal(_map.world.region, Rect2i(0, 0, 8, 3))
	_layer.position = Vector2(5, 0)
	check_equal(_map.refresh(), PreviewMap.Change.WHOLE, "the layer's place")
	var node: NavServerMap2D = NavServerMap2D.new()
	node.region = Rect2i(1, 1, 2, 2)
	_root.add_child(node)
	check_equal(_map.refresh(), PreviewMap.Change.WHOLE, "a map node")
	check_equal(_map.world.region, Rect2i(1, 1, 2, 2))


func test_without_a_map_it_says_why() -> void:
	_layer.clear()
	check_equal(_map.refresh(), PreviewMap.Change.NONE)
	check_contains(_map.problem, "paint tiles")
	_root.remove_child(_layer)
	_layer.free()
	check_equal(_map.refresh(), PreviewMap.Change.NONE)
	check_contains(_map.problem, "no TileMapLayer")


func test_a_layer_that_a_script_frees_is_missed_and_the_rest_goes_on() -> void:
	var other: TileMapLayer = TileMaps.layer(["#...."], TileMaps.tile_set())
	_root.add_child(other)
	_map.refresh()
	check(_map.is_there())
	check(not _map.has_lost_layers())
	_layer.free()
	check(_map.has_lost_layers())
	check(not _map.is_there())
	check_equal(_map.refresh(), PreviewMap.Change.WHOLE)
	check(_map.is_there())
	check_equal(_map.world.region, Rect2i(0, 0, 5, 1))
	other.free()
	check_equal(_map.refresh(), PreviewMap.Change.NONE)
	check_contains(_map.problem, "no TileMapLayer")
	check(not _map.has_lost_layers())


func test_another_scene_can_be_taken_after_a_layer_was_freed() -> void:
	_map.refresh()
	_layer.free()
	_map.set_root(null)
	check(not _map.is_there())


func test_what_is_no_layer_of_the_map_any_more_is_not_watched() -> void:
	var other: TileMapLayer = TileMaps.layer(["#...."], TileMaps.tile_set())
	_root.add_child(other)
	_map.refresh()
	other.enabled = false
	# The change itself was still told of.
	await tree.process_frame
	_map.refresh()
	var told: Array[bool] = []
	_map.outdated.connect(told.append.bind(true))
	other.changed.emit()
	check(told.is_empty(), "a layer that left")
	_layer.changed.emit()
	check_equal(told.size(), 1)
	_map.set_root(null)
	_layer.changed.emit()
	check_equal(told.size(), 1, "the whole scene left")
	check(_map.layers.is_empty())
	check(not _map.is_there())


func test_a_map_node_that_a_script_frees_is_gone() -> void:
	_layer.free()
	var node: NavServerMap2D = NavServerMap2D.new()
	node.region = Rect2i(0, 0, 4, 4)
	_root.add_child(node)
	_map.refresh()
	check(_map.is_there())
	node.free()
	check(not _map.is_there())
	check(_map.has_lost_layers())


func test_cells_and_points() -> void:
	_root.position = Vector2(100, 0)
	_map.refresh()
	check_equal(_map.cell_at(Vector2(100 + 16 * 2 + 3, 20)), Vector2i(2, 1))
	check_equal(_map.cell_at(Vector2(-500, 900)), Vector2i(0, 2), "clamped")
	var pair: Vector4i = _map.propose_pair()
	for is_goal: bool in [false, true]:
		check_equal(_map.get_class_of(PreviewPairs.get_end(pair, is_goal)), 0)


func test_a_stroke_sends_the_cells_that_it_changes_once() -> void:
	_map.refresh()
	var session: Session = Session.new("me")
	var backend: SidecarBackend = SidecarBackend.new(session)
	var point: Vector2 = Vector2(8, 8)
	_map.watch_stroke(_layer, point, point)
	check(not _map.send_stroke(backend, _layer, point, point))
	_layer.set_cell(Vector2i(0, 0), 7, TileMaps.WALL)
	check(_map.send_stroke(backend, _layer, point, point))
	check(not _map.send_stroke(backend, _layer, point, point))
	check_equal(session.get_pending_count(), 1)


func test_pairs_are_read_from_the_scene() -> void:
	check_equal(PreviewPairs.read(_root), [] as Array[Vector4i])
	_root.set_meta(PreviewPairs.META, PackedInt32Array([1, 2, 3, 4, 5, 6, 7, 8, 9]))
	var pairs: Array[Vector4i] = PreviewPairs.read(_root)
	check_equal(pairs, [Vector4i(1, 2, 3, 4), Vector4i(5, 6, 7, 8)] as Array[Vector4i])
	check_equal(PreviewPairs.with_end(pairs[0], true, Vector2i(9, 9)), Vector4i(1, 2, 9, 9))
	_root.set_meta(PreviewPairs.META, "else")
	check_equal(PreviewPairs.read(_root), [] as Array[Vector4i])


func test_an_obstacle_lays_its_class() -> void:
	var node: NavServerMap2D = NavServerMap2D.new()
	_root.add_child(node)
	var obstacle: NavServerObstacle2D = NavServerObstacle2D.new()
	obstacle.size = Vector2(20, 20)
	obstacle.position = Vector2(8, 8)
	obstacle.nav_class = 7
	_root.add_child(obstacle)
	_map.refresh()
	check_equal(_map.get_class_of(Vector2i(0, 0)), 7)
	check_equal(_map.get_class_of(Vector2i(1, 0)), 0)
	check_equal(_map.world.edit_cells, PackedInt32Array([0, 0]))
	obstacle.position = Vector2(40, 24)
	check_equal(_map.refresh(), PreviewMap.Change.WHOLE)
	check_equal(_map.get_class_of(Vector2i(2, 1)), 255, "a wall stays one")
	obstacle.enabled = false
	check_equal(_map.refresh(), PreviewMap.Change.WHOLE)
	check(_map.world.edit_cells.is_empty())
