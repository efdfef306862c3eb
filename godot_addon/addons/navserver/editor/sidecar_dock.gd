@tool
extends VBoxContainer
## Shows how the sidecar is doing, with its log, and starts and stops it.

## The user wants a sidecar.
signal start_pressed
## The user wants none.
signal stop_pressed

const SidecarLink := preload("../internal/sidecar_link.gd")

const _LOG_LIMIT: int = 500

var _state: Label = Label.new()
var _progress: ProgressBar = ProgressBar.new()
var _start: Button = Button.new()
var _stop: Button = Button.new()
var _log: RichTextLabel = RichTextLabel.new()


func _init() -> void:
	_state.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_state.custom_minimum_size = Vector2(120, 0)
	add_child(_state)
	_progress.visible = false
	_progress.tooltip_text = "Compiling the searches: once after an update"
	add_child(_progress)
	var buttons: HBoxContainer = HBoxContainer.new()
	add_child(buttons)
	_start.text = "Start"
	_start.pressed.connect(start_pressed.emit)
	buttons.add_child(_start)
	_stop.text = "Stop"
	_stop.pressed.connect(stop_pressed.emit)
	buttons.add_child(_stop)
	_log.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_log.scroll_following = true
	_log.selection_enabled = true
	_log.focus_mode = Control.FOCUS_CLICK
	add_child(_log)


## Shows where the link stands, and why.
func show_state(state: SidecarLink.State, reason: String) -> void:
	_state.text = reason
	_start.disabled = state != SidecarLink.State.OFF
	_stop.disabled = state == SidecarLink.State.OFF
	if state == SidecarLink.State.OFF or state == SidecarLink.State.STARTING:
		_progress.visible = false
	show_log([reason])


## Shows how much of the searches is compiled.
func show_progress(done: int, total: int) -> void:
	_progress.max_value = total
	_progress.value = done
	_progress.visible = done < total


## Appends lines to the log.
func show_log(lines: PackedStringArray) -> void:
	for line: String in lines:
		_log.add_text(line)
		_log.newline()
	while _log.get_paragraph_count() > _LOG_LIMIT:
		_log.remove_paragraph(0)
