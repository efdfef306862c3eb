from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.service.inspection import LAYERS, describe_cells, explore, map_layer
from navserver.status import CellError, InputError

RANDOM = np.random.default_rng(3)
CLASSES = RANDOM.choice(np.array([0, 1, 255], np.uint8), (7, 9), p=[0.5, 0.3, 0.2])
SCALE = RANDOM.random((7, 9)).astype(np.float32) + 0.5
GRID = Grid(CLASSES, cell_scale=SCALE, layers={"mud": SCALE * 2}, region_position=(-3, 2))
CELLS = np.argwhere(CLASSES >= 0)[:, ::-1] + (-3, 2)
PROFILES = [Profile({1: 2.5}), Profile({1: np.inf})]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("overlays", [None, {"mud": 0.5}])
def test_costs_are_those_of_each_cell(profile: Profile, overlays: dict[str, float] | None) -> None:
    costs = map_layer(GRID, "costs", profile=profile, overlays=overlays)
    assert costs.position == (-3, 2)
    wanted = [GRID.cost_at(cell, profile, overlays) for cell in CELLS.tolist()]
    np.testing.assert_allclose(costs.values.reshape(-1), wanted, rtol=1e-6)
    told = describe_cells(GRID, CELLS, profile=profile, overlays=overlays)
    assert told.costs.tolist() == wanted
    assert told.scales.tolist() == SCALE.reshape(-1).tolist()


def test_a_cell_tells_what_the_layers_tell() -> None:
    told = describe_cells(GRID, CELLS, size=2)
    assert told.islands.tolist() == map_layer(GRID, "islands", size=2).values.reshape(-1).tolist()
    assert (told.islands > 0).tolist() == told.fits.astype(bool).tolist()
    clearance = map_layer(GRID, "clearance").values.reshape(-1)
    assert told.clearance.astype(np.float32).tolist() == clearance.tolist()


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=LAYERS[0]):
        map_layer(GRID, "height")
    with pytest.raises(InputError, match="4096"):
        describe_cells(GRID, np.repeat(CELLS, 100, axis=0))
    with pytest.raises(CellError):
        describe_cells(GRID, [(99, 99)])


def test_the_first_expansion_is_shown_and_the_least_cost() -> None:
    # An estimate that is far too great has cells expanded again.
    profile = Profile({1: 9.0})
    classes = np.zeros((12, 12), np.uint8)
    classes[3:9, 2:10] = 1
    grid = Grid(classes)
    seen = explore(grid, (0, 0), (11, 11), weight=3.0, capacity=500, profile=profile)
    assert seen.order.max() == seen.result.metrics.expanded
    best = explore(grid, (0, 0), (11, 11), algorithm="dijkstra", capacity=500, profile=profile)
    x, y = seen.position
    height, width = seen.order.shape
    least = best.costs[y : y + height, x : x + width]
    shown = (seen.order > 0) & np.isfinite(least)
    assert (seen.costs[shown] >= least[shown]).all()
    assert seen.costs[11 - y, 11 - x] == pytest.approx(seen.result.cost)


@pytest.mark.parametrize("wrong", [{"arrays": ["cost"]}, {"step": 0}])
def test_what_cannot_be_told_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        explore(Grid.filled(3, 2), (0, 0), (2, 0), **wrong)
    assert caught.value.field == next(iter(wrong))
    assert caught.value.remedy
