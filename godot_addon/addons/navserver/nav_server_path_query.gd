class_name NavServerPathQuery
extends RefCounted
## What a path is asked for: from where to where, for whom, and how long it may take.
##
## Grid navigation by navserver, independent of [NavigationServer2D]. A query may be used for as
## many requests as you like; what it says when it is handed to [method NavServerMap2D.find_path]
## holds.

## Where the body stands, in global coordinates.
var start_position: Vector2 = Vector2.ZERO
## Where it wants to go, in global coordinates.
var target_position: Vector2 = Vector2.ZERO
## Who walks; null walks over every class but solid at cost 1.
var profile: NavServerProfile = null
## Side of the square body in cells, 1 to 32; 0 takes the profile's. Another one is answered with
## [constant NavServerPathResult.Status.FAILED].
var size: int = 0
## Answer within so many milliseconds, with [constant NavServerPathResult.Status.DEADLINE] if there
## is no path by then; 0 waits as long as it takes.
var deadline_msec: float = 0.0
## Greater goes first among this game's requests, from -100 to 100.
var priority: int = 0
## Where the target is not reached, ask for the path to the cell that is nearest to it.
var allow_partial_path: bool = false
## Cells that count as solid in this query alone, such as those where others stand.
var blocked_cells: Array[Vector2i] = []
## Tell by [signal NavServerPathRequest.invalidated] when an edit of the map breaks the path; costs
## of a profile that are changed are no edit.
var watch: bool = false
