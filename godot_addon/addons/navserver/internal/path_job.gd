extends RefCounted
## One path that a backend is asked for, in cells of a world.

## The answer is there; its path is in the map's own coordinates. Comes exactly once.
signal answered(result: NavServerPathResult)
## An edit broke the path that was watched; comes at most once.
signal invalidated(index: int)

const RequestLog := preload("request_log.gd")
const WorldState := preload("world_state.gd")

## Most cells a side of a body, as the sidecar takes it.
const SIZE_LIMIT: int = 32

## The world.
var world: WorldState = null
## Where the body stands.
var start: Vector2i = Vector2i.ZERO
## Where it wants to go.
var goal: Vector2i = Vector2i.ZERO
## Name of a profile of the world.
var profile: String = WorldState.DEFAULT_PROFILE
## Whose profile that is, kept since the name is given anew when it is gone; null for the default.
var walker: NavServerProfile = null
## Side of the body in cells.
var size: int = 1
## Milliseconds to answer within; 0 for none.
var deadline_msec: float = 0.0
## Greater goes first.
var priority: int = 0
## Whether a path to the nearest cell will do.
var allow_partial: bool = false
## Cells that count as solid, as x and y.
var blocked_cells: PackedInt32Array = PackedInt32Array()
## Whether to tell when the path breaks.
var watch: bool = false
## What the backend calls the watch; 0 for none.
var watch_number: int = 0
## When the job was made, in microseconds of [Time].
var made_usec: int = Time.get_ticks_usec()
## Whoever waits for the answer, so that it stays until then even if nobody else keeps it.
var keeper: RefCounted = null
## Where whoever debugs the game keeps it; null if nobody does.
var note: RequestLog.Note = null

var _over: bool = false


## Tells whether the answer is there.
func is_over() -> bool:
	return _over


## Returns why nobody can search for such a body, with the remedy; nothing if it can be.
func find_problem() -> String:
	if size >= 1 and size <= SIZE_LIMIT:
		return ""
	return "size is %d; give 1 to %d cells, or 0 for the profile's" % [size, SIZE_LIMIT]


## Hands on the answer; a second one is dropped.
func answer(result: NavServerPathResult) -> void:
	if _over:
		return
	_over = true
	if note != null:
		note.end(result.status, result.reason)
	answered.emit(result)
	keeper = null


## Notes that nobody looks after the path any more, since others find the paths by now. What they
## missed may have broken it, so it counts as broken as soon as they have the map.
func lose_watch() -> void:
	watch_number = 0
	if watch and not world.arrived.is_connected(_on_world_arrived):
		world.arrived.connect(_on_world_arrived, CONNECT_ONE_SHOT)


## Tells that the path broke at an entry of its cells.
func invalidate(index: int) -> void:
	if watch:
		watch = false
		invalidated.emit(index)


func _on_world_arrived(_version: int) -> void:
	invalidate(0)
