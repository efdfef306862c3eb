@tool
extends RefCounted
## The pairs of start and goal that are previewed in a scene, kept with it.
##
## They are metadata of the scene's root, four numbers a pair: saved with the scene, hidden in the
## inspector, and nothing that a game looks at. Each change is one step of the scene's history.

## Name of the metadata.
const META: StringName = &"_navserver_preview"

# Most pairs of a scene.
const _LIMIT: int = 16


## Returns the pairs of a scene: x and y of the start, then of the goal, in cells of the layers.
static func read(root: Node) -> Array[Vector4i]:
	var pairs: Array[Vector4i] = []
	var kept: Variant = root.get_meta(META, PackedInt32Array())
	if kept is PackedInt32Array:
		var numbers: PackedInt32Array = kept
		for at: int in range(0, mini(numbers.size(), 4 * _LIMIT) - 3, 4):
			pairs.append(Vector4i(numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]))
	return pairs


## Changes the pairs of a scene; can be undone under [param action].
static func write(
	undo: EditorUndoRedoManager, root: Node, action: String, pairs: Array[Vector4i]
) -> void:
	var numbers: PackedInt32Array = PackedInt32Array()
	for pair: Vector4i in pairs.slice(0, _LIMIT):
		numbers.append_array([pair.x, pair.y, pair.z, pair.w])
	undo.create_action(action, UndoRedo.MERGE_DISABLE, root)
	if numbers.is_empty():
		undo.add_do_method(root, &"remove_meta", META)
	else:
		undo.add_do_method(root, &"set_meta", META, numbers)
	if root.has_meta(META):
		undo.add_undo_method(root, &"set_meta", META, root.get_meta(META))
	else:
		undo.add_undo_method(root, &"remove_meta", META)
	undo.commit_action()


## Returns one end of a pair.
static func get_end(pair: Vector4i, is_goal: bool) -> Vector2i:
	return Vector2i(pair.z, pair.w) if is_goal else Vector2i(pair.x, pair.y)


## Returns a pair with one end moved.
static func with_end(pair: Vector4i, is_goal: bool, cell: Vector2i) -> Vector4i:
	if is_goal:
		return Vector4i(pair.x, pair.y, cell.x, cell.y)
	return Vector4i(cell.x, cell.y, pair.z, pair.w)
