extends "debug_drawing.gd"
## Shows the cells of a map as whoever finds the paths knows them: solid ones red, others that do
## not have class 0 in the hue of their class.

const WorldState := preload("world_state.gd")

const _INTERVAL_SECONDS: float = 0.25
# A texture of more is beyond what any renderer promises.
const _SIDE_LIMIT: int = 8192
# The texture has a byte a cell: its class.
const _SHADER: String = """
shader_type canvas_item;
render_mode unshaded;

void fragment() {
	float id = round(texture(TEXTURE, UV).r * 255.0);
	vec2 inside = abs(fract(UV / TEXTURE_PIXEL_SIZE) - 0.5);
	float border = step(0.44, max(inside.x, inside.y));
	float turn = fract(id * 0.61803398875) * 6.0;
	vec3 hue = clamp(abs(mod(turn + vec3(0.0, 4.0, 2.0), 6.0) - 3.0) - 1.0, 0.0, 1.0);
	COLOR = vec4(0.0);
	if (id > 254.5) {
		COLOR = vec4(1.0, 0.2, 0.15, 0.30 + 0.2 * border);
	} else if (id > 0.5) {
		COLOR = vec4(hue, 0.18 + 0.15 * border);
	}
}
"""

static var _shader: Shader = null

## The classes that are drawn, a byte a cell.
var shown: Image = null

var _map: NavServerMap2D
var _world: WorldState
var _texture: ImageTexture = ImageTexture.new()
var _material: ShaderMaterial = ShaderMaterial.new()
var _is_due: bool = false


## Follows a map that is in the tree.
func _init(map: NavServerMap2D, world: WorldState) -> void:
	super(map.get_canvas_item())
	_map = map
	_world = world
	if _shader == null:
		_shader = Shader.new()
		_shader.code = _SHADER
	_material.shader = _shader
	RenderingServer.canvas_item_set_material(item, _material.get_rid())
	RenderingServer.canvas_item_set_default_texture_filter(
		item, RenderingServer.CANVAS_ITEM_TEXTURE_FILTER_NEAREST
	)
	map.map_ready.connect(_on_changed)
	map.map_changed.connect(_on_edited)
	_on_changed()


## Asks for the cells anew, soon; what else changes until then is part of it.
func _on_changed() -> void:
	if _is_due or not _map.is_inside_tree():
		return
	_is_due = true
	_map.get_tree().create_timer(_INTERVAL_SECONDS).timeout.connect(_ask)


func _on_edited(_version: int, _cells: Array[Vector2i]) -> void:
	_on_changed()


func _ask() -> void:
	_is_due = false
	if _map.is_inside_tree() and _map.is_read():
		NavServer.get_connection().read_classes(_world, _show)


func _show(area: Rect2i, classes: PackedByteArray) -> void:
	clear()
	var is_whole: bool = area.has_area() and classes.size() == area.get_area()
	if not is_whole or maxi(area.size.x, area.size.y) > _SIDE_LIMIT:
		return
	shown = Image.create_from_data(area.size.x, area.size.y, false, Image.FORMAT_R8, classes)
	if Vector2i(_texture.get_size()) == area.size:
		_texture.update(shown)
	else:
		_texture.set_image(shown)
	RenderingServer.canvas_item_add_set_transform(item, _world.transform)
	# The centre of a cell lies at its coordinates.
	RenderingServer.canvas_item_add_texture_rect(
		item, Rect2(Vector2(area.position) - Vector2(0.5, 0.5), area.size), _texture.get_rid()
	)
