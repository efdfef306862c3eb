"""One property over any order of what can happen: every request is answered exactly once."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.service import path_tickets
from navserver.service.path_queue import Lane
from navserver.service.requests import (
    BatchRequest,
    Outcome,
    PathRequest,
    QueryRequest,
    SearchOptions,
)
from navserver.service.scheduler import Scheduler
from navserver.service.work import BundleUnit
from navserver.service.worlds import Worlds

SIDE = 12
CELLS = st.tuples(st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))
CLIENTS = st.sampled_from(["a", "b", "c"])
DEADLINES = st.sampled_from([None, None, 2.0, 10.0])
OPTIONS = st.sampled_from(
    [SearchOptions(), SearchOptions(islands=False), SearchOptions(allow_partial=True)]
)
MAX_ROWS, MAX_ROWS_A_CLIENT = 60, 30
MAY_END_EARLY = {Outcome.CANCELLED, Outcome.DEADLINE, Outcome.SUPERSEDED, Outcome.OVERLOADED}


class Scheduling(RuleBasedStateMachine):
    """Requests, edits, units at work on several threads, cancels and deadlines in any order."""

    @initialize(seed=st.integers(0, 99), trial=st.sampled_from([1, 8, 2048]))
    def begin(self, seed: int, trial: int) -> None:
        random = np.random.default_rng(seed)
        # Also bundles and first tries that end at once.
        self.trial = path_tickets.TRIAL_EXPANSIONS
        path_tickets.TRIAL_EXPANSIONS = trial
        self.worlds = Worlds()
        grid = Grid.from_blocked(random.random((SIDE, SIDE)) < 0.25)
        self.world = self.worlds.add("map", grid)
        self.maps = {1: grid.copy()}
        self.scheduler = Scheduler(
            self.worlds,
            max_rows=MAX_ROWS,
            max_rows_a_client=MAX_ROWS_A_CLIENT,
            slice_seconds=1e-9,  # slices of the least size
            max_scratch=40 * SIDE * SIDE,  # two long searches at a time
        )
        self.now = 0.0
        self.number = 0
        self.pending: dict[int, Any] = {}
        self.at_work: list[Any] = []

    def teardown(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        path_tickets.TRIAL_EXPANSIONS = self.trial
        for unit in self.at_work:
            self.end(unit)
        self.take(self.scheduler.tick(self.now))
        assert self.pending == {}
        statistics = self.scheduler.statistics()
        for name in ("pending_rows", "waiting", "at_work", "search_scratch_bytes"):
            assert statistics[name] == 0
        assert self.world.replicas.pin().pins == 1
        assert self.world.replicas.count <= 3
        assert not self.scheduler._ledger.jobs
        assert not self.scheduler._ledger.agents

    def submit(self, request: Any) -> None:
        self.pending[self.number] = (request, self.world.version)
        self.scheduler.submit(request, self.now)

    def header(self, client: str, priority: int, deadline: float | None) -> dict[str, Any]:
        self.number += 1
        return {
            "client": client, "request_id": self.number, "world": "map", "priority": priority,
            "deadline_ms": deadline,
        }  # fmt: skip

    @rule(
        client=CLIENTS, priority=st.integers(-1, 1), deadline=DEADLINES, options=OPTIONS,
        start=CELLS, goal=CELLS, agent=st.sampled_from([None, None, 1, 2]),
        trace=st.sampled_from([None, None, None, 5]),
    )  # fmt: skip
    def ask_path(
        self, client: str, priority: int, deadline: float | None, options: SearchOptions,
        start: Any, goal: Any, agent: int | None, trace: int | None,
    ) -> None:  # fmt: skip
        header = self.header(client, priority, deadline)
        self.submit(
            PathRequest(
                **header, start=start, goal=goal, options=options, agent=agent, trace_capacity=trace
            )
        )

    @rule(
        client=CLIENTS, deadline=DEADLINES, options=OPTIONS,
        starts=st.lists(CELLS, min_size=1, max_size=20), goal=CELLS,
    )  # fmt: skip
    def ask_batch(
        self, client: str, deadline: float | None, options: SearchOptions, starts: Any, goal: Any
    ) -> None:
        header = self.header(client, 0, deadline)
        self.submit(BatchRequest(**header, starts=starts, goals=goal, options=options))

    @rule(client=CLIENTS, deadline=DEADLINES, start=CELLS, goal=CELLS)
    def ask_question(self, client: str, deadline: float | None, start: Any, goal: Any) -> None:
        header = self.header(client, 0, deadline)
        arguments = {"start": start, "goal": goal}
        self.submit(QueryRequest(**header, question="what_opens", arguments=arguments))

    @rule(lanes=st.sampled_from([Lane.ALL, Lane.SHORT, Lane.SLICED, Lane.WHOLE]))
    def take_unit(self, lanes: Lane) -> None:
        unit = self.scheduler.take_work(self.now, lanes)
        if unit is not None:
            self.at_work.append(unit)

    @precondition(lambda self: self.at_work)
    @rule(data=st.data(), seconds=st.sampled_from([0.0, 1e-3]))
    def end_unit(self, data: st.DataObject, seconds: float) -> None:
        i = data.draw(st.integers(0, len(self.at_work) - 1))
        self.now += seconds
        self.end(self.at_work.pop(i))

    def end(self, unit: Any) -> None:
        unit.run()
        if isinstance(unit, BundleUnit):
            assert len(unit.ends) <= 64
        self.scheduler.complete(unit, self.now)

    @rule(seconds=st.sampled_from([1e-3, 5e-3]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        if self.scheduler.next_deadline() <= self.now:
            self.scheduler.expire(self.now)
        assert self.scheduler.next_deadline() > self.now or self.scheduler._ledger._urgent

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.pending)))
        self.scheduler.cancel(self.pending[number][0].client, number, self.now)

    @rule(client=CLIENTS)
    def drop_client(self, client: str) -> None:
        self.scheduler.drop_client(client, self.now)

    @rule(cells=st.lists(CELLS, min_size=1, max_size=3), value=st.sampled_from([0, 0, 255]))
    def edit(self, cells: Any, value: int) -> None:
        version = self.world.set_cells(cells, value).version
        grid = self.maps[version - 1].copy()
        grid.set_cells(cells, value)
        self.maps[version] = grid

    @rule()
    def take_replies(self) -> None:
        self.take(self.scheduler.take_replies())

    def take(self, replies: list[Any]) -> None:
        for reply in replies:
            request, version = self.pending.pop(reply.request_id)
            assert reply.client == request.client
            assert reply.timing.waiting >= 0.0 <= reply.timing.searching
            if reply.outcome in MAY_END_EARLY:
                continue
            # Who asks after an edit is told what is true after it.
            assert reply.map_version >= version
            if isinstance(request, PathRequest):
                self.check_path(request, reply)
            elif isinstance(request, BatchRequest):
                self.check_batch(request, reply)
            else:
                assert reply.outcome == Outcome.DONE

    def check_path(self, request: PathRequest, reply: Any) -> None:
        grid = self.maps[reply.map_version]
        partial = request.options.allow_partial
        expected = find_path(grid, request.start, request.goal, allow_partial=partial)
        if reply.outcome == Outcome.PARTIAL and request.deadline_ms is not None:
            return  # perhaps of a search that its deadline has ended
        assert reply.outcome == expected.status
        assert abs(reply.result.cost - expected.cost) <= 1e-9 or reply.result.cost == expected.cost

    def check_batch(self, request: BatchRequest, reply: Any) -> None:
        assert reply.outcome == Outcome.DONE
        grid = self.maps[reply.map_version]
        for i, start in enumerate(request.starts):  # type: ignore[arg-type]
            partial = request.options.allow_partial
            expected = find_path(grid, start, request.goals, allow_partial=partial)
            assert reply.status[i] == expected.status
            assert len(reply.path(i)) == 0 or reply.path(i)[0].tolist() == list(start)
            assert np.isclose(reply.cost[i], expected.cost, rtol=1e-9)

    @invariant()
    def bounds_hold(self) -> None:
        if hasattr(self, "scheduler"):
            statistics = self.scheduler.statistics()
            assert statistics["pending_rows"] <= MAX_ROWS
            assert statistics["at_work"] == len(self.at_work)
            # Each long search at work or waiting holds one version, and so does each unit.
            assert self.world.replicas.count <= len(self.at_work) + len(self.pending) + 3


TestScheduling = Scheduling.TestCase
TestScheduling.settings = settings(
    max_examples=settings().max_examples // 4, stateful_step_count=40
)
