@icon("res://addons/navserver/icon.svg")
class_name NavServer
extends Object
## The way to the navserver of this game.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. All functions are static,
## there is no autoload: the first use adds one hidden [NavServerConnection] under the root. Maps,
## agents and requests use it by themselves; call these functions to know or steer where paths come
## from. Everything is asked on the main thread, which never waits: the searching is done elsewhere.

static var _connection: NavServerConnection = null


## Returns the one connection, making it where it is not there yet.
static func get_connection() -> NavServerConnection:
	if not is_instance_valid(_connection):
		_connection = NavServerConnection.new()
		_connection.name = "NavServerConnection"
		var tree: SceneTree = Engine.get_main_loop()
		# The root is busy while it sets up its children.
		tree.root.add_child.call_deferred(_connection, false, Node.INTERNAL_MODE_BACK)
	return _connection


## Tells whether a sidecar answers; without one paths come from [AStarGrid2D].
static func is_available() -> bool:
	return is_instance_valid(_connection) and _connection.state == NavServerConnection.State.READY


## Returns the names of what whoever finds the paths now can do.
static func get_capabilities() -> PackedStringArray:
	return get_connection().get_capabilities()


## Starts a sidecar, if this game is not connected to one; [signal
## NavServerConnection.state_changed] tells how that goes.
static func start_sidecar() -> void:
	get_connection().start_sidecar()


## Ends the sidecar that this game started, and the connection to any other; paths come from
## [AStarGrid2D] from then on.
static func stop_sidecar() -> void:
	get_connection().stop_sidecar()
