@tool
extends RefCounted
## The preview in words.

const Message := preload("../internal/message.gd")
const PreviewAnswer := preload("preview_answer.gd")

const _STATUSES: Dictionary[String, String] = {
	"found": "Path found",
	"partial": "No way to the goal: the path leads to the nearest cell",
	"unreachable": "No way to the goal",
	"start_blocked": "The start is blocked",
	"goal_blocked": "The goal is blocked",
	"limit": "Limit reached before the goal",
	"error": "Cannot be searched",
}


## Says how a search ended.
static func say_answer(answer: PreviewAnswer) -> String:
	if not answer.problem.is_empty():
		return "Cannot be searched: %s" % answer.problem
	var lines: PackedStringArray = [_STATUSES.get(answer.status, answer.status)]
	if answer.is_coarse:
		lines[0] = "Still searching: the path so far"
	if answer.cost < INF:
		lines.append("Cost %s, length %s cells" % [say(answer.cost), say(answer.length)])
	lines.append("%d cells expanded in %s ms" % [answer.expanded, say(answer.search_usec / 1000.0)])
	if answer.truncated:
		lines.append("Only the first expansions are shown")
	if not answer.nearest.is_empty():
		lines.append("Nearest cell that can be reached: %s" % answer.nearest[0])
	if not answer.openings.is_empty():
		lines.append("Opening %s would connect them" % say_cells(answer.openings))
	return "\n".join(lines)


## Says what an edit has changed.
static func say_change(before: PreviewAnswer, now: PreviewAnswer) -> String:
	if before == null or now == null or now.is_coarse or not now.problem.is_empty():
		return ""
	if before.is_found() != now.is_found():
		return "Last edit: %s, now %s" % [_name(before), _name(now)]
	if before.cost == INF or now.cost == INF:
		return "Last edit: no path before and after"
	var change: float = now.cost - before.cost
	if absf(change) < 1e-6 and before.cells == now.cells:
		return "Last edit: the path is the same"
	return (
		"Last edit: cost %s, now %s (%s%s)"
		% [say(before.cost), say(now.cost), "+" if change >= 0.0 else "", say(change)]
	)


## Says all that is known of a cell.
static func say_cell(cell: Vector2i, tiles: String, report: Message, size: int) -> String:
	var lines: PackedStringArray = ["Cell %s: %s" % [cell, tiles]]
	var classes: PackedByteArray = report.get_bytes("classes")
	var costs: PackedFloat64Array = report.get_float64s("costs")
	var islands: PackedInt32Array = report.get_int32s("islands")
	var clearance: PackedFloat64Array = report.get_float64s("clearance")
	var scales: PackedFloat32Array = report.get_bytes("scales", "f32").to_float32_array()
	var fits: PackedByteArray = report.get_bytes("fits")
	if [classes, costs, islands, clearance, scales, fits].any(_is_empty):
		return lines[0]
	var price: String = "blocked" if costs[0] == INF else "costs %s" % say(costs[0])
	var can_stand: bool = costs[0] != INF and fits[0] != 0
	var island: String = ", island %d" % islands[0] if can_stand else ""
	lines.append("Class %d, %s%s" % [classes[0], price, island])
	if scales[0] != 1.0:
		lines.append("Its cost is multiplied by %s" % say(scales[0]))
	if classes[0] == 255:
		lines.append("Why blocked: solid (a collision polygon, class 255, or no tile)")
	elif costs[0] == INF:
		lines.append("Why blocked: the profile blocks class %d" % classes[0])
	elif fits[0] == 0:
		lines.append("Why blocked: a body of %d x %d cells does not fit here" % [size, size])
	lines.append("Nearest wall: %s" % ("far" if clearance[0] == INF else say(clearance[0])))
	return "\n".join(lines)


## Says what a path through a cell costs beside the one that was found; NAN is not known.
static func say_detour(through: float, found: float) -> String:
	if is_nan(through):
		return "What a path through it costs is not known: it would take too long a search"
	if through == INF:
		return "No path leads through it"
	if found == INF:
		return "A path through it costs %s" % say(through)
	if through - found < 1e-6 * maxf(found, 1.0):
		return "On a cheapest path (cost %s)" % say(through)
	return "A path through it costs %s, %s more" % [say(through), say(through - found)]


## Says a number with as many digits as anybody reads.
static func say(number: float) -> String:
	return String.num(number, 2)


## Says a list of cells, the first few of them.
static func say_cells(numbers: PackedInt32Array) -> String:
	var names: PackedStringArray = PackedStringArray()
	for at: int in range(0, mini(numbers.size(), 12), 2):
		names.append(str(Vector2i(numbers[at], numbers[at + 1])))
	var more: int = floori(numbers.size() / 2.0) - names.size()
	return ", ".join(names) + (" and %d more" % more if more > 0 else "")


static func _is_empty(array: Variant) -> bool:
	return len(array) == 0


static func _name(answer: PreviewAnswer) -> String:
	return "cost %s" % say(answer.cost) if answer.is_found() else "no way"
