class_name NavServerConnection
extends Node
## The connection of this game to a sidecar, and what finds paths without one.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. There is one, from
## [method NavServer.get_connection]. It never makes a frame wait: what was asked in a frame leaves
## together at its end, and answers are taken in at the beginning of the next.

## Where paths come from has changed; [param reason] says why, in words.
signal state_changed(state: State, reason: String)
## The sidecar compiles its searches, which happens once after an update: [param done] groups of
## [param total]. Until then paths come from [AStarGrid2D].
signal warmup_progress(done: int, total: int)
## Another backend finds the paths from now on and knows no map yet; [NavServerMap2D] listens.
signal backend_changed

## Where paths come from.
enum State {
	## From [AStarGrid2D]: there is no sidecar.
	FALLBACK,
	## A sidecar is starting.
	STARTING,
	## A sidecar is there, or ought to be, and is being connected to.
	CONNECTING,
	## From the sidecar.
	READY,
}

## Internal: no part of what this class offers.
const AgentBatch := preload("internal/agent_batch.gd")
## Internal: no part of what this class offers.
const AgentKind := preload("internal/agent_kind.gd")
## Internal: no part of what this class offers.
const Backend := preload("internal/backend.gd")
## Internal: no part of what this class offers.
const FallbackBackend := preload("internal/fallback_backend.gd")
## Internal: no part of what this class offers.
const Inspection := preload("internal/inspection.gd")
## Internal: no part of what this class offers.
const Message := preload("internal/message.gd")
## Internal: no part of what this class offers.
const MoverTable := preload("internal/mover_table.gd")
## Internal: no part of what this class offers.
const PathJob := preload("internal/path_job.gd")
## Internal: no part of what this class offers.
const ReachableJob := preload("internal/reachable_job.gd")
## Internal: no part of what this class offers.
const RequestLog := preload("internal/request_log.gd")
## Internal: no part of what this class offers.
const SidecarLink := preload("internal/sidecar_link.gd")
## Internal: no part of what this class offers.
const SidecarProcess := preload("internal/sidecar_process.gd")
## Internal: no part of what this class offers.
const Settings := preload("internal/settings.gd")
## Internal: no part of what this class offers.
const WorldState := preload("internal/world_state.gd")

# The first requests wait so long for a sidecar that is coming.
const _PATIENCE_MSEC: int = 3000
# A game starts a sidecar of its own if that of the editor stays away so long.
const _OWN_START_MSEC: int = 4000
const _NEVER: int = 1 << 62
# A frame is to be no longer than usual by more than this, for answers and for the questions of
# agents. These get as much more as the frame has taken less by its end, up to a bound; and so much
# in any case, however long it is.
const _SHARE_USEC: int = 900
const _MOST_SHARE_USEC: int = 2000
const _LEAST_SHARE_USEC: int = 400
# Answers get so much, since who is told unpacks its path in the same frame, which takes twice as
# long.
const _ANSWERS_USEC: int = 350
# To send what was asked takes so long, however little it is. So agents that wait ask many at once,
# in turn with answers.
const _SENDING_USEC: int = 250
# What is usual is the mean of about so many frames; one that is longer by far counts as less long.
const _USUAL_FRAMES: float = 8.0
const _USUAL_JUMP_USEC: float = 1600.0
# At most so much of a frame goes to reading maps; one layer may take more.
const _READING_USEC: int = 1000
const _LOCKSTEP_USEC: int = 10_000_000
const _SPIN_LIMIT_USEC: int = 1000

## Where paths come from.
var state: State = State.FALLBACK
## Why, in words.
var state_reason: String = "no sidecar was looked for"
## At the end of each frame wait at most so many microseconds for answers, 1000 at most, so that
## most come in the frame that asked; 0 never waits.
var spin_usec: int = 0:
	set(value):
		if value < 0 or value > _SPIN_LIMIT_USEC:
			push_error("navserver: spin_usec is %d; give 0 to %d" % [value, _SPIN_LIMIT_USEC])
		else:
			spin_usec = value
## Wait at the end of each frame, and of each physics step, for the answer to all that was asked in
## it: for runs without a player, such as [code]--headless --fixed-fps[/code], that have to be
## reproducible. What is asked by those who are told leaves with the next.
var lockstep: bool = false
## Whether figures of what goes on are there, as custom monitors [code]navserver/...[/code] of
## [Performance]. On where a debugger is attached; elsewhere nothing is counted unless it is set.
var is_measured: bool = false:
	set(value):
		is_measured = value
		_follow_measured()
