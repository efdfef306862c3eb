extends RefCounted
## The map that an agent belongs to, and whether it hears of the map's changes and rebuilds.

## The map that was found; null as long as there is none.
var map: NavServerMap2D = null

var _changed: Callable
var _ready: Callable


## Serves somebody: [param changed] takes what [signal NavServerMap2D.map_changed] tells, [param
## ready] what [signal NavServerMap2D.map_ready] does.
func _init(changed: Callable, ready: Callable) -> void:
	_changed = changed
	_ready = ready


## Returns the map that a node belongs to: the one given, else the nearest above, else the only one
## in the tree; null if there is none. A map that was freed counts as none.
static func find(node: Node, given: Variant) -> NavServerMap2D:
	# No parameter of the map's own type takes one that was freed.
	if is_instance_valid(given):
		return given
	var above: Node = node.get_parent()
	while above != null:
		if above is NavServerMap2D:
			return above
		above = above.get_parent()
	var all: Array[Node] = node.get_tree().get_nodes_in_group(NavServerMap2D.GROUP)
	return all[0] if all.size() == 1 else null


## Returns in words why [method find] finds none, with the remedy.
static func describe(node: Node) -> String:
	var count: int = node.get_tree().get_node_count_in_group(NavServerMap2D.GROUP)
	if count < 2:
		return "There is no map: set it, or have one NavServerMap2D in the scene"
	return "There are %d maps and none above this node: set the one that is meant" % count


## Belongs to another map from now on, or to none.
func follow(found: NavServerMap2D, hears_changes: bool) -> void:
	if is_instance_valid(map) and map.map_changed.is_connected(_changed):
		map.map_changed.disconnect(_changed)
		map.map_ready.disconnect(_ready)
	map = found
	if found != null and hears_changes:
		found.map_changed.connect(_changed)
		found.map_ready.connect(_ready)


## Tells whether there is a map, in the tree.
func is_good() -> bool:
	return is_instance_valid(map) and map.is_inside_tree()
