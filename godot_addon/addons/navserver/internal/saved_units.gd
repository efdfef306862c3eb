extends RefCounted
## The units of one crowd as they stand in the state of a map.
##
## What is read is only looked at; [method place] carries it out.

const MoverGround := preload("mover_ground.gd")
const MoverGroup := preload("mover_group.gd")
const MoverUnit := preload("mover_unit.gd")
const Overrides := preload("overrides.gd")

const _HAS_GOAL: int = 1
const _SPREADS: int = 2
const _BITS: int = 0xffff_ffff
# What a unit can be, and the most of it.
const _MOST: Dictionary[String, float] = {
	"body_radius": 32.0,
	"max_speed": 1e6,
	"acceleration": INF,
	"turn_rate": INF,
	"priority": 1.0,
	"layers": _BITS,
	"mask": _BITS,
}
# Bytes that a unit takes in each part.
const _PARTS: Dictionary[String, int] = {
	"ids": 8, "kinds": 4, "positions": 8, "goals": 8, "orders": 1
}

## Where the crowd is, seen from the map.
var path: NodePath = NodePath()

var _next_id: int = 1
var _ids: PackedInt64Array = PackedInt64Array()
var _kinds: PackedInt32Array = PackedInt32Array()
var _positions: PackedVector2Array = PackedVector2Array()
var _goals: PackedVector2Array = PackedVector2Array()
var _orders: PackedByteArray = PackedByteArray()
var _properties: Array[Dictionary] = []
# Who they walk as; null for everywhere but through what is solid.
var _profiles: Array[NavServerProfile] = []


## Returns the units of a group in a form that [method read] takes.
static func describe(group: MoverGroup, crowd_path: NodePath) -> Dictionary:
	group.keep_positions()
	var ids: PackedInt64Array = group.get_ids()
	var numbers: Dictionary[MoverUnit.Kind, int] = {}
	var kinds: PackedInt32Array = PackedInt32Array()
	var positions: PackedVector2Array = PackedVector2Array()
	var goals: PackedVector2Array = PackedVector2Array()
	var orders: PackedByteArray = PackedByteArray()
	for id: int in ids:
		var unit: MoverUnit = group.get_unit(id)
		if unit.kind not in numbers:
			numbers[unit.kind] = numbers.size()
		kinds.append(numbers[unit.kind])
		positions.append(unit.position)
		goals.append(unit.goal)
		orders.append(int(unit.has_goal) * _HAS_GOAL + int(unit.spread) * _SPREADS)
	return {
		"path": str(crowd_path),
		"next_id": group.get_next_id(),
		"ids": ids.to_byte_array(),
		"kinds": kinds.to_byte_array(),
		"positions": positions.to_byte_array(),
		"goals": goals.to_byte_array(),
		"orders": orders,
		"kind_table": numbers.keys().map(_describe_kind),
	}


static func _describe_kind(kind: MoverUnit.Kind) -> Dictionary:
	var told: Dictionary = {"properties": kind.properties}
	var profile: NavServerProfile = kind.ground.profile
	if profile != null:
		told["classes"] = PackedByteArray(profile.class_costs.keys())
		told["costs"] = PackedFloat64Array(profile.class_costs.values()).to_byte_array()
		told["size"] = profile.size
	return told


## Takes what [method describe] returned; returns what is wrong with it.
func read(value: Variant) -> String:
	if value is not Dictionary:
		return "a crowd is no map of fields"
	var state: Dictionary = value
	if state.get("path") is not String or state.get("next_id") is not int:
		return "a crowd has no path or no next_id"
	var path_there: String = state["path"]
	path = NodePath(path_there)
	if path.is_empty():
		return "the path of a crowd is empty"
	_next_id = state["next_id"]
	var problem: String = _read_parts(state)
	if problem.is_empty():
		problem = _read_kinds(state.get("kind_table"))
	if problem.is_empty():
		problem = _find_problem()
	return "" if problem.is_empty() else "crowd %s: %s" % [path, problem]


