extends "test_case.gd"
## Where the sidecar's program is looked for, in folders and variables made for the purpose, and
## what becomes of a program that is none.

const Settings := preload("res://addons/navserver/internal/settings.gd")
const SidecarDock := preload("res://addons/navserver/editor/sidecar_dock.gd")
const SidecarLink := preload("res://addons/navserver/internal/sidecar_link.gd")
const SidecarProcess := preload("res://addons/navserver/internal/sidecar_process.gd")

var _root: String = ""
# What a link said, in order.
var _told: PackedStringArray = PackedStringArray()
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


func _put(file: String, contents: String = "program") -> String:
	var whole: String = _root.path_join(file)
	DirAccess.make_dir_recursive_absolute(whole.get_base_dir())
	FileAccess.open(whole, FileAccess.WRITE).store_string(contents)
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


func test_the_setting_may_be_relative() -> void:
	var wanted: String = _put("games/mine/tools/navserver")
	_check_found([wanted], "tools/navserver")
	_check_found([wanted], "res://tools/navserver")
	var home: String = OS.get_environment("HOME")
	OS.set_environment("HOME", _root)
	_check_found([_put("bin/mine")], "~/bin/mine")
	OS.set_environment("HOME", home)
	_put("mine")
	_check_found([_root.path_join("mine")], "user://%s/mine" % _root.get_file())
	check_equal(
		SidecarProcess.locate("tools/navserver", ""),
		OS.get_executable_path().get_base_dir().path_join("tools/navserver")
	)


func test_a_folder_is_no_program() -> void:
	_put("games/mine/.venv/bin/navserver")
	_check_found([], ".venv/bin")
	var folder: String = _root.path_join("games/mine")
	check_contains(
		SidecarProcess.describe_missing(".venv/bin", folder),
		"%s/.venv/bin, which is a folder: give the program itself" % folder
	)


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


func test_a_program_that_does_not_start_is_told_at_once() -> void:
	var no_permission: String = _put("no-program")
	var moved: String = _put_program("moved", "#!/nowhere/.venv/bin/python")
	for program: String in [no_permission, moved]:
		var link: SidecarLink = await _start_until_off(program)
		check_contains(_told[-1], "%s does not start: make it executable" % program)
		check_contains(_told[-1], "make the .venv anew")
		check(not _told[-1].contains("started 3 times"), _told[-1])
		check(link.process == null)


func test_a_program_that_ends_without_a_word_is_started_again_and_told() -> void:
	var starts: String = _root.path_join("starts")
	await _start_until_off(_put_program("mute", "#!/bin/sh\necho started >>%s" % starts))
	check_contains(_told[-1], "ended without a word: run `navserver doctor`")
	check_contains(_told[-1], "started 3 times")
	check_equal(FileAccess.get_file_as_string(starts).count("started"), 3)


func test_a_program_that_does_not_get_ready_is_told_of_and_killed() -> void:
	for script: String in [
		"#!/bin/sh\nexec /bin/sleep 600", "#!/bin/sh\nexec /usr/bin/yes garbage"
	]:
		var program: String = _put_program("wrong", script)
		var link: SidecarLink = _start(program)
		var pid: int = link.process.pid
		link.process.slow_msec = 100
		link.process.patience_msec = 500
		await _poll_until_off(link)
		check_equal(_told.size(), 3, str(_told))
		check_contains(_told[1], "waiting for %s" % program)
		check_contains(_told[2], "%s was not ready after" % program)
		check_contains(_told[2], "navserver/sidecar/program")
		check_contains(_told[2], "navserver doctor")
		check(not _is_running(pid))


func test_a_program_that_is_not_ready_is_killed_when_it_is_stopped() -> void:
	var link: SidecarLink = _start(_put_program("wrong", "#!/bin/sh\nexec /bin/sleep 600"))
	var pid: int = link.process.pid
	check(_is_running(pid))
	link.stop()
	check(not _is_running(pid))


func test_a_program_that_is_ready_ends_by_itself() -> void:
	var file: String = _root.path_join("ended")
	var script: String = (
		'#!/bin/sh\necho \'{"port": 1, "token": ""}\'\n/bin/cat\necho yes >%s' % file
	)
	var link: SidecarLink = _start(_put_program("right", script))
	var process: SidecarProcess = link.process
	await wait_until(
		func() -> bool:
			process.poll()
			return process.state == SidecarProcess.State.READY
	)
	link.stop()
	await wait_until(func() -> bool: return FileAccess.file_exists(file), 10.0)


