from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import Grid
from navserver.wire.errors import WireError
from navserver.wire.questions import (
    Question,
    create_world,
    delete_world,
    edit_world,
    find_path,
    list_worlds,
    set_profile,
    set_tiles,
    world_hash,
    world_info,
)
from tests.sidecar.direct import Direct

CLASSES = np.array([[0, 255, 0], [0, 0, 2]], np.uint8)


def refusal(direct: Direct, question: Question[Any]) -> WireError:
    with pytest.raises(WireError) as caught:
        direct.ask(question)
    return caught.value


def grid_of(direct: Direct, world: str = "w") -> Grid:
    return direct.office.worlds[world].replicas.grid


def test_a_world_is_made_as_said(direct: Direct) -> None:
    transform = [[2.0, 0.0, 5.0], [0.0, 3.0, 7.0]]
    scale = np.full((2, 3), 2.0, np.float32)
    question = create_world("w", CLASSES, cell_scale=scale, position=(-4, 9), transform=transform)
    assert direct.ask(question) == 1
    wanted = Grid(CLASSES, cell_scale=scale, region_position=(-4, 9), transform=transform)
    assert direct.ask(world_hash("w")) == wanted.map_hash()
    info = direct.ask(world_info("w"))
    assert (info["width"], info["height"], info["position"]) == (3, 2, (-4, 9))
    assert info["transform"] == [2.0, 0.0, 5.0, 0.0, 3.0, 7.0]
    assert info["profiles"] == ["default"]
    assert direct.ask(list_worlds()) == ["w"]


def test_a_world_may_be_of_one_class(direct: Direct) -> None:
    direct.ask(create_world("w", width=4, height=3, fill=7))
    assert direct.ask(world_hash("w")) == Grid.filled(4, 3, 7).map_hash()


def test_a_name_is_taken_once(direct: Direct) -> None:
    direct.ask(create_world("w", CLASSES))
    assert refusal(direct, create_world("w", CLASSES)).code == "world_exists"
    lineage = direct.ask(world_info("w"))["lineage"]
    direct.ask(create_world("w", width=2, height=2, replace=True))
    info = direct.ask(world_info("w"))
    assert info["width"] == 2
    assert info["lineage"] != lineage


def test_a_bad_map_replaces_nothing(direct: Direct) -> None:
    direct.ask(create_world("w", CLASSES))
    before = direct.ask(world_info("w"))
    bad = np.full((2, 3), np.nan, np.float32)
    error = refusal(direct, create_world("w", CLASSES, cell_scale=bad, replace=True))
    assert error.code == "bad_field"
    assert error.field.startswith("cell_scale")
    flat = create_world("w", CLASSES, transform=[[1, 1, 0], [1, 1, 0]], replace=True)
    assert refusal(direct, flat).field == "transform"
    assert direct.ask(world_info("w")) == before


def test_worlds_are_bounded(direct: Direct) -> None:
    direct.office.worlds.max_bytes = 1000
    assert refusal(direct, create_world("w", width=99, height=99)).code == "too_large"
    direct.ask(create_world("w", width=3, height=3))


def test_worlds_that_are_owned_end_with_their_session(direct: Direct) -> None:
    direct.ask(create_world("mine", width=2, height=2, owned=True), 1)
    direct.ask(create_world("ours", width=2, height=2), 1)
    direct.ask(create_world("yours", width=2, height=2, owned=True), 2)
    direct.sessions.connection_lost(1, direct.now)
    direct.now = 61.0
    direct.sessions.tick(direct.now)
    direct.step()
    assert direct.ask(list_worlds(), 2) == ["ours", "yours"]


def test_a_world_is_deleted(direct: Direct) -> None:
    direct.ask(create_world("w", CLASSES))
    direct.ask(delete_world("w"))
    assert direct.ask(list_worlds()) == []
    for question in (delete_world("w"), world_info("w"), world_hash("w")):
        assert refusal(direct, question).code == "unknown_world"


def test_what_waits_for_a_world_is_told_that_it_is_gone(direct: Direct) -> None:
    direct.ask(create_world("w", CLASSES))
    direct.is_searching = False
    number = direct.submit(find_path("w", (0, 0), (2, 1)))
    direct.ask(delete_world("w"))
    (answer,) = direct.wait(number)
    assert answer.status == "world_removed"  # type: ignore[union-attr]