## Whether maps leave reading to the frames that follow, as in the one in which the sidecar is lost;
## for [NavServerMap2D].
var is_frame_full: bool = false
## Whether somebody waits for answers in this very moment; for [NavServerMap2D].
var is_awaited: bool = false
## Agents that have yet to ask, in order; for [NavServerAgent2D], which puts itself at the end. When
## its turn comes it may have been freed, or want nothing any more. Of nodes, since to append to an
## array of scripts takes five times as long, and many do in one frame.
var asking: Array[Node] = []
## Watches that their agents have no use for any more, told at the end of the frame; for
## [NavServerAgent2D].
var ended_watches: PackedInt32Array = PackedInt32Array()

var _fallback: FallbackBackend = FallbackBackend.new()
var _link: SidecarLink = SidecarLink.new()
# Null as long as it is open who finds the paths.
var _backend: Backend = null
var _patience_ends: int = 0
var _own_start_at: int = _NEVER
# Jobs that leave at the end of the frame.
var _waiting: Dictionary[PathJob, bool] = {}
var _batches: Array[AgentBatch] = []
var _mover_tables: Dictionary[MoverTable, bool] = {}
# The frame that is under way, when it began, and how much of it went to what is done here.
var _frame: int = -1
var _frame_began_usec: int = 0
var _own_usec: int = 0
# How much of it may still go to answers.
var _answers_usec: int = _ANSWERS_USEC
# How long a frame usually takes from its first script to its last, but for what is done here.
var _usual_usec: float = 0.0
# Whether agents have asked in this frame, and whether it is their turn, before answers.
var _has_asked: bool = false
var _is_turn_to_ask: bool = false
# Whether what was asked has come back since then, for want of who was to answer it.
var _has_come_back: bool = false
# Until when maps are read in a frame, and the frame.
var _reading_ends: int = 0
var _reading_frame: int = -1
# Null as long as nobody looks.
var _inspection: Inspection = null


func _init() -> void:
	process_mode = Node.PROCESS_MODE_ALWAYS
	# Requests leave after all other nodes had their turn.
	process_priority = 1 << 20
	process_physics_priority = 1 << 20
	_link.changed.connect(_on_link_changed)
	_link.opened.connect(_on_link_opened)
	_link.lost.connect(_on_link_lost)
	_link.progressed.connect(warmup_progress.emit)
	# Before it is in the tree, which it enters only after what others ask in their _ready().
	is_measured = EngineDebugger.is_active()
	_look_for_sidecar()


func _enter_tree() -> void:
	get_tree().process_frame.connect(_begin_frame)
	get_tree().physics_frame.connect(_begin_physics_frame)


func _exit_tree() -> void:
	get_tree().process_frame.disconnect(_begin_frame)
	get_tree().physics_frame.disconnect(_begin_physics_frame)
	is_measured = false
	_link.stop()
	_fallback.close()
	# Nobody answers them any more, and each keeps whoever waits for it.
	for job: PathJob in _fallback.take_unanswered() + _waiting.keys():
		job.keeper = null


func _process(_delta: float) -> void:
	_let_agents_ask()
	_end_step()
	# After what else this frame has put off.
	_let_threads_work.call_deferred()


func _physics_process(delta: float) -> void:
	for table: MoverTable in _mover_tables.keys():
		table.advance(delta)
	_end_step()


## Starts a sidecar, unless there is one; nothing waits for it.
func start_sidecar() -> void:
	if _link.state == SidecarLink.State.OFF and not _start_own():
		push_warning("navserver: %s" % state_reason)


## Ends the connection, and the sidecar if it was started here.
func stop_sidecar() -> void:
	_own_start_at = _NEVER
	_link.stop()


## Connects to a sidecar that somebody else started, by its connection file.
func follow_connection_file(path: String) -> void:
	if path.is_empty():
		push_error("navserver: path is empty; give that of a connection file")
		return
	_link.stop()
	_link.follow_file(path)


## Returns how many paths were asked for and have not left for whoever finds them.
func get_waiting_count() -> int:
	return _waiting.size() + asking.size()


## Returns the names of what whoever finds the paths now can do.
func get_capabilities() -> PackedStringArray:
	return _fallback.get_capabilities() if _backend == null else _backend.get_capabilities()


