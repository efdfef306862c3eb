"""What a result says of itself, for every status."""

from __future__ import annotations

import numpy as np
import pytest

from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.search.nodes import CancelFlag
from navserver.search.results import PathResult
from navserver.status import Detail, NoPathError, Status

# row 0: open; the wall at x = 2 of row 1 leaves a way round; x = 5 is shut in
GRID = Grid(np.array([[0, 0, 0, 0, 255, 0], [0, 0, 255, 0, 255, 255]], np.uint8))


def set_flag() -> CancelFlag:
    flag = CancelFlag()
    flag.set()
    return flag


RESULTS = {
    Status.FOUND: find_path(GRID, (0, 0), (3, 1)),
    Status.PARTIAL: find_path(GRID, (0, 0), (5, 0), allow_partial=True),
    Status.UNREACHABLE: find_path(GRID, (0, 0), (5, 0)),
    Status.START_BLOCKED: find_path(GRID, (2, 1), (0, 0)),
    Status.GOAL_BLOCKED: find_path(GRID, (0, 0), (2, 1)),
    Status.LIMIT: find_path(GRID, (0, 0), (3, 1), max_expansions=1),
    Status.CANCELLED: find_path(GRID, (0, 0), (3, 1), cancel=set_flag()),
}


@pytest.mark.parametrize("status", Status)
def test_status_and_found_agree(status: Status) -> None:
    result = RESULTS[status]
    assert result.status is status
    assert result.found is (status is Status.FOUND)


@pytest.mark.parametrize("status", Status)
def test_cells_cost_and_length_go_together(status: Status) -> None:
    result = RESULTS[status]
    has_path = status in {Status.FOUND, Status.PARTIAL}
    assert result.cells.dtype == np.int32
    assert result.cells.shape == (len(result.cells), 2)
    assert (len(result.cells) > 0) is has_path
    assert np.isfinite(result.cost) == np.isfinite(result.length) == has_path


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (Status.PARTIAL, "no path from (0, 0) to (5, 0): partial (unreachable)"),
        (Status.UNREACHABLE, "no path from (0, 0) to (5, 0): unreachable"),
        (Status.START_BLOCKED, "no path from (2, 1) to (0, 0): start_blocked"),
        (Status.GOAL_BLOCKED, "no path from (0, 0) to (2, 1): goal_blocked"),
        (Status.LIMIT, "no path from (0, 0) to (3, 1): limit (expansion_limit)"),
        (Status.CANCELLED, "no path from (0, 0) to (3, 1): cancelled"),
    ],
)
def test_raising_names_ends_status_and_reason(status: Status, says: str) -> None:
    with pytest.raises(NoPathError) as caught:
        RESULTS[status].raise_for_status()
    assert str(caught.value) == says


def test_a_found_path_raises_nothing() -> None:
    RESULTS[Status.FOUND].raise_for_status()


def test_details_say_why() -> None:
    assert RESULTS[Status.FOUND].detail == Detail.NONE
    assert RESULTS[Status.PARTIAL].detail == Detail.UNREACHABLE
    assert RESULTS[Status.LIMIT].detail == Detail.EXPANSION_LIMIT


def test_a_result_cannot_be_changed() -> None:
    result: PathResult = RESULTS[Status.FOUND]
    with pytest.raises(AttributeError):
        result.cost = 0.0  # type: ignore[misc]
