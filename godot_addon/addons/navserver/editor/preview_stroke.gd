@tool
extends RefCounted
## A stroke of the tile map editor's brush: where it has been since it was last looked at.

const PreviewMap := preload("preview_map.gd")
const SidecarBackend := preload("../internal/sidecar_backend.gd")

var _layer: TileMapLayer = null
# In the scene's coordinates.
var _from: Vector2 = Vector2.ZERO
var _to: Vector2 = Vector2.ZERO


## Begins on a layer; null is no stroke.
func begin(layer: TileMapLayer, point: Vector2) -> void:
	_layer = layer
	_from = point
	_to = point


## Tells whether there is a stroke.
func is_on() -> bool:
	return is_instance_valid(_layer) and _layer.is_inside_tree()


## Goes on to a point where nothing is painted yet.
func move(map: PreviewMap, point: Vector2) -> void:
	map.watch_stroke(_layer, _to, point)
	_to = point


## Sends what was painted since; true if anything was.
func send(map: PreviewMap, backend: SidecarBackend) -> bool:
	var has_painted: bool = map.send_stroke(backend, _layer, _from, _to)
	_from = _to
	return has_painted


## Ends.
func end(map: PreviewMap) -> void:
	_layer = null
	map.end_stroke()
