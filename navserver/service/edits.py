"""Edits of a map that can be applied to several copies of it, and what each may have changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.status import InputError

__all__ = ["CellsEdit", "Effect", "LayerRemoval", "MapEdit", "RectangleEdit", "apply_edit"]

Rectangle = tuple[int, int, int, int]
"""x0, y0, x1, y1 in columns and rows of the arrays; the second corner lies outside."""


class MapEdit(Protocol):
    """A change of a map; applied to equal maps it leaves equal maps."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""

    def size(self, grid: Grid) -> int:
        """Return how many cells it writes, roughly.

        Parameters
        ----------
        grid : Grid
            The map.

        Returns
        -------
        int
            At least 0.
        """

    def target(self, grid: Grid) -> tuple[Rectangle, Any]:
        """Return which cells it writes.

        Parameters
        ----------
        grid : Grid
            The map.

        Returns
        -------
        rectangle : (int, int, int, int)
            What bounds them.
        index : object
            They as an index into [y, x] arrays.

        Raises
        ------
        InputError
            If they are not on the map.
        """

    def apply(self, grid: Grid) -> None:
        """Write the cells.

        Parameters
        ----------
        grid : Grid
            The map.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """


@dataclass(frozen=True, slots=True, eq=False)
class CellsEdit:
    """`Grid.set_cells` with arguments of its own."""

    cells: NDArray[Any]
    class_ids: NDArray[Any] | None
    cell_scale: NDArray[Any] | None
    layers: dict[str, NDArray[Any]]

    @staticmethod
    def of(
        cells: ArrayLike,
        class_ids: ArrayLike | None = None,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
    ) -> CellsEdit:
        """Return the edit with copies of its arrays.

        Parameters
        ----------
        cells, class_ids, cell_scale, layers
            As for `Grid.set_cells`.

        Returns
        -------
        CellsEdit
            Not yet checked.
        """
        return CellsEdit(
            _kept("cells", cells),
            _kept_or_none("class_ids", class_ids),
            _kept_or_none("cell_scale", cell_scale),
            _kept_layers(layers),
        )

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return _nbytes(self.cells, self.class_ids, self.cell_scale, *self.layers.values())

    def size(self, grid: Grid) -> int:  # noqa: ARG002  # numpydoc ignore=PR01
        """Return the number of cells; see `MapEdit`."""
        return len(self.cells) if self.cells.ndim else 0

    def target(self, grid: Grid) -> tuple[Rectangle, Any]:  # numpydoc ignore=PR01
        """Return which cells it writes; see `MapEdit`."""
        rows, columns = np.divmod(grid.flat_indices(self.cells), grid.width)
        if rows.size == 0:
            return (0, 0, 0, 0), (rows, columns)
        bounds = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        x0, y0, x1, y1 = (int(bound) for bound in bounds)
        return (x0, y0, x1, y1), (rows, columns)

    def apply(self, grid: Grid) -> None:  # numpydoc ignore=PR01
        """Write the cells; see `MapEdit`."""
        grid.set_cells(
            self.cells, self.class_ids, cell_scale=self.cell_scale, layers=self.layers or None
        )


