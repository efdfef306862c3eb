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
## Rectangle of [member order] and [member costs].
var area: Rect2i = Rect2i()
## i32 a cell: when it was expanded, from 1; 0 is never.
var order: PackedByteArray = PackedByteArray()
## f32 a cell: cost from the start.
var costs: PackedByteArray = PackedByteArray()
## Where there is no way: the cell nearest to the goal that can be reached.
var nearest: Array[Vector2i] = []
## Where there is no way: blocked cells whose opening would make one.
var openings: PackedInt32Array = PackedInt32Array()

var _greatest: float = -1.0


## Reads a reply to the message explore.
func _init(reply: Message, is_cut: bool) -> void:
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
	area.size = Vector2i(reply.get_integer("width"), reply.get_integer("height"))
	order = reply.get_bytes("order", "i32")
	costs = reply.get_bytes("costs", "f32")


## Tells whether the path leads to the goal.
func is_found() -> bool:
	return status == "found"


## Tells whether what would open a way is worth asking.
func is_blocked() -> bool:
	return status in ["partial", "unreachable", "start_blocked", "goal_blocked"] and not is_coarse


## Returns the greatest cost that is not infinite.
func get_greatest_cost() -> float:
	if _greatest < 0.0:
		# What is expanded before the goal costs no more than it.
		_greatest = cost if is_found() else find_greatest(costs)
	return _greatest


## Returns the greatest finite number of an array of f32.
static func find_greatest(bytes: PackedByteArray) -> float:
	var numbers: PackedFloat32Array = bytes.to_float32_array()
	numbers.sort()
	# Infinite ones are the last.
	var at: int = numbers.bsearch(INF)
	return numbers[at - 1] if at > 0 else 0.0
