@tool
extends EditorPlugin
## Drives the editor from within, as the environment variable PROBE says, and prints what it saw.
##
## toggle: the addon is switched off and on 20 times. enable: it is switched on, as a user does it.
## play: a crowd is looked at and the main scene is played. preview, debugger: see preview.gd and
## debugger.gd; show: as debugger, with a game to look at. stay: nothing.

const Debugger := preload("debugger.gd")
const Preview := preload("preview.gd")

var _probe: RefCounted = null


func _enter_tree() -> void:
	_run.call_deferred()


func _run_scene(_scene: String, args: PackedStringArray) -> PackedStringArray:
	if OS.get_environment("PROBE") == "show":
		return args
	# The editor does not hand this on by itself.
	return args + PackedStringArray(["--headless"])


func _run() -> void:
	match OS.get_environment("PROBE"):
		"toggle":
			await _toggle()
			get_tree().quit()
		"enable":
			await _wait(30)
			EditorInterface.set_plugin_enabled("navserver", true)
			ProjectSettings.save()
			await _wait(60)
			get_tree().quit()
		"play":
			while EditorInterface.get_resource_filesystem().is_scanning():
				await _wait(10)
			await _wait(60)
			_look_at_crowd()
			EditorInterface.play_main_scene()
		"preview":
			var preview: Preview = Preview.new(get_tree())
			_probe = preview
			await preview.run()
		"debugger":
			var debugger: Debugger = Debugger.new(get_tree())
			_probe = debugger
			await debugger.run()
		"show":
			var debugger: Debugger = Debugger.new(get_tree())
			_probe = debugger
			await debugger.show()


## Says what the editor warns of in a crowd.
func _look_at_crowd() -> void:
	var crowd: NavServerCrowd2D = NavServerCrowd2D.new()
	print("PROBE crowd: %s" % [crowd._get_configuration_warnings()])
	crowd.free()


func _wait(frames: int) -> void:
	for frame: int in frames:
		await get_tree().process_frame


func _toggle() -> void:
	var objects: PackedFloat64Array = PackedFloat64Array()
	var nodes: PackedFloat64Array = PackedFloat64Array()
	for round: int in 20:
		EditorInterface.set_plugin_enabled("navserver", false)
		await _wait(5)
		objects.append(Performance.get_monitor(Performance.OBJECT_COUNT))
		nodes.append(Performance.get_monitor(Performance.OBJECT_NODE_COUNT))
		EditorInterface.set_plugin_enabled("navserver", true)
		await _wait(5)
	print("PROBE objects %d nodes %d" % [objects[-1] - objects[4], nodes[-1] - nodes[4]])
