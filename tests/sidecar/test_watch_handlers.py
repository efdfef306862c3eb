from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.wire.errors import WireError
from navserver.wire.questions import (
    Question,
    create_world,
    delete_world,
    edit_world,
    find_path,
    find_paths,
    read_broken,
    unwatch,
    watch_path,
)
from tests.sidecar.direct import Direct


def watch(cells: Any, **fields: Any) -> Question[int]:
    return watch_path("w", cells, **fields)


def told(direct: Direct) -> list[tuple[Any, ...]]:
    """Return world, version, watch, index and reason of each broken path."""
    direct.step()
    found = []
    for notice in direct.notices:
        if notice.name == "alive":
            continue
        where = (notice.fields["world"], notice.fields["version"])
        found += [(*where, *broken) for broken in read_broken(notice)]
    direct.notices.clear()
    return found


@pytest.fixture
def yard(direct: Direct) -> Direct:
    direct.ask(create_world("w", width=8, height=8))
    return direct


ROW = [(x, 0) for x in range(8)]


def test_an_edit_that_breaks_a_path_is_told_once(yard: Direct) -> None:
    number = yard.ask(watch(ROW))
    yard.ask(edit_world("w", cells=[(3, 5)], class_ids=255))
    assert told(yard) == []
    yard.ask(edit_world("w", cells=[(3, 0), (6, 0)], class_ids=255))
    assert told(yard) == [("w", 3, number, 3, "blocked")]
    yard.ask(edit_world("w", cells=[(2, 0)], class_ids=255))
    assert told(yard) == []


def test_corners_and_bodies_count(yard: Direct) -> None:
    diagonal = yard.ask(watch([(0, 0), (1, 1)]))
    wide = yard.ask(watch([(5, 5), (6, 5)], size=2))
    free = yard.ask(watch([(0, 0), (1, 1)], diagonal_mode=0))
    yard.ask(edit_world("w", cells=[(1, 0), (7, 6)], class_ids=255))
    found = {row[2]: row[4] for row in told(yard)}
    assert found == {diagonal: "corner", wide: "narrow"}
    assert free not in found


def test_a_path_that_is_broken_already_is_told_at_once(yard: Direct) -> None:
    yard.ask(edit_world("w", cells=[(1, 0)], class_ids=255))
    number = yard.ask(watch(ROW))
    assert told(yard) == [("w", 2, number, 1, "blocked")]


def test_watches_end(yard: Direct) -> None:
    numbers = [yard.ask(watch(ROW)) for _ in range(3)]
    assert len(set(numbers)) == 3
    yard.ask(unwatch([numbers[0], numbers[2], 999]))
    yard.ask(edit_world("w", class_ids=255))
    assert [row[2] for row in told(yard)] == [numbers[1]]


def test_delivered_paths_are_watched_from_the_version_they_were_found_on(yard: Direct) -> None:
    answer = yard.ask(find_path("w", (0, 0), (7, 0), watch=True, smoothing="pull_string"))
    number = answer.watch
    assert len(answer.path) == 2
    yard.ask(edit_world("w", cells=[(4, 0)], class_ids=255))
    assert told(yard) == [("w", 2, number, 4, "blocked")]
    assert yard.ask(find_path("w", (0, 0), (4, 0), watch=True)).watch is None


def test_paths_of_a_batch_are_watched(yard: Direct) -> None:
    yard.ask(edit_world("w", cells=[(7, 7)], class_ids=255))
    question = find_paths("w", [(0, 0), (0, 1), (0, 2)], [(7, 0), (7, 7), (7, 2)], watch=True)
    numbers = yard.ask(question).watches.tolist()
    assert numbers[1] == 0
    assert 0 < numbers[0] != numbers[2] > 0
    yard.ask(edit_world("w", cells=[(3, 2)], class_ids=255))
    assert [row[2] for row in told(yard)] == [numbers[2]]


def test_the_end_of_a_world_ends_its_watches(yard: Direct) -> None:
    number = yard.ask(watch(ROW))
    yard.ask(delete_world("w"))
    assert [row[2:] for row in told(yard)] == [(number, 0, "world_removed")]
    yard.ask(create_world("w", width=8, height=8))
    number = yard.ask(watch(ROW))
    yard.ask(create_world("w", width=8, height=8, replace=True))
    assert [row[2:] for row in told(yard)] == [(number, 0, "world_removed")]


def test_each_session_is_told_of_its_own(yard: Direct) -> None:
    mine, theirs = yard.ask(watch(ROW), 1), yard.ask(watch([(0, 3), (1, 3)]), 2)
    assert mine == theirs == 1
    yard.ask(unwatch([theirs]), 1)
    yard.ask(edit_world("w", cells=[(1, 3)], class_ids=255), 1)
    assert told(yard) == [("w", 2, theirs, 1, "blocked")]


def test_who_was_away_is_told_what_has_happened_meanwhile(yard: Direct) -> None:
    first, second = yard.ask(watch(ROW), 1), yard.ask(watch([(0, 3), (1, 3)]), 1)
    yard.client(2)
    yard.ask(edit_world("w", cells=[(3, 0)], class_ids=255), 2)
    before = told(yard)
    yard.sessions.connection_lost(1, yard.now)
    yard.clients[1].connection_lost(yard.now)
    yard.ask(edit_world("w", cells=[(1, 3)], class_ids=255), 2)
    assert told(yard) == []
    yard.clients[1].connected(yard.now)
    # What the former connection may have lost comes again.
    assert told(yard) == [*before, ("w", 3, second, 1, "blocked")]
    assert before == [("w", 2, first, 3, "blocked")]
    assert yard.sessions.open_requests == 0


def test_who_has_gone_watches_nothing(yard: Direct) -> None:
    yard.ask(watch(ROW), 1)
    yard.client(2)
    yard.sessions.connection_lost(1, 0.0)
    yard.now = 100.0
    yard.step()
    yard.step()
    assert len(yard.office.worlds["w"].watches) == 0
    yard.ask(edit_world("w", class_ids=255), 2)
    assert told(yard) == []


@pytest.mark.parametrize("cells", [np.zeros((0, 2)), [(0, 0), (5, 5)], [(99, 0)]])
def test_what_is_no_path_is_refused(yard: Direct, cells: Any) -> None:
    with pytest.raises(WireError, match="cells"):
        yard.ask(watch(cells))
