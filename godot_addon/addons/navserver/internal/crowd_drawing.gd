extends RefCounted
## Draws a crowd: one MultiMesh whose buffer comes finished from the sidecar.

const MoverView := preload("mover_view.gd")

const _CORNERS: int = 16
# Computing the box of all instances anew each frame takes longer than drawing a few too many.
const _EVERYWHERE: AABB = AABB(Vector3(-1e7, -1e7, -1.0), Vector3(2e7, 2e7, 2.0))

## The node that draws.
var instance: MultiMeshInstance2D = MultiMeshInstance2D.new()

var _multimesh: MultiMesh = MultiMesh.new()
var _capacity: int = 0
# How many instances are visible; -1 if that was not said.
var _shown: int = -1


## Makes the node.
func _init() -> void:
	_multimesh.transform_format = MultiMesh.TRANSFORM_2D
	_multimesh.custom_aabb = _EVERYWHERE
	instance.multimesh = _multimesh


## Says what a unit looks like: a mesh, else a texture of a size, else a disc with a nose.
func dress(mesh: Mesh, texture: Texture2D, size: Vector2, color: Color) -> void:
	instance.texture = texture
	instance.self_modulate = color
	if mesh != null:
		_multimesh.mesh = mesh
	elif texture != null:
		_multimesh.mesh = make_quad(size if size != Vector2.ZERO else texture.get_size())
	else:
		_multimesh.mesh = make_disc(size.x * 0.5)


## Tells whether units are drawn between two steps, and so where they were is wanted as well.
func is_interpolated() -> bool:
	return instance.is_physics_interpolated_and_enabled()


## Shows the units of a view, if it has what there is to draw.
func show(view: MoverView) -> void:
	if view.transforms.is_empty() and not view.handles.is_empty():
		return
	var count: int = view.handles.size()
	if count > _capacity:
		# Another count means another buffer in the graphics card.
		_capacity = MoverView.find_room(count)
		_shown = -1
		_multimesh.instance_count = _capacity
	if count != _shown:
		_shown = count
		_multimesh.visible_instance_count = count
	if _capacity == 0:
		return
	var now: PackedFloat32Array = view.transforms
	var before: PackedFloat32Array = view.transforms_before
	var size: int = _capacity * MoverView.INSTANCE_SIZE
	var is_between: bool = before.size() == now.size() and is_interpolated()
	# Most come with the room that is wanted.
	if now.size() != size:
		now.resize(size)
		before.resize(size)
	if is_between:
		_multimesh.set_buffer_interpolated(now, before)
	else:
		_multimesh.buffer = now


## Makes a rectangle that shows a texture the right way up.
static func make_quad(size: Vector2) -> ArrayMesh:
	var half: Vector2 = size * 0.5
	return _make_mesh(
		[-half, Vector2(half.x, -half.y), half, Vector2(-half.x, half.y)],
		[Vector2(0, 0), Vector2(1, 0), Vector2(1, 1), Vector2(0, 1)],
		[0, 1, 2, 0, 2, 3]
	)


## Makes a disc with a nose that points where a unit goes.
static func make_disc(radius: float) -> ArrayMesh:
	var points: PackedVector2Array = PackedVector2Array([Vector2(radius * 1.35, 0.0)])
	for corner: int in _CORNERS:
		points.append(Vector2.from_angle(0.5 + (TAU - 1.0) * corner / (_CORNERS - 1.0)) * radius)
	var indices: PackedInt32Array = PackedInt32Array()
	for corner: int in range(1, _CORNERS):
		indices.append_array([0, corner, corner + 1])
	var uvs: PackedVector2Array = PackedVector2Array()
	uvs.resize(points.size())
	return _make_mesh(points, uvs, indices)


static func _make_mesh(
	points: PackedVector2Array, uvs: PackedVector2Array, indices: PackedInt32Array
) -> ArrayMesh:
	var arrays: Array = []
	arrays.resize(Mesh.ARRAY_MAX)
	arrays[Mesh.ARRAY_VERTEX] = points
	arrays[Mesh.ARRAY_TEX_UV] = uvs
	arrays[Mesh.ARRAY_INDEX] = indices
	var mesh: ArrayMesh = ArrayMesh.new()
	mesh.add_surface_from_arrays(Mesh.PRIMITIVE_TRIANGLES, arrays)
	return mesh
