extends RefCounted
## How long the sidecar takes to answer messages, from here and back.

const RecentTimes := preload("recent_times.gd")

## The times of those that were answered.
var times: RecentTimes = RecentTimes.new()

var _sent_usec: Dictionary[int, int] = {}


## Notes that a request leaves.
func begin(id: int) -> void:
	_sent_usec[id] = Time.get_ticks_usec()


## Notes that the reply to a request, or its first part, is there.
func end(id: int) -> void:
	if id in _sent_usec:
		times.add((Time.get_ticks_usec() - _sent_usec[id]) / 1000.0)
		_sent_usec.erase(id)


## Forgets what is on its way: nobody answers it any more.
func forget() -> void:
	_sent_usec.clear()
