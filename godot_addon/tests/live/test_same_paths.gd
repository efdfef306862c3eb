extends "../test_case.gd"
## Asks for paths that somebody else asks a sidecar for as well, and writes down what came.
##
## [code]cases=[/code] is a JSON file: pictures of maps, each with costs of classes, a diagonal
## mode, and queries of start and goal. [code]results=[/code] gets the cells of each path, and its
## cost.
## [code]file=[/code] is the sidecar's connection file.

const TileMaps := preload("../tile_maps.gd")


func test_paths_are_written_down() -> void:
	NavServer.get_connection().follow_connection_file(parameters["file"])
	await wait_until(NavServer.is_available, 60.0, "for the sidecar")
	var cases: Array = JSON.parse_string(FileAccess.get_file_as_string(parameters["cases"]))
	var results: Array = []
	for case: Dictionary in cases:
		results.append(await _answer(case))
	FileAccess.open(parameters["results"], FileAccess.WRITE).store_string(JSON.stringify(results))
	NavServer.stop_sidecar()


func _answer(case: Dictionary) -> Array:
	var picture: Array[String] = []
	var rows: Array = case["picture"]
	picture.assign(rows)
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(picture, TileMaps.tile_set()))
	map.diagonal_mode = _number(case["diagonal_mode"]) as AStarGrid2D.DiagonalMode
	add_node(map)
	var profile: NavServerProfile = NavServerProfile.new()
	var costs: Dictionary = case["costs"]
	for name: String in costs:
		profile.class_costs[name.to_int()] = float(str(costs[name]))
	var queries: Array[NavServerPathQuery] = []
	for ends: Array in case["queries"]:
		var query: NavServerPathQuery = NavServerPathQuery.new()
		query.start_position = map.map_to_local(Vector2i(_number(ends[0]), _number(ends[1])))
		query.target_position = map.map_to_local(Vector2i(_number(ends[2]), _number(ends[3])))
		query.profile = profile
		queries.append(query)
	var answers: Array = []
	for query: NavServerPathQuery in queries:
		var result: NavServerPathResult = await map.find_path(query).wait()
		check(result.source != NavServerPathResult.Source.FALLBACK)
		answers.append(_describe(result))
	for request: NavServerPathRequest in map.find_paths(queries):
		answers.append(_describe(await request.wait()))
	return answers


func _number(value: Variant) -> int:
	return int(str(value).to_float())


func _describe(result: NavServerPathResult) -> Dictionary:
	var cells: Array = []
	for cell: Vector2i in result.cells:
		cells.append([cell.x, cell.y])
	var status: String = NavServerPathResult.Status.find_key(result.status)
	return {"status": status.to_lower(), "cells": cells, "cost": result.cost}
