from __future__ import annotations

from typing import Any

import pytest

from navserver.search.astar import AStar
from navserver.search.grid import Grid
from navserver.search.heuristics import Heuristic
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.search.profile import Profile
from navserver.service.requests import (
    Outcome,
    PathRequest,
    QueryRequest,
    SearchOptions,
    Used,
    detail_words,
)
from navserver.status import Detail, InputError, Status


def test_outcomes_begin_with_the_statuses_of_searches() -> None:
    assert [(o.name, int(o)) for o in Outcome][: len(Status)] == [
        (status.name, int(status)) for status in Status
    ]
    assert Outcome.DEADLINE.word == "deadline"
    assert Used.COALESCED.word == "coalesced"
    assert detail_words(Detail.GOAL_BLOCKED | Detail.COST_LIMIT) == ("goal_blocked", "cost_limit")
    assert detail_words(0) == ()


def test_equal_options_are_one_key() -> None:
    one = SearchOptions(Movement(Profile({1: 2.0}), overlays={"fog": 1}), weight=2)
    other = SearchOptions(Movement(Profile({1: 2.0}), overlays={"fog": 1.0}), weight=2.0)
    assert one == other
    assert hash(one) == hash(other)
    assert one != SearchOptions(Movement(Profile({1: 3.0}), overlays={"fog": 1}), weight=2)
    assert one != "options"


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("weight", {"weight": 0.5}),
        ("weight", {"weight": float("nan")}),
        ("heuristic", {"heuristic": 9}),
        ("heuristic", {"heuristic": Heuristic.MANHATTAN}),
        ("max_expansions", {"max_expansions": 0}),
        ("max_cost", {"max_cost": -1.0}),
        ("movement", {"movement": None}),
    ],
)
def test_options_are_checked(field: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        SearchOptions(**options)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(),
        SearchOptions(weight=2.0),
        SearchOptions(heuristic=Heuristic.ZERO, weight=2.0),
        SearchOptions(heuristic=Heuristic.MANHATTAN, inexact=True),
        SearchOptions(
            Movement(diagonal_mode=DiagonalMode.NEVER, size=2), allow_partial=True, max_cost=9.0
        ),
    ],
)
def test_options_are_those_of_a_search(options: SearchOptions) -> None:
    search = AStar(Grid.filled(4, 4), **options.keywords())
    assert search.suboptimality == options.suboptimality


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", 101),
        ("priority", 0.5),
        ("deadline_ms", -1.0),
        ("deadline_ms", float("inf")),
        ("deadline_ms", 1e9),
        ("trace_capacity", 0),
        ("trace_capacity", 1 << 21),
    ],
)
def test_requests_are_checked(field: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        PathRequest("me", 1, "map", **{field: value})
    assert caught.value.field == field
    if field != "trace_capacity":
        with pytest.raises(InputError):
            QueryRequest("me", 1, "map", **{field: value})
