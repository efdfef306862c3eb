"""Routes: what is assigned comes back, however often the pool is packed anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.movers import routes
from navserver.movers.columns import Columns
from navserver.movers.routes import Routes
from navserver.status import InputError

ROWS = 6


@given(
    st.lists(
        st.one_of(
            st.tuples(
                st.just("assign"),
                st.lists(
                    st.tuples(st.integers(0, ROWS - 1), st.integers(0, 90)),
                    unique_by=lambda pair: pair[0],
                ),
            ),
            st.tuples(st.just("drop"), st.lists(st.integers(0, ROWS - 1), unique=True)),
            st.tuples(st.just("pass"), st.integers(0, ROWS - 1)),
        ),
        max_size=30,
    )
)
def test_routes_stay_what_they_are(actions: list[tuple[str, object]]) -> None:
    columns = Columns.of(ROWS)
    table = Routes(columns)
    known: dict[int, list[list[float]]] = {row: [] for row in range(ROWS)}
    number = 0
    for action, what in actions:
        if action == "assign":
            assert isinstance(what, list)
            rows = np.array([row for row, _ in what], np.int64)
            counts = [count for _, count in what]
            total = sum(counts)
            points = np.arange(number, number + 2 * total, dtype=np.float32).reshape(-1, 2)
            number += 2 * total
            offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            table.assign(rows, points, offsets)
            for i, row in enumerate(rows.tolist()):
                known[row] = points[offsets[i] : offsets[i + 1]].tolist()
        elif action == "drop":
            assert isinstance(what, list)
            table.drop(np.array(what, np.int64))
            for row in what:
                known[row] = []
        else:
            assert isinstance(what, int)
            if known[what]:
                columns.path_next[what] += 1
                known[what] = known[what][1:]
        for row in range(ROWS):
            assert table.remaining(row).tolist() == known[row]
    assert table.used <= len(table.pool)


def test_garbage_does_not_let_the_pool_grow() -> None:
    columns = Columns.of(2)
    table = Routes(columns)
    rows, offsets = np.array([0, 1]), np.array([0, 20, 40])
    points = np.ones((40, 2), np.float32)
    for _ in range(1000):
        table.assign(rows, points, offsets)
    assert len(table.pool) == 256
    # The route in use and the new one are both kept while it is replaced.
    assert table.used <= 256


def test_packing_keeps_what_is_passed() -> None:
    columns = Columns.of(2)
    table = Routes(columns)
    points = np.arange(200, dtype=np.float32).reshape(-1, 2)
    table.assign(np.array([0]), points, np.array([0, 100]))
    columns.path_next[0] += 40
    table.assign(np.array([1]), np.zeros((200, 2), np.float32), np.array([0, 200]))
    assert columns.path_next[0] - columns.path_begin[0] == 40
    begin, end = columns.path_begin[0], columns.path_end[0]
    assert table.pool[begin:end].tolist() == points.tolist()


def test_too_many_waypoints_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_WAYPOINTS", 300)
    table = Routes(Columns.of(1))
    table.assign(np.array([0]), np.zeros((300, 2), np.float32), np.array([0, 300]))
    assert len(table.pool) == 300
    with pytest.raises(InputError, match="too many"):
        table.assign(np.array([0]), np.zeros((301, 2), np.float32), np.array([0, 301]))
