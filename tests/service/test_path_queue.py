from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from navserver.service.path_queue import Lane, PathQueue
from navserver.status import InputError


@dataclass(eq=False)
class Item:
    client: Any
    order: int
    priority: int = 0
    deadline: float = math.inf
    is_gone: bool = False
    is_waiting: bool = False


def queue(**bounds: Any) -> PathQueue[Item]:
    known: dict[str, Any] = {"max_rows": 1000, "max_rows_a_client": 1000, "quantum": 10.0}
    return PathQueue(**{**known, "max_scratch": 100, **bounds})


def enter(waiting: PathQueue[Item], item: Item, lane: Lane = Lane.SHORT) -> Item:
    assert waiting.admit(item.client, 1)
    waiting.put(item, lane)
    return item


def taken(waiting: PathQueue[Item], lanes: Lane = Lane.ALL) -> Item:
    found = waiting.take(lanes)
    assert found is not None
    return found[0]


def test_within_a_client_priority_then_deadline_then_arrival() -> None:
    waiting = queue()
    last = enter(waiting, Item("a", 1))
    later = enter(waiting, Item("a", 2, deadline=9.0))
    soon = enter(waiting, Item("a", 3, deadline=5.0))
    first = enter(waiting, Item("a", 4, priority=1))
    assert [taken(waiting) for _ in range(4)] == [first, soon, later, last]
    assert waiting.take(Lane.ALL) is None


def test_short_and_long_requests_of_a_client_take_turns() -> None:
    waiting = queue()
    for order in range(3):
        enter(waiting, Item("a", order), Lane.SHORT)
        enter(waiting, Item("a", 10 + order), Lane.GO_ON)
    lanes = [found[1] for found in (waiting.take(Lane.ALL) for _ in range(6)) if found]
    assert lanes == [Lane.SHORT, Lane.GO_ON] * 3


def test_only_the_lanes_asked_for_are_served() -> None:
    waiting = queue()
    enter(waiting, Item("a", 1), Lane.WHOLE)
    assert waiting.take(Lane.SLICED) is None
    assert not waiting.has(Lane.SLICED)
    assert waiting.has(Lane.WHOLE)
    assert taken(waiting, Lane.WHOLE).order == 1


@pytest.mark.parametrize("costs", [(1.0, 1.0, 1.0), (1.0, 7.0, 30.0), (100.0, 1.0, 12.0)])
def test_clients_share_work_not_requests(costs: tuple[float, ...]) -> None:
    waiting = queue()
    cost = dict(zip("abc", costs, strict=True))
    order = 0
    for client in cost:
        for _ in range(3):
            order += 1
            enter(waiting, Item(client, order))
    done = dict.fromkeys(cost, 0.0)
    for _ in range(4000):
        item = taken(waiting)
        done[item.client] += cost[item.client]
        waiting.charge(item.client, cost[item.client])
        waiting.put(item, Lane.SHORT)
    # The bound of deficit round robin: one unit and one quantum apart.
    assert max(done.values()) - min(done.values()) <= 2 * (max(costs) + 10.0)


def test_a_client_that_comes_late_waits_for_one_unit_at_most() -> None:
    waiting = queue()
    flood = enter(waiting, Item("flood", 1))
    for order in range(2, 40):
        enter(waiting, Item("flood", order))
    for _ in range(20):
        item = taken(waiting)
        waiting.charge("flood", 1000.0)
        waiting.put(item, Lane.SHORT)
    late = enter(waiting, Item("late", 99))
    assert taken(waiting) is late
    assert flood.is_waiting


def test_of_many_that_ask_again_once_they_are_answered_nobody_is_overtaken() -> None:
    waiting = queue()
    clients = 30
    for order in range(clients):
        enter(waiting, Item(order, order))
    served = dict.fromkeys(range(clients), 0)
    for turn in range(20 * clients):
        item = taken(waiting)
        waiting.charge(item.client, 1.0)
        waiting.release(item.client, 1)
        served[item.client] += 1
        enter(waiting, Item(item.client, clients + turn))
    assert set(served.values()) == {20}


def test_newcomers_come_before_those_that_have_had_their_first_quantum() -> None:
    waiting = queue()
    for name in ("old", "older"):
        for order in range(5):
            enter(waiting, Item(name, order))
    for _ in range(4):
        waiting.charge(taken(waiting).client, 11.0)
    for name in ("new", "newer"):
        enter(waiting, Item(name, 9))
    assert [taken(waiting).client for _ in range(2)] == ["new", "newer"]
    waiting.release("new", 1)
    # Gone, it comes anew, behind whoever has come meanwhile.
    enter(waiting, Item("newest", 10))
    enter(waiting, Item("new", 11))
    assert [taken(waiting).client for _ in range(2)] == ["newest", "new"]
    assert taken(waiting).client in ("old", "older")


