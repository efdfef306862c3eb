@tool
extends RefCounted
## Which TileMapLayers make a map, and whether they fit together.

const TileLayout := preload("tile_layout.gd")


## Returns the layers of a map, bottom first: those that are named, else all below it, else those
## beside it.
static func find(map: Node, named: Array[TileMapLayer]) -> Array[TileMapLayer]:
	var found: Array[TileMapLayer] = []
	if not named.is_empty():
		for layer: TileMapLayer in named:
			if layer != null:
				found.append(layer)
		return found
	found.assign(map.find_children("*", "TileMapLayer", true, false))
	if found.is_empty() and map.get_parent() != null:
		found.assign(map.get_parent().find_children("*", "TileMapLayer", false, false))
	return found


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
		elif not layer.transform.is_equal_approx(layers[0].transform):
			problems.append("%s is moved against %s: undo that." % [layer.name, layers[0].name])
	return problems
