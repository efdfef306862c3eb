"""Distance maps: the least cost between every cell and the nearest of some sources."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import register_warm_up
from navserver.search.fields import count_steps_, finish_, follow_, label_sources_
from navserver.search.grid import Grid, checked_movement, read_only
from navserver.search.movement import MovementOptions
from navserver.search.nodes import CancelFlag, unpack_cells
from navserver.search.validation import checked_flag, checked_number
from navserver.search.wavefront import Outcome, Wavefront, checked_sources
from navserver.status import InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["DistanceMap", "distance_map"]


class DistanceMap:
    """The least cost between every cell and its nearest source, and the way.

    `distance_map` makes it. It stays as it is when the grid is edited; `map_version` tells which
    one it knows.

    Parameters
    ----------
    grid : Grid
        The map.
    sources : int64 array (n,)
        Flat cells.
    start_values : float64 array (n,)
        What each source costs to start from.
    search : Wavefront
        A search from them that has ended; its labels become the map.
    """

    def __init__(
        self,
        grid: Grid,
        sources: NDArray[np.int64],
        start_values: NDArray[np.float64],
        search: Wavefront,
    ) -> None:
        self.reverse = search.reverse
        """Whether costs are those of going to the sources, not of coming from them."""
        self.map_version = search.map_version
        """Version of the grid that was searched."""
        self.metrics = search.metrics
        """What the search did."""
        self.region_position = grid.region_position
        """The cell of the arrays' top left corner."""
        unit, turn = search.unit, search.turn
        field = search.take_field()
        finish_(field, unit, turn, field.costs, field.state)
        self._grid = grid
        self._shape = (grid.height, grid.width)
        self._sources = sources
        self._start_values = start_values
        self._costs = field.costs
        self._directions = field.state
        self._labels: NDArray[np.int32] | None = None

    @property
    def costs(self) -> NDArray[np.float64]:
        """float64 array (height, width), read-only: least cost; ``inf`` where no source reaches."""
        return read_only(self._costs.reshape(self._shape))

    @property
    def directions(self) -> NDArray[np.uint8]:
        """uint8 array (height, width), read-only: the step between a cell and the one before it.

        With `reverse` the step to take from the cell, else the step that came into it; 255 at
        sources and where no source reaches. Direction ``d`` is ``(DX[d], DY[d])`` of
        `navserver.search.moves`.
        """
        return read_only(self._directions.reshape(self._shape))

    @property
    def sources(self) -> NDArray[np.int32]:
        """int32 array (height, width): index of the nearest source, -1 where none reaches.

        Found along the directions on first use, in time linear in the map; 4 bytes a cell.
        """
        if self._labels is None:
            labels = np.empty(self._costs.size, np.int32)
            label_sources_(
                self._directions,
                self._costs,
                self._shape[1],
                self._sign,
                self._sources,
                self._start_values,
                labels,
            )
            self._labels = labels
        return self._labels.reshape(self._shape)

    @property
    def nbytes(self) -> int:
        """Bytes held: 9 a cell, 13 once `sources` has been asked for."""
        labels = 0 if self._labels is None else self._labels.nbytes
        return self._costs.nbytes + self._directions.nbytes + labels

    @property
    def _sign(self) -> int:
        return 1 if self.reverse else -1

    def cost_at(self, cell: tuple[int, int]) -> float:
        """Return the cost of a cell.

        Parameters
        ----------
        cell : (int, int)
            x and y.

        Returns
        -------
        float
            ``inf`` where no source reaches.

        Raises
        ------
        CellError
            If the cell lies outside the map.
        """
        return float(self._costs[self._grid.flat_index(cell)])

    def path(self, cell: tuple[int, int]) -> NDArray[np.int32]:
        """Return a least-cost path between a cell and its nearest source, without a search.

        Parameters
        ----------
        cell : (int, int)
            x and y.

        Returns
        -------
        int32 array (n, 2)
            Cells in walking order, both ends included: from the source to the cell, with
            `reverse` from the cell to the source; (0, 2) where no source reaches.

        Raises
        ------
        CellError
            If the cell lies outside the map.
        """
        flat = self._grid.flat_index(cell)
        width = self._shape[1]
        steps = -1
        if self._costs[flat] < math.inf:
            steps = count_steps_(self._directions, width, flat, self._sign)
        cells = np.empty(steps + 1, np.int64)
        follow_(self._directions, width, flat, self._sign, cells)
        return unpack_cells(cells, width, self.region_position)


