extends RefCounted
## The worlds of a game in the sidecar: makes them there and keeps them current.

const Message := preload("message.gd")
const SidecarRequests := preload("sidecar_requests.gd")
const WorldPreparation := preload("world_preparation.gd")
const WorldState := preload("world_state.gd")

var _requests: SidecarRequests
var _preparations: Dictionary[WorldState, WorldPreparation] = {}


## Sends by way of [param requests].
func _init(requests: SidecarRequests) -> void:
	_requests = requests


## Takes a world as it stands, in place of what the sidecar has of that name.
func put(world: WorldState) -> void:
	if world.layout == null:
		_put(world, world)
	elif not _is_held(world, _prepare.bind(world, world.copy())):
		_prepare(world, world.copy())


## Forgets a world.
func drop(world: WorldState) -> void:
	if _is_held(world, drop.bind(world)):
		return
	var message: Message = Message.new("world_delete")
	message.header["world"] = world.name
	_requests.send(message)


## Changes cells of a world.
func edit(
	world: WorldState, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> void:
	if world in _preparations:
		_preparations[world].held.append(edit.bind(world, cells, classes, scales))
		return
	_requests.send(_make_edit(world, cells, classes, scales), _take_edit_reply.bind(world, cells))


## Defines a profile of a world.
func set_profile(world: WorldState, name: String, costs: PackedFloat32Array) -> void:
	if not _is_held(world, set_profile.bind(world, name, costs)):
		_send_profile(world, name, costs)


## Returns what has to wait for a world that is being prepared; null if nothing has to.
func get_preparation(world: WorldState) -> WorldPreparation:
	return _preparations.get(world)


## Returns all that is being prepared.
func get_preparations() -> Array[WorldPreparation]:
	return _preparations.values()


## Sends the worlds that are prepared; returns what waited for them.
func take_prepared() -> Array[WorldPreparation]:
	var over: Array[WorldPreparation] = []
	for world: WorldState in _preparations.keys():
		var preparation: WorldPreparation = _preparations[world]
		if not preparation.is_over():
			continue
		preparation.finish()
		_preparations.erase(world)
		_put(preparation.world, world)
		for held: Callable in preparation.held:
			held.call()
		over.append(preparation)
	return over


## Waits for threads.
func close() -> void:
	for world: WorldState in _preparations:
		_preparations[world].finish()


## Numbers the cells of a world's layers as they lie, on another thread.
func _prepare(world: WorldState, copy: WorldState) -> void:
	if not _is_held(world, _prepare.bind(world, copy)):
		_preparations[world] = WorldPreparation.new(copy)


## Keeps for later what concerns a world that is being prepared.
func _is_held(world: WorldState, task: Callable) -> bool:
	if world not in _preparations:
		return false
	_preparations[world].held.append(task)
	return true


## Sends a world as it stood in [param copy].
func _put(copy: WorldState, world: WorldState) -> void:
	_requests.send(_make_world(copy), _take_reply.bind(world))
	if not copy.blobs.is_empty():
		_requests.send(_make_tiles(copy), _take_reply.bind(world))
	for name: String in copy.profiles:
		_send_profile(world, name, copy.profiles[name])
	if copy.edit_cells.is_empty():
		# Whatever it is, its reply says that all before it is done.
		var info: Message = Message.new("world_info")
		info.header["world"] = world.name
		_requests.send(info, _take_ready.bind(world, copy.put_serial))
	else:
		var made: Message = _make_edit(world, copy.edit_cells, copy.edit_classes, copy.edit_scales)
		_requests.send(made, _take_ready.bind(world, copy.put_serial))


func _make_world(copy: WorldState) -> Message:
	var made: Message = Message.new("world_create")
	(
		made
		. header
		. merge(
			{
				"world": copy.name,
				"width": copy.region.size.x,
				"height": copy.region.size.y,
				"position": [copy.region.position.x, copy.region.position.y],
				"transform": _numbers_of(copy.transform),
				"fill": copy.empty_class,
				"replace": true,
				"owned": true,
			}
		)
	)
	if not copy.classes.is_empty():
		var shape: String = "%dx%d" % [copy.region.size.y, copy.region.size.x]
		made.add_array("classes", "u8", shape, copy.classes)
	return made


static func _numbers_of(transform: Transform2D) -> Array:
	return [
		transform.x.x,
		transform.y.x,
		transform.origin.x,
		transform.x.y,
		transform.y.y,
		transform.origin.y
	]


func _send_profile(world: WorldState, name: String, costs: PackedFloat32Array) -> void:
	var message: Message = Message.new("profile_set")
	message.header["world"] = world.name
	message.header["profile"] = name
	message.add_array("costs", "f32", "256", costs.to_byte_array())
	_requests.send(message, _take_reply.bind(world))


func _make_tiles(world: WorldState) -> Message:
	var message: Message = Message.new("world_tiles")
	message.header["world"] = world.name
	message.header["empty_class"] = world.empty_class
	var tiles: PackedByteArray = PackedByteArray()
	var sizes: PackedInt32Array = PackedInt32Array()
	if world.blobs.size() == 1:
		# It is large, and nobody writes to it.
		tiles = world.blobs[0]
		sizes.append(tiles.size())
	else:
		for blob: PackedByteArray in world.blobs:
			tiles.append_array(blob)
			sizes.append(blob.size())
	var table: PackedByteArray = PackedByteArray()
	table.resize(2 * world.tile_table.size())
	for index: int in world.tile_table.size():
		table.encode_u16(2 * index, world.tile_table[index])
	message.add_array("tiles", "u8", str(tiles.size()), tiles)
	message.add_array("sizes", "u32", str(sizes.size()), sizes.to_byte_array())
	message.add_array("table", "u16", "%dx6" % floori(world.tile_table.size() / 6.0), table)
	return message


static func _make_edit(
	world: WorldState, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> Message:
	var message: Message = Message.new("world_edit")
	var count: String = str(classes.size())
	message.header["world"] = world.name
	message.add_array("cells", "i32", count + "x2", cells.to_byte_array())
	message.add_array("class_ids", "u8", count, classes)
	message.add_array("scales", "f32", count, scales.to_byte_array())
	return message


func _take_reply(reply: Message, world: WorldState) -> void:
	if reply.get_text("status") == "error":
		world.refuse(SidecarRequests.say_error(reply))


func _take_ready(reply: Message, world: WorldState, serial: int) -> void:
	if reply.get_text("status") == "error":
		world.refuse(SidecarRequests.say_error(reply))
	else:
		world.ready_serial = serial
		world.tell_arrived(reply.get_integer("version"))


func _take_edit_reply(reply: Message, world: WorldState, cells: PackedInt32Array) -> void:
	if reply.get_text("status") == "error":
		world.refuse(SidecarRequests.say_error(reply))
	else:
		world.tell_edited(reply.get_integer("version"), cells)
