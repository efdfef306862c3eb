extends SceneTree
## Runs the methods test_* of the files test_*.gd in this folder.
##
## Usage: [code]godot --headless --path FOLDER -s res://tests/run_tests.gd -- ARGUMENTS[/code].
## Arguments are files, named without folder and ending, and KEY=VALUE for the tests. No file means
## all but those of the folder live, which need a peer that somebody else starts.
## [code]only=METHOD[/code] runs one method, [code]threads=off[/code] the addon as where there are
## no threads.
## [br][br]
## The last line printed is [code]N passed, N failed[/code]; the exit code is 1 if any failed or
## none ran. Godot may go on for ever after an error in a script, so run it under a timeout.

const ErrorCounter := preload("error_counter.gd")
const TestCase := preload("test_case.gd")

const _FOLDER: String = "res://tests"
const _LIVE_FOLDER: String = "res://tests/live"

var _errors: ErrorCounter = ErrorCounter.new()
var _parameters: Dictionary[String, String] = {}
var _passed: int = 0
var _failed: int = 0
var _running: bool = false


func _initialize() -> void:
	OS.add_logger(_errors)
	# A test that wants a sidecar names its connection file or starts one.
	ProjectSettings.set_setting("navserver/sidecar/autostart", false)
	_run()


func _run() -> void:
	# Nodes get their callbacks only once the loop runs.
	await process_frame
	var names: PackedStringArray = PackedStringArray()
	for argument: String in OS.get_cmdline_user_args():
		if argument.contains("="):
			_parameters[argument.get_slice("=", 0)] = argument.substr(argument.find("=") + 1)
		else:
			names.append(argument)
	ProjectSettings.set_setting("navserver/internal/threads", _parameters.get("threads") != "off")
	for path: String in _find_files(names):
		await _run_file(path)
	print("%d passed, %d failed" % [_passed, _failed])
	quit(0 if _failed == 0 and _passed > 0 else 1)


func _find_files(names: PackedStringArray) -> PackedStringArray:
	var found: PackedStringArray = PackedStringArray()
	for folder: String in [_FOLDER, _LIVE_FOLDER]:
		for file: String in DirAccess.get_files_at(folder):
			if not file.begins_with("test_") or not file.ends_with(".gd") or file == "test_case.gd":
				continue
			if file.get_basename() in names or names.is_empty() and folder == _FOLDER:
				found.append(folder.path_join(file))
	if found.size() < names.size():
		_fail("a file of %s is not there" % ", ".join(names))
	return found


func _run_file(path: String) -> void:
	var script: GDScript = load(path)
	if script == null or not script.can_instantiate():
		_fail("%s does not compile" % path)
		return
	for method: Dictionary in script.get_script_method_list():
		var name: String = method["name"]
		if name.begins_with("test_") and name == _parameters.get("only", name):
			await _run_test(script, path, name)


func _run_test(script: GDScript, path: String, method: String) -> void:
	var errors_before: int = _errors.get_count()
	var case: TestCase = script.new()
	case.parameters = _parameters
	case.tree = self
	_running = true
	_call_test(case, method)
	var deadline: int = Time.get_ticks_msec() + int(case.limit_seconds * 1000.0)
	while _running and Time.get_ticks_msec() < deadline:
		# An error after an await cuts the test off, and nothing tells that it is over.
		if _errors.get_count() > errors_before + case.expected_errors:
			deadline = mini(deadline, Time.get_ticks_msec() + 1000)
		await process_frame
	case.free_nodes()
	var problems: PackedStringArray = case.failures.duplicate()
	if _running:
		problems.append("it did not come to its end")
	var errors: PackedStringArray = _errors.get_lines(errors_before)
	if errors.size() != case.expected_errors:
		problems.append("%d errors, %d expected" % [errors.size(), case.expected_errors])
		problems.append_array(errors)
	if problems.is_empty():
		_passed += 1
	else:
		_fail("%s %s\n    %s" % [path.get_file(), method, "\n    ".join(problems)])


func _call_test(case: TestCase, method: String) -> void:
	@warning_ignore("redundant_await")
	await case.before_each()
	@warning_ignore("redundant_await")
	await case.call(method)
	@warning_ignore("redundant_await")
	await case.after_each()
	_running = false


func _fail(reason: String) -> void:
	_failed += 1
	printerr("FAILED ", reason)
