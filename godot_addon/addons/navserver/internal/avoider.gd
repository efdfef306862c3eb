extends RefCounted
## An agent that avoids others: where it takes part, and what it was told.

const AvoidanceGroup := preload("avoidance_group.gd")
const MoverGround := preload("mover_ground.gd")

## The agent.
var agent: NavServerAgent2D
## Names its mover to the sidecar; 0 as long as it has none.
var handle: int = 0
## When its mover was asked for, in physics frames; -1 if it was not.
var asked_at: int = -1
## Whether it has no mover since there was no room for it.
var is_left_out: bool = false
## Whether its mover has to be told its properties.
var is_changed: bool = false
## Whether [member agent] says how it moves by now.
var is_forced: bool = false
## How its mover may go by the last answer, in global coordinates.
var safe_velocity: Vector2 = Vector2.ZERO
## How it wanted to go when that was asked.
var asked_velocity: Vector2 = Vector2.ZERO
## The physics frame that this was asked in; -1 for none.
var answered_frame: int = -1
## Where it may be; null until it takes part.
var ground: MoverGround = null

var _group: AvoidanceGroup = null


## Serves an agent.
func _init(the_agent: NavServerAgent2D) -> void:
	agent = the_agent


## Takes part on the agent's map if it wants to and can, else leaves.
func follow() -> void:
	var map: NavServerMap2D = null
	if agent.avoidance_enabled and agent.is_inside_tree() and not Engine.is_editor_hint():
		map = NavServerAgent2D.find_map(agent, agent.map)
	if _group != null and (not _is_group_of(map) or ground.profile != agent.profile):
		leave()
	if map != null and _group == null:
		ground = MoverGround.new(map, agent.profile)
		_group = map.get_movers().get_avoiders(map)
		_group.join(self)


func _is_group_of(map: NavServerMap2D) -> bool:
	return map != null and is_instance_valid(_group.map) and _group.map == map


## Takes note that the agent has another velocity; looks for a map where it had none.
func wish() -> void:
	if _group == null or not is_instance_valid(_group.map) or not _group.map.is_inside_tree():
		follow()


## Takes no part any more.
func leave() -> void:
	if _group != null:
		_group.leave(self)
	_group = null


## Returns where the agent's body is, in global coordinates.
func get_position() -> Vector2:
	var body: Node2D = agent.get_parent() as Node2D
	return Vector2.ZERO if body == null else body.global_position


## Tells whether a body that goes straight from a point to another meets no wall, in global
## coordinates.
func sees(from: Vector2, to: Vector2) -> bool:
	if _group == null or not is_instance_valid(_group.map):
		return false
	var to_map: Transform2D = _group.map.global_transform.affine_inverse()
	var motion: Vector2 = to_map.basis_xform(to - from)
	return ground.clip(to_map * from, motion) == motion


## Returns the agent's velocity as far as it may go.
func get_wish() -> Vector2:
	return agent.velocity.limit_length(agent.max_speed)


## Tells whether the agent takes part now.
func is_active() -> bool:
	return agent.enabled and agent.is_multiplayer_authority()


## Takes note that its mover is gone.
func forget() -> void:
	handle = 0
	asked_at = -1
	is_changed = false
	answered_frame = -1
