extends Node2D
## Units among trees, sorted by y. Click: send them.
##
## The crowd moves the units and draws none of them. Each has a sprite of its own beside the trees,
## and whoever stands further down is drawn later.

const COUNT: int = 60
const AREA: Rect2i = Rect2i(0, 0, 36, 20)
const PICTURES: Texture2D = preload("grove.svg")
const TREE: Rect2 = Rect2(0, 0, 40, 64)
const PERSON: Rect2 = Rect2(44, 32, 16, 32)

var _sprites: Dictionary[int, Sprite2D] = {}

@onready var _ground: TileMapLayer = $Ground
@onready var _map: NavServerMap2D = $NavServerMap2D
@onready var _crowd: NavServerCrowd2D = $NavServerCrowd2D
@onready var _sorted: Node2D = $Sorted


func _ready() -> void:
	_plant()
	var places: PackedVector2Array = PackedVector2Array()
	for index: int in COUNT:
		places.append(_center_of(Vector2i(1 + index % 3, floori(index / 3.0))))
	for id: int in _crowd.spawn(places):
		_sprites[id] = _make_sprite(PERSON, _crowd.get_unit_position(id))
	_crowd.units_moved.connect(_on_units_moved)


func _unhandled_input(event: InputEvent) -> void:
	var click: InputEventMouseButton = make_input_local(event) as InputEventMouseButton
	if click != null and click.pressed and click.button_index == MOUSE_BUTTON_LEFT:
		_crowd.order(_crowd.get_all_unit_ids(), to_global(click.position))


func _on_units_moved() -> void:
	# Ids and positions go together, and hold those in view; who is out of view need not be moved.
	var ids: PackedInt64Array = _crowd.get_unit_ids()
	var positions: PackedVector2Array = _crowd.get_positions()
	for index: int in ids.size():
		_sprites[ids[index]].global_position = positions[index]


## Adds a picture whose feet stand at a place; the parent sorts by them.
func _make_sprite(picture: Rect2, place: Vector2) -> Sprite2D:
	var sprite: Sprite2D = Sprite2D.new()
	sprite.texture = PICTURES
	sprite.region_enabled = true
	sprite.region_rect = picture
	sprite.offset = Vector2(0.0, 4.0 - picture.size.y / 2.0)
	_sorted.add_child(sprite)
	sprite.global_position = place
	return sprite


func _center_of(cell: Vector2i) -> Vector2:
	return _map.to_global(_map.map_to_local(cell))


func _plant() -> void:
	for y: int in AREA.size.y:
		for x: int in AREA.size.x:
			_ground.set_cell(Vector2i(x, y), 0, Vector2i(0, 0))
	# Trees are no tiles: the map is told where they stand.
	var random: RandomNumberGenerator = RandomNumberGenerator.new()
	random.seed = 5
	for tree: int in 70:
		var cell: Vector2i = Vector2i(random.randi_range(6, 33), random.randi_range(0, 19))
		_map.set_point_solid(cell)
		_make_sprite(TREE, _center_of(cell))
