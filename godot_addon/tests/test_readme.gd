extends "test_case.gd"
## The README's example, as it stands there.

const TileMaps := preload("tile_maps.gd")

const _AROUND: String = """extends CharacterBody2D
@onready var _agent: NavServerAgent2D = $NavServerAgent2D
var crowd: NavServerCrowd2D = null
var positions: PackedVector2Array = PackedVector2Array()
var goal: Vector2 = Vector2.ZERO
var speed: float = 100.0
"""
const _FILE: String = "res://addons/navserver/README.md"


func test_the_example_walks_to_a_click() -> void:
	var text: String = FileAccess.get_file_as_string(_FILE)
	var code: String = text.get_slice("```gdscript\n", 1).get_slice("```", 0)
	check(code.split("\n", false).size() <= 12)
	var script: GDScript = GDScript.new()
	script.source_code = code
	check_equal(script.reload(), OK)
	var map: NavServerMap2D = NavServerMap2D.new()
	map.add_child(TileMaps.layer(["......", ".####.", "......"], TileMaps.tile_set()))
	add_node(map)
	var walker: Node2D = Node2D.new()
	var agent: NavServerAgent2D = NavServerAgent2D.new()
	agent.name = "NavServerAgent2D"
	walker.add_child(agent)
	walker.set_script(script)
	map.add_child(walker)
	# Wherever the mouse is, it shall be in the last cell.
	var mouse: Vector2 = walker.get_global_mouse_position()
	map.position = mouse - Vector2(5.5, 2.5) * 16.0
	walker.position = Vector2(8, 8)
	map.rebuild()
	await map.map_ready
	var click: InputEventMouseButton = InputEventMouseButton.new()
	click.pressed = true
	walker.call("_unhandled_input", click)
	check_equal(agent.target_position, mouse)
	await wait_until(agent.is_target_reached, 30.0)
	check_equal(map.local_to_map(walker.position), Vector2i(5, 2))


func test_every_example_compiles() -> void:
	var blocks: PackedStringArray = FileAccess.get_file_as_string(_FILE).split("```gdscript\n")
	for index: int in range(1, blocks.size()):
		var code: String = blocks[index].get_slice("```", 0)
		if not code.contains("func "):
			code = "func example() -> void:\n" + code.indent("\t")
		if not code.contains("extends "):
			code = _AROUND + code
		var script: GDScript = GDScript.new()
		script.source_code = code
		check_equal(script.reload(), OK, code)
	check_equal(blocks.size(), 4)
