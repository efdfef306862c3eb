@tool
extends EditorPlugin
## Keeps a sidecar running beside the editor, and tells games started from here where it is.

const DebuggerPlugin := preload("editor/debugger_plugin.gd")
const Settings := preload("internal/settings.gd")
const Preview := preload("editor/preview.gd")
const SidecarDock := preload("editor/sidecar_dock.gd")
const SidecarLink := preload("internal/sidecar_link.gd")
const SidecarProcess := preload("internal/sidecar_process.gd")

# Of what arrives in a frame; the rest waits for the next one.
const _POLL_USEC: int = 4000

# Where the sidecar tells of itself; empty before one is started.
var _connection_file: String = ""
var _dock: SidecarDock = null
var _link: SidecarLink = null
var _debugger: DebuggerPlugin = null
var _preview: Preview = null
var _preview_button: Button = null


func _enter_tree() -> void:
	Settings.declare()
	_declare_program()
	_link = SidecarLink.new()
	_dock = SidecarDock.new()
	_dock.name = "navserver"
	_dock.start_pressed.connect(_start)
	_dock.stop_pressed.connect(_link.stop)
	_link.changed.connect(_dock.show_state)
	_link.progressed.connect(_dock.show_progress)
	add_control_to_dock(DOCK_SLOT_RIGHT_BL, _dock)
	_add_preview()
	_debugger = DebuggerPlugin.new()
	add_debugger_plugin(_debugger)
	if _is_import_only():
		_dock.show_state(SidecarLink.State.OFF, "not started: only importing")
	elif Settings.is_autostart_wanted():
		_start()
	else:
		_dock.show_state(SidecarLink.State.OFF, "not started: autostart is off")


func _exit_tree() -> void:
	_forget_program()
	_remove_preview()
	_debugger.close()
	remove_debugger_plugin(_debugger)
	_debugger = null
	_link.stop()
	_link = null
	remove_control_from_docks(_dock)
	_dock.queue_free()
	_dock = null


func _process(_delta: float) -> void:
	_link.poll(Time.get_ticks_usec() + _POLL_USEC)
	# What answers have led to leaves in this frame.
	_link.flush()
	if _link.process != null:
		_dock.show_log(_link.process.take_log())


func _run_scene(_scene: String, args: PackedStringArray) -> PackedStringArray:
	var told: PackedStringArray = args.duplicate()
	var program: String = Settings.get_editor_program()
	if not program.is_empty():
		told.append(Settings.PROGRAM_ARGUMENT + program)
	if _link.state != SidecarLink.State.OFF and not _connection_file.is_empty():
		told.append(Settings.FILE_ARGUMENT + _connection_file)
	return told


func _add_preview() -> void:
	_preview = Preview.new(_link, get_undo_redo())
	add_child(_preview)
	add_control_to_dock(DOCK_SLOT_RIGHT_BL, _preview.dock)
	scene_changed.connect(_preview.set_scene)
	_preview_button = Button.new()
	_preview_button.text = "Path Preview"
	_preview_button.tooltip_text = "Shows paths between markers while you draw the level"
	_preview_button.toggle_mode = true
	_preview_button.theme_type_variation = &"FlatButton"
	_preview_button.toggled.connect(_preview.set_shown)
	_preview.shown_changed.connect(_preview_button.set_pressed_no_signal)
	add_control_to_container(CONTAINER_CANVAS_EDITOR_MENU, _preview_button)


func _remove_preview() -> void:
	remove_control_from_container(CONTAINER_CANVAS_EDITOR_MENU, _preview_button)
	_preview_button.queue_free()
	_preview_button = null
	remove_control_from_docks(_preview.dock)
	_preview.dock.queue_free()
	remove_child(_preview)
	_preview.queue_free()
	_preview = null


## Imports and exports from a command line need no paths, nor does who quits at once.
func _is_import_only() -> bool:
	for argument: String in OS.get_cmdline_args():
		if argument in ["--import", "--quit"] or argument.begins_with("--export"):
			return true
	return false


func _start() -> void:
	if _link.state != SidecarLink.State.OFF:
		return
	var wish: String = Settings.get_program()
	var folder: String = ProjectSettings.globalize_path("res://")
	var command: PackedStringArray = SidecarProcess.find_command(wish, folder)
	if command.is_empty():
		_dock.show_state(SidecarLink.State.OFF, SidecarProcess.describe_missing(wish))
	else:
		if _connection_file.is_empty():
			var paths: EditorPaths = EditorInterface.get_editor_paths()
			# Under no version control; a project that can only be read leaves what is this user's.
			_connection_file = Settings.make_editor_connection_file(
				[paths.get_project_settings_dir(), paths.get_cache_dir()]
			)
		_link.start(command, _connection_file)


## Shows the editor's setting. Where the user has set none the editor keeps an empty one in its file
## as long as it runs, which goes when it ends.
func _declare_program() -> void:
	var editor: EditorSettings = EditorInterface.get_editor_settings()
	if not editor.has_setting(Settings.PROGRAM):
		editor.set_setting(Settings.PROGRAM, "")
	editor.set_initial_value(Settings.PROGRAM, "", false)
	editor.add_property_info(
		{"name": Settings.PROGRAM, "type": TYPE_STRING, "hint": PROPERTY_HINT_GLOBAL_FILE}
	)


func _forget_program() -> void:
	var editor: EditorSettings = EditorInterface.get_editor_settings()
	if str(editor.get_setting(Settings.PROGRAM)).is_empty():
		editor.erase(Settings.PROGRAM)
