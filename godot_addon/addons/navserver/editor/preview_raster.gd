@tool
extends Control
## Draws one number for each cell of a rectangle, as colors, in one piece.
##
## The numbers stay the bytes that the sidecar has sent: a shader reads and colors them, so a map of
## any size costs one texture and no loop.

## What the numbers are: i32 in the order of a search, f32 that grow, or i32 that name islands.
enum Kind { ORDER, HEAT, ISLANDS }

# Four bytes of an i32 arrive as the four channels of a color, the lowest first.
const _SHADER: String = """
shader_type canvas_item;
render_mode unshaded;
uniform int kind;
uniform float top = 1.0;
uniform float shown = 1e9;
uniform float opacity = 0.55;

vec3 spread(float part) {
	vec3 low = vec3(0.13, 0.25, 0.75);
	vec3 middle = vec3(0.10, 0.75, 0.60);
	vec3 high = vec3(0.98, 0.85, 0.15);
	return part < 0.5 ? mix(low, middle, part * 2.0) : mix(middle, high, part * 2.0 - 1.0);
}

void fragment() {
	vec4 texel = texture(TEXTURE, UV);
	COLOR = vec4(0.0);
	if (kind == 1) {
		if (!isinf(texel.r) && !isnan(texel.r) && texel.r < 1e30) {
			COLOR = vec4(spread(clamp(texel.r / top, 0.0, 1.0)), opacity);
		}
	} else {
		uvec4 bytes = uvec4(round(texel * 255.0));
		uint number = bytes.r | bytes.g << 8u | bytes.b << 16u | bytes.a << 24u;
		if (number > 0u && kind == 0 && float(number) <= shown) {
			COLOR = vec4(spread(float(number) / top), opacity);
		} else if (number > 0u && kind == 2) {
			float turn = fract(float(number) * 0.61803398875) * 6.0;
			vec3 hue = clamp(abs(mod(turn + vec3(0.0, 4.0, 2.0), 6.0) - 3.0) - 1.0, 0.0, 1.0);
			COLOR = vec4(mix(vec3(0.8), hue, 0.7), opacity);
		}
	}
}
"""

# Textures of more cells a side are beyond what any renderer promises.
const _SIDE_LIMIT: int = 8192

static var _shader: Shader = null

var _kind: Kind
var _texture: ImageTexture = ImageTexture.new()
var _area: Rect2i = Rect2i()
var _view: Transform2D = Transform2D.IDENTITY


func _init(kind: Kind) -> void:
	_kind = kind
	mouse_filter = Control.MOUSE_FILTER_IGNORE
	texture_filter = CanvasItem.TEXTURE_FILTER_NEAREST
	if _shader == null:
		_shader = Shader.new()
		_shader.code = _SHADER
	var colors: ShaderMaterial = ShaderMaterial.new()
	colors.shader = _shader
	colors.set_shader_parameter(&"kind", kind)
	material = colors


func _draw() -> void:
	if not _area.has_area():
		return
	draw_set_transform_matrix(_view)
	# The centre of a cell lies at its coordinates.
	draw_texture_rect(
		_texture, Rect2(Vector2(_area.position) - Vector2(0.5, 0.5), _area.size), false
	)


## Shows numbers over some cells, four bytes each, row by row, [param side] a row and column; those
## up to [param top] span the colors.
func show_cells(area: Rect2i, side: Vector2i, bytes: PackedByteArray, top: float) -> void:
	var is_whole: bool = area.has_area() and bytes.size() == 4 * side.x * side.y
	if not is_whole or maxi(side.x, side.y) > _SIDE_LIMIT:
		clear()
		return
	var format: Image.Format = Image.FORMAT_RF if _kind == Kind.HEAT else Image.FORMAT_RGBA8
	var image: Image = Image.create_from_data(side.x, side.y, false, format, bytes)
	if Vector2i(_texture.get_size()) == side:
		_texture.update(image)
	else:
		_texture.set_image(image)
	_area = area
	_set_parameter(&"top", maxf(top, 1e-6))
	queue_redraw()


## Shows nothing.
func clear() -> void:
	if _area.has_area():
		_area = Rect2i()
		queue_redraw()


## Shows numbers of an order only up to [param last].
func show_until(last: float) -> void:
	_set_parameter(&"shown", last)


## Places the cells on the screen.
func set_view(view: Transform2D) -> void:
	if view != _view:
		_view = view
		queue_redraw()


func _set_parameter(parameter: StringName, value: float) -> void:
	var colors: ShaderMaterial = material as ShaderMaterial
	colors.set_shader_parameter(parameter, value)
