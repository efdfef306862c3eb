@tool
extends RefCounted
## What is asked about a pair: the fields of the protocol's messages, as the dock chooses them.

const PreviewDock := preload("preview_dock.gd")
const PreviewMap := preload("preview_map.gd")
const PreviewPairs := preload("preview_pairs.gd")

# Expansions that are recorded at most; eight bytes each in what is sent.
const _MOST_RECORDED: int = 1 << 20
# Cells of a map whose searches are recorded: what an array of the protocol may hold.
const _MOST_DRAWN: int = 1 << 24


## Returns how a body moves.
static func make_movement(map: PreviewMap, dock: PreviewDock) -> Dictionary:
	var profile: int = mini(dock.get_profile(), map.profiles.size() - 1)
	var fields: Dictionary = {
		"world": map.world.name, "profile": PreviewMap.get_profile_name(profile)
	}
	fields.merge(dock.get_movement(map.world.diagonal_mode))
	return fields


## Returns the fields of explore for a pair; [param is_recorded] if its search may be drawn.
static func make(
	map: PreviewMap, dock: PreviewDock, pair: Vector4i, is_recorded: bool = false
) -> Dictionary:
	var fields: Dictionary = make_movement(map, dock)
	fields.merge(dock.get_search())
	for is_goal: bool in [false, true]:
		var cell: Vector2i = map.layout.to_inner(PreviewPairs.get_end(pair, is_goal))
		# A map that was cut down may have left a marker outside.
		cell = cell.clamp(map.world.region.position, map.world.region.end - Vector2i.ONE)
		fields["goal" if is_goal else "start"] = [cell.x, cell.y]
	fields["allow_partial"] = true
	fields["capacity"] = 0
	var is_drawn: bool = dock.get_search_layer() != PreviewDock.SearchLayer.NONE
	if is_recorded and is_drawn and map.world.region.get_area() <= _MOST_DRAWN:
		fields["capacity"] = _MOST_RECORDED
	return fields
