@tool
extends RefCounted
## What messages call a node.


## Returns the path of a node; in no tree its name, or what it is.
static func of(node: Node) -> String:
	if node.is_inside_tree():
		return str(node.get_path())
	if not node.name.is_empty():
		return str(node.name)
	var script: Script = node.get_script()
	while script.get_global_name().is_empty():
		script = script.get_base_script()
	return "a %s" % script.get_global_name()
