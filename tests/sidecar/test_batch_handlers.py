from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.wire.client_session import Answer
from navserver.wire.errors import WireError
from navserver.wire.questions import (
    Question,
    create_world,
    edit_world,
    find_path,
    find_paths,
    set_profile,
)
from tests.sidecar.direct import Direct

RANDOM = np.random.default_rng(6)
CLASSES = np.where(RANDOM.random((10, 10)) < 0.2, 255, 0).astype(np.uint8)
SWIMMER = np.full(256, 2.0, np.float32)


def city() -> Direct:
    direct = Direct()
    direct.ask(create_world("w", CLASSES))
    direct.ask(set_profile("w", "swimmer", SWIMMER))
    return direct


def cancel(target: int, rows: list[int] | None = None) -> Question[bool]:
    arrays = {} if rows is None else {"rows": np.array(rows, np.uint32)}
    return Question("cancel", {"target": target}, lambda a: bool(a.fields["running"]), arrays)


cells = st.tuples(st.integers(0, 9), st.integers(0, 9))
rows = st.lists(
    st.tuples(cells, cells, st.sampled_from(["default", "swimmer"]), st.integers(1, 2)),
    max_size=40,
)


@given(rows=rows, own=st.booleans(), parts=st.booleans(), one_goal=st.booleans())
def test_rows_are_answered_as_single_requests_are(
    lasting: Direct, rows: list[Any], own: bool, parts: bool, one_goal: bool
) -> None:
    if "w" not in lasting.office.worlds:
        lasting.ask(create_world("w", CLASSES))
        lasting.ask(set_profile("w", "swimmer", SWIMMER))
    starts = np.array([row[0] for row in rows], np.int32).reshape(-1, 2)
    goals = np.array([row[1] for row in rows], np.int32).reshape(-1, 2)
    if one_goal:
        goals = np.array([[4, 4]], np.int32)
    options: dict[str, Any] = {}
    if own:
        options = {"profiles": [r[2] for r in rows], "sizes": [r[3] for r in rows]}
    question = find_paths("w", starts, goals, result="cells", parts=parts, **options)
    paths = collected(question, lasting.wait(lasting.submit(question)), len(rows))
    for i, (start, goal, profile, size) in enumerate(rows):
        chosen = {"profile": profile, "size": size} if own else {}
        goal = (4, 4) if one_goal else goal
        single = lasting.ask(find_path("w", start, goal, result="cells", **chosen))
        status, cost, path = paths[i]
        assert status == single.status
        assert cost == pytest.approx(single.cost)
        if single.found:
            assert path[0] == list(start)
            assert path[-1] == list(goal)


def collected(question: Question[Any], answers: list[Any], n: int) -> dict[int, Any]:
    """Return status, cost and path of each row; each is told once."""
    paths: dict[int, Any] = {}
    for answer in answers:
        assert isinstance(answer, Answer)
        told = question.read(answer)
        numbers = answer.arrays.get("rows", np.arange(n)).tolist()
        for place, row in enumerate(numbers):
            assert row not in paths
            paths[row] = (told.status_of(place), told.cost[place], told.path(place).tolist())
    assert [answer.more for answer in answers] == [True] * (len(answers) - 1) + [False]
    assert sorted(paths) == list(range(n))
    return paths


def many(n: int, **options: Any) -> Question[Any]:
    places = np.argwhere(CLASSES == 0)[:, ::-1].astype(np.int32)
    chosen = places[RANDOM.integers(0, len(places), (n, 2))]
    return find_paths("w", chosen[:, 0], chosen[:, 1], **options)


def test_parts_come_as_they_are_ready() -> None:
    direct = city()
    direct.is_searching = False
    question = many(100, parts=True)
    number = direct.submit(question)
    for _ in range(3):
        unit = direct.scheduler.take_work(direct.now)
        assert unit is not None
        unit.run()
        direct.scheduler.complete(unit, direct.now)
        direct.step()
    assert len(direct.answers[1, number]) == 3
    direct.is_searching = True
    direct.step()
    collected(question, direct.wait(number), 100)
    direct.close()


def test_points_and_smoothing_hold_for_all_rows() -> None:
    direct = city()
    whole = direct.ask(many(1, result="cells"))
    question = find_paths("w", [(0, 0)] * 3, [(9, 9), (0, 0), (9, 0)], smoothing="pull_string")
    direct.ask(edit_world("w", class_ids=0))
    answer = direct.ask(question)
    assert answer.paths.dtype == np.float32
    assert answer.offsets.tolist() == [0, 2, 3, 5]
    assert answer.path(0).tolist() == [[0.0, 0.0], [9.0, 9.0]]
    assert whole.paths.dtype == np.int32
    direct.close()


def test_a_batch_without_rows_has_an_answer() -> None:
    direct = city()
    none = np.zeros((0, 2), np.int32)
    for parts in (False, True):
        answer = direct.ask(find_paths("w", none, none, parts=parts))
        assert (answer.statuses.size, answer.offsets.tolist()) == (0, [0])
    direct.close()


