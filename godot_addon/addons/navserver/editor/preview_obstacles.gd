@tool
extends RefCounted
## The classes that the obstacles of an edited scene lay over the cells of its map.
##
## In the editor obstacles lay nothing themselves: they begin when the game does.

## Class by cell, in the sidecar's numbers; of several obstacles the highest holds.
var classes: Dictionary[Vector2i, int] = {}

var _obstacles: Array[NavServerObstacle2D] = []


## Finds the obstacles of a map; returns what their cells hang on.
func read(root: Node, map: NavServerMap2D) -> Array:
	_obstacles = []
	var settings: Array = []
	if map == null:
		return settings
	for node: Node in root.find_children("*", "NavServerObstacle2D", true, false):
		var obstacle: NavServerObstacle2D = node as NavServerObstacle2D
		if obstacle.enabled and (obstacle.map == null or obstacle.map == map):
			_obstacles.append(obstacle)
			settings.append_array([obstacle, obstacle.global_transform, obstacle.size])
			settings.append_array([obstacle.polygon.duplicate(), obstacle.nav_class])
	return settings


## Lays the obstacles over cells; [param to_cells] leads from the scene to them.
func lay(to_cells: Transform2D, region: Rect2i) -> void:
	classes.clear()
	for obstacle: NavServerObstacle2D in _obstacles:
		var corners: PackedVector2Array = obstacle.get_corners()
		corners = to_cells * (obstacle.global_transform * corners)
		var box: Rect2 = Rect2(corners[0], Vector2.ZERO)
		for corner: Vector2 in corners:
			box = box.expand(corner)
		var least: Vector2i = Vector2i(box.position.floor()).max(region.position)
		var last: Vector2i = Vector2i(box.end.ceil()).min(region.end - Vector2i.ONE)
		for y: int in range(least.y, last.y + 1):
			for x: int in range(least.x, last.x + 1):
				if Geometry2D.is_point_in_polygon(Vector2(x, y), corners):
					var cell: Vector2i = Vector2i(x, y)
					var laid: int = classes.get(cell, 0)
					classes[cell] = maxi(laid, obstacle.nav_class)
