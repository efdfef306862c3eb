@tool
extends RefCounted
## What the sidecar has answered about one pair.

const Message := preload("../internal/message.gd")

## Status of the path, in the protocol's word.
var status: String = ""
## What was wrong with the question, with the remedy; empty if nothing was.
var problem: String = ""
## Cost of the path; INF without one.
var cost: float = INF
## Its length in cells; INF without one.
var length: float = INF
## Cells that the search expanded.
var expanded: int = 0
## Time that it took the sidecar, in microseconds.
var search_usec: float = 0.0
## Version of the map.
var version: int = 0
## The search was cut short to answer soon; the whole answer is on its way.
var is_coarse: bool = false
## The record of the search ends before the search.
var truncated: bool = false
## The path, x and y of each cell.
var cells: PackedInt32Array = PackedInt32Array()
## The corners that remain when it is pulled straight.
var smoothed: PackedInt32Array = PackedInt32Array()
## Cells that [member order] or [member costs] tell of, and how many numbers a row and column that
## takes: in large maps one number stands for several cells.
var area: Rect2i = Rect2i()
var side: Vector2i = Vector2i.ZERO
## i32 a cell: when it was expanded, from 1; 0 is never.
var order: PackedByteArray = PackedByteArray()
## f32 a cell: cost from the start.
var costs: PackedByteArray = PackedByteArray()
## Where there is no way: the cell nearest to the goal that can be reached.
var nearest: Array[Vector2i] = []
## Where there is no way: blocked cells whose opening would make one.
var openings: PackedInt32Array = PackedInt32Array()

var _greatest: float = 0.0
var _capacity: int = 0


## Reads a reply to the message explore with the fields [param asked].
func _init(reply: Message, asked: Dictionary, is_cut: bool) -> void:
	status = reply.get_text("status")
	version = reply.get_integer("version")
	search_usec = reply.get_number("search_us")
	if status == "error":
		problem = (
			"%s %s; %s"
			% [reply.get_text("field"), reply.get_text("problem"), reply.get_text("remedy")]
		)
		return
	cost = reply.get_number("cost", INF)
	length = reply.get_number("length", INF)
	expanded = reply.get_integer("expanded")
	truncated = reply.get_flag("truncated")
	cells = reply.get_int32s("cells")
	smoothed = reply.get_int32s("smoothed")
	is_coarse = is_cut and status in ["limit", "partial"]
	for position: Vector2i in reply.find_cell("position"):
		area.position = position
	side = Vector2i(reply.get_integer("width"), reply.get_integer("height"))
	var step: int = asked.get("step", 1)
	area.size = side * step
	_capacity = asked.get("capacity", 0)
	_greatest = reply.get_number("greatest")
	order = reply.get_bytes("order", "i32")
	costs = reply.get_bytes("costs", "f32")


## Tells whether the path leads to the goal.
func is_found() -> bool:
	return status == "found"


## Tells whether what would open a way is worth asking.
func is_blocked() -> bool:
	return status in ["partial", "unreachable", "start_blocked", "goal_blocked"] and not is_coarse


## Returns the greatest of [member costs] that is not infinite.
func get_greatest_cost() -> float:
	return _greatest


## Returns how many expansions the record holds.
func get_recorded() -> int:
	return mini(expanded, _capacity)