## Takes in what has arrived; the tree's frames call it.
func poll(is_pressing: bool = false) -> void:
	var began: int = Time.get_ticks_usec()
	_link.poll(began + _answers_usec, is_pressing)
	_fallback.poll(began + _answers_usec)
	var took: int = Time.get_ticks_usec() - began
	_answers_usec -= took
	_own_usec += took
	var now: int = Time.get_ticks_msec()
	if _backend == null and now > _patience_ends:
		_switch_to(_fallback)
	if now > _own_start_at:
		_own_start_at = _NEVER
		if not _link.is_connected_to_server() and _may_start():
			_start_instead()


## Hands a map to whoever finds the paths.
func put_world(world: WorldState) -> void:
	world.put_serial += 1
	if _backend != null:
		_backend.put_world(world)


## Forgets a map.
func drop_world(world: WorldState) -> void:
	world.put_serial += 1
	for job: PathJob in _waiting.keys():
		if job.world == world:
			_waiting.erase(job)
			job.answer(
				NavServerPathResult.without_path(
					NavServerPathResult.Status.FAILED,
					"the map is gone: ask a map that is in the tree"
				)
			)
	if _backend != null:
		_backend.drop_world(world)


## Changes cells of a map.
func edit_cells(
	world: WorldState, cells: PackedInt32Array, classes: PackedByteArray, scales: PackedFloat32Array
) -> void:
	if _backend != null:
		_backend.edit_cells(world, cells, classes, scales)


## Defines a profile of a map.
func set_profile(world: WorldState, profile: String, costs: PackedFloat32Array) -> void:
	if _backend != null:
		_backend.set_profile(world, profile, costs)


## Tells whether it is still open where paths come from, as at the beginning of a game.
func is_waiting() -> bool:
	return _backend == null


## Sends a message of the protocol to the sidecar; false if paths do not come from one. The reply
## goes to [param handler], unless the sidecar is lost before it comes.
func ask(message: Message, handler: Callable) -> bool:
	return _backend != null and _backend.send_message(message, handler)


## Steps the movers of a map once a physics frame from now on.
func add_mover_table(table: MoverTable) -> void:
	_mover_tables[table] = true


## Steps the movers of a map no longer.
func drop_mover_table(table: MoverTable) -> void:
	_mover_tables.erase(table)


## Takes a job; it leaves at the end of the frame.
func add_job(job: PathJob) -> void:
	_waiting[job] = true


## Returns where the answer to a question between global positions is to be noted; null unless
## [member is_measured].
func note_question(node: Node, from: Vector2, to: Vector2) -> RequestLog.Note:
	return null if _inspection == null else _inspection.requests.begin(node, from, to)


## Returns until when maps are read in this frame, which all of them share; for [NavServerMap2D].
func get_reading_deadline() -> int:
	if lockstep:
		return _NEVER
	var frame: int = Engine.get_process_frames()
	if frame != _reading_frame:
		_reading_frame = frame
		_reading_ends = Time.get_ticks_usec() + _READING_USEC
	return _reading_ends


## Returns the batch of this frame that an agent's question belongs to; for [NavServerAgent2D].
## [param kind] are those that it asked with before, if it still asks like them, or null.
func get_batch(
	map: NavServerMap2D,
	profile: NavServerProfile,
	allow_partial: bool,
	watch: bool,
	kind: AgentKind
) -> AgentBatch:
	for batch: AgentBatch in _batches:
		if batch.is_for(map, profile, allow_partial, watch):
			return batch
	_batches.append(AgentBatch.new(map, profile, allow_partial, watch, kind))
	return _batches[-1]


## Tells that an agent waits no longer for a row of a batch.
func cancel_row(batch: AgentBatch, row: int) -> void:
	if _backend != null and batch.world != null:
		_backend.cancel_row(batch, row)


## Asks for all cells within reach; the answer comes like any other.
func find_reachable(job: ReachableJob) -> void:
	_settle()
	_backend.find_reachable(job)


## Tells the class of each cell of a map to [param handler]; for whoever debugs the game.
func read_classes(world: WorldState, handler: Callable) -> void:
	if _backend != null:
		_backend.read_classes(world, handler)


## Asks for a job to end soon.
func cancel_job(job: PathJob) -> void:
	if _waiting.erase(job):
		job.answer(NavServerPathResult.without_path(NavServerPathResult.Status.CANCELLED))
	elif _backend != null:
		_backend.cancel(job)


