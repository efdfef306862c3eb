@tool
extends RefCounted
## Plays a game and prints what the debugger's tab shows of it, a JSON object a step.

const DebuggerTab := preload("res://addons/navserver/editor/debugger_tab.gd")

const _SCENE: String = "res://addons/probe/debugged.tscn"
const _LOOK_AT: String = "res://addons/probe/dungeon.tscn"
const _PATIENCE_MSEC: int = 60_000

var _tree: SceneTree


## Drives the editor of a tree.
func _init(tree: SceneTree) -> void:
	_tree = tree


## Plays twice; ends the editor.
func run() -> void:
	while EditorInterface.get_resource_filesystem().is_scanning():
		await _tree.process_frame
	await _wait(60)
	await _play_first()
	await _play_again()
	_tree.quit()


## Plays a game to look at, and brings the tab to the front with a failure chosen.
func show() -> void:
	while EditorInterface.get_resource_filesystem().is_scanning():
		await _tree.process_frame
	await _wait(60)
	EditorInterface.play_custom_scene(_LOOK_AT)
	await _until(func() -> bool: return _list_tabs().any(_is_ready))
	# The crowd goes on its way.
	await _tree.create_timer(4.0).timeout
	var tab: DebuggerTab = _list_tabs().filter(_is_ready)[0]
	tab.custom_minimum_size = Vector2(0, 300)
	_bring_forward(tab)
	await _wait(30)
	tab.get_requests().choose(_find(tab, "Prisoner")["number"] as int)
	await _wait(30)
	print("PROBE shown")


func _is_ready(tab: DebuggerTab) -> bool:
	var is_connected: bool = str(tab.get_texts()["state"]).begins_with("connected to")
	return is_connected and not _find(tab, "Prisoner").is_empty()


## Opens all panels and tabs that something lies in.
func _bring_forward(inner: Control) -> void:
	var node: Node = inner
	while node != null:
		var panels: TabContainer = node.get_parent() as TabContainer
		if panels != null:
			panels.current_tab = panels.get_tab_idx_from_control(node as Control)
		if node is Control:
			(node as Control).show()
		node = node.get_parent()


func _play_first() -> void:
	EditorInterface.play_custom_scene(_SCENE)
	await _until(func() -> bool: return _list_busy().size() == 2)
	var tab: DebuggerTab = _list_busy()[0]
	_say("playing", tab, {"sessions": _list_busy().size()})
	tab.filter(true, "lost")
	_say("filtered", tab)
	tab.filter(false, "")
	tab.set_paused(true)
	# What was on its way is still taken in.
	await _wait(60)
	var before: int = _newest(tab)
	await _wait(60)
	_say("paused", tab, {"newest": [before, _newest(tab)]})
	tab.clear()
	_say("cleared", tab)
	tab.set_paused(false)
	await _until(func() -> bool: return _newest(tab) > before)
	for said: String in ["Lost", "debugged.gd"]:
		await _until(func() -> bool: return not _find(tab, said).is_empty())
	await _jump(tab)
	EditorInterface.stop_playing_scene()
	await _until(func() -> bool: return str(tab.get_texts()["state"]).begins_with("No game"))
	_say("stopped", tab)


## Shows who has failed, in its scene and in the running game.
func _jump(tab: DebuggerTab) -> void:
	tab.get_requests().choose(_find(tab, "Lost")["number"] as int)
	tab.get_requests().item_activated.emit()
	await _wait(10)
	var selected: Array[Node] = EditorInterface.get_selection().get_selected_nodes()
	var root: Node = EditorInterface.get_edited_scene_root()
	var path: String = "" if selected.is_empty() else str(root.get_path_to(selected[0]))
	var row: Dictionary = tab.get_requests().get_chosen()
	tab.inspection_wanted.emit(row["id"] as int)
	await _until(
		func() -> bool:
			var seen: Object = EditorInterface.get_inspector().get_edited_object()
			return seen != null and seen.get_class().begins_with("EditorDebuggerRemoteObject")
	)
	var remote: Object = EditorInterface.get_inspector().get_edited_object()
	_say("jumped", tab, {"selected": path, "remote": str(remote.get("Members/target_position"))})
	tab.get_requests().choose(_find(tab, "debugged.gd")["number"] as int)
	tab.script_wanted.emit(str(tab.get_requests().get_chosen()["place"]))
	await _wait(5)
	var script: Script = EditorInterface.get_script_editor().get_current_script()
	_say("script", tab, {"script": "" if script == null else script.resource_path})


func _play_again() -> void:
	EditorInterface.play_custom_scene(_SCENE)
	await _until(func() -> bool: return _list_busy().size() == 2)
	_say("again", _list_busy()[0], {"sessions": _list_busy().size()})
	EditorInterface.stop_playing_scene()
	await _wait(30)


func _list_tabs() -> Array[DebuggerTab]:
	var found: Array[DebuggerTab] = []
	for node: Node in EditorInterface.get_base_control().find_children(
		"navserver*", "VBoxContainer", true, false
	):
		if node is DebuggerTab:
			found.append(node as DebuggerTab)
	return found


## Returns the tabs of games that run and have told of both failures.
func _list_busy() -> Array[DebuggerTab]:
	return _list_tabs().filter(
		func(tab: DebuggerTab) -> bool:
			return (
				not str(tab.get_texts()["state"]).begins_with("No game")
				and not _find(tab, "Lost").is_empty()
				and not _find(tab, "debugged.gd").is_empty()
			)
	)


## Returns the newest row that has ended and says something.
func _find(tab: DebuggerTab, said: String) -> Dictionary:
	for row: Dictionary in tab.get_requests().list_shown():
		if not str(row["status"]).is_empty() and (str(row["node"]) + row["place"]).contains(said):
			return row
	return {}


func _newest(tab: DebuggerTab) -> int:
	var rows: Array[Dictionary] = tab.get_requests().list_shown()
	return 0 if rows.is_empty() else rows[0]["number"] as int


func _say(step: String, tab: DebuggerTab, more: Dictionary = {}) -> void:
	var told: Dictionary = {"step": step, "rows": tab.get_requests().list_shown()}
	told.merge(tab.get_texts())
	told.merge(more)
	print("PROBE ", JSON.stringify(told))


func _wait(frames: int) -> void:
	for frame: int in frames:
		await _tree.process_frame


func _until(condition: Callable) -> void:
	var deadline: int = Time.get_ticks_msec() + _PATIENCE_MSEC
	while not condition.call():
		if Time.get_ticks_msec() > deadline:
			print("PROBE waited in vain")
			_tree.quit()
			return
		await _tree.process_frame
