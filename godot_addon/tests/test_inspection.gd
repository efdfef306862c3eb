extends "test_case.gd"
## The figures of a game without a sidecar, and what is kept of the paths it asks for.

const DebuggerTab := preload("res://addons/navserver/editor/debugger_tab.gd")
const Rate := preload("res://addons/navserver/internal/rate.gd")
const RecentTimes := preload("res://addons/navserver/internal/recent_times.gd")
const RequestLog := preload("res://addons/navserver/internal/request_log.gd")
const TileMaps := preload("tile_maps.gd")

const _ROOMS: Array[String] = [
	"#########",
	"#...#...#",
	"#...#...#",
	"#########",
]

var _connection: NavServerConnection = NavServer.get_connection()


func after_each() -> void:
	_connection.is_measured = false


func _map_of(picture: Array[String]) -> NavServerMap2D:
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(picture, TileMaps.tile_set()))
	add_node(map)
	return map


func _query(map: NavServerMap2D, from: Vector2i, to: Vector2i) -> NavServerPathQuery:
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = map.to_global(map.map_to_local(from))
	query.target_position = map.to_global(map.map_to_local(to))
	return query


static func _figure(name: String) -> float:
	var value: float = Performance.get_custom_monitor("navserver/" + name)
	return value


static func _count_monitors() -> int:
	var count: int = 0
	for name: StringName in Performance.get_custom_monitor_names():
		count += int(name.begins_with("navserver/"))
	return count


func test_monitors_are_there_only_while_they_are_wanted() -> void:
	check_equal(_count_monitors(), 0)
	_connection.is_measured = true
	check_equal(_count_monitors(), 9)
	for name: StringName in Performance.get_custom_monitor_names():
		if name.begins_with("navserver/"):
			check_equal(Performance.get_custom_monitor(name) as float, 0.0, name)
	_connection.is_measured = true
	check_equal(_count_monitors(), 9)
	_connection.is_measured = false
	check_equal(_count_monitors(), 0)


func test_paths_and_failures_are_counted() -> void:
	_connection.is_measured = true
	var map: NavServerMap2D = _map_of(_ROOMS)
	var found: NavServerPathRequest = map.find_path(_query(map, Vector2i(1, 1), Vector2i(3, 2)))
	var failed: NavServerPathRequest = map.find_path(_query(map, Vector2i(1, 1), Vector2i(7, 2)))
	check_equal(_figure("pending_requests"), 2.0)
	check_equal((await found.wait()).status, NavServerPathResult.Status.FOUND)
	check_equal((await failed.wait()).status, NavServerPathResult.Status.UNREACHABLE)
	check_equal(_figure("pending_requests"), 0.0)
	check_equal(_figure("failures"), 1.0)
	check(_figure("answer_p50_ms") > 0.0)
	check(_figure("answer_p99_ms") >= _figure("answer_p50_ms"))
	await wait_until(func() -> bool: return _figure("requests_per_second") > 0.0)
	check_equal(_figure("bytes_per_second"), 0.0)


func test_questions_of_agents_end_however_they_end() -> void:
	_connection.is_measured = true
	var map: NavServerMap2D = _map_of(_ROOMS)
	var agents: Array[NavServerAgent2D] = []
	for index: int in 4:
		var body: Node2D = Node2D.new()
		body.position = map.map_to_local(Vector2i(1, 1))
		agents.append(NavServerAgent2D.new())
		agents[index].allow_partial_path = false
		body.add_child(agents[index])
		map.add_child(body)
	agents[0].target_position = map.map_to_local(Vector2i(3, 1))
	agents[1].target_position = map.map_to_local(Vector2i(7, 1))
	agents[2].target_position = map.map_to_local(Vector2i(3, 1))
	agents[2].target_position = map.map_to_local(Vector2i(3, 2))
	agents[3].target_position = map.map_to_local(Vector2i(3, 1))
	check_equal(_figure("pending_requests"), 4.0)
	agents[3].get_parent().free()
	check_equal(_figure("pending_requests"), 3.0)
	await wait_until(func() -> bool: return _figure("pending_requests") == 0.0)
	check_equal(_figure("failures"), 1.0, "one cannot get there; two asked no longer")


