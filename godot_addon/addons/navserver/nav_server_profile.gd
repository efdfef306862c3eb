@tool
@icon("res://addons/navserver/icon.svg")
class_name NavServerProfile
extends Resource
## Who walks: what a cell of each class costs, and how large the body is.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. Cells have a class, from
## [member NavServerMap2D.class_layer_name] of their tiles; a profile says what a class costs, so a
## walker, a boat and a tank share one map. Share one resource among all agents of a kind: with the
## sidecar a map takes 255 at a time.

## Internal: no part of what this class offers.
const Overrides := preload("internal/overrides.gd")

## Cost of entering a cell of a class (1 to 254): 0, or a number from 1.2e-38 to 3.4e38;
## [constant @GDScript.INF] blocks. Classes that are not here cost 1. Class 255, solid, always
## blocks. Set it as a whole: the profile does not see what is written into the dictionary.
@export var class_costs: Dictionary[int, float] = {}:
	set = set_class_costs
## Side of the square body in cells; it is anchored at its top left cell. What is less than 1 counts
## as 1, what is more than 32 as 32.
@export_range(1, 32) var size: int = 1:
	set = set_size
## Color in which paths of this profile are drawn.
@export var color: Color = Color(1.0, 0.6, 0.1)


## Sets [member class_costs]; refused, with an error that says why, if a class or cost cannot be.
func set_class_costs(value: Dictionary[int, float]) -> void:
	for class_id: int in value:
		if not _check(class_id, value[class_id]):
			return
	class_costs = value
	emit_changed()


## Sets [member size].
func set_size(value: int) -> void:
	size = clampi(value, 1, 32)
	emit_changed()


## Returns the cost of each of the 256 classes.
func get_cost_table() -> PackedFloat32Array:
	var table: PackedFloat32Array = PackedFloat32Array()
	table.resize(256)
	table.fill(1.0)
	for class_id: int in class_costs:
		# It may have been written into the dictionary, past the setter.
		if _check(class_id, class_costs[class_id]):
			table[class_id] = class_costs[class_id]
	table[255] = INF
	return table


func _check(class_id: int, cost: float) -> bool:
	if class_id >= 0 and class_id <= 254 and Overrides.is_cost(cost):
		return true
	var place: String = "NavServerProfile"
	if not resource_path.is_empty():
		place += " " + resource_path
	var told: String = String.num_scientific(cost)
	var remedy: String = "give classes 0 to 254 costs of 0, or from 1.2e-38 to 3.4e38, INF to block"
	push_error("%s: class_costs[%d] is %s; %s" % [place, class_id, told, remedy])
	return false