func test_a_port_that_nobody_listens_on_is_told_once() -> void:
	var script: String = '#!/bin/sh\necho \'{"port": 1, "token": ""}\'\nexec /bin/cat'
	var link: SidecarLink = _start(_put_program("wrong", script))
	var tries: Array[int] = [0]
	await wait_until(
		func() -> bool:
			var backend: RefCounted = link.backend
			link.poll(Time.get_ticks_usec() + 1000)
			tries[0] += int(link.backend != backend)
			return tries[0] == 4
	)
	check_equal(
		_told.slice(1),
		PackedStringArray(["connecting to port 1", "port 1: nobody listens there; trying again"])
	)
	link.stop()


func test_the_log_is_told_in_whole_lines_of_any_script() -> void:
	var script: String = (
		"\n"
		. join(
			[
				"#!/bin/sh",
				"printf '/home/j\\303' >&2",
				"/bin/sleep 0.3",
				"printf '\\274rgen\\n\\n  \\n' >&2",
				"printf '  \\303\\251t\\303\\251\\n\\377\\303\\n'",
				"printf '\\342\\202\\254 last' >&2",
			]
		)
	)
	var process: SidecarProcess = SidecarProcess.new()
	process.start(PackedStringArray([_put_program("right", script)]))
	var lines: PackedStringArray = PackedStringArray()
	await wait_until(
		func() -> bool:
			process.poll()
			lines.append_array(process.take_log())
			return process.state == SidecarProcess.State.ENDED
	)
	# The two pipes are read one after the other.
	lines.sort()
	check_equal(lines, PackedStringArray(["  été", "/home/jürgen", "ÿÃ", "€ last"]))
	check_equal(process.problem, "the sidecar ended: € last")


func test_the_dock_s_log_begins_with_what_happens_first() -> void:
	var dock: SidecarDock = SidecarDock.new()
	add_node(dock)
	dock.show_state(SidecarLink.State.STARTING, "starting")
	var shown: RichTextLabel = dock.find_children("", "RichTextLabel", true, false)[0]
	check_equal(shown.get_parsed_text().strip_edges(), "starting")


func _put_program(file: String, script: String) -> String:
	var whole: String = _put(file, script)
	FileAccess.set_unix_permissions(whole, 0x1ed)
	return whole


func _start(program: String) -> SidecarLink:
	_told.clear()
	var link: SidecarLink = SidecarLink.new()
	link.changed.connect(
		func(_state: SidecarLink.State, reason: String) -> void: _told.append(reason)
	)
	link.start(PackedStringArray([program]))
	return link


func _poll_until_off(link: SidecarLink) -> void:
	await wait_until(
		func() -> bool:
			link.poll(Time.get_ticks_usec() + 1000)
			return link.state == SidecarLink.State.OFF
	)


func _start_until_off(program: String) -> SidecarLink:
	var link: SidecarLink = _start(program)
	await _poll_until_off(link)
	return link


## The engine knows nothing of a process that it has killed.
func _is_running(pid: int) -> bool:
	return DirAccess.dir_exists_absolute("/proc/%d" % pid)


func test_each_editor_has_a_connection_file_of_its_own() -> void:
	var file: String = Settings.make_editor_connection_file([_root])
	check_equal(file.get_base_dir(), _root)
	check(file != Settings.make_editor_connection_file([_root]))


func test_a_folder_that_cannot_be_written_is_passed_over() -> void:
	# Files have no files within.
	var closed: String = _put("closed")
	var file: String = Settings.make_editor_connection_file([closed, _root])
	check_equal(file.get_base_dir(), _root)
	check_equal(DirAccess.get_files_at(_root), PackedStringArray(["closed"]), "no trial is left")
	check_equal(Settings.make_editor_connection_file([closed]), "")


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
	Settings.make_editor_connection_file([_root])
	var left: PackedStringArray = PackedStringArray(texts.keys())
	left.remove_at(1)
	check_equal(DirAccess.get_files_at(_root), left)
