extends Node2D
## Left click: build a tower. Right click: sell it. Space: play again when the creeps have won.

const AREA: Rect2i = Rect2i(0, 0, 36, 20)
const ENTRANCE: Vector2i = Vector2i(0, 9)
const EXIT: Vector2i = Vector2i(35, 9)
const GRASS: Vector2i = Vector2i(0, 0)
const ROCK: Vector2i = Vector2i(1, 0)
const TOWER: Vector2i = Vector2i(2, 0)
const ROAD: Vector2i = Vector2i(3, 0)
const PRICE: int = 20
const SELLS_FOR: int = 15
const REWARD: int = 4
const CREEP_SPEED: float = 90.0
const RANGE: float = 100.0
const RELOAD: float = 0.6
const CREEP: PackedScene = preload("creep.tscn")

var lives: int = 0
var money: int = 0
## Why the last tower was not built.
var refusal: String = ""

# Seconds until each tower can shoot again, and what each creep has left.
var _reloading: Dictionary[Vector2i, float] = {}
var _health: Dictionary[Node2D, int] = {}
var _spawned: int = 0
# Where creeps walk, and where they would if there were a tower under the mouse.
var _way: PackedVector2Array = PackedVector2Array()
var _way_around: PackedVector2Array = PackedVector2Array()
var _hovered: Vector2i = Vector2i(-1, -1)
var _is_deciding: bool = false

@onready var _ground: TileMapLayer = $Ground
@onready var _map: NavServerMap2D = $NavServerMap2D
@onready var _creeps: Node2D = $Creeps
@onready var _refusal: Label = $Refusal
@onready var _timer: Timer = $SpawnTimer
@onready var _hint: Label = $Screen/Hint


func _ready() -> void:
	_timer.timeout.connect(_spawn)
	# It comes after each edit, so what is drawn is what creeps walk from now on.
	_map.map_changed.connect(func(_version: int, _cells: Array[Vector2i]) -> void: _show_way())
	_begin()


func _unhandled_input(event: InputEvent) -> void:
	if event.is_action_pressed("ui_accept") and lives <= 0:
		_begin()
	var mouse: InputEventMouse = _ground.make_input_local(event) as InputEventMouse
	if mouse != null:
		_hover(_ground.local_to_map(mouse.position))
	var click: InputEventMouseButton = event as InputEventMouseButton
	if click == null or not click.pressed or lives <= 0:
		return
	if click.button_index == MOUSE_BUTTON_LEFT:
		_build(_hovered)
	elif click.button_index == MOUSE_BUTTON_RIGHT and _hovered in _reloading:
		_reloading.erase(_hovered)
		_ground.set_cell(_hovered, 0, GRASS)
		money += SELLS_FOR


func _physics_process(delta: float) -> void:
	for creep: Node2D in _creeps.get_children():
		var agent: NavServerAgent2D = creep.get_node("NavServerAgent2D")
		# An agent with repath_policy WHEN_CHANGED asks again by itself when a tower comes or goes.
		var next: Vector2 = agent.get_next_path_position()
		creep.global_position = creep.global_position.move_toward(next, CREEP_SPEED * delta)
		if agent.is_target_reached():
			lives -= 1
			_remove(creep)
	for tower: Vector2i in _reloading:
		_reloading[tower] -= delta
		if _reloading[tower] <= 0.0:
			_shoot(tower)
	if lives <= 0:
		_timer.stop()
	queue_redraw()


func _process(_delta: float) -> void:
	_hint.text = (
		"Lives %d   Money %d   Left click: build for %d. Right click: sell for %d."
		% [maxi(lives, 0), money, PRICE, SELLS_FOR]
	)
	if lives <= 0:
		_hint.text = "The creeps have won. Space: play again."


func _draw() -> void:
	if _way.size() > 1:
		draw_polyline(_way, Color(1, 1, 1, 0.35), 3.0)
	if _way_around.size() > 1:
		draw_polyline(_way_around, Color(0.4, 1.0, 0.5, 0.6), 3.0)
	draw_rect(Rect2(_center_of(_hovered) - Vector2(16, 16), Vector2(32, 32)), Color.WHITE, false)
	for tower: Vector2i in _reloading:
		var target: Node2D = _find_target(tower)
		if target != null and _reloading[tower] > RELOAD - 0.1:
			draw_line(_center_of(tower), target.position, Color.GOLD, 2.0)