@dataclass(frozen=True, slots=True, eq=False)
class RectangleEdit:
    """`Grid.set_rectangle` with arguments of its own; without position the whole map."""

    position: tuple[int, int] | None
    extent: tuple[int, int] | None
    class_ids: NDArray[Any] | None
    cell_scale: NDArray[Any] | None
    layers: dict[str, NDArray[Any]]

    @staticmethod
    def of(
        position: tuple[int, int] | None,
        extent: tuple[int, int] | None,
        class_ids: ArrayLike | None = None,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
    ) -> RectangleEdit:
        """Return the edit with copies of its arrays.

        Parameters
        ----------
        position, extent : (int, int) or None
            Top left cell and size; both None for the whole map.
        class_ids, cell_scale, layers
            As for `Grid.set_rectangle`.

        Returns
        -------
        RectangleEdit
            Not yet checked.
        """
        return RectangleEdit(
            position,
            extent,
            _kept_or_none("class_ids", class_ids),
            _kept_or_none("cell_scale", cell_scale),
            _kept_layers(layers),
        )

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return _nbytes(self.class_ids, self.cell_scale, *self.layers.values())

    def size(self, grid: Grid) -> int:  # numpydoc ignore=PR01
        """Return the number of cells; see `MapEdit`."""
        if self.position is None or self.extent is None:
            return grid.size
        try:
            width, height = self.extent
            return int(width) * int(height)
        except (TypeError, ValueError, OverflowError):
            return 0

    def target(self, grid: Grid) -> tuple[Rectangle, Any]:  # numpydoc ignore=PR01
        """Return which cells it writes; see `MapEdit`."""
        x0 = y0 = 0
        width, height = grid.width, grid.height
        if self.position is not None and self.extent is not None:
            # `apply` comes first and has checked both.
            x0 = self.position[0] - grid.region_position[0]
            y0 = self.position[1] - grid.region_position[1]
            width, height = self.extent
        return (x0, y0, x0 + width, y0 + height), (slice(y0, y0 + height), slice(x0, x0 + width))

    def apply(self, grid: Grid) -> None:  # numpydoc ignore=PR01
        """Write the cells; see `MapEdit`."""
        if self.position is None or self.extent is None:
            grid.set_all(self.class_ids, cell_scale=self.cell_scale, layers=self.layers or None)
        else:
            grid.set_rectangle(
                self.position,
                self.extent,
                self.class_ids,
                cell_scale=self.cell_scale,
                layers=self.layers or None,
            )


@dataclass(frozen=True, slots=True)
class LayerRemoval:
    """`Grid.remove_layer`."""

    name: str
    nbytes = 64

    def size(self, grid: Grid) -> int:  # numpydoc ignore=PR01
        """Return the number of cells; see `MapEdit`."""
        return grid.size

    def target(self, grid: Grid) -> tuple[Rectangle, Any]:  # numpydoc ignore=PR01
        """Return the whole map; see `MapEdit`."""
        return (0, 0, grid.width, grid.height), (slice(None), slice(None))

    def apply(self, grid: Grid) -> None:  # numpydoc ignore=PR01
        """Remove the layer; see `MapEdit`."""
        grid.remove_layer(self.name)


class Effect(NamedTuple):
    """What an edit may have changed, for any movement.

    Costs fall or rise by classes that turned into others, by factors and by layers. `rectangle`
    bounds the cells that were written.
    """

    version: int
    """The version that the edit made."""
    rectangle: Rectangle
    turned_from: NDArray[np.uint8]
    turned_to: NDArray[np.uint8]
    scale_fell: bool
    scale_rose: bool
    layers_fell: frozenset[str]
    layers_rose: frozenset[str]

    def opens(self, movement: Movement) -> bool:
        """Return whether a blocked cell may have become open.

        Parameters
        ----------
        movement : Movement
            For whom.

        Returns
        -------
        bool
            False where that is certain.
        """
        costs = movement.profile.costs
        before, after = costs[self.turned_from], costs[self.turned_to]
        return bool((np.isinf(before) & np.isfinite(after)).any())

    def closes(self, movement: Movement) -> bool:
        """Return whether an open cell may have become blocked.

        Parameters
        ----------
        movement : Movement
            For whom.

        Returns
        -------
        bool
            False where that is certain.
        """
        costs = movement.profile.costs
        before, after = costs[self.turned_from], costs[self.turned_to]
        return bool((np.isfinite(before) & np.isinf(after)).any())

    def improves(self, movement: Movement) -> bool:
        """Return whether a cell may have opened or become cheaper.

        Parameters
        ----------
        movement : Movement
            For whom.

        Returns
        -------
        bool
            False where that is certain.
        """
        costs = movement.profile.costs
        return (
            bool((costs[self.turned_to] < costs[self.turned_from]).any())
            or self.scale_fell
            or any(name in self.layers_fell for name, _ in movement.overlays)
        )

    def touches(self, movement: Movement) -> bool:
        """Return whether any cell may have changed.

        Parameters
        ----------
        movement : Movement
            For whom.

        Returns
        -------
        bool
            False where that is certain.
        """
        costs = movement.profile.costs
        return (
            bool((costs[self.turned_to] != costs[self.turned_from]).any())
            or self.scale_fell
            or self.scale_rose
            or any(
                name in self.layers_fell or name in self.layers_rose
                for name, _ in movement.overlays
            )
        )


