extends RefCounted
## The cells that a body can reach for a cost, as a backend is asked for them.

const WorldState := preload("world_state.gd")

## The world.
var world: WorldState = null
## Where the body stands.
var start: Vector2i = Vector2i.ZERO
## What may be spent.
var budget: float = 0.0
## Name of a profile of the world.
var profile: String = WorldState.DEFAULT_PROFILE
## Side of the body in cells.
var size: int = 1
## Cells that count as walls, x and y in turns.
var blocked_cells: PackedInt32Array = PackedInt32Array()
## What it costs to reach each cell, once [member is_over].
var costs: Dictionary[Vector2i, float] = {}
## Whether the answer is there.
var is_over: bool = false


## Hands on the answer.
func answer(found: Dictionary[Vector2i, float]) -> void:
	costs = found
	is_over = true