def test_requests_for_a_world_wait_until_it_is_made(direct: Direct) -> None:
    created = direct.submit(create_world("w", CLASSES))
    found = direct.submit(find_path("w", (0, 0), (2, 1)))
    listed = direct.submit(list_worlds())
    assert direct.wait(created)
    (path,) = direct.wait(found)
    assert path.status == "found"  # type: ignore[union-attr]
    assert direct.wait(listed)


# --- edits ----------------------------------------------------------------------------------------

sides = st.integers(1, 6)


@st.composite
def edits(draw: st.DrawFn) -> dict[str, Any]:
    width, height = draw(sides), draw(sides)
    kind = draw(st.sampled_from(["cells", "rectangle", "whole"]))
    edit: dict[str, Any] = {}
    if kind == "cells":
        cell = st.tuples(st.integers(0, 5), st.integers(0, 5))
        edit["cells"] = draw(st.lists(cell, min_size=1, max_size=8))
        n = len(edit["cells"])
    elif kind == "rectangle":
        edit["position"] = (draw(st.integers(0, 6 - width)), draw(st.integers(0, 6 - height)))
        edit["size"] = (width, height)
        n = width * height
    else:
        n = 36
    wanted = draw(st.sets(st.sampled_from(["class_ids", "cell_scale", "values"]), min_size=1))
    for name in wanted:
        element = st.integers(0, 255) if name == "class_ids" else st.floats(0, 9, width=32)
        one = draw(st.booleans())
        edit[name] = draw(element if one else st.lists(element, min_size=n, max_size=n))
    if "values" in wanted:
        edit["layer"] = "danger"
    return edit


@given(edit=edits())
def test_edits_are_those_of_a_grid(lasting: Direct, edit: dict[str, Any]) -> None:
    direct = lasting
    direct.ask(create_world("w", width=6, height=6, replace=True))
    version = direct.ask(edit_world("w", **edit))
    wanted = Grid.filled(6, 6)
    shape = edit.get("size", (6, 6))[::-1] if "cells" not in edit else (-1,)

    def shaped(name: str) -> Any:
        value = edit.get(name)
        return value if value is None or np.ndim(value) == 0 else np.reshape(value, shape)

    layers = {"danger": shaped("values")} if "values" in edit else None
    arguments = {"cell_scale": shaped("cell_scale"), "layers": layers}
    if "cells" in edit:
        wanted.set_cells(edit["cells"], shaped("class_ids"), **arguments)
    elif "position" in edit:
        wanted.set_rectangle(edit["position"], edit["size"], shaped("class_ids"), **arguments)
    else:
        wanted.set_all(shaped("class_ids"), **arguments)
    assert version == wanted.version == 2
    assert direct.ask(world_hash("w")) == wanted.map_hash()


CELLS = np.zeros((2, 2), np.int32)


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        ({}, "class_id"),
        ({"position": (0, 0), "class_ids": 1}, "width"),
        ({"size": (1, 1), "class_ids": 1}, "position"),
        ({"cells": CELLS, "position": (0, 0), "class_ids": 1}, "position"),
        ({"cells": CELLS, "class_ids": [1]}, "class_ids"),
        ({"class_ids": [1, 2]}, "class_ids"),
        ({"values": 1.0}, "layer"),
        ({"layer": "x"}, "class_id"),
        ({"cells": [(9, 9)], "class_ids": 1}, "cells[0]"),
        ({"position": (2, 1), "size": (2, 2), "class_ids": 1}, "position and size"),
        ({"cells": CELLS, "values": [1.0, np.nan], "layer": "x"}, "layers['x']"),
        ({"cell_scale": [-1.0] * 6}, "cell_scale"),
    ],
)
def test_edits_that_cannot_be_are_refused_whole(
    direct: Direct, edit: dict[str, Any], field: str
) -> None:
    direct.ask(create_world("w", CLASSES))
    before = direct.ask(world_hash("w"))
    error = refusal(direct, edit_world("w", **edit))
    assert error.code == "bad_field"
    assert error.field.startswith(field)
    assert direct.ask(world_info("w"))["version"] == 1
    assert direct.ask(world_hash("w")) == before


def test_one_value_and_many_do_not_go_together(direct: Direct) -> None:
    direct.ask(create_world("w", CLASSES))
    question = Question("world_edit", {"world": "w", "class_id": 1}, lambda answer: answer,
                        {"class_ids": np.zeros(6, np.uint8)})  # fmt: skip
    assert refusal(direct, question).field == "class_id"