def distance_map(
    grid: Grid,
    sources: ArrayLike,
    *,
    start_values: ArrayLike | None = None,
    max_cost: float | None = None,
    reverse: bool = False,
    cancel: CancelFlag | None = None,
    **movement: Unpack[MovementOptions],
) -> DistanceMap:
    """Return the least cost between every cell and the nearest of some sources.

    Parameters
    ----------
    grid : Grid
        The map.
    sources : array-like of int, shape (n, 2)
        Open cells, at least one; may repeat.
    start_values : array-like of float, shape (n,), optional
        What each source costs to start from, finite and >= 0; default 0.
    max_cost : float, optional
        Cells of a higher cost count as out of reach; >= 0, compared with a tolerance of one
        part in 1e9.
    reverse : bool
        Costs of going from a cell to a source, instead of coming from a source to the cell.
        The two differ under the cost model ENTERED alone.
    cancel : CancelFlag, optional
        Stops the search from another thread.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    DistanceMap
        Costs, directions and sources of all cells.

    Raises
    ------
    InputError
        If an argument is out of its bounds, a source is blocked (names it), or the search was
        cancelled.

    Notes
    -----
    Costs are float64 sums, equal to those of Dijkstra's algorithm; where all cells cost the same
    they are integer sums of steps with sqrt 2 rounded to 36 bits, so within 1 part in 1e11.
    Deterministic. Time linear in the map where steps cost nearly alike, O(n log n) at worst;
    9 bytes a cell.

    Examples
    --------
    >>> field = distance_map(Grid.filled(4, 1), [(0, 0), (3, 0)])
    >>> field.costs.tolist(), field.sources.tolist()
    ([[0.0, 1.0, 1.0, 0.0]], [[0, 0, 1, 1]])
    """
    search = Wavefront(grid, checked_movement(grid, movement, distance_map))
    cells = checked_sources(search.terrain, grid, "sources", sources)
    values = checked_start_values(start_values, cells.size)
    limit = math.inf
    if max_cost is not None:
        limit = checked_number("max_cost", max_cost, 0.0, "give a number >= 0")
    search.begin(cells, values, max_cost=limit, reverse=checked_flag("reverse", reverse))
    search.advance(cancel=cancel)
    if search.outcome == Outcome.CANCELLED:
        raise InputError("cancel", cancel, "stopped the search", "clear the flag and ask again")
    return DistanceMap(grid, cells, values, search)


def checked_start_values(values: ArrayLike | None, count: int) -> NDArray[np.float64]:
    """Return the start values of sources.

    Parameters
    ----------
    values : array-like or None
        What was given; None is 0 for each.
    count : int
        Number of sources.

    Returns
    -------
    float64 array (count,)
        Finite and >= 0.

    Raises
    ------
    InputError
        Otherwise; names the first bad one.
    """
    if values is None:
        return np.zeros(count)
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("start_values", values, "are not numbers", "give floats") from None
    if array.shape != (count,):
        raise InputError(
            "start_values", array.shape, "is not the shape of the sources", f"give ({count},)"
        )
    good = np.isfinite(array) & (array >= 0.0)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(
            f"start_values[{i}]", float(array[i]), "is out of bounds", "give a finite number >= 0"
        )
    return array


def _warm_up() -> None:
    field = distance_map(Grid([[0, 0]]), [(0, 0)])
    field.path((1, 0))
    assert field.sources[0, 1] == 0


register_warm_up("distance maps", _warm_up)
