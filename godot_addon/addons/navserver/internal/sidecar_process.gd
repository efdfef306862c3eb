extends RefCounted
## Finds, starts, watches and ends a sidecar of one's own. Nothing here waits.
##
## The sidecar ends with this program in three ways: its standard input closes, it watches the
## process id given to it, and it gives up after a time without clients.

## ENDED keeps the [member problem].
enum State { IDLE, STARTING, READY, ENDED }

const _PROGRAM: String = "navserver"
const _PARENTS: int = 3
const _LINE_LIMIT: int = 1 << 16
const _READ_SIZE: int = 1 << 12
const _NEWLINE: int = 10
const _IDLE_SECONDS: String = "30"
# What the engine writes in place of a program that the system does not start.
const _NOT_STARTED: String = "Could not create child process"
const _ASK_DOCTOR: String = "run `navserver doctor` in a terminal"

## Where it stands.
var state: State = State.IDLE
## Why it ended, and what to do about it.
var problem: String = ""
## The port it listens on, once it is ready.
var port: int = 0
## The password it wants, once it is ready.
var token: String = ""
## Its process id.
var pid: int = 0
## After so long without the ready line it is said what is waited for.
var slow_msec: int = 5000
## How long it may take from the start to the ready line; compiling comes after it.
var patience_msec: int = 30_000
## Whether it may serve if it is started again, now that it has ended.
var may_recover: bool = true

var _program: String = ""
var _started_msec: int = 0
var _input: FileAccess = null
var _errors: FileAccess = null
var _output_lines: LineReader = LineReader.new()
var _error_lines: LineReader = LineReader.new()
var _lines: PackedStringArray = PackedStringArray()
var _last_error: String = ""


## Returns the program and its first arguments; empty if there is none. [param wish] is a path that
## the user gave, [param folder] the project's.
static func find_command(
	wish: String, folder: String, windows: bool = OS.has_feature("windows")
) -> PackedStringArray:
	if not wish.is_empty():
		var path: String = locate(wish, folder, windows)
		return PackedStringArray([path]) if FileAccess.file_exists(path) else PackedStringArray()
	var file: String = _PROGRAM + ".exe" if windows else _PROGRAM
	var places: PackedStringArray = PackedStringArray()
	var place: String = folder.trim_suffix("/")
	# An exported game has no folder of a project; what lies where it was started from is not meant.
	for level: int in 0 if folder.is_empty() else _PARENTS:
		places.append(place.path_join(".venv/Scripts" if windows else ".venv/bin"))
		place = place.get_base_dir()
	places.append_array(OS.get_environment("PATH").split(";" if windows else ":", false))
	for candidate: String in places:
		# What the Windows store puts there opens the store and is no program.
		if candidate.contains("WindowsApps"):
			continue
		if FileAccess.file_exists(candidate.path_join(file)):
			return PackedStringArray([candidate.path_join(file)])
	if OS.has_environment("FLATPAK_ID"):
		# The editor lives in a sandbox and the sidecar outside of it.
		return PackedStringArray(["flatpak-spawn", "--host", "--watch-bus", _PROGRAM])
	return PackedStringArray()


## Returns the whole path of a program that the user gave: relative ones begin in the project's
## folder, of an exported game beside its executable.
static func locate(
	wish: String, folder: String, windows: bool = OS.has_feature("windows")
) -> String:
	if wish.begins_with("user://"):
		return ProjectSettings.globalize_path(wish)
	if wish.begins_with("~/"):
		return OS.get_environment("USERPROFILE" if windows else "HOME").path_join(wish.substr(2))
	var path: String = wish.trim_prefix("res://")
	if path.is_absolute_path():
		return path
	var start_folder: String = folder
	if folder.is_empty():
		start_folder = OS.get_executable_path().get_base_dir()
	return start_folder.path_join(path)


## Returns what to do where [method find_command] found nothing.
static func describe_missing(
	wish: String, folder: String = ProjectSettings.globalize_path("res://")
) -> String:
	if not wish.is_empty():
		var path: String = locate(wish, folder)
		var fault: String = "is not there: mend or clear the setting"
		if DirAccess.dir_exists_absolute(path):
			fault = "is a folder: give the program itself"
		return "navserver/sidecar/program is %s, which %s" % [path, fault]
	return (
		"no navserver program in the project's .venv or on PATH: run `pip install navserver`,"
		+ " or set navserver/sidecar/program in the settings of the editor or of the project"
	)


## Starts the program; [method poll] goes on with it.
func start(command: PackedStringArray, connection_file: String = "") -> void:
	_program = command[0]
	var arguments: PackedStringArray = command.slice(1)
	arguments.append_array(["serve", "--stdin-eof", "--idle-timeout", _IDLE_SECONDS])
	if command[0] != "flatpak-spawn":
		arguments.append_array(["--parent-pid", str(OS.get_process_id())])
	if not connection_file.is_empty():
		arguments.append_array(["--connection-file", connection_file])
	var pipes: Dictionary = OS.execute_with_pipe(command[0], arguments, false)
	if pipes.is_empty():
		_end_for_good(_describe_unable())
		return
	_input = pipes["stdio"]
	_errors = pipes["stderr"]
	pid = pipes["pid"]
	state = State.STARTING
	_started_msec = Time.get_ticks_msec()


