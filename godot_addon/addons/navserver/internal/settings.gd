extends RefCounted
## The addon's settings, and how the editor tells a game where its sidecar is.

## The program to start, instead of what is found: a setting of the editor, which is this machine's,
## and of the project, which goes wherever the project does. An absolute path, or one that begins
## with res://, user:// or ~/, or a relative one, which begins in the project's folder.
const PROGRAM: String = "navserver/sidecar/program"
## Whether the editor, and a game that finds no sidecar, start one.
const AUTOSTART: String = "navserver/sidecar/autostart"
## Not shown: without it the addon does all work on the main thread, as where there are no threads.
const THREADS: String = "navserver/internal/threads"
## Argument of a game: the connection file of the editor's sidecar.
const FILE_ARGUMENT: String = "--navserver-connection-file="
## Argument of a game: the program that the editor's setting names.
const PROGRAM_ARGUMENT: String = "--navserver-program="
## Environment variable for the connection file.
const FILE_VARIABLE: String = "NAVSERVER_CONNECTION_FILE"
## The connection file of a sidecar that a game has started for itself.
const OWN_FILE: String = "user://navserver_connection.json"

# What the connection files of editors are called, and what that looks like.
const _EDITOR_FILE: String = "navserver_connection.%08x.json"
const _EDITOR_FILES: String = "navserver_connection*.json"


## Shows the settings in the editor; project.godot changes only where a user changes them.
static func declare() -> void:
	_declare(PROGRAM, "", TYPE_STRING, PROPERTY_HINT_GLOBAL_FILE)
	_declare(AUTOSTART, true, TYPE_BOOL, PROPERTY_HINT_NONE)


## Returns the program that the user wants here, else the one that the project wants. A game played
## from the editor is told the editor's.
static func get_program() -> String:
	var here: String = _find_argument(PROGRAM_ARGUMENT)
	if Engine.is_editor_hint():
		here = get_editor_program()
	return str(ProjectSettings.get_setting(PROGRAM, "")) if here.is_empty() else here


## Returns the program that the editor's setting names; in the editor alone.
static func get_editor_program() -> String:
	# By name, since an exported game does not know the class.
	var editor: Object = Engine.get_singleton(&"EditorInterface")
	var settings: Object = editor.call(&"get_editor_settings")
	# It is there only while the plugin is enabled.
	var is_there: bool = settings.call(&"has_setting", PROGRAM)
	return str(settings.call(&"get_setting", PROGRAM)) if is_there else ""


## Tells whether to start a sidecar unasked.
static func is_autostart_wanted() -> bool:
	return ProjectSettings.get_setting(AUTOSTART, true)


## Tells whether work may go to threads. Some web builds have none, and in the editor scripts are
## reloaded, which ends it if a thread is just running through one.
static func has_threads() -> bool:
	if Engine.is_editor_hint() or not OS.has_feature("threads"):
		return false
	return ProjectSettings.get_setting(THREADS, true)


## Returns the connection file that this game was told of; empty if none.
static func get_connection_file() -> String:
	var file: String = _find_argument(FILE_ARGUMENT)
	return OS.get_environment(FILE_VARIABLE) if file.is_empty() else file


## Returns where a sidecar that this game starts is to tell of itself, for [code]navserver
## stats[/code]; the sidecar removes the file when it ends. Empty where nothing can be written:
## a sidecar that is to write a file and cannot does not start.
static func get_own_connection_file() -> String:
	var path: String = ProjectSettings.globalize_path(OWN_FILE)
	return path if _can_write(path) else ""


## Returns where the sidecar of this editor is to tell of itself: a file of its own, as the sidecar
## of another one that ends removes its file. It lies in the first of [param folders], which editors
## share, that can be written; empty where none can.
static func make_editor_connection_file(folders: PackedStringArray) -> String:
	for folder: String in folders:
		# No process id: those repeat between sandboxes.
		var path: String = ProjectSettings.globalize_path(folder.path_join(_EDITOR_FILE % randi()))
		if _can_write(path):
			_sweep_editor_files(folder)
			return path
	return ""


static func _can_write(path: String) -> bool:
	var trial: String = "%s.%d" % [path, OS.get_process_id()]
	var file: FileAccess = FileAccess.open(trial, FileAccess.WRITE)
	if file == null:
		return false
	# The editor puts a file in its place only now.
	file.close()
	DirAccess.remove_absolute(trial)
	return true


## Removes what sidecars have left that were killed: nobody listens where their files say.
static func _sweep_editor_files(folder: String) -> void:
	for file: String in DirAccess.get_files_at(folder):
		var path: String = folder.path_join(file)
		var json: JSON = JSON.new()
		if not file.match(_EDITOR_FILES) or json.parse(FileAccess.get_file_as_string(path)) != OK:
			continue
		var fields: Dictionary = json.data if json.data is Dictionary else {}
		var port: int = int(str(fields.get("port")).to_float())
		var server: TCPServer = TCPServer.new()
		if port in range(1, 65536) and server.listen(port, "127.0.0.1") == OK:
			server.stop()
			DirAccess.remove_absolute(path)


## Returns what follows a name among the arguments of this game; empty if nothing.
static func _find_argument(name: String) -> String:
	var value: String = ""
	for argument: String in OS.get_cmdline_args() + OS.get_cmdline_user_args():
		if argument.begins_with(name):
			value = argument.trim_prefix(name)
	return value


static func _declare(name: String, value: Variant, type: Variant.Type, hint: PropertyHint) -> void:
	if not ProjectSettings.has_setting(name):
		ProjectSettings.set_setting(name, value)
	ProjectSettings.set_initial_value(name, value)
	ProjectSettings.set_as_basic(name, true)
	ProjectSettings.add_property_info({"name": name, "type": type, "hint": hint})