## Watches a path no longer.
func unwatch(number: int) -> void:
	if _backend != null:
		_backend.unwatch(number)


## Waits until [param condition] holds, or until [param deadline_usec] of [Time]: for calls that
## cannot be put off.
func wait_for(condition: Callable, deadline_usec: int) -> void:
	_settle()
	_flush()
	_poll_until(condition, deadline_usec)


## Decides where paths come from, for somebody who waits for one.
func _settle() -> void:
	if _backend == null:
		var was_awaited: bool = is_awaited
		is_awaited = true
		_switch_to(_fallback)
		is_awaited = was_awaited


func _look_for_sidecar() -> void:
	_patience_ends = Time.get_ticks_msec() + _PATIENCE_MSEC
	var file: String = Settings.get_connection_file()
	if not file.is_empty():
		_link.follow_file(file)
		_own_start_at = Time.get_ticks_msec() + _OWN_START_MSEC
	elif _may_start() and not _start_own():
		# Nobody has asked for one, and everything works: no warning.
		print("navserver: paths come from AStarGrid2D: ", state_reason)
	if _link.state == SidecarLink.State.OFF:
		_switch_to(_fallback)


## Tells whether there is a program to start.
func _start_own() -> bool:
	var command: PackedStringArray = _find_program()
	if command.is_empty():
		_set_state(State.FALLBACK, SidecarProcess.describe_missing(Settings.get_program()))
		return false
	_link.start(command, Settings.get_own_connection_file())
	return true


## Starts a sidecar since that of somebody else does not come, or not come back, as when the editor
## is gone. Without a program it goes on looking for that one.
func _start_instead() -> void:
	print("navserver: ", state_reason, ", in vain so far: this game starts one of its own")
	if _find_program().is_empty():
		push_warning("navserver: %s" % SidecarProcess.describe_missing(Settings.get_program()))
		return
	_link.stop()
	start_sidecar()


static func _find_program() -> PackedStringArray:
	var folder: String = ProjectSettings.globalize_path("res://")
	return SidecarProcess.find_command(Settings.get_program(), folder)


## Players have no sidecar to start; a game that runs from the editor may have one.
func _may_start() -> bool:
	return OS.has_feature("editor") and Settings.is_autostart_wanted()


func _follow_measured() -> void:
	if is_measured and _inspection == null:
		_inspection = Inspection.new(self, _link, _mover_tables)
	elif not is_measured and _inspection != null:
		_inspection.close()
		_inspection = null


func _set_state(next: State, reason: String) -> void:
	state = next
	state_reason = reason
	state_changed.emit(state, reason)


func _begin_frame() -> void:
	_begin_step()
	if _inspection != null:
		_inspection.advance()


## Begins one of a frame's physics steps.
func _begin_physics_frame() -> void:
	_begin_step()
	# Whoever is told may take maps out of the tree.
	for table: MoverTable in _mover_tables.keys():
		table.tell_velocities(get_physics_process_delta_time())


## Begins one of a frame's physics steps, or its process step.
func _begin_step() -> void:
	var frame: int = Engine.get_process_frames()
	if frame != _frame:
		_frame = frame
		_frame_began_usec = Time.get_ticks_usec()
		_own_usec = 0
		_is_turn_to_ask = not asking.is_empty() and not _has_asked
		_has_asked = false
		_answers_usec = 0 if _is_turn_to_ask else _ANSWERS_USEC
		is_frame_full = false
		_link.hold()
	poll()


## Lets agents ask if there is time for many in this frame, or if it is their turn. All other
## scripts have had theirs.
func _let_agents_ask() -> void:
	var now: int = Time.get_ticks_usec()
	var more: float = now - _frame_began_usec - _own_usec - _usual_usec
	if not asking.is_empty() and _backend != null:
		var share: int = clampi(floori(_SHARE_USEC - more), _LEAST_SHARE_USEC, _MOST_SHARE_USEC)
		var left: int = share - _own_usec
		if _is_turn_to_ask or left > 0.5 * _SHARE_USEC:
			_has_asked = true
			_take_questions(now + maxi(left - _SENDING_USEC, _LEAST_SHARE_USEC))
	_usual_usec += clampf(more, -_USUAL_JUMP_USEC, _USUAL_JUMP_USEC) / _USUAL_FRAMES


