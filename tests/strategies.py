"""Hypothesis strategies for maps, profiles, queries and edits, as plain data.

Maps come as `reference.Model`, profiles as class tables, edits as values that are applied to a
model and to a grid alike, so that a failing example prints what happened.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from navserver.search.grid import Grid, Profile
from tests import reference as ref
from tests.reference import Cell, Model

# The everyday run repeats the same examples; the long form looks for new ones.
_INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}
_UNTIMED: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile(
    "navserver", max_examples=12 if _INTERPRETED else 200, derandomize=True, **_UNTIMED
)
settings.register_profile("navserver-soak", max_examples=3000, **_UNTIMED)
settings.load_profile("navserver-soak" if "--soak" in sys.argv else "navserver")

MAX_SIDE = 24
SOLID = 255
CLASS_IDS = (0, 1, 2, 3, SOLID)
LAYER_NAMES = ("danger", "mud")
CLASS_COSTS = (1.0, 0.0, 0.25, 0.5, 1.5, 2.0, 3.7, 10.0, 1e-3, 1e3, math.inf)
SCALES = (1.0, 0.0, 0.5, 0.75, 2.25, 7.0)
LAYER_VALUES = (0.0, 0.5, 1.0, 4.0, 0.1)
WEIGHTS = (0.0, 0.5, 1.0, 3.0)
REGIONS = st.tuples(st.integers(-40, 40), st.integers(-40, 40))


@st.composite
def shapes(draw: st.DrawFn, max_side: int = MAX_SIDE) -> tuple[int, int]:
    """(height, width); small sides and single rows or columns come often."""
    large = st.integers(min(8, max_side), max_side)
    side = st.one_of(large, large, st.integers(1, max_side), st.integers(1, 6))
    return draw(side), draw(side)


_MAP_KINDS = ("sparse", "walls", "mixed", "mixed", "mixed", "walls", "empty", "full")


@st.composite
def class_arrays(draw: st.DrawFn, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Open, full, sparse, dense and patchy maps."""
    kind = draw(st.sampled_from(_MAP_KINDS))
    if kind == "empty":
        return np.zeros(shape, np.uint8)
    if kind == "full":
        return np.full(shape, SOLID, np.uint8)
    if kind == "sparse":
        return draw(
            hnp.arrays(
                np.uint8,
                shape,
                elements=st.sampled_from(CLASS_IDS),
                fill=st.sampled_from((0, 1)),
            )
        )
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from((0.1, 0.2, 0.3, 0.4, 0.5)))
    ids = (0,) if kind == "walls" else (0, 1, 2, 3)
    classes = random.choice(np.array(ids, np.uint8), size=shape)
    classes[random.random(shape) < density] = SOLID
    return classes.astype(np.uint8)


@st.composite
def float_arrays(
    draw: st.DrawFn, shape: tuple[int, int], values: tuple[float, ...]
) -> NDArray[np.float32]:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    few = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    return random.choice(np.array(few, np.float32), size=shape)


@st.composite
def models(draw: st.DrawFn, max_side: int = MAX_SIDE, *, plain: bool = False) -> Model:
    """A map: classes, perhaps a cell_scale, perhaps layers, perhaps a region away from (0, 0)."""
    shape = draw(shapes(max_side))
    model = Model(draw(class_arrays(shape)), region=draw(st.just((0, 0)) | REGIONS))
    if not plain:
        if draw(st.booleans()):
            model.cell_scale = draw(float_arrays(shape, SCALES))
        for name in draw(st.lists(st.sampled_from(LAYER_NAMES), unique=True)):
            model.layers[name] = draw(float_arrays(shape, LAYER_VALUES))
    return model


@st.composite
def cost_mappings(draw: st.DrawFn) -> dict[int, float]:
    """Class costs for a profile; class 0 is walkable more often than not."""
    cost = st.sampled_from(CLASS_COSTS)
    mapping = {0: draw(st.one_of(st.just(1.0), st.sampled_from(CLASS_COSTS[:-1]), cost))}
    for class_id in (1, 2, 3):
        if draw(st.booleans()):
            mapping[class_id] = draw(cost)
    if draw(st.integers(0, 4)) == 0:
        mapping[SOLID] = draw(cost)
    return mapping


