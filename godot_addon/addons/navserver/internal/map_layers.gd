@tool
extends RefCounted
## Which TileMapLayers make a map, and whether they fit together.

const TileLayout := preload("tile_layout.gd")


## Returns the layers of a map, bottom first: those that are named, else all below it, else those
## beside it. Empty slots do not count.
static func find_all(map: Node, named: Array[TileMapLayer]) -> Array[TileMapLayer]:
	# An empty slot names none. One whose layer was freed did, and is not the same as null.
	if not named.all(is_same.bind(null)):
		return named.filter(is_instance_valid)
	var found: Array[TileMapLayer] = []
	found.assign(map.find_children("*", "TileMapLayer", true, false))
	if found.is_empty() and map.get_parent() != null:
		found.assign(map.get_parent().find_children("*", "TileMapLayer", false, false))
	return found


## Returns those that count: a layer that is not enabled takes part in nothing, and not in a map.
static func select(layers: Array[TileMapLayer]) -> Array[TileMapLayer]:
	return layers.filter(
		func(layer: Variant) -> bool:
			return is_instance_valid(layer) and (layer as TileMapLayer).enabled
	)


## Calls [param handler] whenever layers may have come to count, or to count no longer.
static func watch(layers: Array[TileMapLayer], handler: Callable) -> void:
	for layer: TileMapLayer in layers:
		if not layer.changed.is_connected(handler):
			layer.changed.connect(handler)
			layer.tree_exited.connect(handler)


## Calls the handler of [method watch] no more.
static func unwatch(layers: Array[TileMapLayer], handler: Callable) -> void:
	# The map's own layers may have been freed by now.
	for layer: TileMapLayer in layers.filter(is_instance_valid) as Array[TileMapLayer]:
		if layer.changed.is_connected(handler):
			layer.changed.disconnect(handler)
			layer.tree_exited.disconnect(handler)


## Returns in words what keeps layers from being one map, each with its remedy.
static func find_problems(layers: Array[TileMapLayer]) -> PackedStringArray:
	var problems: PackedStringArray = PackedStringArray()
	var first: TileLayout = TileLayout.new(layers[0])
	for layer: TileMapLayer in layers:
		var layout: TileLayout = TileLayout.new(layer)
		if not layout.problem.is_empty():
			problems.append("%s %s." % [layer.name, layout.problem])
		elif not layout.transform.is_equal_approx(first.transform):
			problems.append(
				(
					"%s has other cells than %s: give both tiles of one size and shape."
					% [layer.name, layers[0].name]
				)
			)
		elif _is_moved(layers[0], layer, first.transform):
			problems.append(
				(
					"%s is moved against %s by half a cell or more: undo that, or leave it out."
					% [layer.name, layers[0].name]
				)
			)
	return problems


## Layers are drawn a little higher or lower to look right, and their cells stay the same; farther
## away, or turned, they would not lie where they seem to.
static func _is_moved(first: TileMapLayer, layer: TileMapLayer, cells: Transform2D) -> bool:
	if first.global_transform.is_equal_approx(layer.global_transform):
		return false
	var to_cells: Transform2D = (first.global_transform * cells).affine_inverse()
	var between: Transform2D = to_cells * layer.global_transform * cells
	var away: Vector2 = between.origin.abs()
	between.origin = Vector2.ZERO
	return maxf(away.x, away.y) >= 0.5 or not between.is_equal_approx(Transform2D.IDENTITY)
