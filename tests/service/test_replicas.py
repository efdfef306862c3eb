from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from navserver.search.grid import Grid
from navserver.search.islands import islands_if_built
from navserver.search.movement import Movement
from navserver.service import replicas as module
from navserver.service.edits import CellsEdit, LayerRemoval, RectangleEdit
from navserver.service.replicas import Replicas
from navserver.service.requests import SearchOptions
from navserver.status import InputError


def test_an_edit_nobody_is_in_the_way_of_makes_no_copy() -> None:
    replicas = Replicas(Grid.filled(8, 8))
    grid = replicas.grid
    assert replicas.edit(CellsEdit.of([(1, 1)], 255)).version == 2
    assert replicas.grid is grid
    assert replicas.count == 1


def test_who_has_pinned_a_version_keeps_it() -> None:
    replicas = Replicas(Grid.filled(8, 8))
    first = replicas.pin()
    replicas.edit(CellsEdit.of([(1, 1)], 255))
    second = replicas.pin()
    replicas.edit(CellsEdit.of([(2, 2)], 255))
    assert (first.version, second.version, replicas.version) == (1, 2, 3)
    assert first.grid.class_at((1, 1)) == 0
    assert (second.grid.class_at((1, 1)), second.grid.class_at((2, 2))) == (255, 0)
    assert replicas.count == 3
    third = replicas.pin()
    replicas.edit(CellsEdit.of([(3, 3)], 255))
    assert replicas.count == 4
    for replica in (first, second, third):
        replicas.unpin(replica)
    assert replicas.count == 3  # the newest two are kept


def test_two_copies_take_turns() -> None:
    replicas = Replicas(Grid.filled(8, 8))
    grids = set()
    for x in range(8):
        pinned = replicas.pin()
        replicas.edit(CellsEdit.of([(x, 0)], 255))
        replicas.unpin(pinned)
        grids.add(id(replicas.grid))
    assert len(grids) == 2
    assert replicas.grid.classes[0].tolist() == [255] * 8


