@tool
extends ScrollContainer
## What the path preview shows and how it searches, and what came of it in words.

## The preview was switched on or off.
signal shown_toggled(is_shown: bool)
## What is drawn was chosen anew.
signal layers_changed
## How to search was chosen anew.
signal options_changed
## Another pair was chosen.
signal pair_selected(index: int)
## A pair is to be added.
signal pair_added
## The chosen pair is to be removed.
signal pair_removed
## The search is to be shown up to another expansion: see [method get_scrubbed].
signal scrubbed
## What is seen is to be saved as a picture.
signal picture_wanted
## The chosen pair is to be saved as a case file.
signal case_wanted

## What of a search is drawn.
enum SearchLayer { NONE, ORDER, COSTS }
## What of the whole map is drawn; the names are the protocol's.
const MAP_LAYERS: PackedStringArray = ["", "costs", "clearance", "islands"]

const _ALGORITHMS: PackedStringArray = ["astar", "dijkstra"]
# By the protocol's names; the first leaves it to the server.
const _HEURISTICS: PackedStringArray = ["", "euclidean", "manhattan", "octile", "chebyshev", "zero"]
const _PLAY_SECONDS: float = 4.0

var _shown: CheckButton = CheckButton.new()
var _pairs: OptionButton = OptionButton.new()
var _add: Button = Button.new()
var _remove: Button = Button.new()
var _path: CheckBox = CheckBox.new()
var _smoothed: CheckBox = CheckBox.new()
var _search_layer: OptionButton = OptionButton.new()
var _map_layer: OptionButton = OptionButton.new()
var _algorithm: OptionButton = OptionButton.new()
var _diagonal: OptionButton = OptionButton.new()
var _heuristic: OptionButton = OptionButton.new()
var _weight: SpinBox = SpinBox.new()
var _profile: OptionButton = OptionButton.new()
var _size: SpinBox = SpinBox.new()
var _limit: SpinBox = SpinBox.new()
var _scrub: HSlider = HSlider.new()
var _play: Button = Button.new()
var _shown_of: Label = Label.new()
var _recorded: int = 0
# Sides of the profiles' bodies.
var _sizes: PackedInt32Array = PackedInt32Array()
var _fold: FoldableContainer = FoldableContainer.new()
var _save: MenuButton = MenuButton.new()
var _answer: Label = Label.new()
var _change: Label = Label.new()
var _cell: Label = Label.new()
var _box: VBoxContainer = VBoxContainer.new()
# Where rows are added.
var _rows: VBoxContainer = _box


func _init() -> void:
	name = "Path Preview"
	horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	# One that comes and goes would move what lies beside it.
	vertical_scroll_mode = ScrollContainer.SCROLL_MODE_SHOW_ALWAYS
	_box.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	add_child(_box)
	_shown.text = "Path preview"
	_shown.toggled.connect(shown_toggled.emit)
	_shown.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	var row: HBoxContainer = HBoxContainer.new()
	row.add_child(_shown)
	row.add_child(_save)
	_box.add_child(row)
	_fill_save_menu()
	_add_pairs()
	_add_layers()
	_add_player()
	_add_options()
	# What they say differs in length: nothing below may be moved by it.
	_add_texts()


func _process(delta: float) -> void:
	_scrub.value += delta / _PLAY_SECONDS
	if _scrub.value >= 1.0:
		_stop_playing()


## Shows whether the preview is on.
func show_shown(is_shown: bool) -> void:
	_shown.set_pressed_no_signal(is_shown)
	if not is_shown:
		_stop_playing()


## Brings the dock to the front where another one lies over it.
func come_forward() -> void:
	var page: Node = self
	while page.get_parent() is Control:
		var tabs: TabContainer = page.get_parent() as TabContainer
		if tabs != null:
			tabs.current_tab = tabs.get_tab_idx_from_control(page as Control)
			return
		page = page.get_parent()


## Shows how many pairs there are, which one is chosen, and whether there may be more.
func show_pairs(count: int, selected: int, can_grow: bool) -> void:
	while _pairs.item_count < count:
		_pairs.add_item("Pair %d" % (_pairs.item_count + 1))
	while _pairs.item_count > count:
		_pairs.remove_item(_pairs.item_count - 1)
	if count > 0:
		_pairs.select(selected)
	_add.disabled = not can_grow
	_remove.disabled = count < 2


