@tool
extends VBoxContainer
## Shows what navigation does in a running game.

## The game is to send reports, or not.
signal listening_changed(is_listening: bool)
## A node of a scene file is to be shown.
signal node_wanted(scene: String, path: NodePath)
## A line of a script is to be shown.
signal script_wanted(place: String)
## An object of the running game is to be shown in the inspector.
signal inspection_wanted(object_id: int)

const DebuggerRequests := preload("debugger_requests.gd")

# Names of nodes as the editor gives them can be read, and all of it fits beside the requests in a
# window of usual width: a bar to scroll by would lie over the only row.
const _TABLE_WIDTHS: PackedInt32Array = [138, 94, 64, 70]
const _TABLE_HEIGHT: float = 76.0
const _NOBODY: String = "No game is running, or it does not use navserver."

var _pause: Button = Button.new()
var _failures: CheckBox = CheckBox.new()
var _wanted: LineEdit = LineEdit.new()
var _state: Label = Label.new()
var _figures: Label = Label.new()
var _requests: DebuggerRequests = DebuggerRequests.new()
var _maps: Tree = _make_table(["Map", "Cells", "Version", "State"])
var _crowds: Tree = _make_table(["Crowd", "Units", "Walking", "State"])
var _show_node: Button = Button.new()
var _show_script: Button = Button.new()
var _inspect: Button = Button.new()
# What the buttons are about; empty if nothing is chosen.
var _chosen: Dictionary = {}
var _left_out: int = 0


func _init() -> void:
	name = "navserver"
	_add_tools()
	_figures.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	add_child(_figures)
	var halves: HSplitContainer = HSplitContainer.new()
	halves.size_flags_vertical = Control.SIZE_EXPAND_FILL
	add_child(halves)
	_requests.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_requests.size_flags_stretch_ratio = 1.6
	_requests.chosen.connect(_choose)
	_requests.item_activated.connect(_jump)
	halves.add_child(_requests)
	var held: VSplitContainer = VSplitContainer.new()
	held.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	halves.add_child(held)
	for table: Tree in [_maps, _crowds] as Array[Tree]:
		table.item_selected.connect(func() -> void: _choose(_row_of(table.get_selected())))
		table.item_activated.connect(_jump)
		held.add_child(table)
	end()


## A game is there that uses navserver.
func begin() -> void:
	_requests.drop_open()
	_requests.clear_ended()
	_left_out = 0
	_state.text = "The game is connected."


## The game has ended; what it told stays, to be read.
func end() -> void:
	_requests.drop_open()
	_maps.clear()
	_crowds.clear()
	_choose(_requests.get_chosen())
	_state.text = _NOBODY
	_figures.text = ""


## Shows what the game tells.
func show_report(report: Dictionary) -> void:
	_left_out += report["left_out"] as int
	_state.text = str(report["reason"])
	_state.tooltip_text = "%s: %s" % [report["state"], report["reason"]]
	_figures.text = say_figures(report, _left_out)
	_requests.take(report["open"] as Array, report["ended"] as Array)
	_fill(_maps, report["maps"] as Array, _say_map)
	_fill(_crowds, report["crowds"] as Array, _say_crowd)


## Tells whether the game is not to send anything.
func is_paused() -> bool:
	return _pause.button_pressed


## Lets the game send nothing, or goes on.
func set_paused(is_wanted: bool) -> void:
	_pause.button_pressed = is_wanted


## Forgets what has ended.
func clear() -> void:
	_requests.clear_ended()
	_left_out = 0


## Shows failures alone, and only what has a text somewhere.
func filter(only_failures: bool, wanted: String) -> void:
	_failures.set_pressed_no_signal(only_failures)
	if _wanted.text != wanted:
		_wanted.text = wanted
	_requests.filter(only_failures, wanted)


## Returns the list of requests.
func get_requests() -> DebuggerRequests:
	return _requests


## Returns what stands in the tables, for tests: texts, row by row.
func get_texts() -> Dictionary[String, Variant]:
	return {
		"state": _state.text,
		"figures": _figures.text,
		"maps": _texts_of(_maps),
		"crowds": _texts_of(_crowds),
	}


## Says the figures of a report in one line.
static func say_figures(report: Dictionary, left_out: int) -> String:
	var figures: Dictionary = report["figures"]
	var parts: PackedStringArray = [
		(
			"%d on their way, %d of them still in the game"
			% [figures["pending_requests"], report["waiting_here"]]
		),
		"%.0f a second" % figures["requests_per_second"],
		"answers p50 %.1f ms, p99 %.1f ms" % [figures["answer_p50_ms"], figures["answer_p99_ms"]],
		"%d failed" % figures["failures"],
		(
			"round trip %.1f ms, %s/s"
			% [figures["round_trip_ms"], String.humanize_size(figures["bytes_per_second"] as int)]
		),
	]
	var queue: Dictionary = report["queue"]
	if not queue.is_empty():
		parts.append(
			(
				"sidecar: %d rows of %d requests wait, %d at work"
				% [queue["queue.rows"], queue["queue.requests"], queue["queue.at_work"]]
			)
		)
	if left_out > 0:
		parts.append("%d more ended than are listed" % left_out)
	return "  ·  ".join(parts)


