extends RefCounted
## The state of a map for saved games: what code has set, and the units of its crowds.

const MoverGroup := preload("mover_group.gd")
const MoverTable := preload("mover_table.gd")
const Msgpack := preload("msgpack.gd")
const Overrides := preload("overrides.gd")
const SavedUnits := preload("saved_units.gd")

const _FORMAT: String = "navserver-map-1"

var _state: Dictionary = {}
var _crowds: Array[SavedUnits] = []
# A state from before crowds were saved leaves them alone.
var _has_crowds: bool = false


## Returns the state of a map; [param movers] is null if it has none.
static func pack(overrides: Overrides, movers: MoverTable, map: NavServerMap2D) -> PackedByteArray:
	var state: Dictionary = overrides.describe()
	state["format"] = _FORMAT
	var crowds: Array[Dictionary] = []
	if movers != null and map.is_inside_tree():
		for group: MoverGroup in movers.get_groups():
			if group.node is NavServerCrowd2D and group.node.is_inside_tree():
				crowds.append(SavedUnits.describe(group, map.get_path_to(group.node)))
	state["crowds"] = crowds
	return Msgpack.new().encode(state)


## Takes what [method pack] returned; returns what is wrong with it. Nothing changes yet.
func read(bytes: PackedByteArray) -> String:
	var value: Variant = Msgpack.new().decode(bytes)
	if value is not Dictionary:
		return "%d bytes are no state of a map" % bytes.size()
	_state = value
	if _state.get("format") != _FORMAT:
		return "the state is not of the format %s" % _FORMAT
	_has_crowds = "crowds" in _state
	if not _has_crowds:
		return ""
	if _state["crowds"] is not Array:
		return "crowds is no list"
	for told: Variant in _state["crowds"] as Array:
		var crowd: SavedUnits = SavedUnits.new()
		var problem: String = crowd.read(told)
		if not problem.is_empty():
			return problem
		_crowds.append(crowd)
	return ""


## Takes solid cells and weights over; returns what is wrong with them, and nothing changes then.
func give_overrides(overrides: Overrides) -> String:
	return overrides.take(_state)


## Puts the units into the crowds of a map; crowds of the map that the state does not know lose
## theirs. [param movers] is null if the map has none yet.
func give_units(movers: MoverTable, map: NavServerMap2D) -> void:
	if not _has_crowds:
		return
	var filled: Dictionary[MoverGroup, bool] = {}
	for saved: SavedUnits in _crowds:
		# Who is told of the units of one crowd may free the map.
		if not is_instance_valid(map):
			return
		var group: MoverGroup = _find_group(saved, map)
		if group != null:
			saved.place(group, map)
			filled[group] = true
	if movers == null:
		return
	for group: MoverGroup in movers.get_groups():
		if group not in filled:
			group.clear()


func _find_group(saved: SavedUnits, map: NavServerMap2D) -> MoverGroup:
	var crowd: NavServerCrowd2D = map.get_node_or_null(saved.path) as NavServerCrowd2D
	if crowd != null and crowd.is_inside_tree():
		var group: MoverGroup = crowd.get_mover_group()
		if group != null and group.table == map.get_movers():
			return group
	push_warning(
		(
			(
				"%s: set_state: %d units of the crowd %s are left out, since no crowd of this map is"
				+ " there; add it before, under the name that it had"
			)
			% [map.name, saved.get_count(), saved.path]
		)
	)
	return null
