extends RefCounted
## How fast a count grows, over the last second or so.

const _STEP_MSEC: int = 100
const _STEPS: int = 10

var _counts: PackedInt64Array = PackedInt64Array()
var _times: PackedInt64Array = PackedInt64Array()


## Looks at the count; to be called each frame.
func observe(count: int, now_msec: int) -> void:
	if not _times.is_empty() and now_msec - _times[-1] < _STEP_MSEC:
		return
	_counts.append(count)
	_times.append(now_msec)
	if _times.size() > _STEPS + 1:
		_counts.remove_at(0)
		_times.remove_at(0)


## Returns by how much the count grew a second.
func get_per_second() -> float:
	if _times.size() < 2:
		return 0.0
	return (_counts[-1] - _counts[0]) * 1000.0 / (_times[-1] - _times[0])