func _add_tools() -> void:
	var tools: HBoxContainer = HBoxContainer.new()
	add_child(tools)
	_pause.text = "Pause"
	_pause.toggle_mode = true
	_pause.tooltip_text = "The game sends nothing until you go on; it does not stop"
	_pause.toggled.connect(func(pressed: bool) -> void: listening_changed.emit(not pressed))
	tools.add_child(_pause)
	var clear_button: Button = Button.new()
	clear_button.text = "Clear"
	clear_button.pressed.connect(clear)
	tools.add_child(clear_button)
	_failures.text = "Failures only"
	_failures.toggled.connect(func(pressed: bool) -> void: filter(pressed, _wanted.text))
	tools.add_child(_failures)
	_wanted.placeholder_text = "Filter"
	_wanted.clear_button_enabled = true
	_wanted.custom_minimum_size = Vector2(150, 0)
	_wanted.text_changed.connect(func(text: String) -> void: filter(_failures.button_pressed, text))
	tools.add_child(_wanted)
	for button: Button in [_show_node, _show_script, _inspect] as Array[Button]:
		tools.add_child(button)
	_show_node.text = "Show Node"
	_show_node.tooltip_text = "Selects the node in its scene; double-click does it too"
	_show_node.pressed.connect(_jump)
	_show_script.text = "Show Script"
	_show_script.tooltip_text = "Opens the script at the line that asked"
	_show_script.pressed.connect(func() -> void: script_wanted.emit(str(_chosen["place"])))
	_inspect.text = "Inspect"
	_inspect.tooltip_text = "Shows the node of the running game in the inspector"
	_inspect.pressed.connect(func() -> void: inspection_wanted.emit(_chosen["id"] as int))
	_state.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_state.horizontal_alignment = HORIZONTAL_ALIGNMENT_RIGHT
	_state.clip_text = true
	_state.mouse_filter = Control.MOUSE_FILTER_STOP
	tools.add_child(_state)


func _choose(row: Dictionary) -> void:
	_chosen = row
	_show_node.disabled = str(row.get("scene", "")).is_empty()
	_show_script.disabled = str(row.get("place", "")).is_empty()
	_inspect.disabled = row.get("id", 0) as int == 0


func _jump() -> void:
	if not _show_node.disabled:
		node_wanted.emit(str(_chosen["scene"]), NodePath(str(_chosen["scene_path"])))


static func _make_table(titles: PackedStringArray) -> Tree:
	var table: Tree = Tree.new()
	table.columns = titles.size()
	table.column_titles_visible = true
	table.hide_root = true
	table.hide_folding = true
	table.select_mode = Tree.SELECT_ROW
	table.size_flags_vertical = Control.SIZE_EXPAND_FILL
	var width: float = 0.0
	for column: int in titles.size():
		table.set_column_title(column, titles[column])
		table.set_column_title_alignment(column, HORIZONTAL_ALIGNMENT_LEFT)
		table.set_column_clip_content(column, true)
		table.set_column_custom_minimum_width(column, _TABLE_WIDTHS[column])
		table.set_column_expand(column, column in [0, 3])
		width += _TABLE_WIDTHS[column]
	# Its own edges come on top.
	table.custom_minimum_size = Vector2(width + 20.0, _TABLE_HEIGHT)
	return table


## Fills a table anew, which keeps its rows where they are as many as before.
static func _fill(table: Tree, rows: Array, say: Callable) -> void:
	var root: TreeItem = table.get_root()
	if root == null or root.get_child_count() != rows.size():
		table.clear()
		root = table.create_item()
		for row: Dictionary in rows:
			root.create_child()
	for index: int in rows.size():
		var item: TreeItem = root.get_child(index)
		item.set_metadata(0, rows[index])
		var texts: PackedStringArray = say.call(rows[index])
		for column: int in texts.size():
			item.set_text(column, texts[column])
		item.set_tooltip_text(0, str((rows[index] as Dictionary)["node"]))


static func _say_map(row: Dictionary) -> PackedStringArray:
	var cells: Rect2i = row["cells"]
	return [
		str(row["node"]).get_file(),
		"%d x %d" % [cells.size.x, cells.size.y],
		str(row["version"]),
		str(row["state"]),
	]


static func _say_crowd(row: Dictionary) -> PackedStringArray:
	return [
		str(row["node"]).get_file(),
		"%d, %d seen" % [row["units"], row["seen"]],
		str(row["walking"]),
		"%d behind" % row["behind"] if row["live"] else "nobody moves them",
	]


static func _row_of(item: TreeItem) -> Dictionary:
	return {} if item == null else item.get_metadata(0)


static func _texts_of(table: Tree) -> Array[PackedStringArray]:
	var rows: Array[PackedStringArray] = []
	if table.get_root() == null:
		return rows
	for item: TreeItem in table.get_root().get_children():
		var texts: PackedStringArray = PackedStringArray()
		for column: int in table.columns:
			texts.append(item.get_text(column))
		rows.append(texts)
	return rows