def test_a_third_copy_serves_edits_beside_a_long_search() -> None:
    replicas = Replicas(Grid.filled(8, 8))
    replicas.make_spare()
    replicas.make_spare()
    assert replicas.count == 2
    grids = set()
    for x in range(40):
        if x % 8 == 0:
            long_search = replicas.pin()
        short_search = replicas.pin()
        replicas.edit(CellsEdit.of([(x % 8, x // 8)], 255))
        replicas.unpin(short_search)
        if x % 8 == 7:
            replicas.unpin(long_search)
        grids.add(id(replicas.grid))
    assert len(grids) == 3
    assert (replicas.grid.classes[:5] == 255).all()


def test_a_copy_that_missed_too_much_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOG_FACTOR", -(1 << 20))
    replicas = Replicas(Grid.filled(8, 8))
    for x in range(8):
        pinned = replicas.pin()
        replicas.edit(CellsEdit.of([(x, 0)], 255))
        replicas.unpin(pinned)
    assert replicas.version == 9
    assert replicas.grid.classes[0].tolist() == [255] * 8
    assert replicas.memory_bytes()["log"] == 0


@pytest.mark.parametrize("pinned", [False, True])
def test_a_refused_edit_changes_nothing(*, pinned: bool) -> None:
    replicas = Replicas(Grid.filled(8, 8))
    if pinned:
        replicas.pin()
    before = replicas.grid.map_hash()
    for edit in (
        CellsEdit.of([(9, 9)], 255),
        CellsEdit.of([(1, 1)], 256),
        RectangleEdit.of((7, 7), (2, 2), 1),
        RectangleEdit.of((0, 0), (1.5, 2), 1),  # type: ignore[arg-type]
        LayerRemoval("fog"),
    ):
        with pytest.raises(InputError):
            replicas.edit(edit)
    assert replicas.version == 1
    assert replicas.grid.map_hash() == before
    assert replicas.edit(CellsEdit.of([(1, 1)], 255)).version == 2


def test_what_was_prepared_is_there_in_every_version() -> None:
    replicas = Replicas(Grid.filled(8, 8))
    replicas.prepare(Movement(), islands=True)
    replicas.pin()
    replicas.edit(RectangleEdit.of(None, None, np.eye(8, dtype=np.uint8) * 255))
    assert islands_if_built(replicas.grid, Movement()) is not None


def test_a_body_of_a_layer_that_went_is_no_longer_prepared() -> None:
    replicas = Replicas(Grid.filled(8, 8, layers={"fog": np.ones((8, 8))}))
    replicas.prepare(Movement(overlays={"fog": 1.0}), islands=False)
    assert replicas.edit(LayerRemoval("fog")).version == 2
    with pytest.raises(InputError, match="fog"):
        replicas.prepare(Movement(overlays={"fog": 1.0}), islands=False)


def test_searches_are_lent_again_and_see_edits() -> None:
    replicas = Replicas(Grid.filled(8, 1))
    replica = replicas.pin()
    searcher = replica.borrow(SearchOptions())
    other = replica.borrow(SearchOptions())
    assert other is not searcher
    assert searcher.search.find_path((0, 0), (7, 0)).found
    replica.give_back(searcher)
    replicas.unpin(replica)
    replicas.edit(CellsEdit.of([(4, 0)], 255))
    again = replicas.pin().borrow(SearchOptions())
    assert again is searcher
    assert not again.search.find_path((0, 0), (7, 0)).found


def test_searches_at_rest_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_IDLE", 3)
    replica = Replicas(Grid.filled(8, 1)).pin()
    for weight in range(1, 9):
        replica.give_back(replica.borrow(SearchOptions(weight=weight)))
    assert replica.idle_bytes == 3 * replica.scratch_bytes


SIDE = 6


class Versions(RuleBasedStateMachine):
    """Whoever pins sees the map as it was then, until it is unpinned."""

    def __init__(self) -> None:
        super().__init__()
        self.replicas = Replicas(Grid.filled(SIDE, SIDE))
        self.truth = [Grid.filled(SIDE, SIDE)]
        self.pinned: list[Any] = []

    def edit(self, edit: Any) -> None:
        expected = self.truth[-1].copy()
        edit.apply(expected)
        self.truth.append(expected)
        assert self.replicas.edit(edit).version == len(self.truth)

    @rule(x=st.integers(0, SIDE - 1), y=st.integers(0, SIDE - 1), value=st.integers(0, 255))
    def set_cell(self, x: int, y: int, value: int) -> None:
        self.edit(CellsEdit.of([(x, y)], value))

    @rule(value=st.floats(0, 9, width=16))
    def set_scale(self, value: float) -> None:
        self.edit(RectangleEdit.of((1, 1), (2, 3), cell_scale=value))

    @rule(seed=st.integers(0, 99))
    def set_all(self, seed: int) -> None:
        classes = np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE), np.uint8)
        self.edit(RectangleEdit.of(None, None, classes, layers={"fog": 2.0}))

    @precondition(lambda self: self.truth[-1].layers)
    @rule()
    def remove_layer(self) -> None:
        self.edit(LayerRemoval("fog"))

    @rule()
    def pin(self) -> None:
        self.pinned.append((self.replicas.pin(), len(self.truth)))

    @precondition(lambda self: self.pinned)
    @rule(data=st.data())
    def unpin(self, data: st.DataObject) -> None:
        i = data.draw(st.integers(0, len(self.pinned) - 1))
        self.replicas.unpin(self.pinned.pop(i)[0])

    @invariant()
    def every_version_is_whole(self) -> None:
        newest = self.replicas.pin()
        for replica, version in [*self.pinned, (newest, len(self.truth))]:
            assert replica.version == version
            assert replica.grid.map_hash() == self.truth[version - 1].map_hash()
        self.replicas.unpin(newest)

    @invariant()
    def copies_are_no_more_than_needed(self) -> None:
        held = {version for _, version in self.pinned} - {len(self.truth)}
        assert self.replicas.count <= len(held) + 3


TestVersions = Versions.TestCase
TestVersions.settings = settings(max_examples=settings().max_examples // 4)