def test_bounds_count_what_is_pending_not_what_waits() -> None:
    waiting = queue(max_rows=5, max_rows_a_client=3)
    assert waiting.admit("a", 3)
    assert not waiting.admit("a", 1)
    assert not waiting.admit("b", 3)
    assert waiting.admit("b", 2)
    waiting.release("a", 1)
    assert waiting.admit("b", 1)
    assert waiting.n_rows == 5


def test_scratch_is_lent_to_a_client_up_to_half() -> None:
    waiting = queue(max_scratch=100)
    for order in range(3):
        enter(waiting, Item("a", order), Lane.BEGIN)
    enter(waiting, Item("b", 9), Lane.BEGIN)
    waiting.lend("a", 50)
    assert taken(waiting).client == "b"
    waiting.lend("b", 60)
    assert waiting.take(Lane.ALL) is None
    enter(waiting, Item("c", 10), Lane.BEGIN)
    assert taken(waiting).client == "c"
    waiting.lend("a", -50)
    assert taken(waiting).client == "a"


def test_entries_that_are_gone_do_not_pile_up() -> None:
    waiting = queue()
    kept = enter(waiting, Item("a", 0, deadline=0.0))
    for order in range(1, 900):
        item = enter(waiting, Item("a", order))
        item.is_gone = True
        waiting.note_gone(item)
    held = sum(len(heap) for c in waiting._clients.values() for heap in c.lanes.values())
    assert held < 200
    assert len(waiting) == 1
    assert taken(waiting) is kept


def test_bounds_must_be_counts() -> None:
    with pytest.raises(InputError, match="max_rows"):
        queue(max_rows=0)


class Queueing(RuleBasedStateMachine):
    """No entry is lost, none comes twice, and who waits is served."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = queue(max_rows=30, max_rows_a_client=12)
        self.waiting: dict[Item, Lane] = {}
        self.at_work: dict[Item, Lane] = {}
        self.order = 0

    @rule(
        client=st.sampled_from("abc"),
        priority=st.integers(-1, 1),
        deadline=st.sampled_from([math.inf, 1.0, 2.0]),
        lane=st.sampled_from([Lane.SHORT, Lane.GO_ON, Lane.WHOLE]),
    )
    def enter(self, client: str, priority: int, deadline: float, lane: Lane) -> None:
        self.order += 1
        item = Item(client, self.order, priority, deadline)
        mine = [i for i in (*self.waiting, *self.at_work) if i.client == client]
        fits = len(mine) < 12 and len(self.waiting) + len(self.at_work) < 30
        assert self.queue.admit(client, 1) == fits
        if fits:
            self.queue.put(item, lane)
            self.waiting[item] = lane

    @rule(lanes=st.sampled_from([Lane.ALL, Lane.SLICED, Lane.WHOLE, Lane.SHORT]))
    def take(self, lanes: Lane) -> None:
        found = self.queue.take(lanes)
        fit = {item for item, lane in self.waiting.items() if lane & lanes}
        assert (found is None) == (not fit)
        if found is None:
            return
        item, lane = found
        assert self.waiting.pop(item) == lane
        rivals = [i for i in fit if i.client == item.client and i is not item]
        assert all(item.priority >= rival.priority for rival in rivals)
        self.at_work[item] = lane
        self.queue.charge(item.client, 7.0)

    @precondition(lambda self: self.at_work)
    @rule(is_done=st.booleans())
    def complete(self, *, is_done: bool) -> None:
        item, lane = self.at_work.popitem()
        if is_done:
            item.is_gone = True
            self.queue.release(item.client, 1)
        else:
            self.queue.put(item, lane)
            self.waiting[item] = lane

    @precondition(lambda self: self.waiting)
    @rule()
    def withdraw(self) -> None:
        item, _ = self.waiting.popitem()
        item.is_gone = True
        self.queue.release(item.client, 1)
        self.queue.note_gone(item)

    @invariant()
    def counts_agree(self) -> None:
        assert self.queue.n_rows == len(self.waiting) + len(self.at_work)
        assert set(self.queue) == set(self.waiting)
        assert len(self.queue) == len(self.waiting)


TestQueueing = Queueing.TestCase
