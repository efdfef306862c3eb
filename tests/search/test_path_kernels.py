"""Whole searches in slices and with outputs that grow."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import AStar
from navserver.search.engine import CANONICAL
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import SearchTrace
from tests import engines as eng
from tests import strategies as sts
from tests.engines import (
    assert_same,
    assert_same_trace,
    each_engine,
    queries_for,
)


@each_engine
@given(data=st.data())
def test_slices_and_growth_change_nothing(engine: int, data: st.DataObject) -> None:
    query = data.draw(queries_for(engine))
    heuristic = st.sampled_from(Heuristic)
    if engine >= CANONICAL:
        heuristic = heuristic.filter(lambda value: value != Heuristic.EUCLIDEAN)
    options = {
        **query.options(),
        "heuristic": data.draw(heuristic),
        "inexact": True,
        "weight": data.draw(st.sampled_from((1.0, 2.5, 4.0))),
        "allow_partial": data.draw(st.booleans()),
        "max_expansions": data.draw(st.none() | st.integers(1, 200)),
    }
    grid = sts.grid_of(query.model)
    ends = (query.start, query.goal)
    whole_trace, sliced_trace, small_trace = (SearchTrace(5000) for _ in range(3))
    changes: Any = query.changes()
    with eng.forced(engine):
        plain = AStar(grid, **options).find_path(*ends, **changes)
        whole = AStar(grid, **options).find_path(*ends, trace=whole_trace, **changes)
        budgets = data.draw(
            st.sampled_from(([1], [2], [3], [1, 2, 50]))
            | st.lists(st.integers(1, 40), min_size=1, max_size=6)
        )
        sliced = eng.slices_of(
            AStar(grid, **options), itertools.cycle(budgets), *ends, trace=sliced_trace, **changes
        )
        with eng.tiny_open_lists():
            search = AStar(grid, **options)
            small = search.find_path(*ends, **changes)
            again = eng.slices_of(
                AStar(grid, **options),
                itertools.cycle(budgets),
                *ends,
                trace=small_trace,
                **changes,
            )
            repeated = search.find_path(*ends, **changes)
    for other in (plain, sliced, small, again, repeated):
        assert_same(other, whole)
    assert_same_trace(sliced_trace, whole_trace)
    assert_same_trace(small_trace, whole_trace)