func _end_step() -> void:
	_has_come_back = false
	if lockstep:
		_answer_all(Time.get_ticks_usec() + _LOCKSTEP_USEC)
		return
	_flush()
	if spin_usec > 0:
		_poll_until(_is_idle, Time.get_ticks_usec() + spin_usec)


## Lets all agents ask, and waits for every answer. What is asked by those who are told is left to
## the next step, since there is no end to it where they ask anew each time.
func _answer_all(deadline_usec: int) -> void:
	if _backend == null and get_waiting_count() > 0:
		_poll_until(func() -> bool: return _backend != null, deadline_usec)
	if _backend != null:
		_take_questions(deadline_usec)
	_flush()
	_poll_until(_is_idle, deadline_usec)


func _let_threads_work() -> void:
	_link.release()
	_fallback.begin_work()


func _flush() -> void:
	if _backend == null:
		return
	if not _waiting.is_empty():
		_take_jobs()
	if not ended_watches.is_empty():
		_backend.unwatch_all(ended_watches)
		ended_watches.clear()
	_backend.flush()
	_link.flush()


## Lets agents ask until the deadline; those whose map is still being read come again, after others.
func _take_questions(deadline_usec: int) -> void:
	var waiting: Array[Node] = asking
	var count: int = 0
	# Who is told why it cannot ask may want to ask anew.
	asking = []
	for node: Node in waiting:
		count += 1
		# One that was told may have freed another.
		if is_instance_valid(node):
			var agent: NavServerAgent2D = node
			if not agent.ask(self):
				asking.append(agent)
		if count & 3 == 0 and Time.get_ticks_usec() > deadline_usec:
			break
	# Who has to come again comes after those whose turn it is yet to be.
	var rest: Array[Node] = waiting.slice(count)
	rest.append_array(asking)
	asking = rest
	var batches: Array[AgentBatch] = _batches
	_batches = []
	for batch: AgentBatch in batches:
		batch.close()
		if is_instance_valid(batch.map):
			batch.map.settle_batch(batch)
			_backend.find_batch(batch)
			continue
		# Who was told before has freed it; the agents look for another.
		for agent: NavServerAgent2D in batch.take_waiting():
			agent.ask_again()


func _take_jobs() -> void:
	var jobs: Array[PathJob] = []
	for job: PathJob in _waiting.keys():
		if job.world.is_read:
			_waiting.erase(job)
			jobs.append(job)
	if not jobs.is_empty():
		_backend.find_paths(jobs)


func _poll_until(condition: Callable, deadline_usec: int) -> void:
	var was_awaited: bool = is_awaited
	is_awaited = true
	while not condition.call() and Time.get_ticks_usec() < deadline_usec:
		# Whoever waits has nothing better to do with the frame.
		_answers_usec = _SHARE_USEC
		poll(true)
		if _has_come_back:
			_has_come_back = false
			if lockstep:
				_take_questions(deadline_usec)
			_flush()
		_fallback.begin_work(true)
		# Leaves the processor to whoever is to answer.
		OS.delay_usec(10)
	is_awaited = was_awaited


func _is_idle() -> bool:
	return not _has_come_back and _link.is_idle() and _fallback.is_idle()


func _switch_to(backend: Backend) -> void:
	if _backend != null:
		for job: PathJob in _backend.take_unanswered():
			_waiting[job] = true
		for agent: NavServerAgent2D in _backend.take_unanswered_agents():
			agent.ask_again()
		_backend.end_watches()
		_has_come_back = true
	_backend = backend
	# The numbers of the other's watches.
	ended_watches.clear()
	backend_changed.emit()


func _on_link_changed(link_state: SidecarLink.State, reason: String) -> void:
	match link_state:
		SidecarLink.State.OFF:
			_set_state(State.FALLBACK, reason)
		SidecarLink.State.STARTING:
			_set_state(State.STARTING, reason)
		SidecarLink.State.CONNECTING:
			_set_state(State.CONNECTING, reason)
		SidecarLink.State.READY:
			_set_state(State.READY, reason)
	if link_state == SidecarLink.State.OFF and _backend == null:
		_switch_to(_fallback)


func _on_link_opened() -> void:
	_switch_to(_link.backend)


func _on_link_lost() -> void:
	if _link.state == SidecarLink.State.CONNECTING:
		_own_start_at = Time.get_ticks_msec() + _OWN_START_MSEC
	# Unless somebody waits for paths in this very frame, as every frame does in lockstep.
	is_frame_full = not (is_awaited or lockstep)
	_switch_to(_fallback)
