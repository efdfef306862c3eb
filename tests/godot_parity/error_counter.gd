extends Logger
## Counts what the engine and the scripts report as errors.
##
## Under [code]-s[/code] a script error neither stops Godot nor changes its exit code, so a runner
## has to count the errors itself.

var _count: int = 0
var _mutex: Mutex = Mutex.new()


## The errors reported so far; warnings are not counted.
func get_count() -> int:
	_mutex.lock()
	var count: int = _count
	_mutex.unlock()
	return count


func _log_error(
	_function: String,
	_file: String,
	_line: int,
	_code: String,
	_rationale: String,
	_editor_notify: bool,
	error_type: int,
	_script_backtraces: Array[ScriptBacktrace]
) -> void:
	if error_type == ERROR_TYPE_WARNING:
		return
	# Errors may come from any thread of the engine.
	_mutex.lock()
	_count += 1
	_mutex.unlock()
