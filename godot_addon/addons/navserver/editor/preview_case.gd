@tool
extends RefCounted
## Writes the case file that [code]navserver path --case[/code] replays.

const Message := preload("../internal/message.gd")
const PreviewAnswer := preload("preview_answer.gd")
const WorldState := preload("../internal/world_state.gd")

# Longer maps can only be kept beside a case, not in it.
const _LONGEST: int = 8 << 20
const _DIAGONAL_MODES: PackedStringArray = [
	"always", "never", "at_least_one_walkable", "only_if_no_obstacles"
]


## Returns the text of a case file; empty, with a reason in [param problems], if there can be none.
static func write(
	world: WorldState,
	query: Dictionary,
	answer: PreviewAnswer,
	classes: Message,
	map_hash: String,
	problems: PackedStringArray
) -> String:
	var bytes: PackedByteArray = classes.get_bytes("classes")
	var packed: String = Marshalls.raw_to_base64(bytes.compress(FileAccess.COMPRESSION_DEFLATE))
	if packed.length() > _LONGEST:
		problems.append("the map takes %d bytes, %d are the most" % [packed.length(), _LONGEST])
		return ""
	var position: Array = classes.header.get("position", [0, 0])
	var transform: Transform2D = world.transform
	var map: Dictionary = {
		"hash": map_hash,
		"width": classes.get_integer("width"),
		"height": classes.get_integer("height"),
		"region_position": position,
		"transform":
		[
			[transform.x.x, transform.y.x, transform.origin.x],
			[transform.x.y, transform.y.y, transform.origin.y]
		],
		"classes": packed,
	}
	var case: Dictionary = {
		"format": "navserver case",
		"version": 1,
		"map": map,
		"query": {"start": query["start"], "goal": query["goal"]},
		"options": _write_options(world, query),
	}
	# A case records what a whole search has found.
	if answer != null and answer.problem.is_empty() and not answer.is_coarse:
		case["result"] = {"status": answer.status, "cost": _write_cost(answer.cost)}
	return JSON.stringify(case, "  ", false, true) + "\n"


## JSON has no infinity.
static func _write_cost(cost: float) -> Variant:
	if cost == INF:
		return "inf"
	return cost


static func _write_options(world: WorldState, query: Dictionary) -> Dictionary:
	var costs: Dictionary = {}
	var profile: String = query["profile"]
	var table: PackedFloat32Array = world.profiles.get(profile, PackedFloat32Array())
	for class_id: int in mini(table.size(), 255):
		if table[class_id] != 1.0:
			costs[str(class_id)] = _write_cost(table[class_id])
	var mode: int = query["diagonal_mode"]
	var options: Dictionary = {
		"algorithm": query["algorithm"],
		"profile": {"default": 1.0, "costs": costs},
		"diagonal_mode": _DIAGONAL_MODES[mode],
		"size": query["size"],
		"inexact": query["inexact"],
		"allow_partial": query["allow_partial"],
	}
	for name: String in ["heuristic", "weight", "max_expansions"]:
		if name in query:
			options[name] = query[name]
	return options
