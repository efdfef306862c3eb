extends RefCounted
## The paths that agents of one kind ask for in one frame, a row for each of them.
##
## Agents are many and alike, so they share what a [code]path_job.gd[/code] holds for one path.

const AgentKind := preload("agent_kind.gd")
const WorldState := preload("world_state.gd")

## The map that is asked.
var map: NavServerMap2D
## Who walks; null for the profile that every map has.
var profile: NavServerProfile
## Whether paths to the nearest cell will do.
var allow_partial: bool
## Whether to tell agents when their paths break.
var watch: bool
## Those who ask; null once the rows are complete.
var kind: AgentKind
## The world, once the rows are complete.
var world: WorldState = null
## Name of the profile in the world.
var profile_name: String = WorldState.DEFAULT_PROFILE
## Side of the bodies in cells.
var size: int = 1
## Cells of the world, x and y of each row.
var starts: PackedInt32Array = PackedInt32Array()
## As [member starts].
var goals: PackedInt32Array = PackedInt32Array()
## Names the agents, so that a newer row of one takes the place of an older; once the rows are
## complete.
var numbers: PackedInt64Array = PackedInt64Array()
## From the map's coordinates to global ones.
var to_global: Transform2D = Transform2D.IDENTITY
## From the map's coordinates to its cells.
var to_cell: Callable = Callable()
## Who waits for each row, a NavServerAgent2D; null once it is answered or taken back. Of nodes,
## since to append to an array of scripts takes five times as long.
var agents: Array[Node] = []
## Where each row's body stands and where it wants to go, in global coordinates; two for each row.
var ends: PackedVector2Array = PackedVector2Array()
## What the backend calls the batch; -1 as long as it has none.
var id: int = -1


## Begins a batch without rows for agents of a kind, or of a new one if that is null.
func _init(
	the_map: NavServerMap2D,
	the_profile: NavServerProfile,
	may_be_partial: bool,
	is_watched: bool,
	the_kind: AgentKind
) -> void:
	map = the_map
	profile = the_profile
	allow_partial = may_be_partial
	watch = is_watched
	kind = AgentKind.new() if the_kind == null else the_kind
	kind.batch = self


## Tells whether such a path belongs here.
func is_for(
	the_map: NavServerMap2D, the_profile: NavServerProfile, may_be_partial: bool, is_watched: bool
) -> bool:
	return (
		map == the_map
		and profile == the_profile
		and allow_partial == may_be_partial
		and watch == is_watched
	)


## Returns how many rows there are, answered or not.
func get_count() -> int:
	return agents.size()


## Returns the agents that still wait, and takes their rows back.
func take_waiting() -> Array[NavServerAgent2D]:
	var waiting: Array[NavServerAgent2D] = []
	waiting.assign(agents.filter(func(agent: Node) -> bool: return agent != null))
	agents.fill(null)
	return waiting


## Takes no more rows.
func close() -> void:
	kind.batch = null
	kind = null


## Turns the rows into cells: [param to_cells] goes from global coordinates to cells, whose centres
## are whole numbers.
func settle(
	the_world: WorldState, to_cells: Transform2D, from_map: Transform2D, from_map_to_cell: Callable
) -> void:
	world = the_world
	to_global = from_map
	to_cell = from_map_to_cell
	if profile != null:
		size = profile.size
	numbers.resize(agents.size())
	for row: int in agents.size():
		# Nobody minds if the rows that were taken back by now end each other.
		numbers[row] = -1 if agents[row] == null else agents[row].get_instance_id()
	var points: PackedVector2Array = to_cells * ends
	starts = _cells_of(points, 0, NavServerPathResult.Status.START_BLOCKED)
	goals = _cells_of(points, 1, NavServerPathResult.Status.GOAL_BLOCKED)


## Takes a row back; its agent hears no more of it.
func take_back(row: int) -> void:
	agents[row] = null


## Returns who waits for a row; null if nobody does.
func get_agent(row: int) -> NavServerAgent2D:
	return agents[row] if row >= 0 and row < agents.size() else null


## Returns who waits for a row, who has it from now on; null if nobody does.
func take(row: int) -> NavServerAgent2D:
	if row < 0 or row >= agents.size():
		return null
	var agent: NavServerAgent2D = agents[row]
	agents[row] = null
	return agent


## Hands on an answer, in the map's coordinates.
func answer(row: int, result: NavServerPathResult, watch_number: int = 0) -> void:
	var agent: NavServerAgent2D = take(row)
	if agent != null:
		result.localize(to_global, to_cell)
		agent.take_answer(result, watch_number)


## Answers one row.
func answer_without_path(row: int, status: NavServerPathResult.Status, reason: String = "") -> void:
	answer(row, NavServerPathResult.without_path(status, reason))


## Answers what has no answer yet.
func answer_rest(status: NavServerPathResult.Status, reason: String = "") -> void:
	for row: int in agents.size():
		# Mostly nobody is left.
		if agents[row] != null:
			answer_without_path(row, status, reason)


## Returns the cells of every second point, from the first on; a row whose point lies off the map is
## answered.
func _cells_of(
	points: PackedVector2Array, first: int, status_outside: NavServerPathResult.Status
) -> PackedInt32Array:
	var cells: PackedInt32Array = PackedInt32Array()
	cells.resize(points.size())
	var last: Vector2 = Vector2.INF
	var cell: Vector2i = Vector2i.ZERO
	var is_inside: bool = false
	for index: int in range(0, points.size(), 2):
		# An order sends many to one place.
		if points[index + first] != last:
			last = points[index + first]
			# As TileLayout.cell_at does it, for bodies on the border of two cells as well.
			# Not number by number: those are of 64 bits, and their lower 32 would name another cell.
			cell = Vector2i((last + Vector2(0.5, 0.5)).floor())
			is_inside = world.region.has_point(cell)
		cells[index] = cell.x
		cells[index + 1] = cell.y
		if not is_inside:
			answer_without_path(index >> 1, status_outside)
	return cells
