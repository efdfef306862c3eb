"""Drawings of maps, paths and searches: plain text, and pictures by Pillow."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import DEFAULT_PROFILE, SOLID, Grid, Profile
from navserver.status import InputError, NavserverError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["draw_picture", "draw_text", "fits_terminal", "save_picture"]

WALL, FREE, EXPLORED, PATH, START, GOAL, OTHER = "#.+*SG?"
"""Characters of a text drawing; classes 1 to 9 are drawn as their digit."""

_ANSI = {WALL: "2", EXPLORED: "36", PATH: "1;33", START: "1;32", GOAL: "1;31"}

LONGEST_PICTURE = 2048
"""Pixels along the longer side of the largest picture."""

USUAL_PICTURE = 1200
"""Pixels that the longer side of a small map is enlarged to, at most."""

LARGEST_CELL = 24
"""Pixels of the largest cell."""

Color = tuple[int, int, int]

PAPER: Color = (250, 248, 243)
"""The cheapest free cells."""
EARTH: Color = (186, 164, 130)
"""The costliest free cells."""
STONE: Color = (46, 52, 68)
"""Walls."""
WATER: Color = (88, 118, 156)
"""Cells of other classes that the profile blocks."""
EXPLORED_RAMP: tuple[Color, ...] = ((176, 228, 208), (122, 200, 205), (158, 146, 218))
"""Expanded cells, from the first to the last."""
PATH_COLOR: Color = (244, 96, 54)
"""The path."""
START_COLOR: Color = (30, 158, 90)
"""The start's disc."""
GOAL_COLOR: Color = (208, 34, 92)
"""The goal's disc."""
_WHITE: Color = (255, 255, 255)

_Pixels = NDArray[np.float32]


def fits_terminal(grid: Grid) -> bool:
    """Return whether a text drawing of the grid is readable in this terminal.

    Parameters
    ----------
    grid : Grid
        The map.

    Returns
    -------
    bool
        True if a row takes one line and all rows at most two screens.
    """
    columns, lines = shutil.get_terminal_size()
    return bool(grid.width <= columns and grid.height <= 2 * lines)


def draw_text(
    grid: Grid,
    *,
    path: ArrayLike | None = None,
    explored: ArrayLike | None = None,
    start: tuple[int, int] | None = None,
    goal: tuple[int, int] | None = None,
    profile: Profile = DEFAULT_PROFILE,
    color: bool = False,
) -> str:
    r"""Draw a map with a search on it as text, one character a cell.

    ``#`` is blocked, ``.`` class 0, a digit a class from 1 to 9, ``?`` any other class, ``+`` an
    expanded cell, ``*`` the path, ``S`` and ``G`` its ends.

    Parameters
    ----------
    grid : Grid
        The map.
    path, explored : array-like of int, shape (n, 2), optional
        Cells of the path, and cells that the search expanded.
    start, goal : (int, int), optional
        The ends.
    profile : Profile
        Says which classes block.
    color : bool
        Whether to add ANSI colors.

    Returns
    -------
    str
        Lines without one at the end.

    Examples
    --------
    >>> print(draw_text(Grid([[0, 255, 3], [0, 0, 2]]), path=[(0, 0), (0, 1), (1, 1)]))
    *#3
    **2
    """
    characters = np.full(256, OTHER)
    characters[0] = FREE
    characters[1:10] = list("123456789")
    canvas = characters[grid.classes]
    canvas[grid.blocked(profile)] = WALL
    for cells, character in ((explored, EXPLORED), (path, PATH)):
        if cells is not None:
            x, y = _local(grid, cells)
            canvas[y, x] = character
    for cell, character in ((goal, GOAL), (start, START)):
        if cell is not None:
            x, y = _local(grid, [cell])
            canvas[y, x] = character
    rows = ["".join(row) for row in canvas.tolist()]
    return "\n".join(_colored(row) if color else row for row in rows)