## Shows who may walk, and the sides of their bodies in cells.
func show_profiles(names: PackedStringArray, sizes: PackedInt32Array) -> void:
	var before: int = _profile.selected
	_profile.clear()
	_profile.add_item("Everything costs 1")
	for profile: String in names:
		_profile.add_item(profile)
	_profile.select(clampi(before, 0, names.size()))
	var is_resized: bool = sizes != _sizes
	_sizes = sizes
	if is_resized and _profile.selected > 0:
		_size.set_value_no_signal(sizes[_profile.selected - 1])


## Shows what came of the search, and what the last edit has changed.
func show_answer(answer: String, change: String) -> void:
	_answer.text = answer
	_change.text = change
	_change.visible = not change.is_empty()


## Shows what is known of the cell under the mouse.
func show_cell(text: String) -> void:
	_cell.text = text


## Tells whether paths are drawn.
func is_path_shown() -> bool:
	return _path.button_pressed


## Tells whether paths pulled straight are drawn.
func is_smoothed_shown() -> bool:
	return _smoothed.button_pressed


## Returns what of the search is drawn.
func get_search_layer() -> SearchLayer:
	return _search_layer.selected as SearchLayer


## Shows how many expansions of a search can be played back.
func show_recorded(count: int) -> void:
	_recorded = count
	_tell_scrubbed()


## Returns the last expansion that is to be shown; INF shows all.
func get_scrubbed() -> float:
	return INF if _scrub.value >= 1.0 else ceilf(_scrub.value * _recorded)


## Returns what of the map is drawn; empty is nothing.
func get_map_layer() -> String:
	return MAP_LAYERS[_map_layer.selected]


## Returns which profile walks; -1 is the one that pays 1 everywhere.
func get_profile() -> int:
	return _profile.selected - 1


## Returns how a body moves, as fields of a message; [param diagonal_mode] is the map's own.
func get_movement(diagonal_mode: int) -> Dictionary:
	var mode: int = diagonal_mode if _diagonal.selected == 0 else _diagonal.selected - 1
	return {"diagonal_mode": mode, "size": int(_size.value)}


## Returns how to search, as fields of a message.
func get_search() -> Dictionary:
	var fields: Dictionary = {"algorithm": _ALGORITHMS[_algorithm.selected], "inexact": true}
	# Dijkstra's search has no estimate to weigh.
	if _algorithm.selected == 0:
		fields["weight"] = _weight.value
		if _heuristic.selected > 0:
			fields["heuristic"] = _HEURISTICS[_heuristic.selected]
	if _limit.value > 0:
		fields["max_expansions"] = int(_limit.value)
	return fields


func _add_row(label: String, control: Control) -> void:
	var row: HBoxContainer = HBoxContainer.new()
	var text: Label = Label.new()
	text.text = label
	text.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	row.add_child(text)
	control.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	row.add_child(control)
	_rows.add_child(row)


func _fill(options: OptionButton, items: PackedStringArray, changed: Signal) -> void:
	for item: String in items:
		options.add_item(item)
	options.fit_to_longest_item = false
	options.item_selected.connect(func(_index: int) -> void: changed.emit())


func _add_pairs() -> void:
	var row: HBoxContainer = HBoxContainer.new()
	_pairs.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_pairs.item_selected.connect(pair_selected.emit)
	row.add_child(_pairs)
	_add.text = "Add"
	_add.tooltip_text = "Adds a pair of start and goal in the middle of the view"
	_add.pressed.connect(pair_added.emit)
	row.add_child(_add)
	_remove.text = "Remove"
	_remove.tooltip_text = "Removes the chosen pair"
	_remove.pressed.connect(pair_removed.emit)
	row.add_child(_remove)
	_box.add_child(row)


func _add_layers() -> void:
	var row: HBoxContainer = HBoxContainer.new()
	_path.text = "Path"
	_path.button_pressed = true
	_smoothed.text = "Pulled straight"
	for box: CheckBox in [_path, _smoothed]:
		box.toggled.connect(func(_is_on: bool) -> void: layers_changed.emit())
		row.add_child(box)
	_box.add_child(row)
	var search: PackedStringArray = ["Nothing", "Expanded cells by order", "Cost from the start"]
	_fill(_search_layer, search, layers_changed)
	_add_row("Search", _search_layer)
	_fill(_map_layer, ["Nothing", "Cell costs", "Clearance", "Islands"], layers_changed)
	_add_row("Map", _map_layer)


func _add_texts() -> void:
	for label: Label in [_answer, _change, _cell]:
		label.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
		label.custom_minimum_size = Vector2(120, 0)
		_box.add_child(label)
	_answer.text = "Drag the markers in the 2D editor."