@pytest.mark.parametrize(
    ("starts", "goals", "options", "field"),
    [
        ([(0, 0)] * 3, [(1, 1)] * 2, {}, "goals"),
        ([(0, 0), (99, 0)], [(1, 1)], {}, "starts[1]"),
        ([(0, 0), (1, 0)], [(1, 1), (1, 99)], {}, "goals[1]"),
        ([(0, 0), (1, 0)], [(1, 1)], {"profiles": ["default", "boat"]}, "profile"),
        ([(0, 0), (1, 0)], [(1, 1)], {"sizes": [1, 99]}, "size"),
        ([(0, 0), (1, 0)], [(1, 1)], {"sizes": [1]}, "sizes"),
        ([(0, 0), (1, 0)], [(1, 1)], {"priorities": [1, 101]}, "priority"),
        ([(0, 0), (1, 0)], [(1, 1)], {"deadlines": [1, np.nan]}, "deadline_ms"),
        ([(0, 0), (1, 0)], [(1, 1)], {"deadlines": [1, -1]}, "deadline_ms"),
    ],
)
def test_a_batch_that_cannot_be_is_refused_whole(
    starts: Any, goals: Any, options: dict[str, Any], field: str
) -> None:
    direct = city()
    with pytest.raises(WireError) as caught:
        direct.ask(find_paths("w", starts, goals, **options))
    assert caught.value.field.startswith(field)
    direct.step()
    assert not direct.office._waiting
    assert not direct.office._cancels
    assert direct.ask(many(3)).status == "ok"
    direct.close()


def test_profiles_point_to_names() -> None:
    direct = city()
    question = find_paths("w", [(0, 0)], [(1, 1)], profiles=["swimmer"])
    fields = {**question.fields, "profile_names": []}
    wrong = Question(question.message, fields, question.read, question.arrays)
    with pytest.raises(WireError, match="profiles"):
        direct.ask(wrong)
    direct.close()


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navserver.sidecar.batch_handlers.MAX_BATCH", 5)
    direct = city()
    assert direct.ask(many(5)).statuses.size == 5
    with pytest.raises(WireError) as caught:
        direct.ask(many(6))
    assert caught.value.code == "too_large"
    direct.close()


def statuses(question: Question[Any], answers: list[Any]) -> list[str]:
    told = question.read(answers[-1])
    return [told.status_of(i) for i in range(told.statuses.size)]


def test_rows_are_cancelled() -> None:
    direct = city()
    direct.is_searching = False
    question = many(4)
    number = direct.submit(question)
    assert direct.ask(cancel(number, [1, 3, 3, 77]))
    direct.is_searching = True
    found = statuses(question, direct.wait(number))
    assert [found[1], found[3]] == ["cancelled"] * 2
    assert "cancelled" not in (found[0], found[2])
    assert not direct.ask(cancel(number))
    direct.close()


def test_a_batch_is_cancelled() -> None:
    direct = city()
    direct.is_searching = False
    question = many(4, sizes=[1, 1, 2, 2])
    number = direct.submit(question)
    assert direct.ask(cancel(number))
    assert statuses(question, direct.wait(number)) == ["cancelled"] * 4
    direct.is_searching = True
    direct.step()
    assert not direct.office._waiting
    assert not direct.office._cancels
    direct.close()


def test_newer_requests_of_agents_take_the_place_of_rows() -> None:
    direct = city()
    direct.is_searching = False
    first = many(4, agents=[1, 2, -1, 3])
    second = many(2, agents=[2, 9])
    one, two = direct.submit(first), direct.submit(second)
    three = direct.submit(find_path("w", (0, 0), (0, 0), agent=3))
    four = direct.submit(many(1, agents=[9]))
    direct.is_searching = True
    found = statuses(first, direct.wait(one))
    assert [found[1], found[3]] == ["superseded"] * 2
    assert "superseded" not in (found[0], found[2])
    assert statuses(second, direct.wait(two))[1] == "superseded"
    assert direct.wait(three)[0].status != "superseded"  # type: ignore[union-attr]
    direct.wait(four)
    assert len(direct.office.agents) == 0
    direct.close()


def test_a_batch_takes_the_place_of_a_path() -> None:
    direct = city()
    direct.is_searching = False
    older = direct.submit(find_path("w", (0, 0), (9, 9), agent=5))
    newer = direct.submit(many(1, agents=[5]))
    assert direct.wait(older)[0].status == "superseded"  # type: ignore[union-attr]
    direct.is_searching = True
    direct.wait(newer)
    direct.close()


def test_each_row_may_have_its_deadline() -> None:
    direct = city()
    direct.is_searching = False
    question = many(3, deadlines=[5.0, 0.0, 1000.0])
    number = direct.submit(question)
    direct.now = 0.5
    direct.scheduler.expire(direct.now)
    direct.is_searching = True
    found = statuses(question, direct.wait(number))
    assert found[0] == "deadline"
    assert "deadline" not in found[1:]
    direct.close()
