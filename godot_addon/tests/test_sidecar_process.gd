extends "test_case.gd"
## Where the sidecar's program is looked for, in folders and variables made for the purpose.

const Settings := preload("res://addons/navserver/internal/settings.gd")
const SidecarProcess := preload("res://addons/navserver/internal/sidecar_process.gd")

var _root: String = ""
var _path: String = OS.get_environment("PATH")


func before_each() -> void:
	_root = ProjectSettings.globalize_path("user://lookup-%d" % Time.get_ticks_usec())
	DirAccess.make_dir_recursive_absolute(_root.path_join("games/mine"))
	OS.set_environment("PATH", _root.path_join("empty"))


func after_each() -> void:
	OS.set_environment("PATH", _path)
	OS.unset_environment("FLATPAK_ID")
	_remove(_root)


func _remove(folder: String) -> void:
	for name: String in DirAccess.get_directories_at(folder):
		_remove(folder.path_join(name))
	for name: String in DirAccess.get_files_at(folder):
		DirAccess.remove_absolute(folder.path_join(name))
	DirAccess.remove_absolute(folder)


func _put(file: String) -> String:
	var whole: String = _root.path_join(file)
	DirAccess.make_dir_recursive_absolute(whole.get_base_dir())
	FileAccess.open(whole, FileAccess.WRITE).store_string("program")
	return whole


func _check_found(expected: Array[String], wish: String = "", windows: bool = false) -> void:
	var folder: String = _root.path_join("games/mine/")
	check_equal(SidecarProcess.find_command(wish, folder, windows), PackedStringArray(expected))


func test_nothing_is_found_where_there_is_nothing() -> void:
	_check_found([])
	check_contains(SidecarProcess.describe_missing(""), "pip install navserver")


func test_the_setting_comes_before_all_else() -> void:
	var wanted: String = _put("elsewhere/my-navserver")
	_put("games/mine/.venv/bin/navserver")
	_check_found([wanted], wanted)
	_check_found([], wanted + "-gone")
	check_contains(SidecarProcess.describe_missing(wanted + "-gone"), "mend or clear the setting")


func test_the_project_s_own_environment_comes_before_the_path() -> void:
	OS.set_environment("PATH", _root.path_join("bin") + ":" + _root.path_join("other"))
	var on_path: String = _put("other/navserver")
	_check_found([on_path])
	var above: String = _put(".venv/bin/navserver")
	_check_found([above])
	var own: String = _put("games/mine/.venv/bin/navserver")
	_check_found([own])


func test_an_exported_game_does_not_start_what_lies_in_its_working_folder() -> void:
	var environment: String = ProjectSettings.globalize_path("res://.venv")
	var program: String = environment.path_join("bin/navserver")
	DirAccess.make_dir_recursive_absolute(program.get_base_dir())
	FileAccess.open(program, FileAccess.WRITE).store_string("program")
	# Tests run in the project's folder.
	check(FileAccess.file_exists(".venv/bin/navserver"))
	check_equal(SidecarProcess.find_command("", "", false), PackedStringArray())
	_remove(environment)


func test_windows_names_its_folders_otherwise() -> void:
	var stub: String = _put("AppData/Local/Microsoft/WindowsApps/navserver.exe")
	var real: String = _put("Python/Scripts/navserver.exe")
	OS.set_environment("PATH", stub.get_base_dir() + ";" + real.get_base_dir())
	_check_found([real], "", true)
	OS.set_environment("PATH", stub.get_base_dir())
	_check_found([], "", true)
	_put("games/mine/.venv/bin/navserver")
	_check_found([], "", true)
	_check_found([_put("games/mine/.venv/Scripts/navserver.exe")], "", true)


func test_a_sandboxed_editor_asks_outside_of_its_sandbox() -> void:
	OS.set_environment("FLATPAK_ID", "org.godotengine.Godot")
	_check_found(["flatpak-spawn", "--host", "--watch-bus", "navserver"])
	var own: String = _put("games/mine/.venv/bin/navserver")
	_check_found([own])


func test_a_program_that_does_not_start_is_told() -> void:
	var process: SidecarProcess = SidecarProcess.new()
	process.start(PackedStringArray([_put("no-program")]))
	await wait_until(
		func() -> bool:
			process.poll()
			return process.state == SidecarProcess.State.ENDED
	)
	check(not process.problem.is_empty())


func test_each_editor_has_a_connection_file_of_its_own() -> void:
	var file: String = Settings.make_editor_connection_file(_root)
	check_equal(file.get_base_dir(), _root)
	check(file != Settings.make_editor_connection_file(_root))


func test_only_connection_files_of_sidecars_that_are_gone_are_swept() -> void:
	var living: TCPServer = TCPServer.new()
	var gone: TCPServer = TCPServer.new()
	check_equal(living.listen(0, "127.0.0.1"), OK)
	check_equal(gone.listen(0, "127.0.0.1"), OK)
	var texts: Dictionary[String, String] = {
		"navserver_connection.0a.json": JSON.stringify({"port": living.get_local_port()}),
		"navserver_connection.0b.json": JSON.stringify({"port": gone.get_local_port()}),
		"navserver_connection.0c.json": "half a li",
		"other.json": JSON.stringify({"port": gone.get_local_port()}),
	}
	gone.stop()
	for name: String in texts:
		FileAccess.open(_root.path_join(name), FileAccess.WRITE).store_string(texts[name])
	Settings.make_editor_connection_file(_root)
	var left: PackedStringArray = PackedStringArray(texts.keys())
	left.remove_at(1)
	check_equal(DirAccess.get_files_at(_root), left)