func _add_player() -> void:
	var row: HBoxContainer = HBoxContainer.new()
	_play.text = "Play"
	_play.tooltip_text = "Plays the search back, expanded cell by expanded cell"
	_play.pressed.connect(_toggle_playing)
	row.add_child(_play)
	_scrub.max_value = 1.0
	_scrub.step = 0.0
	_scrub.value = 1.0
	_scrub.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_scrub.size_flags_vertical = Control.SIZE_SHRINK_CENTER
	_scrub.tooltip_text = "Shows the search up to one of its expansions"
	_scrub.value_changed.connect(_on_scrubbed)
	row.add_child(_scrub)
	row.add_child(_shown_of)
	_box.add_child(row)
	set_process(false)


func _add_options() -> void:
	_fold.title = "How to search"
	_fold.folded = true
	_rows = VBoxContainer.new()
	_fold.add_child(_rows)
	_box.add_child(_fold)
	_algorithm.item_selected.connect(_on_algorithm_chosen)
	_profile.item_selected.connect(_on_profile_chosen)
	_fill(_algorithm, ["A*", "Dijkstra"], options_changed)
	_add_row("Algorithm", _algorithm)
	var modes: PackedStringArray = ["As the map", "Always", "Never", "At least one walkable"]
	modes.append("Only if no obstacles")
	_fill(_diagonal, modes, options_changed)
	_add_row("Diagonals", _diagonal)
	var heuristics: PackedStringArray = ["Best exact", "Euclidean", "Manhattan", "Octile"]
	heuristics.append_array(["Chebyshev", "Zero"])
	_fill(_heuristic, heuristics, options_changed)
	_add_row("Heuristic", _heuristic)
	_add_number("Weight", _weight, 1.0, 10.0, 0.1)
	_fill(_profile, ["Everything costs 1"], options_changed)
	_add_row("Profile", _profile)
	_add_number("Size", _size, 1.0, 32.0, 1.0)
	_add_number("Most expansions", _limit, 0.0, 1e9, 1.0)
	_limit.tooltip_text = "The search ends after so many expanded cells; 0 is without a limit"
	_size.tooltip_text = "Side of the body in cells"
	_weight.tooltip_text = "Above 1 the search hurries; the path may cost up to that much more"
	_rows = _box


func _add_number(label: String, box: SpinBox, least: float, most: float, step: float) -> void:
	box.min_value = least
	box.max_value = most
	box.step = step
	box.value_changed.connect(func(_value: float) -> void: options_changed.emit())
	_add_row(label, box)


func _fill_save_menu() -> void:
	_save.text = "Save"
	_save.flat = false
	_save.tooltip_text = "Saves a picture, or what navserver path --case repeats"
	var popup: PopupMenu = _save.get_popup()
	for item: String in ["Picture of the view...", "Case of the chosen pair..."]:
		popup.add_item(item)
	popup.set_item_tooltip(1, "Map, query and result in one file: navserver path --case FILE")
	popup.index_pressed.connect(
		func(index: int) -> void:
			if index == 0:
				picture_wanted.emit()
			else:
				case_wanted.emit()
	)


func _toggle_playing() -> void:
	if is_processing():
		_stop_playing()
		return
	if _scrub.value >= 1.0:
		_scrub.value = 0.0
	_show_order()
	_play.text = "Pause"
	set_process(true)


## Only cells by their order can be played back.
func _show_order() -> void:
	if _search_layer.selected != SearchLayer.ORDER:
		_search_layer.select(SearchLayer.ORDER)
		layers_changed.emit()


func _on_scrubbed(value: float) -> void:
	if value < 1.0:
		_show_order()
	_tell_scrubbed()
	scrubbed.emit()


func _tell_scrubbed() -> void:
	var is_whole: bool = get_scrubbed() == INF or _recorded == 0
	# Its width is kept: a slider that changes its length under the mouse runs away.
	_shown_of.custom_minimum_size = Vector2(90, 0)
	_shown_of.horizontal_alignment = HORIZONTAL_ALIGNMENT_RIGHT
	_shown_of.text = "" if is_whole else "%d / %d" % [get_scrubbed(), _recorded]


## Dijkstra's search has no estimate.
func _on_algorithm_chosen(index: int) -> void:
	_heuristic.disabled = index != 0
	_weight.editable = index == 0


func _on_profile_chosen(index: int) -> void:
	_size.set_value_no_signal(1 if index == 0 else _sizes[index - 1])


func _stop_playing() -> void:
	_play.text = "Play"
	set_process(false)
