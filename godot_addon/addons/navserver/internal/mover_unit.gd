extends RefCounted
## One unit of a crowd: what it is and where it was sent, so that another sidecar can take over.

const MoverGround := preload("mover_ground.gd")

## Names it to the sidecar; 0 as long as it has not answered.
var handle: int = 0
var kind: Kind = null
## Where it was added, placed, or seen before its sidecar was lost; in the map's coordinates.
var position: Vector2 = Vector2.ZERO
var goal: Vector2 = Vector2.ZERO
var has_goal: bool = false
var spread: bool = true
## Whether it has no mover since there was no room for it.
var is_left_out: bool = false


## What units that were added together are to the sidecar.
class Kind:
	extends RefCounted

	## Fields of movers_add and movers_set.
	var properties: Dictionary = {}
	## Where they may be.
	var ground: MoverGround
