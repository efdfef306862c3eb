@tool
@icon("res://addons/navserver/icon.svg")
class_name NavServerTileMapLayer
extends TileMapLayer
## A TileMapLayer that tells the maps it belongs to which of its cells change.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. Use it, or this script on your
## layer, where tiles are set or erased while the game runs. (The signal [signal
## TileMapLayer.changed] does not come for cells.)

# The first update, soon after the layer has come into the tree, has all cells that it came with,
# and the maps read them by themselves. Later ones have those that changed, whether the layer is
# shown or not.
var _is_first: bool = true


func _update_cells(coords: Array[Vector2i], _forced_cleanup: bool) -> void:
	var was_first: bool = _is_first
	_is_first = false
	if was_first or Engine.is_editor_hint() or coords.is_empty() or not is_inside_tree():
		return
	for map: NavServerMap2D in get_tree().get_nodes_in_group(NavServerMap2D.GROUP):
		if map.has_layer(self):
			map.notify_cells_changed(coords)
