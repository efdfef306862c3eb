extends RefCounted
## A world whose cells are being numbered on another thread, and what has to wait for that.

const AgentBatch := preload("agent_batch.gd")
const PathJob := preload("path_job.gd")
const Settings := preload("settings.gd")
const TileTable := preload("tile_table.gd")
const WorldState := preload("world_state.gd")

## The world; its classes are there when this is over.
var world: WorldState
## What else was asked of the world, in order.
var held: Array[Callable] = []
## Jobs in the world; they may wait for all that is held.
var jobs: Array[PathJob] = []
## Batches in the world, likewise.
var batches: Array[AgentBatch] = []

var _task: int = -1


## Begins with the world's layers; at once where there are no threads.
func _init(the_world: WorldState) -> void:
	world = the_world
	if Settings.has_threads():
		_task = WorkerThreadPool.add_task(_run, false, "navserver layout")
	else:
		_run()


## Tells whether it is over.
func is_over() -> bool:
	return _task < 0 or WorkerThreadPool.is_task_completed(_task)


## Waits for its end, which the pool wants for each task.
func finish() -> void:
	if _task >= 0:
		WorkerThreadPool.wait_for_task_completion(_task)
	_task = -1


func _run() -> void:
	world.classes = TileTable.read_classes(world)
	world.blobs.clear()