func _read_parts(state: Dictionary) -> String:
	var count: int = -1
	for part: String in _PARTS:
		if state.get(part) is not PackedByteArray:
			return "%s is not there" % part
		var bytes: PackedByteArray = state[part]
		if count < 0:
			count = floori(bytes.size() / float(_PARTS[part]))
		if bytes.size() != count * _PARTS[part]:
			return "%s has %d bytes for %d units" % [part, bytes.size(), count]
	_ids = (state["ids"] as PackedByteArray).to_int64_array()
	_kinds = (state["kinds"] as PackedByteArray).to_int32_array()
	_positions = (state["positions"] as PackedByteArray).to_vector2_array()
	_goals = (state["goals"] as PackedByteArray).to_vector2_array()
	_orders = state["orders"]
	return ""


func _read_kinds(value: Variant) -> String:
	if value is not Array:
		return "kind_table is not there"
	for told: Variant in value as Array:
		if told is not Dictionary or (told as Dictionary).get("properties") is not Dictionary:
			return "a kind has no properties"
		var kind: Dictionary = told
		var properties: Dictionary = kind["properties"]
		for property: Variant in properties:
			if not _is_good(property, properties[property]):
				return "%s is %s" % [property, properties[property]]
		_properties.append(properties)
		if not _read_profile(kind):
			return "a profile is damaged"
	return ""


func _is_good(property: Variant, value: Variant) -> bool:
	if property is not String or (property as String) not in _MOST:
		return false
	var is_set_of_bits: bool = _MOST[property] == _BITS
	if value is not int and (is_set_of_bits or value is not float):
		return false
	var number: float = value
	return number >= 0.0 and number <= _MOST[property]


func _read_profile(kind: Dictionary) -> bool:
	if "costs" not in kind:
		_profiles.append(null)
		return true
	for part: String in ["classes", "costs"]:
		if kind.get(part) is not PackedByteArray:
			return false
	var classes: PackedByteArray = kind["classes"]
	var bytes: PackedByteArray = kind["costs"]
	if kind.get("size") is not int or bytes.size() != 8 * classes.size():
		return false
	var costs: PackedFloat64Array = bytes.to_float64_array()
	var table: Dictionary[int, float] = {}
	for index: int in costs.size():
		if classes[index] == NavServerMap2D.SOLID or not Overrides.is_cost(costs[index]):
			return false
		table[classes[index]] = costs[index]
	var profile: NavServerProfile = NavServerProfile.new()
	profile.class_costs = table
	profile.size = kind["size"]
	_profiles.append(profile)
	return true


func _find_problem() -> String:
	var seen: Dictionary[int, bool] = {}
	for index: int in _ids.size():
		var id: int = _ids[index]
		if id < 1 or id >= _next_id or id in seen:
			return "id %d is there twice or cannot be" % id
		seen[id] = true
		if _kinds[index] < 0 or _kinds[index] >= _profiles.size():
			return "unit %d has the kind %d of %d" % [id, _kinds[index], _profiles.size()]
		if not _positions[index].is_finite() or not _goals[index].is_finite():
			return "unit %d is at %s and goes to %s" % [id, _positions[index], _goals[index]]
	return ""


## Returns how many units there are.
func get_count() -> int:
	return _ids.size()


## Puts the units into a crowd's group, in the place of all that it has.
func place(group: MoverGroup, map: NavServerMap2D) -> void:
	var kinds: Array[MoverUnit.Kind] = []
	for index: int in _profiles.size():
		var kind: MoverUnit.Kind = MoverUnit.Kind.new()
		kind.properties = _properties[index]
		kind.ground = MoverGround.new(
			map, _find_profile(index, group.node as NavServerCrowd2D, map)
		)
		kinds.append(kind)
	var units: Dictionary[int, MoverUnit] = {}
	for index: int in _ids.size():
		var unit: MoverUnit = MoverUnit.new()
		unit.kind = kinds[_kinds[index]]
		unit.position = _positions[index]
		unit.goal = _goals[index]
		unit.has_goal = _orders[index] & _HAS_GOAL != 0
		unit.spread = _orders[index] & _SPREADS != 0
		units[_ids[index]] = unit
	group.replace(units, _next_id)


## A profile of the scene where one is the same, so that it goes on to follow its changes.
func _find_profile(index: int, crowd: NavServerCrowd2D, map: NavServerMap2D) -> NavServerProfile:
	var saved: NavServerProfile = _profiles[index]
	if saved == null:
		return null
	for known: NavServerProfile in [crowd.profile] + map.profiles + _profiles.slice(0, index):
		if known != null and known.size == saved.size and known.class_costs == saved.class_costs:
			return known
	return saved
