extends RefCounted
## What a reply to a batch tells of its rows, but for the paths.
##
## Agents keep it, and not the points of all others, until somebody asks for a result.

const Message := preload("message.gd")

## The status of each row, see the enum of NavServerPathResult.
var statuses: PackedByteArray
## From the map's coordinates to global ones as it lay when it was asked, and to its cells; whoever
## hands the rows on knows.
var to_global: Transform2D = Transform2D.IDENTITY
## As [member to_global].
var to_cell: Callable = Callable()
# Where each answer comes from, see the enum of NavServerPathResult.
var _sources: PackedByteArray
# The version of the map that was searched, without a sign.
var _versions: PackedInt32Array
var _costs: PackedFloat64Array
var _lengths: PackedFloat64Array


## Reads a reply.
func _init(reply: Message) -> void:
	statuses = reply.get_bytes("statuses")
	_sources = reply.get_bytes("sources")
	_versions = reply.get_int32s("versions", "u32")
	_costs = reply.get_float64s("costs")
	_lengths = reply.get_float64s("lengths")


## Returns for how many rows everything is there.
func get_count() -> int:
	var sizes: Array[int] = [statuses.size(), _sources.size(), _versions.size()]
	sizes.append_array([_costs.size(), _lengths.size()])
	return sizes.min()


## Makes the result of a row, but for its path.
func make_result(row: int) -> NavServerPathResult:
	var result: NavServerPathResult = NavServerPathResult.of_number(statuses[row])
	result.map_version = _versions[row] & 0xffff_ffff
	var last: int = NavServerPathResult.Source.ISLANDS
	result.source = mini(_sources[row], last) as NavServerPathResult.Source
	if result.has_path():
		result.cost = _costs[row]
		result.path_length = _lengths[row]
	return result
