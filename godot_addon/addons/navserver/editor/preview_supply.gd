@tool
extends RefCounted
## Keeps the sidecar's copy of the previewed map as the map is: whole at first, then cell by cell.
##
## A sidecar that comes back, and one whose connection was broken while the map changed, gets the
## whole map again.

## The sidecar has the map, and answers about it.
signal arrived
## Nobody answers for now; what is on its way will not be answered.
signal left
## The sidecar cannot hold the map.
signal refused(reason: String)
## What [method say_state] says may have changed.
signal state_changed

const PreviewMap := preload("preview_map.gd")
const PreviewStroke := preload("preview_stroke.gd")
const SidecarBackend := preload("../internal/sidecar_backend.gd")
const SidecarLink := preload("../internal/sidecar_link.gd")
const WorldState := preload("../internal/world_state.gd")

## The sidecar has the map.
var is_there: bool = false

var _link: SidecarLink
var _map: PreviewMap
# What the sidecar was given; null if nothing was.
var _world: WorldState = null
# The sidecar has to be given the whole map as soon as it can take it.
var _is_due: bool = false


func _init(link: SidecarLink, map: PreviewMap) -> void:
	_link = link
	_map = map
	_link.opened.connect(_on_opened)
	_link.lost.connect(_on_lost)
	_link.changed.connect(_on_changed)


## Lets go of the link.
func close() -> void:
	drop()
	_link.opened.disconnect(_on_opened)
	_link.lost.disconnect(_on_lost)
	_link.changed.disconnect(_on_changed)


## Returns who answers; null is nobody for now.
func get_backend() -> SidecarBackend:
	return _link.backend if is_there else null


## Gives the sidecar the whole map, now or as soon as it can take it.
func put() -> void:
	_leave()
	if _world != _map.world:
		_forget(true)
	_is_due = true
	if not _can_put():
		return
	_is_due = false
	if _world == null:
		_world = _map.world
		_world.arrived.connect(_on_arrived)
		_world.refused.connect(_on_refused)
	_map.put(_link.backend)
	_link.flush()


## Gives the sidecar the cells that [method PreviewMap.refresh] has found changed; true if it did.
func send_changes() -> bool:
	if not _is_current():
		return false
	_map.send_changes(_link.backend)
	return true


## Gives the sidecar what a stroke of the brush has painted so far; true if it has painted anything.
func send_stroke(stroke: PreviewStroke) -> bool:
	return _is_current() and stroke.send(_map, _link.backend)


## Takes the map from the sidecar.
func drop() -> void:
	_is_due = false
	_forget(true)
	_leave()


## Sends what was asked, and waits up to some microseconds of this frame until [param is_done].
func wait(is_done: Callable, patience_usec: int) -> void:
	var until: int = Time.get_ticks_usec() + patience_usec
	while _link.state == SidecarLink.State.READY and Time.get_ticks_usec() < until:
		_link.flush()
		if is_done.call():
			break
		OS.delay_usec(100)
		_link.poll(until)


## Sends what was asked.
func flush() -> void:
	if _link.state == SidecarLink.State.READY:
		_link.flush()


## Says why nothing is searched.
func say_state() -> String:
	if not _map.problem.is_empty():
		return _map.problem
	if _link.state == SidecarLink.State.OFF:
		return "no sidecar is running; start it in the navserver dock"
	if _link.state != SidecarLink.State.READY:
		return "the sidecar is getting ready, see the navserver dock"
	if not _link.backend.is_offered("explore"):
		return "the sidecar is too old for previews; update navserver"
	return "the sidecar reads the map"


func _can_put() -> bool:
	return _link.state == SidecarLink.State.READY and _link.backend.is_offered("explore")


## Tells whether changes can be sent; what cannot be sent is due with the whole map.
func _is_current() -> bool:
	if _world == null or _is_due:
		return false
	_is_due = _link.state != SidecarLink.State.READY
	if _is_due:
		_leave()
	return not _is_due


func _leave() -> void:
	is_there = false
	left.emit()


func _forget(is_told: bool) -> void:
	if _world == null:
		return
	if is_told and _link.state == SidecarLink.State.READY:
		_link.backend.drop_world(_world)
	_world.arrived.disconnect(_on_arrived)
	_world.refused.disconnect(_on_refused)
	_world = null


func _on_arrived(_version: int) -> void:
	is_there = true
	arrived.emit()


func _on_refused(reason: String) -> void:
	refused.emit(reason)


func _on_opened() -> void:
	_link.backend.take_unanswered()
	if _world != null or _is_due:
		put()


func _on_lost() -> void:
	_is_due = _is_due or _world != null
	_forget(false)
	_leave()


func _on_changed(_state: SidecarLink.State, _reason: String) -> void:
	state_changed.emit()
	# A new session is told of right after this, and one that goes on by nothing else.
	_catch_up.call_deferred()


func _catch_up() -> void:
	if _is_due and _can_put():
		put()
