"""The map: cell classes, scale and overlay layers, edits and versions.

Coordinates, said once for the whole package: a cell is ``(x, y)``; arrays are indexed ``[y, x]``;
the flat index of a cell is ``(y - oy) * width + (x - ox)`` with ``(ox, oy)`` the grid's
`region_position`. Y points down. World points come from cells by a 2 x 3 affine transform that
gives the cell's centre.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from operator import index
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from navserver.search.bodies import body_space
from navserver.search.costs import CostModel, Terrain
from navserver.search.derived import DerivedArrays, Edit, MoveMasks, Space
from navserver.search.layers import EditTarget, Layers
from navserver.search.movement import Movement, MovementOptions, movement_of
from navserver.search.moves import DiagonalMode, mask_table
from navserver.search.profile import DEFAULT_PROFILE, N_CLASSES, SOLID, Profile
from navserver.search.validation import (
    MAX_SIDE,
    checked_cells,
    checked_classes,
    checked_points,
    checked_position,
    checked_transform,
    checked_values,
)
from navserver.status import CellError, InputError

__all__ = [
    "DEFAULT_PROFILE",
    "MAX_SIDE",
    "SOLID",
    "CostModel",
    "DiagonalMode",
    "Grid",
    "Profile",
    "checked_grid",
    "checked_movement",
    "read_only",
]

# Movements whose terrain is kept for each of the grid's move masks.
_MOST_TERRAINS = 16


class Grid:
    """A map of up to 8192 x 8192 cells that knows its costs, its edits and its version.

    Parameters
    ----------
    classes : array-like of uint8, shape (height, width)
        Class of each cell; a `Profile` says what a class costs. 0 is plain ground by custom,
        `SOLID` (255) a wall. The array is copied.
    cell_scale : array-like of float32, shape (height, width), optional
        Finite factor >= 0 of each cell's cost (Godot's weight_scale).
    layers : mapping of str to array-like of float32, optional
        Named overlays, finite and >= 0, that a query may add to the cost with a weight.
    region_position : (int, int)
        The cell of the top left corner, may be negative; within -2**30..2**30.
    transform : array-like of float64, shape (2, 3), optional
        From a cell to the world position of its centre; must be invertible. Default: identity.

    Raises
    ------
    InputError
        If a shape, dtype or value is out of bounds; names the cell.

    Notes
    -----
    Memory: 1 byte a cell, 4 more with `cell_scale` and for each layer, and 1 for each set of
    blocking classes and diagonal mode that searches use (`memory_bytes` tells). A grid may be
    read by many threads; edits need the caller's lock.

    Examples
    --------
    >>> grid = Grid([[0, 255], [0, 0]])
    >>> grid.width, grid.height, grid.version
    (2, 2, 1)
    >>> grid.set_cell((1, 0), 0)
    2
    """

    def __init__(
        self,
        classes: ArrayLike,
        *,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
        region_position: tuple[int, int] = (0, 0),
        transform: ArrayLike | None = None,
    ) -> None:
        self.region_position = checked_position("region_position", region_position)
        self._classes = checked_classes(classes, self.region_position).copy()
        self.height, self.width = self._classes.shape
        self.transform = checked_transform(transform)
        """float64 array (2, 3), read-only: cell to world position of its centre."""
        self._inverse = np.linalg.inv(np.vstack([self.transform, [0.0, 0.0, 1.0]]))[:2]
        self.version = 1
        """Starts at 1 and grows by 1 with every edit."""
        self._class_counts = _count_classes(self._classes)
        self._layers = Layers(self.height, self.width)
        self.derived = DerivedArrays()
        """Arrays computed from the map on first use and kept current; bounded in bytes."""
        whole = self._whole()
        scale, overlays = self._checked_channels(whole, cell_scale, layers)
        if scale is not None:
            self._write_scale(whole, scale)
        for name, values in overlays.items():
            self._write_layer(whole, name, values)

    @classmethod
    def from_blocked(cls, blocked: ArrayLike, **keywords: Any) -> Grid:
        """Make a grid of walls and plain ground.

        Parameters
        ----------
        blocked : array-like of bool, shape (height, width)
            True becomes `SOLID`, False class 0.
        **keywords
            As for `Grid`.

        Returns
        -------
        Grid
            The new grid.
        """
        try:
            array = np.asarray(blocked)
        except ValueError:
            raise InputError("blocked", blocked, "is ragged", "give rows of equal length") from None
        if array.dtype != np.bool_:
            raise InputError(
                "blocked", array.dtype, "is not the dtype bool", "compare, such as `array != 0`"
            )
        return cls(np.where(array, np.uint8(SOLID), np.uint8(0)), **keywords)

    @classmethod
    def filled(cls, width: int, height: int, class_id: int = 0, **keywords: Any) -> Grid:
        """Make a grid of one class.

        Parameters
        ----------
        width, height : int
            Size in cells, 1 to 8192.
        class_id : int
            Class of every cell, 0 to 255.
        **keywords
            As for `Grid`.

        Returns
        -------
        Grid
            The new grid.
        """
        for name, side in (("width", width), ("height", height)):
            if not isinstance(side, (int, np.integer)) or not 1 <= side <= MAX_SIDE:
                raise InputError(
                    name, side, "is not a size", f"give an integer from 1 to {MAX_SIDE}"
                )
        value = checked_values("class_id", class_id, np.uint8, ())
        return cls(np.full((int(height), int(width)), value, np.uint8), **keywords)

    def __repr__(self) -> str:
        """Return size, region and version."""
        return (
            f"<Grid {self.width} x {self.height} at {self.region_position}, version {self.version}>"
        )

    # What the grid holds

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.width * self.height

    @property
    def classes(self) -> NDArray[np.uint8]:
        """uint8 array (height, width), a read-only view."""
        return read_only(self._classes)

    @property
    def cell_scale(self) -> NDArray[np.float32] | None:
        """float32 array (height, width), a read-only view; None where every factor is 1."""
        scale = self._layers.scale
        return None if scale is None else read_only(scale)

    @property
    def layers(self) -> Mapping[str, NDArray[np.float32]]:
        """Overlays by name, float32 arrays (height, width), read-only views."""
        layers = self._layers
        return MappingProxyType({name: read_only(layers[name]) for name in layers.names})

    def contains(self, cell: tuple[int, int]) -> bool:
        """Return whether the cell lies on the map.

        Parameters
        ----------
        cell : (int, int)
            x and y.

        Returns
        -------
        bool
            True inside the region.

        Raises
        ------
        CellError
            If the cell is not a pair of integers.
        """
        x, y = _pair(cell, "cell")
        ox, oy = self.region_position
        return 0 <= x - ox < self.width and 0 <= y - oy < self.height

    def flat_index(self, cell: tuple[int, int], field: str = "cell") -> int:
        """Return the flat index of a cell.

        Parameters
        ----------
        cell : (int, int)
            x and y.
        field : str
            How an error names the cell.

        Returns
        -------
        int
            ``(y - oy) * width + (x - ox)``.

        Raises
        ------
        CellError
            If the cell is not a pair of integers on the map.
        """
        x, y = _pair(cell, field)
        column, row = x - self.region_position[0], y - self.region_position[1]
        if 0 <= column < self.width and 0 <= row < self.height:
            return row * self.width + column
        raise CellError(field, cell, "lies outside the map", self._extent())

    def flat_indices(self, cells: ArrayLike, field: str = "cells") -> NDArray[np.int64]:
        """Return the flat indices of many cells.

        Parameters
        ----------
        cells : array-like of int, shape (n, 2)
            Columns x and y.
        field : str
            How an error names the array.

        Returns
        -------
        int64 array (n,)
            One index a cell.

        Raises
        ------
        CellError
            If the shape or dtype is wrong, or a cell lies outside the map; names its row.
        """
        array = checked_cells(field, cells)
        ox, oy = self.region_position
        columns, rows = array[:, 0] - ox, array[:, 1] - oy
        # Negative numbers are the largest unsigned ones.
        inside = (columns.view(np.uint64) < self.width) & (rows.view(np.uint64) < self.height)
        if not inside.all():
            i = int(np.argmin(inside))
            outside = (int(array[i, 0]), int(array[i, 1]))
            raise CellError(f"{field}[{i}]", outside, "lies outside the map", self._extent())
        return rows * self.width + columns

    def _extent(self) -> str:
        ox, oy = self.region_position
        return f"give x in {ox}..{ox + self.width - 1} and y in {oy}..{oy + self.height - 1}"

    def class_at(self, cell: tuple[int, int]) -> int:
        """Return the class of a cell.

        Parameters
        ----------
        cell : (int, int)
            x and y.

        Returns
        -------
        int
            0 to 255.
        """
        return int(self._classes.reshape(-1)[self.flat_index(cell)])

    def cost_at(
        self,
        cell: tuple[int, int],
        profile: Profile = DEFAULT_PROFILE,
        overlays: Mapping[str, float] | None = None,
    ) -> float:
        """Return the cost of a cell.

        Parameters
        ----------
        cell : (int, int)
            x and y.
        profile : Profile
            Cost of each class.
        overlays : mapping of str to float, optional
            Weight >= 0 of each layer that counts.

        Returns
        -------
        float
            ``inf`` where the profile blocks.
        """
        flat = self.flat_index(cell)
        layers = self._layers
        rows, weights = layers.overlay_rows(Movement(profile, overlays=overlays))
        cost = float(profile.costs[self._classes.reshape(-1)[flat]])
        if np.isinf(cost):
            return cost
        if layers.scale is not None:
            cost *= float(layers.flat_scale[flat])
        for row, weight in zip(rows, weights, strict=True):
            cost += float(weight) * float(layers.stack[row, flat])
        return cost

    def blocked(self, profile: Profile = DEFAULT_PROFILE) -> NDArray[np.bool_]:
        """Return which cells a profile blocks.

        Parameters
        ----------
        profile : Profile
            Cost of each class.

        Returns
        -------
        bool array (height, width)
            A new array.
        """
        blocked: NDArray[np.bool_] = np.isinf(Movement(profile).profile.costs)[self._classes]
        return blocked

    def move_masks(
        self,
        profile: Profile = DEFAULT_PROFILE,
        diagonal_mode: DiagonalMode = DiagonalMode.ONLY_IF_NO_OBSTACLES,
    ) -> NDArray[np.uint8]:
        """Return the allowed moves of every cell, one bit a direction.

        Built on first use and kept current on edits. Bit ``d`` allows the step
        ``(DX[d], DY[d])`` of `navserver.search.moves`.

        Parameters
        ----------
        profile : Profile
            Cost of each class.
        diagonal_mode : DiagonalMode
            The rule of diagonal steps.

        Returns
        -------
        uint8 array (height, width)
            A read-only view.
        """
        return read_only(self._masks(Movement(profile, diagonal_mode)).masks)

    # What searches ask

    def space(self, movement: Movement) -> Space:
        """Return which cells a body may stand on, kept current on edits.

        Parameters
        ----------
        movement : Movement
            The body.

        Returns
        -------
        Space
            The grid's own, not a copy.

        Raises
        ------
        InputError
            If the body is larger than `MAX_BODY` cells on this map.
        """
        return self.derived.space(
            movement.space_key,
            lambda: body_space(self.derived, self._classes, self.transform, movement),
        )

    def _masks(self, movement: Movement) -> MoveMasks:
        mode = movement.diagonal_mode
        space_key, kind = movement.space_key, ("masks", mode)
        with self.derived.lock:
            held = self.derived.held(space_key, kind)
            if isinstance(held, MoveMasks):
                return held
            self.space(movement)
            return self.derived.get(space_key, kind, lambda space: MoveMasks(space, mode))

    def terrain(self, movement: Movement) -> Terrain:
        """Return the arrays that kernels read; they are the grid's own, not copies.

        Parameters
        ----------
        movement : Movement
            What the body pays and where it may step.

        Returns
        -------
        Terrain
            Valid for this version of the grid; kept for the movements asked for last.

        Raises
        ------
        InputError
            If an overlay is not a layer of the grid.
        """
        with self.derived.lock:
            masks = self._masks(movement)
            terrain = masks.terrains.get(movement)
            if terrain is None:
                terrain = self._make_terrain(movement, masks.masks)
                while len(masks.terrains) >= _MOST_TERRAINS:
                    del masks.terrains[next(iter(masks.terrains))]
                masks.terrains[movement] = terrain
            return terrain

    def _forget_terrains(self) -> None:
        """Let go of terrains whose scale or layers are no longer the grid's.

        Other edits write into the arrays that they show.
        """
        for masks in self.derived.built(MoveMasks):
            masks.terrains.clear()

    def _make_terrain(self, movement: Movement, masks: NDArray[np.uint8]) -> Terrain:
        rows, weights = self._layers.overlay_rows(movement)
        space = self.space(movement)
        costs = movement.profile.costs.astype(np.float64)
        costs[np.isinf(costs)] = 1.0
        return Terrain(
            width=self.width,
            height=self.height,
            masks=masks.reshape(-1),
            space=space.cells.reshape(-1),
            open_table=space.open_table,
            mask_table=mask_table(movement.diagonal_mode),
            classes=self._classes.reshape(-1),
            class_costs=costs,
            cell_scale=self._layers.flat_scale,
            layers=self._layers.stack,
            layer_rows=rows,
            layer_weights=weights,
            cost_model=int(movement.cost_model),
        )

    def cost_range(self, movement: Movement, *, ignoring: bool = False) -> tuple[float, float]:
        """Return bounds of the cost of every cell that a body may enter.

        The bounds are the extreme class costs present, times the extreme scales, plus the layers'
        extremes by their weights: exact without scale and layers.

        Parameters
        ----------
        movement : Movement
            What the body pays.
        ignoring : bool
            Whether a query may enter blocked cells, as class cost 1.

        Returns
        -------
        (float, float)
            Least and greatest; (1, 1) where every cell is blocked.
        """
        costs = movement.profile.costs[self._class_counts > 0].astype(np.float64)
        if ignoring or np.isinf(costs).all():
            costs = np.append(costs, 1.0)
        return self._layers.cost_bounds(movement, costs[np.isfinite(costs)])

    def class_costs(self, movement: Movement) -> NDArray[np.float64] | None:
        """Return the costs of the classes on the map, if nothing else adds to them.

        Parameters
        ----------
        movement : Movement
            What the body pays.

        Returns
        -------
        float64 array (n,) or None
            Finite and distinct, in order; None with a scale or overlays.
        """
        if self._layers.scale is not None or movement.overlays:
            return None
        costs = np.unique(movement.profile.costs[self._class_counts > 0].astype(np.float64))
        return costs[np.isfinite(costs)]

    def uniform_cost(self, movement: Movement) -> float | None:
        """Return what every open cell costs, if they all cost the same.

        Parameters
        ----------
        movement : Movement
            What the body pays.

        Returns
        -------
        float or None
            None where costs differ, or may differ: a scale that is not 1 throughout the map
            counts even where it lies on blocked cells only.
        """
        least, greatest = self.cost_range(movement)
        return least if least == greatest else None

    # Edits

    def set_cell(
        self,
        cell: tuple[int, int],
        class_id: int | None = None,
        *,
        cell_scale: float | None = None,
        layers: Mapping[str, float] | None = None,
    ) -> int:
        """Change one cell.

        Parameters
        ----------
        cell : (int, int)
            x and y.
        class_id : int, optional
            New class, 0 to 255.
        cell_scale : float, optional
            New factor, finite and >= 0.
        layers : mapping of str to float, optional
            New values of layers; a new name makes a layer that is 0 elsewhere.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        return self._edit(
            self._cells_target(np.array([self.flat_index(cell)], np.int64)),
            class_id,
            cell_scale,
            layers,
        )

    def set_cells(
        self,
        cells: ArrayLike,
        class_ids: ArrayLike | None = None,
        *,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
    ) -> int:
        """Change a list of cells; where a cell stands twice, the later entry holds.

        Parameters
        ----------
        cells : array-like of int, shape (n, 2)
            Columns x and y.
        class_ids, cell_scale : array-like of shape (n,) or scalar, optional
            New values.
        layers : mapping of str to array-like, optional
            New values of layers, likewise.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        target = self._cells_target(self.flat_indices(cells))
        return self._edit(target, class_ids, cell_scale, layers)

    def set_rectangle(
        self,
        position: tuple[int, int],
        size: tuple[int, int],
        class_id: ArrayLike | None = None,
        *,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
    ) -> int:
        """Change a rectangle of cells.

        Parameters
        ----------
        position : (int, int)
            Its top left cell.
        size : (int, int)
            Width and height, at least 1; the rectangle must lie on the map.
        class_id, cell_scale : array-like of shape (height, width) or scalar, optional
            New values.
        layers : mapping of str to array-like, optional
            New values of layers, likewise.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        x, y = checked_position("position", position)
        width, height = checked_position("size", size)
        if width < 1 or height < 1:
            raise CellError("size", size, "is not a size", "give width and height of 1 or more")
        for corner in ((x, y), (x + width - 1, y + height - 1)):
            if not self.contains(corner):
                raise CellError(
                    "position and size",
                    (x, y, width, height),
                    "reach outside the map",
                    self._extent(),
                )
        x0, y0 = x - self.region_position[0], y - self.region_position[1]
        target = self._rectangle_target(x0, y0, x0 + width, y0 + height)
        return self._edit(target, class_id, cell_scale, layers)

    def set_all(
        self,
        classes: ArrayLike | None = None,
        *,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
    ) -> int:
        """Change the whole map; its size stays.

        Parameters
        ----------
        classes, cell_scale : array-like of shape (height, width) or scalar, optional
            New values.
        layers : mapping of str to array-like, optional
            New values of layers, likewise.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        return self._edit(self._whole(), classes, cell_scale, layers)

    def remove_layer(self, name: str) -> int:
        """Remove an overlay layer.

        Parameters
        ----------
        name : str
            The layer.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        InputError
            If there is no such layer.
        """
        self._layers.remove(name)
        self._forget_terrains()
        self.version += 1
        return self.version

    def _whole(self) -> EditTarget:
        return self._rectangle_target(0, 0, self.width, self.height)

    def _rectangle_target(self, x0: int, y0: int, x1: int, y1: int) -> EditTarget:
        where = (slice(y0, y1), slice(x0, x1))
        return EditTarget(where, (y1 - y0, x1 - x0), (x0, y0, x1, y1), np.empty(0, np.int64))

    def _cells_target(self, flat: NDArray[np.int64]) -> EditTarget:
        return EditTarget((flat // self.width, flat % self.width), flat.shape, None, flat)

    def _edit(
        self,
        target: EditTarget,
        classes: ArrayLike | None,
        cell_scale: ArrayLike | None,
        layers: Mapping[str, ArrayLike] | None,
    ) -> int:
        new_classes = None
        if classes is not None:
            new_classes = self._checked("class", classes, np.uint8, target)
        scale, overlays = self._checked_channels(target, cell_scale, layers)
        if new_classes is not None:
            self._write_classes(target, new_classes)
        if scale is not None:
            self._write_scale(target, scale)
        for name, values in overlays.items():
            self._write_layer(target, name, values)
        self.version += 1
        return self.version

    def _checked_channels(
        self,
        target: EditTarget,
        cell_scale: ArrayLike | None,
        layers: Mapping[str, ArrayLike] | None,
    ) -> tuple[NDArray[np.float32] | None, dict[str, NDArray[np.float32]]]:
        scale = None
        if cell_scale is not None:
            scale = self._checked("cell_scale", cell_scale, np.float32, target)
        overlays = {}
        if layers is not None and not isinstance(layers, Mapping):
            raise InputError("layers", layers, "is not a mapping", "give {name: values}")
        for name, values in (layers or {}).items():
            if not _is_layer_name(name):
                raise InputError("layers", name, "is not a layer's name", "give a text of Unicode")
            overlays[name] = self._checked(f"layers[{name!r}]", values, np.float32, target)
        return scale, overlays

    def _checked(
        self, field: str, values: ArrayLike, dtype: DTypeLike, target: EditTarget
    ) -> NDArray[Any]:
        def cell_of(position: tuple[int, ...]) -> tuple[int, int] | None:
            if target.rectangle is not None and position:
                y, x = position[0] + target.rectangle[1], position[1] + target.rectangle[0]
            elif target.rectangle is None and (position or target.cells.size == 1):
                y, x = divmod(int(target.cells[position[0] if position else 0]), self.width)
            else:
                return None
            return x + self.region_position[0], y + self.region_position[1]

        return checked_values(field, values, dtype, target.shape, cell_of)

    def _write_classes(self, target: EditTarget, values: NDArray[np.uint8]) -> None:
        before = self._classes[target.where].copy()
        self._classes[target.where] = values
        after = self._classes[target.where]
        if target.rectangle is None and target.cells.size > 1:
            # A cell that stands twice would be counted twice.
            cells, first = np.unique(target.cells, return_index=True)
            before, after = before[first], after[first]
        else:
            cells = target.cells
        self._class_counts += _count_classes(after)
        self._class_counts -= _count_classes(before)
        self.derived.update(Edit(target.rectangle, cells, before, after))

    def _write_scale(self, target: EditTarget, values: NDArray[np.float32]) -> None:
        if self._layers.write_scale(target, values):
            self._forget_terrains()

    def _write_layer(self, target: EditTarget, name: str, values: NDArray[np.float32]) -> None:
        if self._layers.write_layer(target, name, values):
            self._forget_terrains()

    # World, identity, memory

    def cell_to_world(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Return the world positions of cells' centres.

        Parameters
        ----------
        cells : array-like, shape (..., 2)
            x and y; fractions of a cell are allowed.

        Returns
        -------
        float64 array (..., 2)
            World positions.
        """
        points = checked_points("cells", cells)
        return points @ self.transform[:, :2].T + self.transform[:, 2]

    def world_to_cell_space(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return world positions in cells, unrounded; they may lie outside the map.

        Parameters
        ----------
        points : array-like of float, shape (..., 2)
            World positions.

        Returns
        -------
        float64 array (..., 2)
            Whole numbers are the cells' centres.
        """
        return checked_points("points", points) @ self._inverse[:, :2].T + self._inverse[:, 2]

    def world_to_cell(self, points: ArrayLike) -> NDArray[np.int32]:
        """Return the cells that hold world positions; they may lie outside the map.

        Parameters
        ----------
        points : array-like of float, shape (..., 2)
            World positions.

        Returns
        -------
        int32 array (..., 2)
            The cell whose centre is nearest on each axis; halves go right and down.

        Raises
        ------
        InputError
            If a position is not finite, or beyond 2**30 cells.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            cells = np.floor(self.world_to_cell_space(points) + 0.5)
        if not (np.abs(cells) <= 2**30).all():
            raise InputError(
                "points", points, "are not positions near the map", "give finite positions"
            )
        return cells.astype(np.int32)

    def map_hash(self) -> str:
        """Return a digest of everything that can change a path or its position.

        Returns
        -------
        str
            SHA-256 in hex of size, region, transform, classes, scale and layers. A scale of 1
            everywhere counts as none.
        """
        digest = hashlib.sha256(b"navserver grid 1")
        digest.update(np.array([self.width, self.height, *self.region_position], "<i8").tobytes())
        # Adding 0.0 makes one of the two zeros.
        digest.update((self.transform + 0.0).astype("<f8").tobytes())
        digest.update(self._classes.tobytes())
        scale = self._layers.scale
        if scale is not None and not (scale == 1.0).all():
            digest.update(b"scale")
            digest.update((scale + np.float32(0.0)).astype("<f4").tobytes())
        for name in self._layers.names:
            encoded = name.encode()
            digest.update(b"layer" + len(encoded).to_bytes(4, "little") + encoded)
            digest.update((self._layers[name] + np.float32(0.0)).astype("<f4").tobytes())
        return digest.hexdigest()

    def memory_bytes(self) -> dict[str, int]:
        """Return the bytes that the grid holds now, by part.

        Returns
        -------
        dict of str to int
            ``classes``, ``cell_scale``, ``layers``, ``derived`` and ``total``. The scratch of
            searches is theirs: 16 bytes a cell and search object, of which the system only
            gives what a search touches.
        """
        parts = {
            "classes": self._classes.nbytes,
            "cell_scale": self._layers.flat_scale.nbytes,
            "layers": self._layers.stack.nbytes,
            "derived": self.derived.nbytes,
        }
        return {**parts, "total": sum(parts.values())}

    def copy(self) -> Grid:
        """Return a grid of equal content at version 1.

        Returns
        -------
        Grid
            Shares no array with this one.
        """
        rebuild, parts = self.__reduce__()
        copied: Grid = rebuild(*parts)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickling and the copy module rebuild an equal grid from, at version 1."""
        layers = {name: self._layers[name] for name in self._layers.names}
        return _rebuild, (
            self._classes,
            self._layers.scale,
            layers,
            self.region_position,
            self.transform,
        )


def _rebuild(
    classes: NDArray[np.uint8],
    cell_scale: NDArray[np.float32] | None,
    layers: dict[str, NDArray[np.float32]],
    region_position: tuple[int, int],
    transform: NDArray[np.float64],
) -> Grid:
    return Grid(
        classes,
        cell_scale=cell_scale,
        layers=layers,
        region_position=region_position,
        transform=transform,
    )


def checked_grid(grid: object) -> Grid:
    """Return a grid.

    Parameters
    ----------
    grid : object
        What was given.

    Returns
    -------
    Grid
        The same.

    Raises
    ------
    InputError
        If it is anything else.
    """
    if isinstance(grid, Grid):
        return grid
    raise InputError("grid", type(grid), "is not a Grid", "make one of the map first")


def checked_movement(
    grid: Grid, options: MovementOptions, function: Callable[..., Any]
) -> Movement:
    """Return the movement of a query that takes a grid and ``**movement``.

    Parameters
    ----------
    grid : Grid
        What was given as the grid.
    options : MovementOptions
        Keywords of `Movement`.
    function : callable
        The query; for errors.

    Returns
    -------
    Movement
        As `movement_of`.

    Raises
    ------
    InputError
        If the grid is none, or an option is unknown or out of its bounds.
    """
    checked_grid(grid)
    return movement_of(options, function)


def _is_layer_name(name: object) -> bool:
    """Return whether a name is a text that files and hashes can hold: no lone surrogates."""
    if not isinstance(name, str) or not name:
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pair(cell: Any, field: str) -> tuple[int, int]:
    try:
        x, y = cell
        return index(x), index(y)
    except (TypeError, ValueError):
        raise CellError(field, cell, "is not a cell", "give two integers (x, y)") from None


def _count_classes(classes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how many cells each class has; in parts, since bincount widens what it reads."""
    counts = np.zeros(N_CLASSES, np.int64)
    flat = classes.reshape(-1)
    for begin in range(0, flat.size, 1 << 18):
        counts += np.bincount(flat[begin : begin + (1 << 18)], minlength=N_CLASSES)
    return counts


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written: kernels trust what it shows.

    Parameters
    ----------
    array : array
        What is kept.

    Returns
    -------
    array
        Of the same memory.
    """
    view = array.view()
    view.flags.writeable = False
    return view