def _colored(row: str) -> str:
    parts = []
    before = ""
    for character in row:
        code = _ANSI.get(character, "")
        if code != before:
            parts.append(f"\x1b[0m\x1b[{code}m" if code else "\x1b[0m")
            before = code
        parts.append(character)
    return "".join(parts) + ("\x1b[0m" if before else "")


def draw_picture(
    grid: Grid,
    *,
    path: ArrayLike | None = None,
    explored: ArrayLike | None = None,
    start: tuple[int, int] | None = None,
    goal: tuple[int, int] | None = None,
    profile: Profile = DEFAULT_PROFILE,
    overlays: Mapping[str, float] | None = None,
) -> Image:
    """Draw a map with a search on it as a picture.

    Free cells are paper, darker where they cost more; walls are stone, and what else the profile
    blocks is water. Expanded cells are tinted in the order of their expansion, green first and
    violet last. Small maps are enlarged by a whole factor up to 1,200 pixels, maps over 2,048
    cells are reduced to at most 2,048 pixels.

    Parameters
    ----------
    grid : Grid
        The map.
    path : array-like of int, shape (n, 2), optional
        Cells of the path.
    explored : array-like of int, shape (n, 2), optional
        Expanded cells in the order of their expansion, as `SearchTrace.cells` gives them.
    start, goal : (int, int), optional
        The ends; drawn as a green and a red disc.
    profile : Profile
        Cost of each class.
    overlays : mapping of str to float, optional
        Weights of the layers that add to the cost.

    Returns
    -------
    PIL.Image.Image
        An RGB picture.

    Raises
    ------
    NavserverError
        If Pillow is not installed.
    CellError
        If a cell lies outside the map.
    """
    pillow = _pillow()
    ground = _Ground(grid, profile, overlays, explored)
    longest = max(grid.width, grid.height)
    if longest > LONGEST_PICTURE:
        factor = -(-longest // LONGEST_PICTURE)
        cell = 1.0 / factor
        # Band by band: the colors of all cells at once would take gigabytes.
        bands = range(0, grid.height, factor * max(1, 2**21 // (factor * grid.width)))
        ends = [*bands[1:], grid.height]
        pixels = np.concatenate(
            [_reduced(ground.colors(y0, y1), factor) for y0, y1 in zip(bands, ends, strict=True)]
        )
    else:
        side = max(1, min(LARGEST_CELL, USUAL_PICTURE // longest))
        cell = float(side)
        pixels = _enlarged(ground.colors(0, grid.height), ground.blocked, side)
    image: Image = pillow.fromarray(np.clip(pixels + 0.5, 0, 255).astype(np.uint8))
    _draw_search(image, grid, cell, path, start, goal)
    return image


def save_picture(path_of_file: str | PathLike[str], grid: Grid, **drawing: Any) -> tuple[int, int]:
    """Draw a picture as `draw_picture` does and write it as PNG.

    Parameters
    ----------
    path_of_file : path-like
        The file, replaced if it exists.
    grid : Grid
        The map.
    **drawing
        As for `draw_picture`.

    Returns
    -------
    (int, int)
        Width and height in pixels.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    image = draw_picture(grid, **drawing)
    try:
        image.save(fspath(path_of_file), format="PNG", optimize=max(image.size) <= USUAL_PICTURE)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            "png", fspath(path_of_file), f"cannot be written ({reason})", "name another file"
        ) from None
    return image.size


def _pillow() -> Any:
    try:
        from PIL import Image  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        raise NavserverError(
            'pictures need Pillow, which is not installed; run: pip install "navserver[pictures]"'
        ) from None
    return Image


def _local(grid: Grid, cells: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return columns and rows of cells, which must lie on the map."""
    flat = grid.flat_indices(cells)
    return flat % grid.width, flat // grid.width


class _Ground:
    """Colors of the cells: their costs, and on them the order of expansion."""

    def __init__(
        self,
        grid: Grid,
        profile: Profile,
        overlays: Mapping[str, float] | None,
        explored: ArrayLike | None,
    ) -> None:
        self.blocked = grid.blocked(profile)
        self._grid = grid
        self._class_costs = np.where(np.isinf(profile.costs), 0, profile.costs).astype(np.float32)
        self._layers = [
            (np.float32(weight), grid.layers[name]) for name, weight in (overlays or {}).items()
        ]
        self._darkening = self._log_range()
        x, y = _local(grid, [] if explored is None else explored)
        # Stable, so that of two expansions of a cell the later one is drawn.
        by_row = np.argsort(y, kind="stable")
        self._x, self._y = x[by_row], y[by_row]
        self._order = by_row / max(1, len(by_row) - 1)

    def _costs(self, y0: int, y1: int) -> _Pixels:
        costs = self._class_costs[self._grid.classes[y0:y1]]
        if self._grid.cell_scale is not None:
            costs *= self._grid.cell_scale[y0:y1]
        for weight, layer in self._layers:
            costs += weight * layer[y0:y1]
        return costs

    def _log_range(self) -> tuple[float, float]:
        """Return the logarithms of the least and most cost: equal factors, equal shades."""
        least, most, has_zero = math.inf, 0.0, False
        for y in range(0, self._grid.height, 256):
            costs = self._costs(y, y + 256)[~self.blocked[y : y + 256]]
            positive = costs[costs > 0]
            has_zero = has_zero or positive.size < costs.size
            if positive.size:
                least = min(least, float(positive.min()))
                most = max(most, float(positive.max()))
        if most == 0.0:
            return 0.0, 0.0
        low, high = math.log(least), math.log(most)
        if has_zero:
            low -= 0.5 * (high - low) or 1.0
        return low, high

    def colors(self, y0: int, y1: int) -> _Pixels:
        """Return the colors of the rows y0 to y1, float32 of shape (rows, width, 3)."""
        low, high = self._darkening
        blocked = self.blocked[y0:y1]
        shade = np.zeros(blocked.shape, np.float32)
        if high > low:
            with np.errstate(divide="ignore"):
                shade = np.clip((np.log(self._costs(y0, y1)) - low) / (high - low), 0, 1)
        paper, earth = np.array(PAPER, np.float32), np.array(EARTH, np.float32)
        colors: _Pixels = paper + shade[:, :, np.newaxis] * (earth - paper)
        colors[blocked] = STONE
        colors[blocked & (self._grid.classes[y0:y1] != SOLID)] = WATER
        first, last = np.searchsorted(self._y, (y0, y1))
        if first < last:
            x, y, order = self._x[first:last], self._y[first:last] - y0, self._order[first:last]
            ramp = np.array(EXPLORED_RAMP, np.float64)
            knots = np.linspace(0.0, 1.0, len(ramp))
            tint = np.stack([np.interp(order, knots, ramp[:, i]) for i in range(3)], axis=1)
            # Multiplied, so that the costs still show.
            colors[y, x] = tint * (colors[y, x] / paper) ** 0.8
        return colors


def _enlarged(colors: _Pixels, blocked: NDArray[np.bool_], side: int) -> _Pixels:
    """Return side x side pixels a cell, with the shadow that walls cast downwards."""
    height, width = blocked.shape
    pixels = np.repeat(np.repeat(colors, side, axis=0), side, axis=1)
    if side < 4:
        return pixels
    by_cell = pixels.reshape(height, side, width, side, 3)
    below = np.zeros_like(blocked)
    below[1:] = blocked[:-1] & ~blocked[1:]
    edge = np.zeros_like(blocked)
    edge[:-1] = blocked[:-1] & ~blocked[1:]
    depth = max(1, side // 6)
    for row in range(depth):
        by_cell[:, row][below] *= 0.80 + 0.16 * row / depth
        by_cell[:, side - 1 - row][edge] *= 0.72
        by_cell[:, side - 1 - row][edge] += 0.14 * 255
    if side >= 8:
        free = ~blocked
        by_cell[:, side - 1][free] *= 0.965
        by_cell.transpose(0, 2, 1, 3, 4)[free, :, side - 1] *= 0.965
    return pixels


def _reduced(colors: _Pixels, factor: int) -> _Pixels:
    """Return one pixel for factor x factor cells, their mean."""
    height, width, _ = colors.shape
    rows = np.arange(0, height, factor)
    columns = np.arange(0, width, factor)
    sums: _Pixels = np.add.reduceat(np.add.reduceat(colors, rows, axis=0), columns, axis=1)
    counts = np.outer(np.diff(np.append(rows, height)), np.diff(np.append(columns, width))).astype(
        np.float32
    )
    means: _Pixels = (sums / counts[:, :, np.newaxis]).astype(np.float32)
    return means


def _draw_search(
    image: Image,
    grid: Grid,
    cell: float,
    path: ArrayLike | None,
    start: tuple[int, int] | None,
    goal: tuple[int, int] | None,
) -> None:
    """Draw the path and its ends over the picture, smooth at the edges."""

    def points(cells: ArrayLike) -> list[tuple[float, float]]:
        x, y = _local(grid, cells)
        return list(zip(((x + 0.5) * cell).tolist(), ((y + 0.5) * cell).tolist(), strict=True))

    line = points(path) if path is not None and len(np.asarray(path)) else []
    # Thin lines would drown in a large picture, thick ones hide a small one.
    least = min(5.0, max(2.0, max(image.size) / 240))
    thickness = max(least, 0.34 * cell)
    outline = max(1.0, 0.3 * thickness)
    if len(line) > 1:
        _draw_line(image, line, thickness + 2 * outline, _WHITE)
        _draw_line(image, line, thickness, PATH_COLOR)
    elif line and start is None:
        _draw_disc(image, line[0], thickness, PATH_COLOR)
    radius = max(1.8 * thickness, 0.46 * cell)
    for end, color in ((start, START_COLOR), (goal, GOAL_COLOR)):
        if end is not None:
            centre = points([end])[0]
            _draw_disc(image, centre, 1.35 * radius, _WHITE)
            _draw_disc(image, centre, radius, color)


def _paste(image: Image, color: Color, box: tuple[int, int, int, int], draw: Any) -> None:
    """Draw a mask of four times the resolution and paste the color through it."""
    pillow = _pillow()
    from PIL import ImageDraw  # noqa: PLC0415 - optional, and slow to import

    width, height = box[2] - box[0], box[3] - box[1]
    finer = 4 if max(width, height) <= USUAL_PICTURE else 2
    mask = pillow.new("L", (width * finer, height * finer))
    draw(ImageDraw.Draw(mask), finer, box[0], box[1])
    image.paste(color, box, mask.resize((width, height), pillow.Resampling.BOX))


def _draw_line(
    image: Image, points: list[tuple[float, float]], thickness: float, color: Color
) -> None:
    def draw(canvas: Any, finer: int, left: int, top: int) -> None:
        scaled = [((x - left) * finer, (y - top) * finer) for x, y in points]
        radius = thickness * finer / 2
        canvas.line(scaled, fill=255, width=max(1, round(2 * radius)))
        if thickness > 2:
            for x, y in scaled:
                canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)

    xs, ys = [x for x, _ in points], [y for _, y in points]
    box = (
        max(0, math.floor(min(xs) - thickness)),
        max(0, math.floor(min(ys) - thickness)),
        min(image.width, math.ceil(max(xs) + thickness)),
        min(image.height, math.ceil(max(ys) + thickness)),
    )
    _paste(image, color, box, draw)


def _draw_disc(image: Image, centre: tuple[float, float], radius: float, color: Color) -> None:
    def draw(canvas: Any, finer: int, left: int, top: int) -> None:
        x, y, r = (centre[0] - left) * finer, (centre[1] - top) * finer, radius * finer
        canvas.ellipse((x - r, y - r, x + r, y + r), fill=255)

    x, y = centre
    box = (
        max(0, math.floor(x - radius)),
        max(0, math.floor(y - radius)),
        min(image.width, math.ceil(x + radius) + 1),
        min(image.height, math.ceil(y + radius) + 1),
    )
    _paste(image, color, box, draw)
