@tool
extends RefCounted
## Asks for one pair, the newest wish first: never more than one search is on its way.
##
## What waits is replaced by what is wished later. While [member is_hurried] a search is cut short
## and answered by how far it came; if nothing newer is wished by then, the whole follows.

## There is an answer, or more of it.
signal answered

const Message := preload("../internal/message.gd")
const PreviewAnswer := preload("preview_answer.gd")
const SidecarBackend := preload("../internal/sidecar_backend.gd")

## Expansions of a search that is cut short.
const COARSE: int = 30_000

## The newest answer; null before the first.
var answer: PreviewAnswer = null
## Answers have to come soon, as while a marker is dragged.
var is_hurried: bool = false

var _backend: SidecarBackend = null
# Fields of the search that is wished; what was answered or sent last.
var _wish: Dictionary = {}
var _asked: Dictionary = {}
var _is_cut: bool = false
# Id of the search on its way; 0 if there is none.
var _id: int = 0
# Counts wishes, so that late answers of side questions are known.
var _round: int = 0


## Takes who answers; null is nobody for now. What is on its way is forgotten and asked anew.
func set_backend(backend: SidecarBackend) -> void:
	_backend = backend
	_id = 0
	_asked = {}
	_round += 1
	_go_on()


## Wishes for a search by the fields of the message explore.
func wish(fields: Dictionary) -> void:
	_wish = fields
	_go_on()


## Asks again: the map has changed.
func renew() -> void:
	_asked = {}
	_go_on()


## Tells whether the newest wish has its whole answer.
func is_settled() -> bool:
	return _id == 0 and _asked == _wish and answer != null and not answer.is_coarse


## Tells whether no search is on its way.
func is_idle() -> bool:
	return _id == 0


## Gives up.
func cancel() -> void:
	_wish = {}
	if _id != 0 and _backend != null:
		_backend.withdraw(_id)
	_id = 0
	_asked = {}
	_round += 1


func _go_on() -> void:
	if _backend == null or _wish.is_empty():
		return
	if _id != 0:
		# A whole search may take long; the answer to its end makes room for the newest wish.
		if not _is_cut and _asked != _wish:
			_backend.withdraw(_id)
		return
	if _wish == _asked and (answer == null or not answer.is_coarse):
		return
	var limit: int = _wish.get("max_expansions", COARSE)
	_is_cut = is_hurried and limit >= COARSE and _wish != _asked
	_round += 1
	_asked = _wish
	var message: Message = Message.new("explore")
	message.header.merge(_wish)
	if _is_cut:
		message.header["max_expansions"] = COARSE
	_id = _backend.ask(message, _take.bind(_round))


func _take(reply: Message, of_round: int) -> void:
	if of_round != _round:
		return
	_id = 0
	var status: String = reply.get_text("status")
	if status in ["cancelled", "world_removed", "overloaded", "deadline", "superseded"]:
		# Asked again at once if it was withdrawn for a newer wish, else with the next one.
		if _asked != _wish:
			_go_on()
		else:
			_asked = {}
		return
	answer = PreviewAnswer.new(reply, _asked, _is_cut)
	answered.emit()
	if _asked != _wish or answer.is_coarse:
		_go_on()
	elif answer.is_blocked():
		_ask_around()


## Asks what could be done where there is no way.
func _ask_around() -> void:
	var nearest: Message = _make_side_question("nearest")
	nearest.header["cell"] = _asked["goal"]
	nearest.header["start"] = _asked["start"]
	_backend.ask(nearest, _take_nearest.bind(_round))
	var openings: Message = _make_side_question("what_opens")
	openings.header["start"] = _asked["start"]
	openings.header["goal"] = _asked["goal"]
	_backend.ask(openings, _take_openings.bind(_round))


func _make_side_question(type: String) -> Message:
	var message: Message = Message.new(type)
	for field: String in ["world", "profile", "diagonal_mode", "size"]:
		message.header[field] = _asked[field]
	return message


func _take_nearest(reply: Message, of_round: int) -> void:
	if of_round == _round and reply.get_text("status") == "found":
		answer.nearest = reply.find_cell("cell")
		answered.emit()


func _take_openings(reply: Message, of_round: int) -> void:
	if of_round == _round and reply.get_text("status") == "ok":
		answer.openings = reply.get_int32s("cells")
		answered.emit()
