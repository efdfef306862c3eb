extends RefCounted
## Tells the tab of the editor's debugger what goes on, a few times a second, once it asks.
##
## Messages are named [code]navserver:...[/code]. The game says hello, the editor answers with
## listen or pause; reports are sent as long as it listens.

const Inspection := preload("inspection.gd")
const Message := preload("message.gd")
const MoverGroup := preload("mover_group.gd")
const MoverTable := preload("mover_table.gd")
const RequestLog := preload("request_log.gd")

## What the names of all messages begin with.
const CAPTURE: StringName = &"navserver"

const _INTERVAL_MSEC: int = 250
# The sidecar is asked for its queue so often.
const _QUEUE_MSEC: int = 1000
const _MOST_OPEN: int = 50

var _connection: NavServerConnection
var _inspection: WeakRef
var _is_wanted: bool = false
var _next_msec: int = 0
var _next_queue_msec: int = 0
var _queue: Dictionary = {}
var _left_out_before: int = 0


## Says hello to the editor.
func _init(connection: NavServerConnection, inspection: Inspection) -> void:
	_connection = connection
	_inspection = weakref(inspection)
	EngineDebugger.register_message_capture(CAPTURE, _take)
	EngineDebugger.send_message("navserver:hello", [OS.get_process_id()])


## Sends nothing more.
func close() -> void:
	EngineDebugger.unregister_message_capture(CAPTURE)
	_is_wanted = false


## Sends a report if it is time.
func advance(now_msec: int) -> void:
	if not _is_wanted or now_msec < _next_msec:
		return
	_next_msec = now_msec + _INTERVAL_MSEC
	if now_msec >= _next_queue_msec:
		_next_queue_msec = now_msec + _QUEUE_MSEC
		_ask_for_queue()
	EngineDebugger.send_message("navserver:report", [_make_report()])


func _take(message: String, _data: Array) -> bool:
	match message:
		"listen":
			_is_wanted = true
		"pause":
			_is_wanted = false
		_:
			return false
	var inspection: Inspection = _inspection.get_ref()
	inspection.requests.is_tracing = _is_wanted
	return true


func _make_report() -> Dictionary:
	var inspection: Inspection = _inspection.get_ref()
	var requests: RequestLog = inspection.requests
	var left_out: int = requests.get_left_out_count()
	var report: Dictionary = {
		"state": NavServerConnection.State.find_key(_connection.state),
		"reason": _connection.state_reason,
		"waiting_here": _connection.get_waiting_count(),
		"figures": inspection.get_figures(),
		"queue": _queue,
		"asked": requests.asked,
		"open": requests.list_open(_MOST_OPEN).map(_describe),
		"ended": requests.take_ended().map(_describe),
		"left_out": left_out - _left_out_before,
		"maps": _list_maps(),
		"crowds": _list_crowds(inspection.get_mover_tables()),
	}
	_left_out_before = left_out
	return report


func _describe(note: RequestLog.Note) -> Dictionary:
	var is_open: bool = note.msec < 0.0
	var so_far: float = (Time.get_ticks_usec() - note.asked_usec) / 1000.0
	var described: Dictionary = _describe_node(instance_from_id(note.node_id) as Node)
	(
		described
		. merge(
			{
				"number": note.number,
				"place": note.place,
				"from": note.from,
				"to": note.to,
				"msec": so_far if is_open else note.msec,
				"status":
				"" if is_open else str(NavServerPathResult.Status.find_key(note.status)).to_lower(),
				"failed": not is_open and note.is_failure(),
				"reason": _say_reason(note),
			}
		)
	)
	return described


static func _say_reason(note: RequestLog.Note) -> String:
	if note.msec < 0.0:
		return ""
	return NavServerPathResult.describe(note.status) if note.reason.is_empty() else note.reason


## Says where a node is: in the running tree, and in the scene file that it comes from.
static func _describe_node(node: Node) -> Dictionary:
	if node == null or not node.is_inside_tree():
		return {"node": "", "id": 0, "scene": "", "scene_path": ""}
	# What a node belongs to has it in its file; the nearest scene above it may just be one that a
	# scene puts it below. What the game has made belongs to nothing.
	var root: Node = node if node.owner == null else node.owner
	while root != null and root.scene_file_path.is_empty():
		root = root.get_parent() if root.owner == null else root.owner
	return {
		"node": str(node.get_path()),
		"id": node.get_instance_id(),
		"scene": "" if root == null else root.scene_file_path,
		"scene_path": "" if root == null else str(root.get_path_to(node)),
	}


func _list_maps() -> Array[Dictionary]:
	var maps: Array[Dictionary] = []
	for node: Node in _connection.get_tree().get_nodes_in_group(NavServerMap2D.GROUP):
		var map: NavServerMap2D = node
		var described: Dictionary = _describe_node(map)
		var cells: Rect2i = map.get_used_region()
		var state: String = "ready" if map.map_version > 0 else "on its way"
		if not map.is_known():
			state = "has no cells"
		elif not map.is_read():
			state = "being read"
		described.merge({"version": map.map_version, "cells": cells, "state": state})
		maps.append(described)
	return maps


func _list_crowds(tables: Array[MoverTable]) -> Array[Dictionary]:
	var crowds: Array[Dictionary] = []
	for table: MoverTable in tables:
		for group: MoverGroup in table.get_groups():
			var described: Dictionary = _describe_node(group.node)
			(
				described
				. merge(
					{
						"units": group.get_count(),
						"seen": 0 if group.view == null else group.view.handles.size(),
						"walking": group.count_walking(),
						"live": table.is_live(),
						"behind": table.count_ticks_behind(),
					}
				)
			)
			crowds.append(described)
	return crowds


func _ask_for_queue() -> void:
	if not _connection.ask(Message.new("stats"), _take_queue):
		_queue = {}


func _take_queue(reply: Message) -> void:
	var stats: Variant = reply.header.get("stats")
	if stats is not Dictionary:
		return
	var figures: Dictionary = stats
	_queue = {}
	for figure: String in ["queue.rows", "queue.requests", "queue.at_work"]:
		if figures.get(figure) is int or figures.get(figure) is float:
			_queue[figure] = figures[figure]
