extends RefCounted
## A canvas item over the game that shows what navigation does, for as long as it lives.

# NavigationAgent2D's debugging draws there, too.
const _Z_INDEX: int = RenderingServer.CANVAS_ITEM_Z_MAX - 1
const _DASH: float = 6.0

## What is drawn on.
var item: RID = RenderingServer.canvas_item_create()


## Draws over all else in a canvas, or in the coordinates of a node.
func _init(parent: RID) -> void:
	RenderingServer.canvas_item_set_parent(item, parent)
	RenderingServer.canvas_item_set_z_index(item, _Z_INDEX)
	RenderingServer.canvas_item_set_z_as_relative_to_parent(item, false)
	RenderingServer.canvas_item_set_interpolated(item, false)


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE:
		RenderingServer.free_rid(item)


## Tells whether a node of a running game is to be drawn: it says so, or Debug > Visible Navigation
## is on.
static func is_wanted(node: Node, is_enabled: bool) -> bool:
	if Engine.is_editor_hint() or not node.is_inside_tree():
		return false
	return is_enabled or node.get_tree().debug_navigation_hint


## Draws nothing.
func clear() -> void:
	RenderingServer.canvas_item_clear(item)


## Draws a line of dashes.
func draw_dashes(from: Vector2, to: Vector2, color: Color, width: float = -1.0) -> void:
	var points: PackedVector2Array = PackedVector2Array()
	var length: float = from.distance_to(to)
	# Far ends are not worth more than this.
	var dash: float = maxf(_DASH, length / 200.0)
	var along: float = 0.0
	while along < length:
		points.append(from.move_toward(to, along))
		points.append(from.move_toward(to, minf(along + dash, length)))
		along += 2.0 * dash
	if not points.is_empty():
		RenderingServer.canvas_item_add_multiline(item, points, [color], width)


## Draws a cross.
func draw_cross(at: Vector2, radius: float, color: Color, width: float = -1.0) -> void:
	var arm: Vector2 = Vector2(radius, radius)
	var across: Vector2 = Vector2(radius, -radius)
	RenderingServer.canvas_item_add_multiline(
		item, [at - arm, at + arm, at - across, at + across], [color], width
	)


## Draws squares around points.
func draw_squares(points: PackedVector2Array, size: float, color: Color) -> void:
	var half: Vector2 = Vector2(size, size) * 0.5
	for point: Vector2 in points:
		RenderingServer.canvas_item_add_rect(item, Rect2(point - half, half * 2.0), color)
