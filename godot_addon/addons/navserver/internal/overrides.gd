extends RefCounted
## What code has set on top of a map's tiles: solid cells, weights, obstacles.

const WorldState := preload("world_state.gd")

# Whoever finds the paths keeps factors as float32: one beyond the greatest would be infinite there,
# and one of less than the least normal number loses its digits.
## The greatest number that a cost, or a factor of one, may be.
const GREATEST_SCALE: float = 3.4028234663852886e38
const _LEAST_SCALE: float = 1.1754943508222875e-38

## Cells that are solid or walkable whatever their tile says.
var solid: Dictionary[Vector2i, bool] = {}
## Factor of a cell's cost.
var scales: Dictionary[Vector2i, float] = {}

var _obstacles: Dictionary[Object, Dictionary] = {}
# The highest class that obstacles lay on a cell, and how many lay each class, where it is more than
# one obstacle: nobody who asks or moves asks every obstacle of the map.
var _highest: Dictionary[Vector2i, int] = {}
var _shared: Dictionary[Vector2i, Dictionary] = {}


## Returns the class of a cell whose tile has a class.
func get_class_of(cell: Vector2i, tile: int) -> int:
	var class_id: int = tile
	if cell in solid:
		if solid[cell]:
			class_id = WorldState.SOLID
		elif tile == WorldState.SOLID:
			class_id = 0
	# Of several obstacles the highest class holds; solid is the highest.
	var laid: int = _highest.get(cell, -1)
	return class_id if laid < 0 or class_id == WorldState.SOLID else laid


## Returns why a cell's cost cannot be multiplied by a number, with the remedy; nothing if it can.
static func find_scale_problem(scale: float) -> String:
	if scale == 0.0 or scale >= _LEAST_SCALE and scale <= GREATEST_SCALE:
		return ""
	var told: String = String.num_scientific(scale)
	return "is %s; give 0, or a number from 1.2e-38 to 3.4e38" % told


## Tells whether a class may cost so much; INF blocks.
static func is_cost(cost: float) -> bool:
	return cost == INF or find_scale_problem(cost).is_empty()


## Returns by what the cost of a cell is multiplied.
func get_scale_of(cell: Vector2i) -> float:
	return scales.get(cell, 1.0)


## Lays a class over cells for an obstacle, in place of what it laid before; returns the cells that
## this may change.
func set_obstacle(obstacle: Object, cells: Array[Vector2i], class_id: int) -> Array[Vector2i]:
	var before: Dictionary = _obstacles.get(obstacle, {})
	var laid: Dictionary = {}
	for cell: Vector2i in cells:
		laid[cell] = class_id
	if laid.is_empty():
		_obstacles.erase(obstacle)
	else:
		_obstacles[obstacle] = laid
	var changed: Array[Vector2i] = []
	for cell: Vector2i in before:
		if laid.get(cell, -1) != before[cell]:
			changed.append(cell)
			var class_before: int = before[cell]
			_lift(cell, class_before)
			if cell in laid:
				_lay(cell, class_id)
	for cell: Vector2i in laid:
		if cell not in before:
			changed.append(cell)
			_lay(cell, class_id)
	return changed


## Returns all cells that differ, or may differ, from their tiles.
func get_cells() -> Array[Vector2i]:
	var found: Dictionary[Vector2i, bool] = {}
	for cell: Vector2i in solid:
		found[cell] = true
	for cell: Vector2i in scales:
		found[cell] = true
	for cell: Vector2i in _highest:
		found[cell] = true
	return found.keys()


## Takes back solid cells and weights; obstacles stay.
func clear() -> void:
	solid.clear()
	scales.clear()


## Returns solid cells and weights in a form that [method take] takes; obstacles are nodes and come
## from their scene.
func describe() -> Dictionary:
	var cells: PackedInt32Array = PackedInt32Array()
	var flags: PackedByteArray = PackedByteArray()
	for cell: Vector2i in solid:
		cells.append_array([cell.x, cell.y])
		flags.append(1 if solid[cell] else 0)
	var scaled: PackedInt32Array = PackedInt32Array()
	var factors: PackedFloat64Array = PackedFloat64Array()
	for cell: Vector2i in scales:
		scaled.append_array([cell.x, cell.y])
		factors.append(scales[cell])
	return {
		"cells": cells.to_byte_array(),
		"solid": flags,
		"scaled": scaled.to_byte_array(),
		"scales": factors.to_byte_array(),
	}


## Takes what [method describe] returned; returns what is wrong with it, and nothing changes then.
func take(state: Dictionary) -> String:
	var parts: Array[PackedByteArray] = []
	for part: String in ["cells", "solid", "scaled", "scales"]:
		if state.get(part) is not PackedByteArray:
			return "%s is not there" % part
		parts.append(state[part])
	if parts[0].size() != 8 * parts[1].size() or parts[2].size() != parts[3].size():
		return "its parts differ in length"
	var factors: PackedFloat64Array = parts[3].to_float64_array()
	for factor: float in factors:
		var problem: String = find_scale_problem(factor)
		if not problem.is_empty():
			return "a weight " + problem
	clear()
	var cells: PackedInt32Array = parts[0].to_int32_array()
	for index: int in parts[1].size():
		solid[Vector2i(cells[2 * index], cells[2 * index + 1])] = parts[1][index] != 0
	var scaled: PackedInt32Array = parts[2].to_int32_array()
	for index: int in factors.size():
		scales[Vector2i(scaled[2 * index], scaled[2 * index + 1])] = factors[index]
	return ""


## Takes note that one more obstacle lays a class on a cell.
func _lay(cell: Vector2i, class_id: int) -> void:
	if cell not in _highest:
		_highest[cell] = class_id
		return
	if cell not in _shared:
		_shared[cell] = {_highest[cell]: 1}
	var counts: Dictionary = _shared[cell]
	counts[class_id] = counts.get(class_id, 0) + 1
	_highest[cell] = maxi(_highest[cell], class_id)


## Takes note that an obstacle lays a class on a cell no longer.
func _lift(cell: Vector2i, class_id: int) -> void:
	if cell not in _shared:
		_highest.erase(cell)
		return
	var counts: Dictionary = _shared[cell]
	counts[class_id] -= 1
	if counts[class_id] == 0:
		counts.erase(class_id)
	var highest: int = counts.keys().max()
	_highest[cell] = highest
	if counts.size() == 1 and counts[highest] == 1:
		_shared.erase(cell)
