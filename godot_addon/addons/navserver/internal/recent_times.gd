extends RefCounted
## How long things took lately, for quantiles.

const _KEPT: int = 1024
# Older ones say nothing of now.
const _LATELY_MSEC: int = 5000

var _times: PackedFloat32Array = PackedFloat32Array()
var _ended: PackedInt64Array = PackedInt64Array()
var _next: int = 0


## Notes that something took so many milliseconds and has just ended.
func add(msec: float) -> void:
	if _times.size() < _KEPT:
		_times.append(msec)
		_ended.append(Time.get_ticks_msec())
		return
	_times[_next] = msec
	_ended[_next] = Time.get_ticks_msec()
	_next = (_next + 1) % _KEPT


## Returns the time that a part of all took at most, 0.5 for the median; 0 if there was nothing
## lately.
func get_quantile(part: float) -> float:
	var since: int = Time.get_ticks_msec() - _LATELY_MSEC
	var sorted: PackedFloat32Array = PackedFloat32Array()
	for index: int in _times.size():
		if _ended[index] >= since:
			sorted.append(_times[index])
	if sorted.is_empty():
		return 0.0
	sorted.sort()
	return sorted[clampi(ceili(part * sorted.size()) - 1, 0, sorted.size() - 1)]
