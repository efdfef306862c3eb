@tool
extends RefCounted
## The pairs of start and goal that are previewed in a scene, kept with it.
##
## They are metadata of the scene's root, four numbers a pair: saved with the scene, hidden in the
## inspector, and nothing that a game looks at. Each change is one step of the scene's history. A
## scene that keeps none is shown one in the middle of its map.

const PreviewMap := preload("preview_map.gd")

## Name of the metadata.
const META: StringName = &"_navserver_preview"
## Most pairs of a scene.
const LIMIT: int = 16

## Which pair is chosen.
var selected: int = 0

var _undo: EditorUndoRedoManager
var _root: Node = null
var _kept: Array[Vector4i] = []
# What a scene without pairs is shown; it stays where it is while the level is drawn.
var _proposed: Array[Vector4i] = []
# The pairs while one of their markers is dragged.
var _dragged: Array[Vector4i] = []


func _init(undo: EditorUndoRedoManager) -> void:
	_undo = undo


## Takes a scene; null is none.
func set_root(root: Node) -> void:
	_root = root
	selected = 0
	_kept = []
	_proposed = []
	_dragged = []


## Reads what the scene keeps. Returns which pairs are not what they were.
func refresh(map: PreviewMap) -> PackedInt32Array:
	var before: Array[Vector4i] = _kept
	_kept = []
	if map.is_there() and _root != null:
		_kept = read(_root)
		if _kept.is_empty():
			if _proposed.is_empty():
				_proposed = [map.propose_pair()]
			_kept = _proposed.duplicate()
	selected = clampi(selected, 0, maxi(_kept.size() - 1, 0))
	if _dragged.size() != _kept.size():
		_dragged = []
	var changed: PackedInt32Array = PackedInt32Array()
	for index: int in _kept.size():
		if index >= before.size() or before[index] != _kept[index]:
			changed.append(index)
	return changed


## Returns the pairs as they are shown: x and y of the start, then of the goal, in cells of the
## layers.
func get_shown() -> Array[Vector4i]:
	return _kept if _dragged.is_empty() else _dragged


## Returns the chosen pair as it is shown; there has to be one.
func get_selected() -> Vector4i:
	return get_shown()[selected]


## Tells whether there is no pair.
func is_empty() -> bool:
	return _kept.is_empty()


## Moves one end of a pair for as long as it is dragged, and chooses the pair; true if it moved.
func drag(index: int, is_goal: bool, cell: Vector2i) -> bool:
	if index >= _kept.size():
		return false
	var moved: Array[Vector4i] = get_shown().duplicate()
	moved[index] = with_end(moved[index], is_goal, cell)
	if moved == _dragged:
		return false
	_dragged = moved
	selected = index
	return true


## Ends dragging; what was moved stays there if [param is_kept]. True if it stays.
func end_drag(is_kept: bool) -> bool:
	var moved: Array[Vector4i] = _dragged
	_dragged = []
	if not is_kept or moved.is_empty() or moved == _kept or _root == null:
		return false
	_write("Move Path Preview", moved)
	return true


## Adds a pair and chooses it.
func add(pair: Vector4i) -> void:
	if _root == null or _kept.size() >= LIMIT:
		return
	var added: Array[Vector4i] = _kept.duplicate()
	added.append(pair)
	selected = added.size() - 1
	_write("Add Path Preview", added)


## Removes the chosen pair.
func remove_selected() -> void:
	if _root == null or _kept.size() < 2:
		return
	var rest: Array[Vector4i] = _kept.duplicate()
	rest.remove_at(selected)
	_write("Remove Path Preview", rest)


## Returns the pairs that a scene keeps.
static func read(root: Node) -> Array[Vector4i]:
	var pairs: Array[Vector4i] = []
	var kept: Variant = root.get_meta(META, PackedInt32Array())
	if kept is PackedInt32Array:
		var numbers: PackedInt32Array = kept
		for at: int in range(0, mini(numbers.size(), 4 * LIMIT) - 3, 4):
			pairs.append(Vector4i(numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]))
	return pairs


## Returns one end of a pair.
static func get_end(pair: Vector4i, is_goal: bool) -> Vector2i:
	return Vector2i(pair.z, pair.w) if is_goal else Vector2i(pair.x, pair.y)


## Returns a pair with one end moved.
static func with_end(pair: Vector4i, is_goal: bool, cell: Vector2i) -> Vector4i:
	if is_goal:
		return Vector4i(pair.x, pair.y, cell.x, cell.y)
	return Vector4i(cell.x, cell.y, pair.z, pair.w)


## Changes the pairs of the scene; can be undone under [param action].
func _write(action: String, pairs: Array[Vector4i]) -> void:
	var numbers: PackedInt32Array = PackedInt32Array()
	for pair: Vector4i in pairs:
		numbers.append_array([pair.x, pair.y, pair.z, pair.w])
	_undo.create_action(action, UndoRedo.MERGE_DISABLE, _root)
	_undo.add_do_method(_root, &"set_meta", META, numbers)
	if _root.has_meta(META):
		_undo.add_undo_method(_root, &"set_meta", META, _root.get_meta(META))
	else:
		_undo.add_undo_method(_root, &"remove_meta", META)
	_undo.commit_action()