def table(mapping: Mapping[int, float] | None = None, default: float = 1.0) -> NDArray[np.float32]:
    """The class costs that a profile of this mapping must have, written out."""
    costs = np.full(256, default, np.float32)
    costs[SOLID] = np.inf
    for class_id, cost in (mapping or {}).items():
        costs[class_id] = cost
    return costs


def cells(model: Model) -> st.SearchStrategy[Cell]:
    """Cells of the map; its four corners come often."""
    ox, oy = model.region
    xs = st.integers(ox, ox + model.width - 1)
    ys = st.integers(oy, oy + model.height - 1)
    corners = [(x, y) for x in (ox, ox + model.width - 1) for y in (oy, oy + model.height - 1)]
    return st.one_of(st.tuples(xs, ys), st.sampled_from(corners))


@st.composite
def ends_for(draw: st.DrawFn, model: Model, mapping: Mapping[int, float]) -> tuple[Cell, Cell]:
    """Start and goal: mostly two walkable cells, now and then any two cells."""
    free = list(ref.cell_costs(model, table(mapping)))
    if len(free) < 2 or draw(st.integers(0, 5)) == 5:
        return draw(cells(model)), draw(cells(model))
    start = draw(st.integers(0, len(free) - 1))
    ahead = draw(st.one_of(st.just(len(free) // 2), st.integers(1, len(free) - 1)))
    return free[start], free[(start + ahead) % len(free)]


@st.composite
def overlays_for(draw: st.DrawFn, model: Model) -> dict[str, float] | None:
    names = (
        draw(st.lists(st.sampled_from(sorted(model.layers)), unique=True)) if model.layers else []
    )
    return {name: draw(st.sampled_from(WEIGHTS)) for name in names} or None


@dataclass
class Edit:
    """One edit: which call, which cells, which values. ``None`` values stay as they are."""

    kind: str
    cells: list[Cell]
    class_ids: list[int] | None = None
    cell_scale: list[float] | None = None
    layers: dict[str, list[float]] = field(default_factory=dict)
    rectangle: tuple[Cell, Cell] | None = None
    name: str = ""
    scalar: bool = False

    def _shaped(self, values: list[float] | list[int] | None, shape: tuple[int, ...]) -> object:
        if values is None:
            return None
        if self.scalar:
            return values[0]
        dtype = np.uint8 if values is self.class_ids else np.float32
        return np.array(values, dtype).reshape(shape)

    def apply_to_model(self, model: Model) -> None:
        if self.kind == "remove_layer":
            model.layers.pop(self.name)
        else:
            model.put(self.cells, self.class_ids, self.cell_scale, self.layers)

    def apply_to_grid(self, grid: Grid) -> int:
        if self.kind == "remove_layer":
            return grid.remove_layer(self.name)
        if self.kind == "set_cell":
            return grid.set_cell(
                self.cells[0],
                None if self.class_ids is None else self.class_ids[0],
                cell_scale=None if self.cell_scale is None else self.cell_scale[0],
                layers={name: values[0] for name, values in self.layers.items()} or None,
            )
        if self.kind == "set_cells":
            shape: tuple[int, ...] = (len(self.cells),)
        elif self.kind == "set_rectangle":
            assert self.rectangle is not None
            shape = self.rectangle[1][::-1]
        else:
            shape = (grid.height, grid.width)
        values: dict[str, object] = {
            "cell_scale": self._shaped(self.cell_scale, shape),
            "layers": {n: self._shaped(v, shape) for n, v in self.layers.items()} or None,
        }
        classes = self._shaped(self.class_ids, shape)
        if self.kind == "set_cells":
            return grid.set_cells(np.array(self.cells, np.int32), classes, **values)  # type: ignore[arg-type]
        if self.kind == "set_rectangle":
            assert self.rectangle is not None
            return grid.set_rectangle(*self.rectangle, classes, **values)  # type: ignore[arg-type]
        return grid.set_all(classes, **values)  # type: ignore[arg-type]


@st.composite
def edits(draw: st.DrawFn, model: Model) -> Edit:
    """One valid edit of a map; the map itself stays as it is."""
    kinds = ["set_cell", "set_cells", "set_rectangle", "set_rectangle", "set_all"]
    if model.layers:
        kinds.append("remove_layer")
    kind = draw(st.sampled_from(kinds))
    if kind == "remove_layer":
        return Edit(kind, [], name=draw(st.sampled_from(sorted(model.layers))))
    edit = Edit(kind, [], scalar=kind != "set_cell" and draw(st.booleans()))
    if kind == "set_cell":
        edit.cells = [draw(cells(model))]
    elif kind == "set_cells":
        edit.cells = draw(st.lists(cells(model), min_size=1, max_size=12))
    elif kind == "set_all":
        edit.cells = model.cells()
    else:
        (ax, ay), (bx, by) = draw(cells(model)), draw(cells(model))
        x, y = min(ax, bx), min(ay, by)
        w, h = abs(ax - bx) + 1, abs(ay - by) + 1
        edit.rectangle = ((x, y), (w, h))
        edit.cells = [(x + i, y + j) for j in range(h) for i in range(w)]
    count = len(edit.cells)

    def values(choices: tuple[float, ...]) -> list[float]:
        if edit.scalar:
            return [draw(st.sampled_from(choices))] * count
        if count > 16:
            random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
            return [float(v) for v in random.choice(np.array(choices), size=count)]
        return draw(st.lists(st.sampled_from(choices), min_size=count, max_size=count))

    parts = draw(st.sampled_from(("class", "class", "scale", "layer", "class+scale", "all")))
    if "class" in parts or parts == "all":
        edit.class_ids = [int(v) for v in values(CLASS_IDS)]
    if "scale" in parts or parts == "all":
        edit.cell_scale = values(SCALES)
    if parts in ("layer", "all"):
        edit.layers = {draw(st.sampled_from(LAYER_NAMES)): values(LAYER_VALUES)}
    return edit


def grid_of(model: Model) -> Grid:
    """A grid built anew from a map."""
    return Grid(model.classes.copy(), **model.keywords())


@dataclass
class Query:
    """A map with everything that one search over it depends on."""

    model: Model
    start: Cell
    goal: Cell
    costs_of_classes: dict[int, float]
    diagonal_mode: int
    cost_model: int
    overlays: dict[str, float] | None
    blocked_cells: list[Cell] = field(default_factory=list)
    ignored_cells: list[Cell] = field(default_factory=list)

    @property
    def profile(self) -> Profile:
        return Profile(self.costs_of_classes)

    def costs(self) -> ref.Costs:
        return ref.cell_costs(
            self.model,
            table(self.costs_of_classes),
            self.overlays,
            self.blocked_cells,
            self.ignored_cells,
        )

    def options(self) -> dict[str, object]:
        """What a searcher is made with."""
        return {
            "profile": self.profile,
            "diagonal_mode": self.diagonal_mode,
            "cost_model": self.cost_model,
            "overlays": self.overlays,
        }

    def changes(self) -> dict[str, object]:
        """What one query alone is given."""
        return {
            "blocked_cells": self.blocked_cells or None,
            "ignored_cells": self.ignored_cells or None,
        }


@st.composite
def queries(draw: st.DrawFn, max_side: int = MAX_SIDE, *, changes: bool = False) -> Query:
    """A search; with ``changes`` also cells that it alone sees as walls or as walkable."""
    model = draw(models(max_side))
    spots = cells(model)
    mapping = draw(cost_mappings())
    start, goal = draw(ends_for(model, mapping))
    query = Query(
        model,
        start,
        goal,
        mapping,
        draw(st.sampled_from(ref.MODES)),
        draw(st.sampled_from(ref.COST_MODELS)),
        draw(overlays_for(model)),
    )
    if changes:
        query.blocked_cells = draw(st.lists(spots, max_size=10))
        query.ignored_cells = draw(st.lists(spots, max_size=10))
    return query


def heuristics_for(diagonal_mode: int) -> st.SearchStrategy[int | None]:
    """Every heuristic that must be exact under a mode; None is the default one."""
    exact: list[int | None] = [h for h in ref.HEURISTICS if ref.admissible(h, diagonal_mode)]
    return st.sampled_from([None, *exact])
