extends RefCounted
## What finds paths: the sidecar or the engine's own AStarGrid2D. Nothing here waits.

const PathJob := preload("path_job.gd")
const WorldState := preload("world_state.gd")


## Takes a world as it stands, in place of what it had of that name; tells by the world's signals.
func put_world(_world: WorldState) -> void:
	pass


## Forgets a world.
func drop_world(_world: WorldState) -> void:
	pass


## Changes cells of a world: x and y, class, and factor of the cost of each.
func edit_cells(
	_world: WorldState,
	_cells: PackedInt32Array,
	_classes: PackedByteArray,
	_scales: PackedFloat32Array
) -> void:
	pass


## Defines a profile of a world.
func set_profile(_world: WorldState, _name: String, _costs: PackedFloat32Array) -> void:
	pass


## Takes jobs, each of which it answers exactly once.
func find_paths(_jobs: Array[PathJob]) -> void:
	pass


## Asks for a job to end soon; it is answered all the same.
func cancel(_job: PathJob) -> void:
	pass


## Watches the path of an answered job no longer.
func unwatch(_job: PathJob) -> void:
	pass


## Hands on what has arrived, until [param deadline_usec] of [Time]; the rest keeps for later.
func poll(_deadline_usec: int) -> void:
	pass


## Returns the jobs that have no answer, and forgets them.
func take_unanswered() -> Array[PathJob]:
	return []


## Returns what it can do, as names.
func get_capabilities() -> PackedStringArray:
	return PackedStringArray()
