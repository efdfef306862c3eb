extends Node2D
## The game that the editor plays: says where its paths come from.


func _ready() -> void:
	NavServer.get_connection().state_changed.connect(
		func(state: NavServerConnection.State, reason: String) -> void:
			print("GAME %s: %s" % [NavServerConnection.State.find_key(state), reason])
	)
	print("GAME started, pid %d" % OS.get_process_id())
