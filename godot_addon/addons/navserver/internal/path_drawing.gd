extends "debug_drawing.gd"
## Shows the path of an agent, and where it wanted to go in vain.

const _COLOR_SETTING: String = "debug/shapes/navigation/2d/agent_path_color"
const _SIZE_SETTING: String = "debug/shapes/navigation/2d/agent_path_point_size"
const _FAILED: Color = Color(1.0, 0.25, 0.2)

var _agent: NavServerAgent2D


## Follows an agent that is in the tree, below a [Node2D].
func _init(agent: NavServerAgent2D, body: Node2D) -> void:
	super(body.get_canvas())
	_agent = agent
	RenderingServer.canvas_item_set_visibility_layer(item, body.visibility_layer)
	agent.path_changed.connect(draw)
	agent.path_failed.connect(_on_path_failed)
	agent.navigation_finished.connect(clear)
	draw()


## Draws the path as it is now.
func draw() -> void:
	clear()
	var path: PackedVector2Array = _agent.get_current_navigation_path()
	if path.is_empty() or _agent.is_navigation_finished():
		return
	var color: Color = _agent.debug_path_custom_color
	var size: float = _agent.debug_path_custom_point_size
	var width: float = _agent.debug_path_custom_line_width
	if not _agent.debug_use_custom:
		color = ProjectSettings.get_setting(_COLOR_SETTING, Color.RED)
		size = ProjectSettings.get_setting(_SIZE_SETTING, 4.0)
		width = -1.0
	if path.size() > 1:
		RenderingServer.canvas_item_add_polyline(item, path, [color], width)
	if size > 0.0:
		draw_squares(path, size, color)
	if not _agent.is_target_reachable():
		_draw_failure(path[-1])


func _draw_failure(from: Vector2) -> void:
	draw_dashes(from, _agent.target_position, _FAILED)
	draw_cross(_agent.target_position, 5.0, _FAILED, 2.0)


func _on_path_failed(_status: NavServerPathResult.Status, _reason: String) -> void:
	clear()
	var body: Node2D = _agent.get_parent() as Node2D
	if body != null:
		_draw_failure(body.global_position)
