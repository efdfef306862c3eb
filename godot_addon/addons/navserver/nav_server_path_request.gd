class_name NavServerPathRequest
extends RefCounted
## A path that was asked for: on its way, or answered.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. Connect to [signal completed],
## or [code]await request.wait()[/code]. It is answered exactly once, whatever happens to the
## sidecar. Keep it for as long as you want [signal invalidated]: a request that nobody keeps ends
## its watch.

## The answer is there.
signal completed(result: NavServerPathResult)
## An edit of the map broke the path that was found; [param index] is the first of its cells that
## cannot be reached any more. Only if [member NavServerPathQuery.watch] was set, and once.
## [br][br]
## A map that is made anew breaks all paths, at index 0: by [method NavServerMap2D.rebuild], by
## other layers or settings, or by being taken out of the tree and put back. When the sidecar comes
## or is lost, paths count as broken at index 0 as well, once the map is ready again: nobody has
## looked after them meanwhile.
signal invalidated(index: int)

## Internal: no part of what this class offers.
const PathJob := preload("internal/path_job.gd")

## The answer; null until it is there.
var result: NavServerPathResult = null

var _job: PathJob = null
# Whom it was asked by; there may be none any more where a game ends.
var _connection: NavServerConnection = null
var _transform: Transform2D = Transform2D.IDENTITY
var _to_cell: Callable = Callable()


## Begins to follow a job; maps make requests, see [method NavServerMap2D.find_path].
func follow(job: PathJob, to_global: Transform2D, to_cell: Callable) -> void:
	_job = job
	_connection = NavServer.get_connection()
	job.keeper = self
	_transform = to_global
	_to_cell = to_cell
	job.answered.connect(_on_answered)
	job.invalidated.connect(_on_invalidated)


## Tells whether the answer is there.
func is_completed() -> bool:
	return result != null


## Asks for the answer to come soon, as [constant NavServerPathResult.Status.CANCELLED] unless there
## is another by then.
func cancel() -> void:
	if not is_completed() and _job != null:
		NavServer.get_connection().cancel_job(_job)


## Waits for the answer and returns it, at once if it is there: [code]await request.wait()[/code].
func wait() -> NavServerPathResult:
	if not is_completed():
		await completed
	return result


## Watches the path no longer.
func unwatch() -> void:
	if _job != null and _job.watch:
		_job.watch = false
		if is_instance_valid(_connection):
			_connection.unwatch(_job.watch_number)


## Completes a request that was never sent.
func complete(the_result: NavServerPathResult) -> void:
	if result == null:
		result = the_result
		completed.emit(result)


## Nobody is left who could hear of the path. (What is being freed cannot call its own methods.)
func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE and _job != null and _job.watch:
		if is_instance_valid(_connection):
			_connection.unwatch(_job.watch_number)


func _on_answered(answer: NavServerPathResult) -> void:
	answer.localize(_transform, _to_cell)
	complete(answer)


func _on_invalidated(index: int) -> void:
	invalidated.emit(index)
