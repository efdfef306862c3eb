extends RefCounted
## What whoever debugs the game wants to know; there only while somebody does.
##
## The figures are custom monitors of [Performance]; the rest is sent to the tab of the editor's
## debugger.

const DebugReporter := preload("debug_reporter.gd")
const MoverTable := preload("mover_table.gd")
const Rate := preload("rate.gd")
const RequestLog := preload("request_log.gd")
const RoundTrips := preload("round_trips.gd")
const SidecarLink := preload("sidecar_link.gd")

## What the names of the monitors begin with.
const PREFIX: String = "navserver/"

## The paths that were asked for.
var requests: RequestLog = RequestLog.new()

var _link: SidecarLink
var _mover_tables: Dictionary[MoverTable, bool]
var _trips: RoundTrips = RoundTrips.new()
var _asked_rate: Rate = Rate.new()
var _bytes_rate: Rate = Rate.new()
var _reporter: DebugReporter = null
var _figures: Dictionary[String, Callable] = {
	"pending_requests": requests.get_open_count,
	"requests_per_second": _asked_rate.get_per_second,
	"answer_p50_ms": requests.times.get_quantile.bind(0.5),
	"answer_p99_ms": requests.times.get_quantile.bind(0.99),
	"failures": _get_failures,
	"round_trip_ms": _trips.times.get_quantile.bind(0.5),
	"bytes_per_second": _bytes_rate.get_per_second,
	"crowd_units": _count_units,
	"ticks_behind": _count_ticks_behind,
}


## Begins to look at a connection, its link and its tables of movers.
func _init(
	connection: NavServerConnection, link: SidecarLink, mover_tables: Dictionary[MoverTable, bool]
) -> void:
	_link = link
	_mover_tables = mover_tables
	_link.trips = _trips
	# What was before does not count.
	_asked_rate.observe(0, Time.get_ticks_msec())
	_bytes_rate.observe(_link.get_moved_bytes(), Time.get_ticks_msec())
	for figure: String in _figures:
		var monitor: StringName = PREFIX + figure
		if not Performance.has_custom_monitor(monitor):
			Performance.add_custom_monitor(monitor, _figures[figure])
	if EngineDebugger.is_active():
		_reporter = DebugReporter.new(connection, self)


## Ends it; nothing of it is left.
func close() -> void:
	_link.trips = null
	for figure: String in _figures:
		if Performance.has_custom_monitor(PREFIX + figure):
			Performance.remove_custom_monitor(PREFIX + figure)
	if _reporter != null:
		_reporter.close()
	_reporter = null


## Looks at what has changed; to be called each frame.
func advance() -> void:
	var now: int = Time.get_ticks_msec()
	_asked_rate.observe(requests.asked, now)
	_bytes_rate.observe(_link.get_moved_bytes(), now)
	if _reporter != null:
		_reporter.advance(now)


## Returns all figures by their names.
func get_figures() -> Dictionary[String, float]:
	var told: Dictionary[String, float] = {}
	for figure: String in _figures:
		told[figure] = _figures[figure].call()
	return told


## Returns the tables of movers.
func get_mover_tables() -> Array[MoverTable]:
	return _mover_tables.keys()


func _get_failures() -> int:
	return requests.failed


func _count_units() -> int:
	var count: int = 0
	for table: MoverTable in _mover_tables:
		count += table.count_units()
	return count


func _count_ticks_behind() -> int:
	var most: int = 0
	for table: MoverTable in _mover_tables:
		most = maxi(most, table.count_ticks_behind())
	return most
