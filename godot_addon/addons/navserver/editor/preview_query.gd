@tool
extends RefCounted
## What is asked about a pair: the fields of the protocol's messages, as the dock chooses them.

const PreviewDock := preload("preview_dock.gd")
const PreviewMap := preload("preview_map.gd")
const PreviewPairs := preload("preview_pairs.gd")

# Expansions that are recorded at most.
const _MOST_RECORDED: int = 1 << 20
# Numbers of an array over the map at most; larger maps are told in squares of some cells.
const _MOST_DRAWN: int = 1 << 22


## Returns how a body moves.
static func make_movement(map: PreviewMap, dock: PreviewDock) -> Dictionary:
	var profile: int = mini(dock.get_profile(), map.profiles.size() - 1)
	var fields: Dictionary = {
		"world": map.world.name, "profile": PreviewMap.get_profile_name(profile)
	}
	fields.merge(dock.get_movement(map.world.diagonal_mode))
	return fields


## Returns how many cells a side one number of what is drawn over the map stands for.
static func get_step(map: PreviewMap) -> int:
	var part: float = map.world.region.get_area() / float(_MOST_DRAWN)
	return maxi(1, ceili(sqrt(part)))


## Returns the fields of explore for a pair.
static func make(map: PreviewMap, dock: PreviewDock, pair: Vector4i) -> Dictionary:
	var fields: Dictionary = make_movement(map, dock)
	fields.merge(dock.get_search())
	for is_goal: bool in [false, true]:
		var cell: Vector2i = map.layout.to_inner(PreviewPairs.get_end(pair, is_goal))
		# A map that was cut down may have left a marker outside.
		cell = cell.clamp(map.world.region.position, map.world.region.end - Vector2i.ONE)
		fields["goal" if is_goal else "start"] = [cell.x, cell.y]
	fields["allow_partial"] = true
	return fields


## Returns the fields of explore with what is drawn of the answer; of the search only if
## [param is_recorded].
static func make_drawn(
	map: PreviewMap, dock: PreviewDock, pair: Vector4i, is_recorded: bool
) -> Dictionary:
	var fields: Dictionary = make(map, dock, pair)
	var arrays: PackedStringArray = PackedStringArray()
	if dock.is_smoothed_shown():
		arrays.append("smoothed")
	var layer: PreviewDock.SearchLayer = dock.get_search_layer()
	if is_recorded and layer != PreviewDock.SearchLayer.NONE:
		arrays.append("order" if layer == PreviewDock.SearchLayer.ORDER else "costs")
		fields["capacity"] = _MOST_RECORDED
		fields["step"] = get_step(map)
	fields["arrays"] = Array(arrays)
	return fields