## Builds a tower, unless that would close the way of anybody: the answer is there before the tower
## is, since the queries alone see it.
func _build(cell: Vector2i) -> void:
	var problem: String = _find_problem(cell)
	if problem.is_empty() and not _is_deciding:
		_is_deciding = true
		var queries: Array[NavServerPathQuery] = [_make_query(_center_of(ENTRANCE), cell)]
		for creep: Node2D in _creeps.get_children():
			queries.append(_make_query(creep.global_position, cell))
		# All of them leave together; nothing waits for the answers but this function.
		for request: NavServerPathRequest in _map.find_paths(queries):
			var result: NavServerPathResult = await request.wait()
			if result.status != NavServerPathResult.Status.FOUND:
				problem = "That would close the way"
		_is_deciding = false
		# Creeps have walked on meanwhile.
		if problem.is_empty():
			problem = _find_problem(cell)
		if problem.is_empty():
			money -= PRICE
			_reloading[cell] = 0.0
			_ground.set_cell(cell, 0, TOWER)
	refusal = problem
	_refusal.text = problem
	_refusal.position = _center_of(cell) + Vector2(20, -14)


## Returns why no tower can stand on a cell, whatever the ways; empty if one can.
func _find_problem(cell: Vector2i) -> String:
	if _ground.get_cell_atlas_coords(cell) != GRASS:
		return "Build on grass"
	if money < PRICE:
		return "Not enough money"
	for creep: Node2D in _creeps.get_children():
		if _ground.local_to_map(creep.position) == cell:
			return "A creep is there"
	return ""


## A path to the exit as it would be with a tower on a cell; the map stays as it is.
func _make_query(from: Vector2, cell: Vector2i) -> NavServerPathQuery:
	var query: NavServerPathQuery = NavServerPathQuery.new()
	query.start_position = from
	query.target_position = _center_of(EXIT)
	query.blocked_cells = [cell]
	return query


func _hover(cell: Vector2i) -> void:
	if cell == _hovered:
		return
	_hovered = cell
	_refusal.text = ""
	_way_around.clear()
	if _find_problem(cell).is_empty():
		var query: NavServerPathQuery = _make_query(_center_of(ENTRANCE), cell)
		var result: NavServerPathResult = await _map.find_path(query).wait()
		if cell == _hovered:
			_way_around = result.path


func _show_way() -> void:
	_way_around.clear()
	var query: NavServerPathQuery = _make_query(_center_of(ENTRANCE), Vector2i(-1, -1))
	_way = (await _map.find_path(query).wait()).path


func _spawn() -> void:
	var creep: Node2D = CREEP.instantiate()
	creep.position = _center_of(ENTRANCE)
	_creeps.add_child(creep)
	_health[creep] = 3 + floori(_spawned / 10.0)
	_spawned += 1
	var agent: NavServerAgent2D = creep.get_node("NavServerAgent2D")
	agent.target_position = _center_of(EXIT)


func _shoot(tower: Vector2i) -> void:
	var target: Node2D = _find_target(tower)
	if target == null:
		return
	_reloading[tower] = RELOAD
	_health[target] -= 1
	if _health[target] <= 0:
		money += REWARD
		_remove(target)


## Returns the creep that is longest on its way, among those that a tower can hit.
func _find_target(tower: Vector2i) -> Node2D:
	for creep: Node2D in _creeps.get_children():
		if creep in _health and creep.position.distance_to(_center_of(tower)) < RANGE:
			return creep
	return null


func _remove(creep: Node2D) -> void:
	_health.erase(creep)
	creep.queue_free()


func _center_of(cell: Vector2i) -> Vector2:
	return _ground.map_to_local(cell)


func _begin() -> void:
	lives = 10
	money = 100
	_spawned = 0
	_reloading.clear()
	for creep: Node2D in _creeps.get_children():
		_remove(creep)
	_paint()
	_show_way()
	_timer.start()


## A meadow with rocks, and a way in and out.
func _paint() -> void:
	for y: int in AREA.size.y:
		for x: int in AREA.size.x:
			var cell: Vector2i = Vector2i(x, y)
			var is_edge: bool = not AREA.grow(-1).has_point(cell)
			# A row of rocks with two gaps, so that one tower can close one of them.
			var is_row: bool = x == 17 and y not in [4, 14]
			_ground.set_cell(cell, 0, ROCK if is_edge or is_row else GRASS)
	for gate: Vector2i in [ENTRANCE, EXIT]:
		_ground.set_cell(gate, 0, ROAD)
