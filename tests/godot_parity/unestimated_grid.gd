extends AStarGrid2D
## An AStarGrid2D without an estimate, that is Dijkstra's search.
##
## AStarGrid2D does not scale its estimate by the smallest weight, so below a weight of 1 it
## overestimates and its paths are not always the cheapest; without an estimate they are.


func _estimate_cost(_from_id: Vector2i, _end_id: Vector2i) -> float:
	return 0.0
