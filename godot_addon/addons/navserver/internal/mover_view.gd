extends RefCounted
## Movers as they were after a step: arrays of one length, in the map's own coordinates.
##
## It is made of a reply where that is received, on any thread; the frame only hands it on.

const Message := preload("message.gd")
const MoverView := preload("mover_view.gd")

## Floats an instance of a MultiMesh takes.
const INSTANCE_SIZE: int = 8

# A buffer for fewer instances is no smaller.
const _LEAST_ROOM: int = 64

## Who they are to the sidecar.
var handles: PackedInt64Array = PackedInt64Array()
## Where they are.
var positions: PackedVector2Array = PackedVector2Array()
## How they move, a second; empty where nobody asked.
var velocities: PackedVector2Array = PackedVector2Array()
## What each does, see the protocol's mover states.
var states: PackedByteArray = PackedByteArray()
## The buffer of a MultiMesh; empty where nobody asked. There may be room behind the last mover, see
## [method find_room].
var transforms: PackedFloat32Array = PackedFloat32Array()
## The same before the step; empty where nobody asked.
var transforms_before: PackedFloat32Array = PackedFloat32Array()
## How those may move that were watched, a second; in the order in which they were named.
var watched_velocities: PackedVector2Array = PackedVector2Array()
## To whom something has happened, to movers of other areas as well.
var event_handles: PackedInt64Array = PackedInt64Array()
## What has happened to each of them, see the protocol's event kinds.
var event_kinds: PackedByteArray = PackedByteArray()
## Why, see the protocol's stuck reasons.
var event_reasons: PackedByteArray = PackedByteArray()
## Whether these are all there are, and not only those of an area.
var is_whole: bool = true
## Whether all arrays were of one length; else there is nothing in them.
var is_sound: bool = true


## Returns the view that a reply holds, with nothing in it if the reply is an error; null if its
## arrays differ in length.
static func find(reply: Message) -> MoverView:
	if reply.content is not MoverView:
		prepare(reply)
	var view: MoverView = reply.content
	return view if view.is_sound else null


## Makes a view of a reply, as its content and in place of all else; on any thread.
static func prepare(reply: Message) -> void:
	var view: MoverView = MoverView.new()
	view._read(reply)
	reply.content = view
	# Nor has the frame to free it.
	reply.strip()


## Returns how many instances there is room for in the buffer of some: one mover more must not mean
## another buffer each time.
static func find_room(count: int) -> int:
	return nearest_po2(maxi(count, _LEAST_ROOM))


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


func _read(reply: Message) -> void:
	handles = reply.get_bytes("handles", "i64").to_int64_array()
	positions = reply.get_vectors("positions")
	velocities = reply.get_vectors("velocities")
	states = reply.get_bytes("states")
	watched_velocities = reply.get_vectors("watched_velocities")
	var count: int = handles.size()
	is_sound = positions.size() == count and states.size() == count
	is_sound = is_sound and velocities.size() in [0, count]
	transforms = _read_buffer(reply, "transforms")
	transforms_before = _read_buffer(reply, "transforms_before")
	if reply.has_array("event_handles", "i64"):
		event_handles = reply.get_bytes("event_handles", "i64").to_int64_array()
		event_kinds = reply.get_bytes("event_kinds")
		event_reasons = reply.get_bytes("event_reasons")
		is_sound = is_sound and event_kinds.size() == event_handles.size()
		is_sound = is_sound and event_reasons.size() == event_handles.size()
	if not is_sound:
		handles = PackedInt64Array()
		positions = PackedVector2Array()
		velocities = PackedVector2Array()
		states = PackedByteArray()
		transforms = PackedFloat32Array()
		transforms_before = PackedFloat32Array()
		event_handles = PackedInt64Array()


func _read_buffer(reply: Message, name: String) -> PackedFloat32Array:
	var buffer: PackedFloat32Array = reply.get_bytes(name, "f32").to_float32_array()
	if not buffer.is_empty():
		is_sound = is_sound and buffer.size() == handles.size() * INSTANCE_SIZE
		buffer.resize(find_room(handles.size()) * INSTANCE_SIZE)
	return buffer