func test_a_question_asked_in_the_handler_of_an_answer_is_another_one() -> void:
	_connection.is_measured = true
	var map: NavServerMap2D = _map_of(_ROOMS)
	var body: Node2D = Node2D.new()
	body.position = map.map_to_local(Vector2i(1, 1))
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	agent.allow_partial_path = false
	body.add_child(agent)
	map.add_child(body)
	var told: Array[int] = [0]
	agent.path_failed.connect(
		func(_status: NavServerPathResult.Status, _reason: String) -> void:
			told[0] += 1
			if told[0] < 3:
				agent.target_position = map.map_to_local(Vector2i(6, 1))
	)
	agent.target_position = map.map_to_local(Vector2i(7, 1))
	await wait_until(func() -> bool: return told[0] == 3)
	check_equal(_figure("failures"), 3.0)
	check_equal(_figure("pending_requests"), 0.0)


func test_of_many_that_ended_failures_are_kept() -> void:
	var requests: RequestLog = RequestLog.new()
	var node: Node = Node.new()
	add_node(node)
	for index: int in 1000:
		var note: RequestLog.Note = requests.begin(node, Vector2.ZERO, Vector2.ONE)
		note.end(
			(
				NavServerPathResult.Status.UNREACHABLE
				if index % 100 == 0
				else NavServerPathResult.Status.FOUND
			)
		)
		note.end(NavServerPathResult.Status.FAILED, "a second end is none")
	check_equal(requests.failed, 10)
	var numbers: Array[int] = []
	var failed: int = 0
	var ended: Array[RequestLog.Note] = requests.take_ended()
	for note: RequestLog.Note in ended:
		numbers.append(note.number)
		failed += int(note.is_failure())
	check_equal(failed, 10)
	check_equal(ended.size() + requests.get_left_out_count(), 1000)
	var sorted: Array[int] = numbers.duplicate()
	sorted.sort()
	check_equal(numbers, sorted)
	check_equal(requests.take_ended().size(), 0)


func test_quantiles() -> void:
	var times: RecentTimes = RecentTimes.new()
	check_equal(times.get_quantile(0.5), 0.0)
	for index: int in 3000:
		times.add(float(index % 64 + 1))
	check_equal(times.get_quantile(0.5), 32.0)
	check_equal(times.get_quantile(0.99), 64.0)
	check_equal(times.get_quantile(0.0), 1.0)


func test_rates() -> void:
	var rate: Rate = Rate.new()
	check_equal(rate.get_per_second(), 0.0)
	for msec: int in range(0, 5000, 16):
		rate.observe(3 * msec, msec)
	check_near(rate.get_per_second(), 3000.0, 1.0)
	for msec: int in range(5000, 7000, 16):
		rate.observe(15_000, msec)
	check_equal(rate.get_per_second(), 0.0)


func test_the_debugger_s_tables_show_whole_names_and_no_bars_in_a_usual_window() -> void:
	var tab: DebuggerTab = DebuggerTab.new()
	add_node(tab)
	var row: Dictionary = {
		"node": "%s/Main/NavServerMap2D" % tree.root.get_path(), "cells": Rect2i(0, 0, 4096, 4096)
	}
	row.merge({"version": 12, "state": "ready"})
	var report: Dictionary = {"state": "READY", "reason": "connected", "waiting_here": 0}
	report.merge({"left_out": 0, "open": [], "ended": [], "maps": [row], "crowds": [], "queue": {}})
	report["figures"] = {}
	for figure: String in ["pending_requests", "requests_per_second", "answer_p50_ms", "failures"]:
		report["figures"][figure] = 1
	for figure: String in ["answer_p99_ms", "round_trip_ms", "bytes_per_second"]:
		report["figures"][figure] = 1
	tab.show_report(report)
	# What docks leave of 1600 pixels.
	tab.size = Vector2(1018, 0)
	await tree.process_frame
	await tree.process_frame
	var tables: Array[Node] = tab.find_children("*", "Tree", true, false)
	check_equal(tables.size(), 3)
	for table: Tree in tables:
		for child: Node in table.get_children(true):
			check(child is not HScrollBar or not (child as HScrollBar).visible, "a bar")
	var maps: Tree = tables[1]
	var font: Font = maps.get_theme_font(&"font")
	var size: int = maps.get_theme_font_size(&"font_size")
	var name: float = font.get_string_size("NavServerMap2D", HORIZONTAL_ALIGNMENT_LEFT, -1, size).x
	check(maps.get_column_width(0) >= name, "the name is cut")
	var bottom: float = maps.get_item_area_rect(maps.get_root().get_child(0)).end.y
	check(bottom <= maps.size.y, "the row is cut")
