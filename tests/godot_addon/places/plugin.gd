@tool
extends EditorPlugin
## Tells where things are on the screen and what the preview shows, for those who drive the editor
## by the mouse: a JSON file, written anew several times a second.

const FILE: String = "res://.godot/places.json"
const PERIOD: float = 0.2
# Members of the dock by the names that they are told under.
const CONTROLS: Dictionary[String, String] = {
	"shown": "_shown",
	"pairs": "_pairs",
	"add": "_add",
	"remove": "_remove",
	"path": "_path",
	"smoothed": "_smoothed",
	"search": "_search_layer",
	"map": "_map_layer",
	"play": "_play",
	"scrub": "_scrub",
	"fold": "_fold",
	"algorithm": "_algorithm",
	"diagonal": "_diagonal",
	"heuristic": "_heuristic",
	"weight": "_weight",
	"profile": "_profile",
	"size": "_size",
	"limit": "_limit",
	"save": "_save",
}

var _left: float = 0.0


func _process(delta: float) -> void:
	_left -= delta
	if _left > 0.0:
		return
	_left = PERIOD
	var file: FileAccess = FileAccess.open(FILE + ".new", FileAccess.WRITE)
	file.store_string(JSON.stringify(_tell()))
	file.close()
	DirAccess.rename_absolute(
		ProjectSettings.globalize_path(FILE + ".new"), ProjectSettings.globalize_path(FILE)
	)


func _tell() -> Dictionary:
	var told: Dictionary = {"frame": Engine.get_process_frames(), "places": {}}
	var places: Dictionary = told["places"]
	for button: Node in get_tree().root.find_children("*", "Button", true, false):
		if (button as Button).text == "Path Preview":
			places["button"] = _rect_of(button as Button)
	_tell_tree(places)
	var preview: Node = get_tree().root.find_child("NavserverPreview", true, false)
	if preview == null:
		return told
	var dock: Control = preview.get("dock")
	for name: String in CONTROLS:
		var control: Control = dock.get(CONTROLS[name])
		places[name] = _rect_of(control)
		if not control.has_method("get_popup"):
			continue
		var popup: PopupMenu = control.call("get_popup")
		if popup.visible:
			var rect: Rect2i = Rect2i(popup.position, popup.size)
			told["popup"] = [rect.position.x, rect.position.y, rect.size.x, rect.size.y]
			told["entries"] = popup.item_count
	places["dock"] = _rect_of(dock)
	told["settled"] = preview.call("is_settled")
	told["pairs"] = str(preview.call("get_pairs"))
	told["answer"] = (dock.get("_answer") as Label).text
	told["change"] = (dock.get("_change") as Label).text
	told["cell"] = (dock.get("_cell") as Label).text
	var windows: Array[String] = []
	for window: Node in get_tree().root.find_children("*", "FileDialog", true, false):
		if (window as Window).visible:
			windows.append((window as Window).title)
	told["dialogs"] = windows
	_tell_cells(told, preview)
	return told


func _rect_of(control: Control) -> Array:
	if not control.is_visible_in_tree():
		return []
	var at: Vector2 = control.get_screen_position()
	return [at.x, at.y, control.size.x, control.size.y]


## Where a cell's centre is: an origin, and steps along both axes of the layers.
func _tell_cells(told: Dictionary, preview: Node) -> void:
	var canvas: Control = preview.get("canvas")
	var root: Node = EditorInterface.get_edited_scene_root()
	if canvas == null or root == null:
		return
	for node: Node in root.find_children("*", "TileMapLayer", true, false):
		var layer: TileMapLayer = node as TileMapLayer
		var view: Transform2D = EditorInterface.get_editor_viewport_2d().global_canvas_transform
		var to_screen: Transform2D = canvas.get_screen_transform() * view * layer.global_transform
		var cells: Array = []
		for cell: Vector2i in [Vector2i(0, 0), Vector2i(1, 0), Vector2i(0, 1)]:
			var at: Vector2 = to_screen * layer.map_to_local(cell)
			cells.append([at.x, at.y])
		told["cells"] = cells
		return


## Entries of the scene's tree, and the tiles of the palette.
func _tell_tree(places: Dictionary) -> void:
	for editor: Node in get_tree().root.find_children("*", "SceneTreeEditor", true, false):
		for node: Node in editor.find_children("*", "Tree", true, false):
			var tree: Tree = node as Tree
			if not tree.is_visible_in_tree() or tree.get_root() == null:
				continue
			var item: TreeItem = tree.get_root()
			while item != null:
				var area: Rect2 = tree.get_item_area_rect(item, 0)
				var at: Vector2 = tree.get_screen_position() + area.position
				places["node " + item.get_text(0)] = [at.x, at.y, area.size.x, area.size.y]
				item = item.get_next_visible()
	for view: Node in get_tree().root.find_children("*", "TileAtlasView", true, false):
		if (view as Control).is_visible_in_tree():
			for label: Node in view.find_children("*", "Label", true, false):
				if (label as Label).text == "Base Tiles":
					places["palette"] = _rect_of(label.get_parent().get_child(1) as Control)