def apply_edit(grid: Grid, edit: MapEdit) -> Effect:
    """Apply an edit.

    Parameters
    ----------
    grid : Grid
        The map.
    edit : MapEdit
        What to change.

    Returns
    -------
    Effect
        What it may have changed.

    Raises
    ------
    InputError
        If anything is out of bounds; then nothing has changed.
    """
    if isinstance(edit, LayerRemoval):
        edit.apply(grid)
        names = frozenset([edit.name])
        rectangle, _ = edit.target(grid)
        none = np.empty(0, np.uint8)
        return Effect(grid.version, rectangle, none, none, False, False, names, names)
    before = _copied(grid, edit)
    edit.apply(grid)
    rectangle, index = edit.target(grid)
    turned_from, turned_to = _transitions(before[0], grid.classes[index])
    scale = grid.cell_scale
    fell, rose = _compared(before[1], None if scale is None else scale[index], 1.0)
    layers_fell, layers_rose = set(), set()
    for name, values in grid.layers.items():
        layer_fell, layer_rose = _compared(before[2].get(name), values[index], 0.0)
        if layer_fell:
            layers_fell.add(name)
        if layer_rose:
            layers_rose.add(name)
    return Effect(
        grid.version,
        rectangle,
        turned_from,
        turned_to,
        fell,
        rose,
        frozenset(layers_fell),
        frozenset(layers_rose),
    )


_Before = tuple[NDArray[np.uint8], NDArray[np.float32] | None, dict[str, NDArray[np.float32]]]


def _copied(grid: Grid, edit: MapEdit) -> _Before:
    """Return what the cells of an edit held; nothing if the edit will be refused."""
    try:
        _, index = edit.target(grid)
        scale = grid.cell_scale
        return (
            grid.classes[index].copy(),
            None if scale is None else scale[index].copy(),
            {name: values[index].copy() for name, values in grid.layers.items()},
        )
    except (InputError, TypeError, ValueError, IndexError):
        return np.empty(0, np.uint8), None, {}


def _transitions(
    before: NDArray[np.uint8], after: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the distinct pairs of different classes."""
    changed = before != after
    pairs = (before[changed].astype(np.uint16) << 8) | after[changed]
    distinct = np.flatnonzero(np.bincount(pairs, minlength=1))
    return (distinct >> 8).astype(np.uint8), (distinct & 255).astype(np.uint8)


def _compared(
    before: NDArray[np.float32] | None, after: NDArray[np.float32] | None, absent: float
) -> tuple[bool, bool]:
    """Return whether any value fell, and whether any rose."""
    if after is None:
        return False, False
    old = np.float32(absent) if before is None else before
    return bool((after < old).any()), bool((after > old).any())


def _kept(field: str, values: ArrayLike) -> NDArray[Any]:
    """Return a copy that the caller cannot change later."""
    try:
        return np.array(values)
    except ValueError:
        raise InputError(field, values, "is ragged", "give rows of equal length") from None


def _kept_or_none(field: str, values: ArrayLike | None) -> NDArray[Any] | None:
    return None if values is None else _kept(field, values)


def _kept_layers(layers: Mapping[str, ArrayLike] | None) -> dict[str, NDArray[Any]]:
    if layers is not None and not isinstance(layers, Mapping):
        raise InputError("layers", layers, "is not a mapping", "give {name: values}")
    return {name: _kept(f"layers[{name!r}]", values) for name, values in (layers or {}).items()}


def _nbytes(*arrays: NDArray[Any] | None) -> int:
    return sum(array.nbytes for array in arrays if array is not None)
