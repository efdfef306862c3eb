@tool
@icon("res://addons/navserver/icon.svg")
class_name NavServerObstacle2D
extends Node2D
## Something that stands on a map and changes its cells: a door, a gate, a building.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. While it is [member enabled]
## the cells whose centres it covers have the class [member nav_class]; code and animations may move
## it, and switch it on and off; moves are taken in at the end of the frame. Agents whose paths it
## breaks ask again by themselves.

## Group of all obstacles in the tree.
const GROUP: StringName = &"navserver_obstacles"

## The map; empty takes the nearest one above, else the only one in the tree, and stays there when
## others come.
@export var map: NavServerMap2D = null:
	set(value):
		_lift()
		map = value
		update_configuration_warnings()
		_lay()
## Size of the rectangle around this node, if there is no polygon.
@export var size: Vector2 = Vector2(16.0, 16.0):
	set(value):
		size = value
		queue_redraw()
		_lay()
## Corners in this node's coordinates, instead of the rectangle.
@export var polygon: PackedVector2Array = PackedVector2Array():
	set(value):
		polygon = value
		queue_redraw()
		_lay()
## Whether it is in the way.
@export var enabled: bool = true:
	set(value):
		enabled = value
		_lay()
## Class of the cells under it, from 0 to 255: 255 is solid, others cost what profiles say.
@export_range(0, 255) var nav_class: int = 255:
	set(value):
		nav_class = clampi(value, 0, 255)
		_lay()

var _laid_on: NavServerMap2D = null


func _ready() -> void:
	add_to_group(GROUP)
	set_notify_transform(true)
	_lay()


func _exit_tree() -> void:
	_lift()


func _notification(what: int) -> void:
	if what == NOTIFICATION_TRANSFORM_CHANGED:
		_lay()
	elif what == NOTIFICATION_POST_ENTER_TREE and is_node_ready():
		_lay()


func _get_configuration_warnings() -> PackedStringArray:
	if is_inside_tree() and NavServerAgent2D.find_map(self, map) == null:
		return ["%s." % NavServerAgent2D.describe_maps(self)]
	return []


func _draw() -> void:
	# While its corners are being dragged they need not make a polygon.
	if Engine.is_editor_hint() and not Geometry2D.triangulate_polygon(get_corners()).is_empty():
		draw_colored_polygon(get_corners(), Color(1.0, 0.3, 0.2, 0.3))


## Looks for a map after one has come or gone, unless it lies on one already; for [NavServerMap2D].
func follow_map() -> void:
	if not _is_laid():
		_lay()


## Returns the corners of the polygon, else those of the rectangle, in this node's coordinates.
func get_corners() -> PackedVector2Array:
	if polygon.size() >= 3:
		return polygon
	var half: Vector2 = size / 2.0
	return [-half, Vector2(half.x, -half.y), half, Vector2(-half.x, half.y)]


func _is_laid() -> bool:
	return is_instance_valid(_laid_on) and _laid_on.is_inside_tree()


func _lay() -> void:
	if not is_node_ready() or not is_inside_tree() or Engine.is_editor_hint():
		return
	var found: NavServerMap2D = NavServerAgent2D.find_map(self, map)
	if found == null and _is_laid():
		# Others have come since, and it is not for them to open a door that stands here.
		found = _laid_on
	if found == null:
		_lift()
		return
	if found != _laid_on:
		_lift()
	if not found.map_ready.is_connected(_lay):
		found.map_ready.connect(_lay)
	_laid_on = found
	var cells: Array[Vector2i] = []
	if enabled:
		if found.global_transform.determinant() == 0.0:
			return
		var to_map: Transform2D = found.global_transform.affine_inverse() * global_transform
		cells = found.get_cells_in_polygon(to_map * get_corners())
	found.set_obstacle(self, cells, nav_class)


func _lift() -> void:
	if is_instance_valid(_laid_on):
		_laid_on.set_obstacle(self, [], nav_class)
		if _laid_on.map_ready.is_connected(_lay):
			_laid_on.map_ready.disconnect(_lay)
	_laid_on = null
