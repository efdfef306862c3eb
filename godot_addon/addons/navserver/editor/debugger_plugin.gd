@tool
extends EditorDebuggerPlugin
## Gives each running game a tab "navserver" in the debugger.

const DebuggerJump := preload("debugger_jump.gd")
const DebuggerTab := preload("debugger_tab.gd")

const _CAPTURE: String = "navserver"

var _tabs: Dictionary[int, DebuggerTab] = {}


func _has_capture(capture: String) -> bool:
	return capture == _CAPTURE


func _capture(message: String, data: Array, session_id: int) -> bool:
	if session_id not in _tabs or data.size() != 1:
		return false
	match message:
		"navserver:hello":
			_tabs[session_id].begin()
			_tell(not _tabs[session_id].is_paused(), session_id)
			return true
		"navserver:report":
			if data[0] is Dictionary:
				var report: Dictionary = data[0]
				_tabs[session_id].show_report(report)
			return true
	return false


func _setup_session(session_id: int) -> void:
	var tab: DebuggerTab = DebuggerTab.new()
	_tabs[session_id] = tab
	var session: EditorDebuggerSession = get_session(session_id)
	session.stopped.connect(tab.end)
	session.add_session_tab(tab)
	tab.listening_changed.connect(_tell.bind(session_id))
	tab.node_wanted.connect(DebuggerJump.show_node)
	tab.script_wanted.connect(DebuggerJump.show_script)
	tab.inspection_wanted.connect(_inspect.bind(session_id))
	if session.is_active():
		# The game was there before the plugin.
		_tell(true, session_id)


## Takes the tabs out of the debugger, and games have nobody to tell.
func close() -> void:
	for session_id: int in _tabs:
		_tell(false, session_id)
		var session: EditorDebuggerSession = get_session(session_id)
		if session != null:
			session.stopped.disconnect(_tabs[session_id].end)
			session.remove_session_tab(_tabs[session_id])
		_tabs[session_id].queue_free()
	_tabs.clear()


func _tell(is_listening: bool, session_id: int) -> void:
	var session: EditorDebuggerSession = get_session(session_id)
	if session != null and session.is_active():
		session.send_message("navserver:listen" if is_listening else "navserver:pause", [])


func _inspect(object_id: int, session_id: int) -> void:
	var session: EditorDebuggerSession = get_session(session_id)
	if session != null and session.is_active():
		# What a click in the remote tree asks for.
		session.send_message("scene:inspect_objects", [[object_id], true])
