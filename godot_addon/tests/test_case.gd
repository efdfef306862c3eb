extends RefCounted
## What every file of tests extends: its methods named test_* are run, each on a new object.
##
## A test fails by a check that does not hold, and by any error or warning that the engine reports
## meanwhile, unless [method expect_errors] told so. Tests may await.

## KEY=VALUE arguments of the run.
var parameters: Dictionary[String, String] = {}
## The running tree, for tests that need nodes and frames.
var tree: SceneTree = null
## What did not hold.
var failures: PackedStringArray = PackedStringArray()
## A test that takes longer does not come to its end any more.
var limit_seconds: float = 180.0
## How many errors of the engine are part of the test.
var expected_errors: int = 0

var _nodes: Array[Node] = []


## Runs before each test.
func before_each() -> void:
	pass


## Runs after each test, a failed one too.
func after_each() -> void:
	pass


## Returns a parameter of the run as a number.
func get_number(name: String, default: int) -> int:
	return parameters[name].to_int() if name in parameters else default


## Adds a node to the tree; it is freed when the test is over.
func add_node(node: Node) -> void:
	_nodes.append(node)
	tree.root.add_child(node)


## Frees what [method add_node] added.
func free_nodes() -> void:
	for node: Node in _nodes:
		if is_instance_valid(node):
			node.free()
	_nodes.clear()


## Says that exactly so many errors or warnings of the engine are expected.
func expect_errors(count: int) -> void:
	expected_errors = count


## Waits until [param condition] holds, for [param seconds] at most; it has to.
func wait_until(condition: Callable, seconds: float = 60.0, what: String = "") -> bool:
	var deadline: int = Time.get_ticks_msec() + int(seconds * 1000.0)
	while not condition.call():
		if Time.get_ticks_msec() > deadline:
			fail("waited %.1f s in vain %s" % [seconds, what])
			return false
		await tree.process_frame
	return true


## Fails the test.
func fail(message: String) -> void:
	var place: String = "?"
	for frame: Dictionary in get_stack():
		if not str(frame["source"]).ends_with("test_case.gd"):
			place = "%s:%s" % [frame["source"], frame["line"]]
			break
	failures.append("%s: %s" % [place, message])


## Holds if the condition does.
func check(condition: bool, message: String = "does not hold") -> void:
	if not condition:
		fail(message)


## Holds if both are equal and of one type.
func check_equal(actual: Variant, expected: Variant, message: String = "") -> void:
	if typeof(actual) != typeof(expected) or actual != expected:
		fail("%s is %s, not %s" % [message, var_to_str(actual), var_to_str(expected)])


## Holds if both numbers differ by at most [param tolerance].
func check_near(actual: float, expected: float, tolerance: float, message: String = "") -> void:
	if not absf(actual - expected) <= tolerance:
		fail("%s is %s, not %s within %s" % [message, actual, expected, tolerance])


## Holds if the text contains the part.
func check_contains(text: String, part: String) -> void:
	if not text.contains(part):
		fail("%s does not contain %s" % [var_to_str(text), var_to_str(part)])
