"""Workers: rows are shared out without gaps, whatever the threads."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.movers.workers import GRAIN, MOST_THREADS, Workers
from navserver.status import InputError


@given(st.integers(0, 20 * GRAIN), st.integers(1, 5), st.integers(1, 3 * GRAIN))
def test_each_row_is_called_for_once(rows: int, threads: int, worthwhile: int) -> None:
    ranges: list[tuple[int, int]] = []

    def call(first: int, last: int) -> int:
        ranges.append((first, last))
        return last - first

    workers = Workers(threads)
    assert workers.run(call, rows, worthwhile) == rows
    workers.close()
    ranges.sort()
    assert ranges[0][0] == 0
    assert ranges[-1][1] == rows
    assert all(one[1] == other[0] for one, other in pairwise(ranges))
    assert len(ranges) <= threads
    assert all(last - first >= worthwhile for first, last in ranges[:-1])


def test_large_work_is_shared_and_small_work_stays() -> None:
    caller = threading.current_thread()
    seen: set[threading.Thread] = set()
    barrier = threading.Barrier(2, timeout=30)

    def meet(*_: int) -> int:
        seen.add(threading.current_thread())
        barrier.wait()
        return 0

    workers = Workers(2)
    workers.run(meet, 2 * GRAIN, GRAIN)
    assert len(seen) == 2
    assert caller in seen
    seen.clear()
    barrier = threading.Barrier(1)
    workers.run(meet, 2 * GRAIN - 1, GRAIN)
    assert seen == {caller}
    workers.close()
    workers.close()


def test_an_error_of_another_thread_comes_out() -> None:
    def fail(first: int, _: int) -> int:
        if first:
            raise RuntimeError("in a thread")
        return 0

    workers = Workers(2)
    with pytest.raises(RuntimeError, match="in a thread"):
        workers.run(fail, 2 * GRAIN, GRAIN)
    workers.close()


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_threads_are_a_count(threads: object) -> None:
    with pytest.raises(InputError, match="threads"):
        Workers(threads)  # type: ignore[arg-type]


def test_threads_are_bounded() -> None:
    assert Workers(10**9).threads == MOST_THREADS
    assert Workers().threads >= 1
