extends RefCounted
## Movers as they were after a step: arrays of one length, in the map's own coordinates.

const Message := preload("message.gd")
const MoverView := preload("mover_view.gd")

## Floats an instance of a MultiMesh takes.
const INSTANCE_SIZE: int = 8

## Who they are to the sidecar.
var handles: PackedInt64Array = PackedInt64Array()
## Where they are.
var positions: PackedVector2Array = PackedVector2Array()
## How they move, a second; empty where nobody asked.
var velocities: PackedVector2Array = PackedVector2Array()
## What each does, see the protocol's mover states.
var states: PackedByteArray = PackedByteArray()
## The buffer of a MultiMesh; empty where nobody asked.
var transforms: PackedFloat32Array = PackedFloat32Array()
## The same before the step; empty where nobody asked.
var transforms_before: PackedFloat32Array = PackedFloat32Array()
## Whether these are all there are, and not only those of an area.
var is_whole: bool = true


## Reads a reply; false, and nothing in it, if its arrays differ in length.
func read(reply: Message) -> bool:
	handles = reply.get_bytes("handles", "i64").to_int64_array()
	positions = reply.get_vectors("positions")
	velocities = reply.get_vectors("velocities")
	states = reply.get_bytes("states")
	transforms = reply.get_bytes("transforms", "f32").to_float32_array()
	transforms_before = reply.get_bytes("transforms_before", "f32").to_float32_array()
	var count: int = handles.size()
	var fits: bool = positions.size() == count and states.size() == count
	fits = fits and velocities.size() in [0, count]
	fits = fits and transforms.size() in [0, count * INSTANCE_SIZE]
	fits = fits and transforms_before.size() in [0, count * INSTANCE_SIZE]
	if not fits:
		handles = PackedInt64Array()
		positions = PackedVector2Array()
		velocities = PackedVector2Array()
		states = PackedByteArray()
		transforms = PackedFloat32Array()
		transforms_before = PackedFloat32Array()
	return fits


## Returns the rows that [param runs] name: the first of each, and the one behind its last.
func pick(runs: PackedInt32Array) -> MoverView:
	var picked: MoverView = MoverView.new()
	picked.is_whole = is_whole
	for at: int in range(0, runs.size(), 2):
		var from: int = runs[at]
		var to: int = runs[at + 1]
		picked.handles.append_array(handles.slice(from, to))
		picked.positions.append_array(positions.slice(from, to))
		picked.velocities.append_array(velocities.slice(from, to))
		picked.states.append_array(states.slice(from, to))
		from *= INSTANCE_SIZE
		to *= INSTANCE_SIZE
		picked.transforms.append_array(transforms.slice(from, to))
		picked.transforms_before.append_array(transforms_before.slice(from, to))
	return picked
