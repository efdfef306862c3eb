extends Node2D
## Left click: choose a unit, or send it to a marked cell. Then end the turn: the enemy's comes.

const POINTS: float = 5.0
const STEP_SECONDS: float = 0.12
const GRASS: Vector2i = Vector2i(0, 0)
const MUD: Vector2i = Vector2i(1, 0)
const ROAD: Vector2i = Vector2i(2, 0)
const ROCK: Vector2i = Vector2i(3, 0)
const TILES: Dictionary[String, Vector2i] = {".": GRASS, "~": MUD, "=": ROAD, "#": ROCK}
const BOARD: Array[String] = [
	"...........~....",
	"..#....~~..~....",
	"..#...~~~~.~....",
	"..#....~~....##.",
	"......=========.",
	"....#.=......#..",
	"....#.=..##..#..",
	"=======..##.....",
	"....#......~~...",
	"....#.....~~~~..",
	"..........~~~...",
	"..##............",
	"................",
]
const PLACES: Dictionary[String, Vector2i] = {
	"Anna": Vector2i(1, 6),
	"Bert": Vector2i(1, 8),
	"Cleo": Vector2i(3, 10),
	"Ivan": Vector2i(14, 5),
	"Olga": Vector2i(13, 10),
}

## Who walks: what mud and road cost. Rocks are of class 255, which always blocks.
@export var profile: NavServerProfile = null

## The unit that is chosen.
var selected: Node2D = null
## What each unit can still spend in this turn.
var points: Dictionary[Node2D, float] = {}
## What the player is told.
var message: String = ""
## Somebody walks, and nothing can be clicked.
var is_busy: bool = false

# The cells that the chosen unit can get to, with what each costs; and the way to one of them.
var _reach: Dictionary[Vector2i, float] = {}
var _hovered: Vector2i = Vector2i(-1, -1)
var _way: NavServerPathResult = null

@onready var _ground: TileMapLayer = $Ground
@onready var _map: NavServerMap2D = $NavServerMap2D
@onready var _units: Node2D = $Units
@onready var _hint: Label = $Screen/Hint
@onready var _end_turn: Button = $Screen/EndTurn


func _ready() -> void:
	for y: int in BOARD.size():
		for x: int in BOARD[y].length():
			_ground.set_cell(Vector2i(x, y), 0, TILES[BOARD[y][x]])
	for unit: Node2D in _units.get_children():
		unit.position = _ground.map_to_local(PLACES[unit.name])
		points[unit] = POINTS
	_end_turn.pressed.connect(_play_enemies)
	_tell("Choose one of the blue units")


func _unhandled_input(event: InputEvent) -> void:
	var mouse: InputEventMouse = _ground.make_input_local(event) as InputEventMouse
	if is_busy or mouse == null:
		return
	var cell: Vector2i = _ground.local_to_map(mouse.position)
	_hover(cell)
	var click: InputEventMouseButton = event as InputEventMouseButton
	if click != null and click.pressed and click.button_index == MOUSE_BUTTON_LEFT:
		_click(cell)


func _draw() -> void:
	for cell: Vector2i in _reach:
		_draw_cell(cell, Color(0.3, 0.6, 1.0, 0.3))
	if selected != null:
		_draw_cell(_cell_of(selected), Color(1.0, 1.0, 1.0, 0.5))
	if _way != null and _way.path.size() > 1:
		draw_polyline(global_transform.affine_inverse() * _way.path, Color.WHITE, 3.0)
		var font: Font = ThemeDB.fallback_font
		var end: Vector2 = _ground.map_to_local(_hovered)
		draw_string(font, end + Vector2(10, -6), "%.1f" % _way.cost)


## Chooses a unit and asks once for all cells that its points are enough for.
func _select(unit: Node2D) -> void:
	selected = unit
	_way = null
	_reach = _map.get_reachable(_cell_of(unit), points[unit], profile, _get_taken([unit]))
	_tell("%s has %.1f points left" % [unit.name, points[unit]])


func _click(cell: Vector2i) -> void:
	var there: Node2D = _find_unit(cell)
	if there != null and there.is_in_group("ours"):
		_select(there)
	elif selected == null:
		_tell("Choose one of the blue units")
	elif there != null:
		_tell("%s stands there" % there.name)
	elif cell not in _reach:
		_tell("%s has not enough points for that" % selected.name)
	else:
		_move(selected, cell)


