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
## Whether these are all there are, and not only those of an area.
var is_whole: bool = true


## Reads a reply; false, and nothing in it, if its arrays differ in length.
func read(reply: Message) -> bool:
	handles = reply.get_bytes("handles", "i64").to_int64_array()
	positions = reply.get_vectors("positions")
	velocities = reply.get_vectors("velocities")
	states = reply.get_bytes("states")
	transforms = reply.get_bytes("transforms", "f32").to_float32_array()
	var count: int = handles.size()
	var fits: bool = positions.size() == count and states.size() == count
	fits = fits and velocities.size() in [0, count]
	fits = fits and transforms.size() in [0, count * INSTANCE_SIZE]
	if not fits:
		handles = PackedInt64Array()
		positions = PackedVector2Array()
		velocities = PackedVector2Array()
		states = PackedByteArray()
		transforms = PackedFloat32Array()
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
		picked.transforms.append_array(transforms.slice(from * INSTANCE_SIZE, to * INSTANCE_SIZE))
	return picked


## Returns the transforms of these movers as they stood in an earlier view; who was not in it has
## stood where it is now.
func transforms_in(before: MoverView) -> PackedFloat32Array:
	if before.handles == handles:
		return before.transforms
	# Both are in one order, so few differences leave long runs that are equal.
	var made: PackedFloat32Array = PackedFloat32Array()
	var here: int = 0
	var there: int = 0
	while here < handles.size():
		var run: int = _count_equal(here, before.handles, there)
		made.append_array(
			before.transforms.slice(there * INSTANCE_SIZE, (there + run) * INSTANCE_SIZE)
		)
		here += run
		there += run
		if here == handles.size():
			break
		var found: int = before.handles.find(handles[here], there)
		if found < 0:
			made.append_array(transforms.slice(here * INSTANCE_SIZE, (here + 1) * INSTANCE_SIZE))
			here += 1
		else:
			there = found
	return made


func _count_equal(here: int, others: PackedInt64Array, there: int) -> int:
	var most: int = mini(handles.size() - here, others.size() - there)
	var run: int = 0
	var step: int = most
	while step > 0:
		var to: int = run + step
		if (
			to <= most
			and (handles.slice(here + run, here + to) == others.slice(there + run, there + to))
		):
			run = to
		elif step == 1:
			break
		step = mini(maxi(1, step >> 1), most - run)
	return run
