"""Neighbour queries against plain comparisons of all with all."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.movers import Movers
from navserver.movers.proximity import BucketSort, ProximityIndex
from navserver.search.grid import Grid
from navserver.status import InputError

SIDE = 40


@st.composite
def crowds(draw: st.DrawFn) -> Movers:
    """Movers in clumps, many in the same place or on a line, some of them removed."""
    movers = Movers(Grid.filled(SIDE, SIDE))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(0, 60))
    places = random.uniform(-0.5, SIDE - 0.6, (count, 2))
    shape = draw(st.sampled_from(["wide", "clump", "row", "column", "lattice"]))
    if shape == "clump":
        places = 5.0 + places / SIDE
    elif shape == "row":
        places[:, 1] = 3.0
    elif shape == "column":
        places[:, 0] = 3.0
    elif shape == "lattice":
        places = np.round(places / 4.0) * 4.0 % (SIDE - 4)
    units = movers.add(places, radius=0.3, max_speed=1.0, layers=random.integers(1, 4, count))
    if draw(st.booleans()):
        movers.remove(units[random.random(count) < 0.3])
    return movers


def living(movers: Movers, mask: int) -> NDArray[np.int64]:
    rows = np.flatnonzero(movers.state)
    return rows[(movers.layers[rows] & np.uint32(mask)) != 0]


masks = st.sampled_from([0xFFFFFFFF, 1, 2, 3, 4])
sides = st.sampled_from([0.01, 0.7, 4.0, 1000.0])
points = st.lists(st.tuples(st.floats(-5, SIDE + 5), st.floats(-5, SIDE + 5)), max_size=5)


@given(crowds(), st.data(), masks, sides)
def test_rectangles(movers: Movers, data: st.DataObject, mask: int, side: float) -> None:
    lows = np.array(data.draw(points), float).reshape(-1, 2)
    boxes = np.hstack([lows, lows + data.draw(st.sampled_from([0.0, 0.5, 10.0, math.inf]))])
    found, offsets = ProximityIndex(movers, side=side).in_rectangle(boxes, mask=mask)
    rows = living(movers, mask)
    places = movers.position[rows].astype(float)
    for i, (x0, y0, x1, y1) in enumerate(boxes):
        inside = (places >= (x0, y0)).all(axis=1) & (places <= (x1, y1)).all(axis=1)
        got = found[offsets[i] : offsets[i + 1]]
        assert sorted(got.tolist()) == movers.handles_of(rows[inside]).tolist()


@given(crowds(), points, st.sampled_from([0.0, 0.3, 4.0, 100.0]), masks, sides)
def test_circles(
    movers: Movers, centres: list[tuple[float, float]], radius: float, mask: int, side: float
) -> None:
    if len(movers) > 0:
        centres = [*centres, tuple(movers.position[np.flatnonzero(movers.state)[0]].tolist())]
    found, offsets = ProximityIndex(movers, side=side).in_radius(centres, radius, mask=mask)
    rows = living(movers, mask)
    places = movers.position[rows].astype(float)
    for i, centre in enumerate(centres):
        dx, dy = (places - centre).T
        inside = dx * dx + dy * dy <= radius * radius
        got = found[offsets[i] : offsets[i + 1]]
        assert sorted(got.tolist()) == movers.handles_of(rows[inside]).tolist()


@given(
    crowds(), points, st.sampled_from([1, 3, 10, None]), st.sampled_from([2.0, math.inf]), masks,
    sides,
)  # fmt: skip
def test_nearest(
    movers: Movers,
    centres: list[tuple[float, float]],
    count: int | None,
    radius: float,
    mask: int,
    side: float,
) -> None:
    found, distances = ProximityIndex(movers, side=side).nearest(
        centres, count, radius=radius, mask=mask
    )
    rows = living(movers, mask)
    width = min(len(movers), len(movers) if count is None else count)
    assert found.shape == distances.shape == (len(centres), width)
    for i, centre in enumerate(centres):
        gaps = np.linalg.norm(movers.position[rows] - np.float32(centre), axis=1)
        near = np.sort(gaps[gaps < radius])[:width]
        kept = found[i] >= 0
        assert np.count_nonzero(kept) == len(near)
        np.testing.assert_allclose(distances[i][kept], near, rtol=1e-5, atol=1e-6)
        assert np.isinf(distances[i][~kept]).all()
        assert len(set(found[i][kept].tolist())) == len(near)
        chosen = movers.of("position", found[i][kept])
        np.testing.assert_allclose(
            np.linalg.norm(chosen - np.float32(centre), axis=1), near, rtol=1e-5, atol=1e-6
        )


@given(crowds(), sides)
def test_sorted_movers_are_all_there_and_the_buckets_are_few(movers: Movers, side: float) -> None:
    sort = BucketSort()
    sort.sort(movers.columns.position, movers.columns.state, movers.slots, side)
    rows = np.flatnonzero(movers.state)
    assert sort.count == len(movers)
    assert sorted(sort.order[: sort.count].tolist()) == rows.tolist()
    buckets = sort.buckets
    if sort.count:
        assert buckets.rows <= 4 * sort.count
        n_buckets = int(buckets.first[buckets.rows])
        assert n_buckets <= 2 * sort.count
        starts = buckets.starts[: n_buckets + 1]
        assert starts[0] == 0
        assert starts[-1] == sort.count
        assert (np.diff(starts) >= 0).all()
        for begin, end in itertools.pairwise(starts):
            assert (np.diff(sort.order[begin:end]) > 0).all(), "one bucket is in order of slots"
        np.testing.assert_array_equal(
            buckets.x[: sort.count], movers.position[sort.order[: sort.count], 0]
        )


def test_an_index_stays_as_it_was() -> None:
    movers = Movers(Grid.filled(8, 8))
    unit = movers.add([(1, 1)], radius=0.3, max_speed=1.0)
    index = ProximityIndex(movers)
    movers.place(unit, [(6, 6)])
    assert index.in_radius([(1, 1)], 0.5)[0].tolist() == unit.tolist()
    assert len(index) == 1


def test_more_than_all_movers_may_be_found_in_overlapping_areas() -> None:
    movers = Movers(Grid.filled(8, 8))
    units = movers.add(np.full((100, 2), 3.0), radius=0.3, max_speed=1.0)
    found, offsets = ProximityIndex(movers).in_rectangle([(0, 0, 7, 7)] * 5)
    assert offsets.tolist() == [0, 100, 200, 300, 400, 500]
    assert found.reshape(5, 100).tolist() == [units.tolist()] * 5


def test_nothing_is_found_among_nobody() -> None:
    index = ProximityIndex(Movers(Grid.filled(8, 8)))
    assert index.in_radius([(1, 1)], 2.0)[1].tolist() == [0, 0]
    assert index.nearest([(1, 1)], 3)[0].shape == (1, 0)
    assert index.in_rectangle([])[0].size == 0


@pytest.mark.parametrize(
    ("name", "arguments", "keywords", "field"),
    [
        ("in_rectangle", ([(1, 1, 0, 2)],), {}, r"rectangles\[0\]"),
        ("in_rectangle", ([(1, 1, math.nan, 2)],), {}, r"rectangles\[0\]"),
        ("in_rectangle", ([(1, 1)],), {}, "rectangles"),
        ("in_rectangle", ("no",), {}, "rectangles"),
        ("in_radius", ([(0, 0), (math.inf, 0)], 1.0), {}, r"points\[1\]"),
        ("in_radius", ([(0, 0)], -1.0), {}, r"radius\[0\]"),
        ("in_radius", ([(0, 0)], math.nan), {}, r"radius\[0\]"),
        ("in_radius", ([(0, 0)], [1.0, 2.0]), {}, "radius"),
        ("in_radius", ([(0, 0)], 1.0), {"mask": -1}, "mask"),
        ("nearest", ([(0, 0)], 0), {}, "count"),
        ("nearest", ([(0, 0)], 1), {"radius": math.nan}, "radius"),
        ("nearest", ([(0, math.nan)], 1), {}, r"points\[0\]"),
        ("nearest", ([(0, 0)], 1), {"mask": "all"}, "mask"),
    ],
)
def test_what_cannot_be_asked_is_named(
    name: str, arguments: tuple[object, ...], keywords: dict[str, object], field: str
) -> None:
    movers = Movers(Grid.filled(8, 8))
    movers.add([(1, 1)], radius=0.3, max_speed=1.0)
    with pytest.raises(InputError, match=field):
        getattr(ProximityIndex(movers), name)(*arguments, **keywords)


@pytest.mark.parametrize("side", [0.0, -1.0, math.nan, math.inf, "wide"])
def test_a_side_is_a_length(side: float) -> None:
    with pytest.raises(InputError, match="side"):
        ProximityIndex(Movers(Grid.filled(8, 8)), side=side)