func _move(unit: Node2D, cell: Vector2i) -> void:
	is_busy = true
	var result: NavServerPathResult = await _map.find_path(_make_query(unit, cell)).wait()
	_reach.clear()
	if result.status == NavServerPathResult.Status.FOUND:
		await _walk(unit, result.cells)
		points[unit] = maxf(points[unit] - result.cost, 0.0)
	is_busy = false
	_select(unit)


## Shows the way that a click would take.
func _hover(cell: Vector2i) -> void:
	if cell == _hovered:
		return
	_hovered = cell
	_way = null
	queue_redraw()
	if selected != null and cell in _reach:
		var result: NavServerPathResult = await _map.find_path(_make_query(selected, cell)).wait()
		if cell == _hovered and not is_busy:
			_way = result
			queue_redraw()


## The enemies' turn, one after the other; then everybody has all points again.
func _play_enemies() -> void:
	if is_busy:
		return
	is_busy = true
	selected = null
	_way = null
	_reach.clear()
	_tell("The enemy's turn")
	for enemy: Node2D in _units.get_children():
		if enemy.is_in_group("enemies"):
			await _approach(enemy)
	for unit: Node2D in points:
		points[unit] = POINTS
	is_busy = false
	_tell("Your turn")


## Walks towards the unit that is nearest by what the way costs, as far as the points go.
func _approach(enemy: Node2D) -> void:
	var requests: Array[NavServerPathRequest] = []
	for unit: Node2D in _units.get_children():
		if unit.is_in_group("ours"):
			requests.append(_map.find_path(_make_query(enemy, _cell_of(unit))))
	var nearest: NavServerPathResult = null
	for request: NavServerPathRequest in requests:
		var result: NavServerPathResult = await request.wait()
		if result.has_path() and (nearest == null or result.cost < nearest.cost):
			nearest = result
	if nearest == null:
		return
	# The way ends where somebody stands, and goes on beyond what the points are enough for.
	var taken: Array[Vector2i] = _get_taken([enemy])
	var reach: Dictionary[Vector2i, float] = _map.get_reachable(
		_cell_of(enemy), points[enemy], profile, taken
	)
	var way: Array[Vector2i] = nearest.cells
	while way.size() > 1 and way[-1] not in reach:
		way.pop_back()
	await _walk(enemy, way)


func _walk(unit: Node2D, way: Array[Vector2i]) -> void:
	if way.size() < 2:
		return
	var tween: Tween = create_tween()
	for cell: Vector2i in way.slice(1):
		tween.tween_property(unit, "position", _ground.map_to_local(cell), STEP_SECONDS)
	await tween.finished


## Everybody but those at both ends of the way is in it.
func _make_query(unit: Node2D, cell: Vector2i) -> NavServerPathQuery:
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = unit.global_position
	query.target_position = _ground.to_global(_ground.map_to_local(cell))
	query.profile = profile
	query.blocked_cells = _get_taken([unit, _find_unit(cell)])
	return query


## Returns the cells where somebody stands, but for some. The map itself knows nothing of units.
func _get_taken(but: Array[Node2D]) -> Array[Vector2i]:
	var taken: Array[Vector2i] = []
	for unit: Node2D in _units.get_children():
		if unit not in but:
			taken.append(_cell_of(unit))
	return taken


func _find_unit(cell: Vector2i) -> Node2D:
	for unit: Node2D in _units.get_children():
		if _cell_of(unit) == cell:
			return unit
	return null


func _cell_of(unit: Node2D) -> Vector2i:
	return _ground.local_to_map(unit.position)


func _draw_cell(cell: Vector2i, color: Color) -> void:
	var half: Vector2 = Vector2(_ground.tile_set.tile_size) / 2.0
	var center: Vector2 = _ground.map_to_local(cell)
	var corners: PackedVector2Array = [
		center - Vector2(half.x, 0),
		center - Vector2(0, half.y),
		center + Vector2(half.x, 0),
		center + Vector2(0, half.y),
	]
	draw_colored_polygon(corners, color)


func _tell(what: String) -> void:
	message = what
	_hint.text = what
	queue_redraw()
