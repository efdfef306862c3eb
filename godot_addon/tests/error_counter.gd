extends Logger
## Keeps what the engine and the scripts report as errors.
##
## Under [code]-s[/code] a script error neither stops Godot nor changes its exit code, so a runner
## has to count the errors itself.

var _lines: PackedStringArray = PackedStringArray()
var _mutex: Mutex = Mutex.new()


## Returns how many errors and warnings were reported so far.
func get_count() -> int:
	_mutex.lock()
	var count: int = _lines.size()
	_mutex.unlock()
	return count


## Returns the errors after the first [param seen], a line each.
func get_lines(seen: int) -> PackedStringArray:
	_mutex.lock()
	var lines: PackedStringArray = _lines.slice(seen)
	_mutex.unlock()
	return lines


func _log_error(
	_function: String,
	file: String,
	line: int,
	code: String,
	rationale: String,
	_editor_notify: bool,
	_error_type: int,
	_script_backtraces: Array[ScriptBacktrace]
) -> void:
	# Errors may come from any thread of the engine.
	_mutex.lock()
	_lines.append("%s:%d: %s" % [file, line, code if rationale.is_empty() else rationale])
	_mutex.unlock()
