class_name NavServerPathResult
extends RefCounted
## The answer to a path request.
##
## Grid navigation by navserver, independent of [NavigationServer2D].

## How a request ended.
enum Status {
	## [member path] leads to the target.
	FOUND,
	## [member path] leads to the cell nearest to the target.
	PARTIAL,
	## No way leads to the target.
	UNREACHABLE,
	## The body cannot stand where it starts.
	START_BLOCKED,
	## The body cannot stand at the target.
	GOAL_BLOCKED,
	## A limit of the search was met.
	LIMIT,
	## The request was cancelled.
	CANCELLED,
	## [member NavServerPathQuery.deadline_msec] passed.
	DEADLINE,
	## A newer request of the same agent took this one's place.
	SUPERSEDED,
	## Too many requests wait: ask again later.
	OVERLOADED,
	## The request could not be carried out; [member reason] says why and what to do.
	FAILED,
}

## Where the answer comes from.
enum Source {
	## Nothing was searched.
	NOTHING,
	## A search.
	SEARCH,
	## A flow field that several requests share.
	FIELD,
	## The cache of the sidecar.
	CACHE,
	## An equal request that was waiting already.
	COALESCED,
	## The islands of the map: they tell without a search that there is no way.
	ISLANDS,
	## The engine's own [AStarGrid2D], without a sidecar.
	FALLBACK,
}

# The protocol's number for that.
const _WORLD_REMOVED: int = 10

## Global positions of the path's points, both ends included; empty without a path.
var path: PackedVector2Array = PackedVector2Array()
## Length of the path in cells, diagonal steps counting as sqrt 2; INF without a path.
var path_length: float = INF
## Sum of what the steps cost the profile; INF without a path.
var cost: float = INF
## How the request ended.
var status: Status = Status.FAILED
## The status in words; for [constant Status.FAILED] with the remedy.
var reason: String:
	get:
		return describe(status) if _reason.is_empty() else _reason
	set(value):
		_reason = value
## The version of the map that was searched, see [signal NavServerMap2D.map_changed].
var map_version: int = 0
## Where the answer comes from.
var source: Source = Source.NOTHING
## The cells of the path.
var cells: Array[Vector2i]:
	get = get_cells

var _reason: String = ""
var _cells: Array[Vector2i] = []
var _to_cell: Callable = Callable()
# To the map as it lay when it was asked; it may move before anybody wants to know the cells.
var _from_global: Transform2D = Transform2D.IDENTITY


## Tells whether there is a path, whole or partial.
func has_path() -> bool:
	return status == Status.FOUND or status == Status.PARTIAL


## Returns the cells of the path.
func get_cells() -> Array[Vector2i]:
	if _cells.is_empty() and not path.is_empty() and _to_cell.is_valid():
		for point: Vector2 in path:
			var cell: Vector2i = _to_cell.call(_from_global * point)
			_cells.append(cell)
	return _cells


## Moves the path from the map's coordinates to global ones, as the map lay when it was asked; for
## [NavServerPathRequest]. [param to_cell] returns the cell of a point in the map's coordinates.
func localize(transform: Transform2D, to_cell: Callable) -> void:
	# Nobody walks on a map without an extent.
	if transform != Transform2D.IDENTITY and transform.determinant() != 0.0:
		path = transform * path
	locate(transform, to_cell)


## Notes how the map lay when it was asked, as [method localize] does; for [NavServerAgent2D].
func locate(transform: Transform2D, to_cell: Callable) -> void:
	if transform.determinant() != 0.0:
		_from_global = transform.affine_inverse()
	_to_cell = to_cell


## Makes a result without a path.
static func without_path(the_status: Status, the_reason: String = "") -> NavServerPathResult:
	var result: NavServerPathResult = NavServerPathResult.new()
	result.status = the_status
	result.reason = the_reason
	return result


## Makes a result of a status by the number that the protocol gives it; whatever is no [enum Status]
## is [constant Status.FAILED].
static func of_number(number: int) -> NavServerPathResult:
	var result: NavServerPathResult = NavServerPathResult.new()
	if number >= Status.FOUND and number < Status.FAILED:
		result.status = number as Status
	elif number == _WORLD_REMOVED:
		result.reason = "the map was removed while the request waited"
	else:
		result.reason = (
			"status %d is unknown to the addon: sidecar and addon may be of different versions"
			% number
		)
	return result


## Returns a status in words.
static func describe(the_status: Status) -> String:
	match the_status:
		Status.FOUND:
			return "a path was found"
		Status.PARTIAL:
			return "the target is out of reach; the path leads to the nearest cell"
		Status.UNREACHABLE:
			return "no way leads to the target"
		Status.START_BLOCKED:
			return "the body cannot stand where it starts"
		Status.GOAL_BLOCKED:
			return "the body cannot stand at the target"
		Status.LIMIT:
			return "the search met its limit"
		Status.CANCELLED:
			return "the request was cancelled"
		Status.DEADLINE:
			return "the deadline passed before there was a path"
		Status.OVERLOADED:
			return "too many requests wait; ask again later"
		Status.SUPERSEDED:
			return "a newer request of the same agent took its place"
	return "the request could not be carried out"
