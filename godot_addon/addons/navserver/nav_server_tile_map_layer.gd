@tool
@icon("res://addons/navserver/icon.svg")
class_name NavServerTileMapLayer
extends TileMapLayer
## A TileMapLayer that tells the maps it belongs to which of its cells change.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. Use it, or this script on your
## layer, where tiles are set or erased while the game runs. (The signal [signal
## TileMapLayer.changed] does not come for cells.)

var _is_first: bool = true
var _entered_frame: int = 0


func _enter_tree() -> void:
	_is_first = true
	_entered_frame = Engine.get_process_frames()


func _update_cells(coords: Array[Vector2i], forced_cleanup: bool) -> void:
	if Engine.is_editor_hint() or forced_cleanup or coords.is_empty() or not is_inside_tree():
		return
	if _is_first:
		_is_first = false
		# All cells are new, and the maps read them all by themselves. A layer without cells hears of
		# none until it gets some, and those count.
		if Engine.get_process_frames() - _entered_frame <= 1:
			return
	for map: NavServerMap2D in get_tree().get_nodes_in_group(NavServerMap2D.GROUP):
		if map.has_layer(self):
			map.notify_cells_changed(coords)
