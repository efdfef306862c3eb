extends Node2D
## Left click: walk there. Right click: put up a wall, or take it away.

@export var speed: float = 160.0
@export var ground: TileMapLayer = null

@onready var _agent: NavServerAgent2D = $NavServerAgent2D


func _unhandled_input(event: InputEvent) -> void:
	var click: InputEventMouseButton = event as InputEventMouseButton
	if click == null or not click.pressed:
		return
	if click.button_index == MOUSE_BUTTON_LEFT:
		_agent.target_position = get_global_mouse_position()
	elif click.button_index == MOUSE_BUTTON_RIGHT:
		var cell: Vector2i = ground.local_to_map(ground.get_local_mouse_position())
		var is_wall: bool = ground.get_cell_atlas_coords(cell) == Vector2i(1, 0)
		ground.set_cell(cell, 0, Vector2i(0, 0) if is_wall else Vector2i(1, 0))


func _physics_process(delta: float) -> void:
	if not _agent.is_navigation_finished():
		var next: Vector2 = _agent.get_next_path_position()
		global_position = global_position.move_toward(next, speed * delta)
		queue_redraw()


func _draw() -> void:
	var path: PackedVector2Array = _agent.get_current_navigation_path()
	if path.size() > 1 and not _agent.is_navigation_finished():
		draw_polyline(get_global_transform().affine_inverse() * path, Color(1, 1, 1, 0.6), 3.0)
	draw_circle(Vector2.ZERO, 10.0, Color.DARK_ORANGE)