## Reads what it printed, and notices when it ended.
func poll() -> void:
	if _input == null:
		return
	var running: bool = OS.is_process_running(pid)
	for line: String in _output_lines.read(_input, not running):
		_take_line(line)
	for line: String in _error_lines.read(_errors, not running):
		_lines.append(line)
		_last_error = line.strip_edges()
	if not running:
		_take_end()
	elif state == State.STARTING and _get_age_msec() > patience_msec:
		_end_for_good(
			(
				(
					"%s was not ready after %d s, so it was ended: see that it is navserver"
					+ " (navserver/sidecar/program), and %s"
				)
				% [_program, patience_msec / 1000.0, _ASK_DOCTOR]
			)
		)


## Returns what is waited for if that takes long, else nothing.
func describe_wait() -> String:
	if state != State.STARTING or _get_age_msec() < slow_msec:
		return ""
	return (
		"waiting for %s, which is not ready after %d s; it is given up after %d s"
		% [_program, slow_msec / 1000.0, patience_msec / 1000.0]
	)


## Closes its standard input, on which a sidecar ends. What is not ready may be no sidecar, or hang,
## and is killed.
func stop() -> void:
	if state == State.STARTING and OS.is_process_running(pid):
		OS.kill(pid)
	_input = null
	_errors = null
	state = State.IDLE


## Returns the lines of its log that came since the last call.
func take_log() -> PackedStringArray:
	var lines: PackedStringArray = _lines
	_lines = PackedStringArray()
	return lines


func _take_line(line: String) -> void:
	var json: JSON = JSON.new()
	if state == State.STARTING and json.parse(line) == OK and json.data is Dictionary:
		var ready: Dictionary = json.data
		if read_ready_line(ready):
			return
	_lines.append(line)


## Takes port and token from the ready line's object or the connection file's.
func read_ready_line(ready: Dictionary) -> bool:
	var the_port: Variant = ready.get("port")
	var the_token: Variant = ready.get("token")
	if the_port is not float or the_token is not String:
		return false
	port = int(str(the_port).to_float())
	token = the_token
	state = State.READY
	return true


func _take_end() -> void:
	if state == State.STARTING and _last_error.begins_with(_NOT_STARTED):
		_end_for_good(_describe_unable())
	elif _last_error.is_empty():
		_end("the sidecar ended without a word: %s" % _ASK_DOCTOR)
	else:
		_end("the sidecar ended: %s" % _last_error)


func _describe_unable() -> String:
	return (
		(
			"%s does not start: make it executable, or, if it is of a .venv that was moved, make"
			+ " the .venv anew"
		)
		% _program
	)


func _get_age_msec() -> int:
	return Time.get_ticks_msec() - _started_msec


func _end_for_good(why: String) -> void:
	_end(why)
	may_recover = false


func _end(why: String) -> void:
	stop()
	state = State.ENDED
	problem = why


## Puts together the lines that a program writes piece by piece.
class LineReader:
	extends RefCounted

	var _partial: PackedByteArray = PackedByteArray()

	## Returns the lines that are complete, without empty ones; [param at_end] also the last one.
	func read(pipe: FileAccess, at_end: bool) -> PackedStringArray:
		var bytes: PackedByteArray = pipe.get_buffer(_READ_SIZE)
		_partial.append_array(bytes)
		while at_end and not bytes.is_empty() and _partial.size() < _LINE_LIMIT:
			bytes = pipe.get_buffer(_READ_SIZE)
			_partial.append_array(bytes)
		var lines: PackedStringArray = PackedStringArray()
		var begin: int = 0
		var end: int = _partial.find(_NEWLINE)
		while end >= 0:
			_add(lines, _partial.slice(begin, end))
			begin = end + 1
			end = _partial.find(_NEWLINE, begin)
		_partial = _partial.slice(begin)
		if at_end:
			_add(lines, _partial)
		if at_end or _partial.size() > _LINE_LIMIT:
			_partial.clear()
		return lines

	static func _add(lines: PackedStringArray, bytes: PackedByteArray) -> void:
		# Of what is no text the engine prints an error for each byte.
		var is_text: bool = _is_utf8(bytes)
		var line: String = (
			bytes.get_string_from_utf8() if is_text else bytes.get_string_from_ascii()
		)
		line = line.strip_edges(false)
		if not line.is_empty():
			lines.append(line)

	static func _is_utf8(bytes: PackedByteArray) -> bool:
		var following: int = 0
		for byte: int in bytes:
			if following > 0:
				if byte & 0xc0 != 0x80:
					return false
				following -= 1
			elif byte >= 0xf8 or byte & 0xc0 == 0x80 or byte == 0:
				return false
			elif byte >= 0xc0:
				following = 3 if byte >= 0xf0 else 2 if byte >= 0xe0 else 1
		return following == 0