def test_an_edit_of_an_older_version_is_stale(direct: Direct) -> None:
    direct.ask(create_world("w", CLASSES))
    direct.ask(edit_world("w", class_ids=1, base_version=1))
    error = refusal(direct, edit_world("w", class_ids=2, base_version=1))
    assert (error.code, error.field) == ("stale", "base_version")
    assert direct.ask(edit_world("w", class_ids=2, base_version=2)) == 3


def test_large_edits_are_made_aside_and_in_order(direct: Direct) -> None:
    direct.ask(create_world("w", width=600, height=600))
    numbers = [direct.submit(edit_world("w", class_ids=i)) for i in (1, 2, 3)]
    small = direct.submit(edit_world("w", cells=[(0, 0)], class_ids=9))
    versions = [direct.wait(number)[0].version for number in (*numbers, small)]  # type: ignore[union-attr]
    assert versions == [2, 3, 4, 5]
    assert grid_of(direct).class_at((0, 0)) == 9
    assert grid_of(direct).class_at((1, 0)) == 3


# --- tiles and profiles ---------------------------------------------------------------------------


def blob(*tiles: tuple[int, ...]) -> bytes:
    return b"\0\0" + np.array(tiles, np.int64).astype("<u2").tobytes()


TABLE = [(0, 1, 0, 0, 0, 0), (0, 2, 0, 0, 0, 255), (1, 1, 0, 0, 0, 3), (1, 2, 0, 0, 0, 256)]


def test_tiles_become_classes_in_one_version(direct: Direct) -> None:
    direct.ask(create_world("w", width=3, height=2, position=(-1, 0)))
    layers = [
        blob((-1, 0, 1, 0, 0, 0), (0, 0, 2, 0, 0, 0), (5, 5, 1, 0, 0, 0), (1, 1, 9, 0, 0, 0)),
        blob((-1, 0, 1, 0, 0, 0), (0, 0, 1, 0, 0, 0), (1, 0, 2, 0, 0, 0)),
    ]
    told = direct.ask(set_tiles("w", layers, TABLE))
    assert told == {"placed": 2, "outside": 1, "unknown": 1, "version": 2}
    assert grid_of(direct).classes.tolist() == [[3, 255, 255], [255, 255, 255]]


def test_cells_without_tiles_may_stay(direct: Direct) -> None:
    direct.ask(create_world("w", CLASSES))
    direct.ask(set_tiles("w", [blob((1, 0, 1, 0, 0, 0))], TABLE, empty_class=256))
    assert grid_of(direct).classes.tolist() == [[0, 0, 0], [0, 0, 2]]
    direct.ask(set_tiles("w", [], TABLE, empty_class=7))
    assert grid_of(direct).classes.tolist() == [[7] * 3] * 2
    direct.ask(set_tiles("w", [b""], TABLE, empty_class=256))
    assert grid_of(direct).classes.tolist() == [[7] * 3] * 2


@pytest.mark.parametrize("sizes", [[5], [27], [13, 14], []])
def test_blobs_are_as_long_as_said(direct: Direct, sizes: list[int]) -> None:
    direct.ask(create_world("w", CLASSES))
    question = set_tiles("w", [blob((0, 0, 1, 0, 0, 0), (0, 1, 1, 0, 0, 0))], TABLE)
    wrong = {**question.arrays, "sizes": np.array(sizes, np.uint32)}
    error = refusal(direct, Question(question.message, question.fields, question.read, wrong))
    assert error.field in ("sizes", "tiles of layer 0")


def test_profiles_say_who_walks(direct: Direct) -> None:
    direct.ask(create_world("w", CLASSES))
    assert not direct.ask(find_path("w", (0, 0), (1, 0))).found
    costs = np.ones(256, np.float32)
    costs[255] = 5.0
    direct.ask(set_profile("w", "ghost", costs))
    path = direct.ask(find_path("w", (0, 0), (1, 0), profile="ghost"))
    assert (path.found, path.cost) == (True, 5.0)
    costs[255] = 7.0
    direct.ask(set_profile("w", "ghost", costs))
    assert direct.ask(find_path("w", (0, 0), (1, 0), profile="ghost")).cost == 7.0
    error = refusal(direct, find_path("w", (0, 0), (1, 0), profile="boat"))
    assert (error.code, error.field) == ("bad_field", "profile")
    assert "ghost" in error.remedy
    costs[3] = np.nan
    assert refusal(direct, set_profile("w", "ghost", costs)).field == "costs[3]"
