@tool
extends RefCounted
## Asks for the layer of the map that is drawn, and for the cell under the mouse; the newest first.

## A layer has come: the cells that it covers, numbers a row and column, four bytes each, and the
## greatest number. An empty name is no layer.
signal layer_arrived(
	layer: String, area: Rect2i, side: Vector2i, bytes: PackedByteArray, top: float
)
## What is known of the cell under the mouse.
signal cell_described(text: String)

const Message := preload("../internal/message.gd")
const PreviewAnswer := preload("preview_answer.gd")
const SidecarBackend := preload("../internal/sidecar_backend.gd")
const Words := preload("preview_words.gd")

# Expansions of a search for what a cell under the mouse is worth.
const _MOST_EXPANSIONS: int = 1 << 18
const _NO_CELL: Vector2i = Vector2i(1 << 30, 1 << 30)

var _backend: SidecarBackend = null
var _movement: Dictionary = {}
var _step: int = 1
var _query: Dictionary = {}
var _answer: PreviewAnswer = null
# The layer that is shown, and for which movement it was asked.
var _layer: String = ""
var _layer_asked: Dictionary = {}
var _is_layer_on_its_way: bool = false
var _cell: Vector2i = _NO_CELL
var _inner: Vector2i = _NO_CELL
var _tiles: String = ""
var _described: Vector2i = _NO_CELL
var _is_cell_on_its_way: bool = false
# Costs of the paths from the start to the cell and on to the goal.
var _costs: PackedFloat64Array = PackedFloat64Array()
var _text: String = ""
# Answers for an earlier backend are dropped.
var _round: int = 0


## Takes who answers; null is nobody for now.
func set_backend(backend: SidecarBackend) -> void:
	_backend = backend
	_round += 1
	_is_layer_on_its_way = false
	_is_cell_on_its_way = false
	renew()


## Asks again: the map has changed.
func renew() -> void:
	_layer_asked = {}
	_described = _NO_CELL
	_ask_layer()
	_ask_cell()


## Takes how bodies move, as fields of a message; a layer has one number for [param step] cells a
## side.
func set_movement(fields: Dictionary, step: int) -> void:
	if fields != _movement or step != _step:
		_movement = fields
		_step = step
		renew()


## Takes the question and the answer that a cell is compared with.
func set_query(query: Dictionary, answer: PreviewAnswer) -> void:
	if query != _query:
		_query = query
		_described = _NO_CELL
	_answer = answer


## Takes the answer that a cell is compared with.
func set_answer(answer: PreviewAnswer) -> void:
	_answer = answer


## Shows a layer by its name in the protocol; empty is none.
func show_layer(layer: String) -> void:
	if layer != _layer:
		_layer = layer
		_layer_asked = {}
		if layer.is_empty():
			layer_arrived.emit("", Rect2i(), Vector2i.ZERO, PackedByteArray(), 0.0)
	_ask_layer()


## Describes a cell of the layers, at [param inner] for the sidecar.
func describe(cell: Vector2i, inner: Vector2i, tiles: String) -> void:
	_cell = cell
	_inner = inner
	_tiles = tiles
	_ask_cell()


## Describes no cell any more.
func forget_cell() -> void:
	_cell = _NO_CELL


func _ask_layer() -> void:
	if _backend == null or _layer.is_empty() or _is_layer_on_its_way or _movement.is_empty():
		return
	var fields: Dictionary = _movement.duplicate()
	fields["layer"] = _layer
	fields["step"] = _step
	if fields == _layer_asked:
		return
	_layer_asked = fields
	_is_layer_on_its_way = true
	var message: Message = Message.new("map_layer")
	message.header.merge(fields)
	_backend.ask(message, _take_layer.bind(_round, _layer, _step))


func _take_layer(reply: Message, of_round: int, layer: String, step: int) -> void:
	if of_round != _round:
		return
	_is_layer_on_its_way = false
	if layer == _layer and reply.get_text("status") == "ok":
		var side: Vector2i = Vector2i(reply.get_integer("width"), reply.get_integer("height"))
		var area: Rect2i = Rect2i(Vector2i.ZERO, side * step)
		for position: Vector2i in reply.find_cell("position"):
			area.position = position
		var bytes: PackedByteArray = reply.get_bytes(layer, "i32" if layer == "islands" else "f32")
		layer_arrived.emit(layer, area, side, bytes, reply.get_number("greatest"))
	_ask_layer()


func _ask_cell() -> void:
	if _backend == null or _is_cell_on_its_way or _cell == _described or _cell == _NO_CELL:
		return
	if _movement.is_empty() or _query.is_empty():
		return
	_described = _cell
	_is_cell_on_its_way = true
	_costs = PackedFloat64Array()
	var message: Message = Message.new("describe_cells")
	message.header.merge(_movement)
	message.add_cells("cells", [_inner.x, _inner.y])
	_backend.ask(message, _take_cell.bind(_round, _cell, _tiles))
	for ends: Array in [
		[_query["start"], [_inner.x, _inner.y]], [[_inner.x, _inner.y], _query["goal"]]
	]:
		var path: Message = Message.new("explore")
		path.header.merge(_movement)
		path.header.merge({"start": ends[0], "goal": ends[1], "arrays": []})
		path.header["max_expansions"] = _MOST_EXPANSIONS
		_backend.ask(path, _take_cost.bind(_round))


func _take_cell(reply: Message, of_round: int, cell: Vector2i, tiles: String) -> void:
	if of_round != _round:
		return
	var size: int = _movement["size"]
	_text = Words.say_cell(cell, tiles, reply, size)
	cell_described.emit(_text)


func _take_cost(reply: Message, of_round: int) -> void:
	if of_round != _round:
		return
	var status: String = reply.get_text("status")
	var is_unknown: bool = status in ["limit", "partial"]
	_costs.append(
		reply.get_number("cost", INF) if status == "found" else NAN if is_unknown else INF
	)
	if _costs.size() < 2:
		return
	_is_cell_on_its_way = false
	# Where one half has no path the other does not matter.
	var through: float = INF if INF in _costs else _costs[0] + _costs[1]
	var found: float = INF
	if _answer != null and _answer.is_found():
		found = _answer.cost
	cell_described.emit("%s\n%s" % [_text, Words.say_detour(through, found)])
	_ask_cell()
