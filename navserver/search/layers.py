"""What the cells of a grid have beside their classes: a scale and overlay layers.

Both come with their extremes, kept under edits, since the engine of a search hangs on the range
of costs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.costs import BlockExtremes
from navserver.search.movement import Movement
from navserver.status import InputError

__all__ = ["EditTarget", "Layers"]

_NO_SCALE = np.empty(0, np.float32)


class EditTarget(NamedTuple):
    """The cells of an edit: an index into [y, x] arrays, and the same for the extremes."""

    where: Any
    shape: tuple[int, ...]
    rectangle: tuple[int, int, int, int] | None
    """x0, y0, x1, y1, or None for single cells."""
    cells: NDArray[np.int64]
    """Flat cells, empty for a rectangle."""


class Layers:
    """A scale and overlay layers by name, all float32 arrays of one shape.

    Parameters
    ----------
    height, width : int
        Of the map.
    """

    def __init__(self, height: int, width: int) -> None:
        self._shape = (height, width)
        self.scale: NDArray[np.float32] | None = None
        """float32 array (height, width), or None where every factor is 1."""
        self._scale_extremes: BlockExtremes | None = None
        self._rows: dict[str, int] = {}
        self.stack = np.empty((0, height * width), np.float32)
        """float32 array (layers, cells)."""
        self._extremes: list[BlockExtremes] = []

    def __contains__(self, name: object) -> bool:
        """Return whether there is a layer of a name."""
        return name in self._rows

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        """Return a layer as it is kept, float32 array (height, width)."""
        return self.stack[self._rows[name]].reshape(self._shape)

    @property
    def names(self) -> list[str]:
        """Names of the layers, sorted."""
        return sorted(self._rows)

    @property
    def flat_scale(self) -> NDArray[np.float32]:
        """float32 array (cells,) as kept; empty where every factor is 1."""
        return _NO_SCALE if self.scale is None else self.scale.reshape(-1)

    def write_scale(self, target: EditTarget, values: NDArray[np.float32]) -> bool:
        """Write factors.

        Parameters
        ----------
        target : EditTarget
            Where.
        values : float32 array
            Of the target's shape.

        Returns
        -------
        bool
            Whether the array is a new one.
        """
        is_new = self.scale is None
        if self.scale is None:
            self.scale = np.ones(self._shape, np.float32)
        self.scale[target.where] = values
        if self._scale_extremes is None:
            self._scale_extremes = BlockExtremes(self.scale)
        else:
            _update_extremes(self._scale_extremes, target)
        return is_new

    def write_layer(self, target: EditTarget, name: str, values: NDArray[np.float32]) -> bool:
        """Write values of a layer, which is 0 elsewhere where it is new.

        Parameters
        ----------
        target : EditTarget
            Where.
        name : str
            The layer.
        values : float32 array
            Of the target's shape.

        Returns
        -------
        bool
            Whether the stack is a new one.
        """
        is_new = name not in self._rows
        if is_new:
            row = len(self._rows)
            stack = np.zeros((row + 1, self.stack.shape[1]), np.float32)
            stack[:row] = self.stack
            self._rows[name] = row
            self._use_stack(stack)
        self[name][target.where] = values
        _update_extremes(self._extremes[self._rows[name]], target)
        return is_new

    def remove(self, name: str) -> None:
        """Remove a layer; the stack is a new one.

        Parameters
        ----------
        name : str
            The layer.

        Raises
        ------
        InputError
            If there is none.
        """
        if not isinstance(name, str) or name not in self._rows:
            raise self._unknown("name", name, "none")
        kept = [other for other in self.names if other != name]
        stack = self.stack[[self._rows[other] for other in kept]]
        self._rows = {other: row for row, other in enumerate(kept)}
        self._use_stack(stack)

    def _use_stack(self, stack: NDArray[np.float32]) -> None:
        self.stack = stack
        by_row = sorted(self._rows, key=self._rows.__getitem__)
        self._extremes = [BlockExtremes(self[name]) for name in by_row]

    def overlay_rows(self, movement: Movement) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the layers that count for a movement.

        Parameters
        ----------
        movement : Movement
            With its overlays.

        Returns
        -------
        (int64 array (n,), float64 array (n,))
            Rows of the stack in the order of their names, and their weights.

        Raises
        ------
        InputError
            If an overlay is not a layer.
        """
        for name, _ in movement.overlays:
            if name not in self._rows:
                raise self._unknown("overlays", name, "none yet")
        rows = np.array([self._rows[name] for name, _ in movement.overlays], np.int64)
        return rows, np.array([weight for _, weight in movement.overlays], np.float64)

    def cost_bounds(self, movement: Movement, costs: NDArray[np.float64]) -> tuple[float, float]:
        """Return bounds of the costs of cells.

        Parameters
        ----------
        movement : Movement
            With its overlays.
        costs : float64 array (n,)
            Finite costs of the classes on the map, one at least.

        Returns
        -------
        (float, float)
            The extreme costs times the extreme scales, plus the layers' extremes by their weights.
        """
        bounds = np.array([costs.min(), costs.max()])
        if self._scale_extremes is not None:
            bounds *= self._scale_extremes.extremes()
        for row, weight in zip(*self.overlay_rows(movement), strict=True):
            bounds += weight * np.array(self._extremes[row].extremes())
        return float(bounds[0]), float(bounds[1])

    def _unknown(self, field: str, name: object, nothing: str) -> InputError:
        known = ", ".join(self.names) or nothing
        return InputError(field, name, "is not a layer of the grid", f"its layers: {known}")


def _update_extremes(extremes: BlockExtremes, target: EditTarget) -> None:
    if target.rectangle is None:
        extremes.update_cells(target.where[1], target.where[0])
    else:
        extremes.update(*target.rectangle)
