extends Node2D
## A dedicated server: bots wander about, and it ends after a number of ticks.
##
## Run it without a display, one physics step a frame, as fast as the machine can:
## [codeblock]
## godot --headless --fixed-fps 60 --path . res://demo/06_dedicated_server/server.tscn -- seed=7
## [/codeblock]
## It prints a line a second of the game's time, and a digest at the end: the same arguments give
## the same digest, so two versions of your rules can be compared, and a bug happens again. A server
## that players connect to leaves [code]--fixed-fps[/code] out and runs at the pace of the clock.

const AREA: Rect2i = Rect2i(0, 0, 36, 20)
const GROUND: Vector2i = Vector2i(0, 0)
const WALL: Vector2i = Vector2i(1, 0)
const SECOND: int = 60

## What can be told on the command line, as [code]bots=50[/code].
var settings: Dictionary[String, int] = {"bots": 200, "ticks": 1800, "seed": 1}
var tick: int = 0
var arrivals: int = 0

var _random: RandomNumberGenerator = RandomNumberGenerator.new()
var _digest: HashingContext = HashingContext.new()
var _open: Array[Vector2i] = []
var _began_usec: int = 0

@onready var _ground: TileMapLayer = $Ground
@onready var _map: NavServerMap2D = $NavServerMap2D
@onready var _bots: NavServerCrowd2D = $Bots


func _ready() -> void:
	# Only the server asks for ways. Clients are sent positions and draw them: they need no sidecar,
	# and cannot cheat with what they do not decide.
	if not is_multiplayer_authority():
		set_physics_process(false)
		return
	_read_arguments()
	_paint()
	var is_headless: bool = DisplayServer.get_name() == "headless"
	# Nobody looks: no buffers for the graphics card.
	_bots.draw_units = not is_headless
	_bots.units_arrived.connect(_on_bots_arrived)
	_bots.units_stuck.connect(_on_bots_stuck)
	_bots.units_moved.connect(_note_positions)
	_bots.availability_changed.connect(_on_availability_changed)
	# Each frame waits for its answers, so that what happens in which tick depends on nothing else.
	NavServer.get_connection().lockstep = is_headless
	# A game that runs from the editor has started the sidecar already; an exported one has to. With
	# --navserver-connection-file=FILE it goes to one that runs as a service beside it.
	NavServer.start_sidecar()
	_random.seed = settings["seed"]
	_digest.start(HashingContext.HASH_SHA256)


func _physics_process(_delta: float) -> void:
	# Ticks count from the moment that bots can walk, however long the sidecar took to start.
	if _bots.get_unit_count() == 0:
		return
	tick += 1
	if tick % SECOND == 0:
		_tell()
	if tick >= settings["ticks"]:
		_end()


func _begin() -> void:
	_began_usec = Time.get_ticks_usec()
	var places: PackedVector2Array = PackedVector2Array()
	for bot: int in settings["bots"]:
		places.append(_pick_place())
	_send(_bots.spawn(places))


func _end() -> void:
	_bots.units_moved.disconnect(_note_positions)
	_bots.availability_changed.disconnect(_on_availability_changed)
	set_physics_process(false)
	print("%d ticks, digest %s" % [tick, _digest.finish().hex_encode().left(16)])
	get_tree().quit()


func _send(ids: PackedInt64Array) -> void:
	var goals: PackedVector2Array = PackedVector2Array()
	for id: int in ids:
		goals.append(_pick_place())
	_bots.order_each(ids, goals)


func _note_positions() -> void:
	_digest.update(_bots.get_positions().to_byte_array())


func _on_bots_arrived(ids: PackedInt64Array) -> void:
	arrivals += ids.size()
	_send(ids)


func _on_bots_stuck(ids: PackedInt64Array, reasons: PackedByteArray) -> void:
	# Those held up by others keep trying; those without a way want another goal.
	for index: int in ids.size():
		if reasons[index] == NavServerCrowd2D.StuckReason.UNREACHABLE:
			_send(ids.slice(index, index + 1))


func _on_availability_changed(available: bool) -> void:
	if available and _bots.get_unit_count() == 0:
		_begin()
	else:
		# The game goes on without the sidecar. Bots stand until it is back; ids and goals stay.
		print("tick %d: %s" % [tick, "bots walk again" if available else "the sidecar is gone"])


func _tell() -> void:
	var seconds: float = (Time.get_ticks_usec() - _began_usec) / 1e6
	print(
		(
			"second %d: %d bots, %d arrivals, %.0f ticks/s"
			% [floori(tick / float(SECOND)), _bots.get_unit_count(), arrivals, tick / seconds]
		)
	)


func _pick_place() -> Vector2:
	return _map.to_global(_map.map_to_local(_open[_random.randi() % _open.size()]))


func _read_arguments() -> void:
	for argument: String in OS.get_cmdline_user_args():
		var setting: String = argument.get_slice("=", 0)
		if setting in settings:
			settings[setting] = argument.get_slice("=", 1).to_int()


## Four rooms with doorways.
func _paint() -> void:
	for y: int in AREA.size.y:
		for x: int in AREA.size.x:
			var cell: Vector2i = Vector2i(x, y)
			var is_wall: bool = not AREA.grow(-1).has_point(cell)
			is_wall = is_wall or x == 18 and y % 10 not in [4, 5, 6]
			is_wall = is_wall or y == 10 and x % 18 not in [7, 8, 9]
			_ground.set_cell(cell, 0, WALL if is_wall else GROUND)
			if not is_wall:
				_open.append(cell)
