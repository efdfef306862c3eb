@tool
extends Tree
## The paths that a running game has asked for, the newest on top.

## Another row was chosen, or none.
signal chosen(row: Dictionary)

const _TITLES: PackedStringArray = ["#", "Asked by", "From", "To", "Answer", "ms", "Why"]
const _WIDTHS: PackedInt32Array = [40, 110, 76, 76, 100, 52, 110]
# Rows that ended; older ones go.
const _KEPT: int = 300
const _FAILED: Color = Color(1.0, 0.45, 0.4)
const _WAITING: Color = Color(0.95, 0.8, 0.4)

var _items: Dictionary[int, TreeItem] = {}
# Numbers of those that ended, the oldest first, and of those on their way.
var _ended: PackedInt64Array = PackedInt64Array()
var _open: Dictionary[int, bool] = {}
var _only_failures: bool = false
var _wanted: String = ""


func _init() -> void:
	columns = _TITLES.size()
	column_titles_visible = true
	hide_root = true
	select_mode = Tree.SELECT_ROW
	for column: int in _TITLES.size():
		set_column_title(column, _TITLES[column])
		set_column_title_alignment(column, HORIZONTAL_ALIGNMENT_LEFT)
		set_column_custom_minimum_width(column, _WIDTHS[column])
		set_column_clip_content(column, true)
		set_column_expand(column, column in [1, 6])
	create_item()
	item_selected.connect(_tell_chosen)
	nothing_selected.connect(_tell_chosen)


## Takes what a report says of those on their way and those that ended.
func take(open: Array, ended: Array) -> void:
	for row: Dictionary in ended:
		var number: int = row["number"]
		_open.erase(number)
		_ended.append(number)
		_show(row)
	var still: Dictionary[int, bool] = {}
	for row: Dictionary in open:
		var number: int = row["number"]
		still[number] = true
		_show(row)
	for number: int in _open:
		if number not in still:
			_remove(number)
	_open = still
	while _ended.size() > _KEPT:
		_remove(_ended[0])
		_ended.remove_at(0)


## Nothing is on its way any more.
func drop_open() -> void:
	take([], [])


## Forgets those that ended.
func clear_ended() -> void:
	for number: int in _ended:
		_remove(number)
	_ended.clear()


## Shows failures alone, or all; and only rows that have [param wanted] somewhere.
func filter(only_failures: bool, wanted: String) -> void:
	_only_failures = only_failures
	_wanted = wanted.to_lower()
	for number: int in _items:
		_items[number].visible = _is_shown(_row_of(_items[number]))


## Returns the rows that are shown, the newest first.
func list_shown() -> Array[Dictionary]:
	var rows: Array[Dictionary] = []
	for item: TreeItem in get_root().get_children():
		if item.visible:
			rows.append(_row_of(item))
	return rows


## Returns the chosen row; empty if there is none.
func get_chosen() -> Dictionary:
	return {} if get_selected() == null else _row_of(get_selected())


## Chooses a row by its number.
func choose(number: int) -> void:
	if number in _items:
		_items[number].select(0)


func _show(row: Dictionary) -> void:
	var number: int = row["number"]
	if number not in _items:
		_items[number] = create_item(null, _find_place(number))
	var item: TreeItem = _items[number]
	item.set_metadata(0, row)
	var is_open: bool = str(row["status"]).is_empty()
	var texts: PackedStringArray = [
		str(number),
		say_node(row),
		_say_point(row["from"] as Vector2),
		_say_point(row["to"] as Vector2),
		"on its way" if is_open else str(row["status"]).replace("_", " "),
		("%.1f" if row["msec"] < 99.95 else "%.0f") % row["msec"],
		str(row["reason"]) if row["failed"] else "",
	]
	for column: int in texts.size():
		item.set_text(column, texts[column])
		item.clear_custom_color(column)
		if row["failed"]:
			item.set_custom_color(column, _FAILED)
		elif is_open:
			item.set_custom_color(column, _WAITING)
	item.set_tooltip_text(1, "%s\n%s" % [row["node"], row["place"]])
	item.set_tooltip_text(6, str(row["reason"]))
	item.visible = _is_shown(row)


## Says who asked: the node and the one above it, and the line of the script where it is known.
static func say_node(row: Dictionary) -> String:
	var path: NodePath = NodePath(str(row["node"]))
	var names: int = path.get_name_count()
	var said: String = "(gone)" if names == 0 else str(path.slice(maxi(names - 2, 0)))
	var place: String = row["place"]
	return said if place.is_empty() else "%s  %s" % [said, place.get_file()]


## Newer rows stand above older ones, and most that come are the newest.
func _find_place(number: int) -> int:
	var index: int = 0
	var item: TreeItem = get_root().get_first_child()
	while item != null and (_row_of(item)["number"] as int) > number:
		item = item.get_next()
		index += 1
	return index


func _remove(number: int) -> void:
	if number not in _items:
		return
	var was_chosen: bool = _items[number] == get_selected()
	_items[number].free()
	_items.erase(number)
	if was_chosen:
		_tell_chosen()


func _is_shown(row: Dictionary) -> bool:
	if _only_failures and not row["failed"]:
		return false
	if _wanted.is_empty():
		return true
	var text: String = "%s %s %s %s" % [row["node"], row["place"], row["status"], row["reason"]]
	return text.to_lower().contains(_wanted)


static func _row_of(item: TreeItem) -> Dictionary:
	var row: Variant = item.get_metadata(0)
	return row if row is Dictionary else {}


static func _say_point(point: Vector2) -> String:
	return "%d, %d" % [roundi(point.x), roundi(point.y)]


func _tell_chosen() -> void:
	chosen.emit(get_chosen())
