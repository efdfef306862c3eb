@tool
extends RefCounted
## Leads from what the debugger shows to where it was made.


## Opens the scene file that a node of the running game comes from, and selects the node there; of
## one that the game has made itself, the nearest above. False if there is no such scene.
static func show_node(scene: String, path: NodePath) -> bool:
	if scene.is_empty() or not ResourceLoader.exists(scene, "PackedScene"):
		return false
	EditorInterface.open_scene_from_path(scene)
	var root: Node = EditorInterface.get_edited_scene_root()
	if root == null or root.scene_file_path != scene:
		return false
	var found: Node = _find(root, path)
	EditorInterface.get_selection().clear()
	EditorInterface.get_selection().add_node(found)
	EditorInterface.edit_node(found)
	return true


## Opens a script at a line, which stands behind a colon.
static func show_script(place: String) -> bool:
	var colon: int = place.rfind(":")
	var path: String = place.substr(0, colon)
	if colon < 0 or not ResourceLoader.exists(path, "Script"):
		return false
	var script: Script = load(path)
	EditorInterface.set_main_screen_editor("Script")
	EditorInterface.edit_script(script, place.substr(colon + 1).to_int())
	return true


static func _find(root: Node, path: NodePath) -> Node:
	var found: Node = root
	for index: int in path.get_name_count():
		var next: Node = found.get_node_or_null(NodePath(path.get_name(index)))
		if next == null:
			break
		found = next
	return found
