"""Drawings of maps, paths and searches: plain text, and pictures by Pillow."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import DEFAULT_PROFILE, SOLID, Grid, Profile
from navserver.search.moves import DX, DY
from navserver.status import InputError, NavserverError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["draw_picture", "draw_text", "fits_terminal", "save_picture"]

WALL, FREE, EXPLORED, PATH, MARK, START, GOAL, OTHER = "#.+*oSG?"
"""Characters of a text drawing; classes 1 to 9 are drawn as their digit."""

_ANSI = {WALL: "2", EXPLORED: "36", PATH: "33", MARK: "1;33", START: "1;32", GOAL: "1;31"}

LONGEST_PICTURE = 2048
"""Pixels along the longer side of the largest picture."""

USUAL_PICTURE = 1200
"""Pixels that the longer side of a small map is enlarged to, at most."""

LARGEST_CELL = 24
"""Pixels of the largest cell."""

ARROW_PIXELS = 18
"""Pixels that the arrow of a direction needs."""

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
LINE_COLOR: Color = (28, 52, 132)
"""The line that a path was smoothed to, and marked cells."""
ARROW_COLOR: Color = (66, 72, 100)
"""Arrows of directions."""
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
    marks: ArrayLike | None = None,
    start: tuple[int, int] | None = None,
    goal: tuple[int, int] | None = None,
    profile: Profile = DEFAULT_PROFILE,
    color: bool = False,
) -> str:
    r"""Draw a map with a search on it as text, one character a cell.

    ``#`` is blocked, ``.`` class 0, a digit a class from 1 to 9, ``?`` any other class, ``+`` an
    expanded cell, ``*`` the path, ``o`` a marked cell, ``S`` and ``G`` the ends.

    Parameters
    ----------
    grid : Grid
        The map.
    path, explored, marks : array-like of int, shape (n, 2), optional
        Cells of the path, cells that the search expanded, and cells to mark.
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
    for cells, character in ((explored, EXPLORED), (path, PATH), (marks, MARK)):
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
    line: ArrayLike | None = None,
    explored: ArrayLike | None = None,
    shades: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    directions: ArrayLike | None = None,
    marks: ArrayLike | None = None,
    start: tuple[int, int] | None = None,
    goal: tuple[int, int] | None = None,
    profile: Profile = DEFAULT_PROFILE,
    overlays: Mapping[str, float] | None = None,
    offset: float = 0.0,
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
    line : array-like of float, shape (n, 2), optional
        Points of a line in cells, such as the path pulled straight; the path is thin under it.
    explored : array-like of int, shape (n, 2), optional
        Expanded cells in the order of their expansion, as `SearchTrace.cells` gives them.
    shades : array-like of float, shape (height, width), optional
        Tint of each cell from the least value, green, to the greatest, violet; those that are
        not finite have none.
    labels : array-like of int, shape (height, width), optional
        Cells of one label have one color; 0 has none.
    directions : array-like of uint8, shape (height, width), optional
        Arrows, 0 to 7 as in `navserver.search.moves`; more is none. Where cells are small, one
        arrow stands for several cells.
    marks : array-like of int, shape (n, 2), optional
        Cells that get a dot.
    start, goal : (int, int), optional
        The ends; drawn as a green and a red disc.
    profile : Profile
        Cost of each class.
    overlays : mapping of str to float, optional
        Weights of the layers that add to the cost.
    offset : float
        How far right and down path, line, marks and ends are moved, in cells: the centre of a
        square body of n cells lies (n - 1) / 2 from its anchor's.

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
    ground = _Ground(grid, profile, overlays, explored, shades, labels)
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
    if directions is not None:
        _draw_arrows(image, np.asarray(directions), cell)
    _draw_search(_Paper(image, grid, cell, offset), path, line, marks, start, goal)
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


def check_pictures() -> None:
    """Raise unless pictures can be drawn here.

    Raises
    ------
    NavserverError
        If Pillow is not installed.
    """
    _pillow()


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
        shades: ArrayLike | None,
        labels: ArrayLike | None,
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
        self._shades = None if shades is None else np.asarray(shades)
        self._labels = None if labels is None else np.asarray(labels)
        if self._shades is not None:
            known = np.isfinite(self._shades)
            self._least = float(self._shades.min(where=known, initial=np.inf))
            most = float(self._shades.max(where=known, initial=-np.inf))
            self._spread = max(most - self._least, 0.0) or 1.0

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
        if self._labels is not None:
            band = self._labels[y0:y1]
            labelled = band != 0
            colors[labelled] = _label_colors(band[labelled])
        if self._shades is not None:
            band = self._shades[y0:y1]
            known = np.isfinite(band)
            order = (band[known] - self._least) / self._spread
            colors[known] = _tints(order) * (colors[known] / paper) ** 0.8
        first, last = np.searchsorted(self._y, (y0, y1))
        if first < last:
            x, y, order = self._x[first:last], self._y[first:last] - y0, self._order[first:last]
            # Multiplied, so that the costs still show.
            colors[y, x] = _tints(order) * (colors[y, x] / paper) ** 0.8
        return colors


def _tints(order: NDArray[np.floating[Any]]) -> _Pixels:
    """Return the colors of the ramp at values from 0 to 1."""
    ramp = np.array(EXPLORED_RAMP, np.float64)
    knots = np.linspace(0.0, 1.0, len(ramp))
    tints: _Pixels = np.stack(
        [np.interp(order, knots, ramp[:, i]) for i in range(3)], axis=1
    ).astype(np.float32)
    return tints


def _label_colors(labels: NDArray[np.integer[Any]]) -> _Pixels:
    """Return light colors whose hues lie as far apart as those of a sunflower's seeds."""
    turns = (labels.astype(np.float64) * 0.6180339887498949) % 1.0
    waves = np.cos(2.0 * math.pi * (turns[:, np.newaxis] - np.array([0.0, 1.0, 2.0]) / 3.0))
    colors: _Pixels = (196.0 + 48.0 * waves).astype(np.float32)
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


class _Paper(NamedTuple):
    """A picture, and where cells lie on it."""

    image: Image
    grid: Grid
    cell: float
    offset: float

    def points(self, cells: ArrayLike) -> list[tuple[float, float]]:
        """Return the pixels of cells, which must lie on the map."""
        x, y = _local(self.grid, cells)
        return self._pixels(x, y)

    def line(self, points: ArrayLike) -> list[tuple[float, float]]:
        """Return the pixels of points, which may lie anywhere."""
        x, y = (np.asarray(points, np.float64) - self.grid.region_position).T
        return self._pixels(x, y)

    def _pixels(self, x: NDArray[Any], y: NDArray[Any]) -> list[tuple[float, float]]:
        shift = 0.5 + self.offset
        return list(
            zip(((x + shift) * self.cell).tolist(), ((y + shift) * self.cell).tolist(), strict=True)
        )


def _draw_search(
    paper: _Paper,
    path: ArrayLike | None,
    line: ArrayLike | None,
    marks: ArrayLike | None,
    start: tuple[int, int] | None,
    goal: tuple[int, int] | None,
) -> None:
    """Draw the path and its ends over the picture, smooth at the edges."""
    image, cell = paper.image, paper.cell
    cells = paper.points(path) if path is not None and len(np.asarray(path)) else []
    # Thin lines would drown in a large picture, thick ones hide a small one.
    least = min(5.0, max(2.0, max(image.size) / 240))
    thickness = max(least, 0.34 * cell)
    outline = max(1.0, 0.3 * thickness)
    smoothed = paper.line(line) if line is not None and len(np.asarray(line)) else []
    of_path = 0.6 * thickness if smoothed else thickness
    if len(cells) > 1:
        _draw_line(image, cells, of_path + 2 * outline, _WHITE)
        _draw_line(image, cells, of_path, PATH_COLOR)
    elif cells and start is None:
        _draw_disc(image, cells[0], thickness, PATH_COLOR)
    if len(smoothed) > 1:
        _draw_line(image, smoothed, 0.6 * thickness + outline, _WHITE)
        _draw_line(image, smoothed, 0.6 * thickness, LINE_COLOR)
    radius = max(1.8 * thickness, 0.46 * cell)
    if marks is not None:
        for centre in paper.points(marks):
            _draw_disc(image, centre, 0.8 * radius, _WHITE)
            _draw_disc(image, centre, 0.55 * radius, LINE_COLOR)
    for end, color in ((start, START_COLOR), (goal, GOAL_COLOR)):
        if end is not None:
            centre = paper.points([end])[0]
            _draw_disc(image, centre, 1.35 * radius, _WHITE)
            _draw_disc(image, centre, radius, color)


def _draw_arrows(image: Image, directions: NDArray[Any], cell: float) -> None:
    """Draw an arrow for every cell, or for the middle one of as many as an arrow needs."""
    every = max(1, math.ceil(ARROW_PIXELS / cell))
    first = every // 2
    sparse = directions[first::every, first::every]
    reach = 0.36 * every * cell
    rows, columns = np.nonzero(sparse < 8)
    turns = np.array([math.atan2(y, x) for x, y in zip(DX, DY, strict=True)])
    turn = turns[sparse[rows, columns]]
    # A kite: its tip, a corner, the notch at its tail, the other corner.
    across = np.array([[1.0, 0.0], [-0.8, 0.6], [-0.45, 0.0], [-0.8, -0.6]]) * reach
    cosine, sine = np.cos(turn)[:, np.newaxis], np.sin(turn)[:, np.newaxis]
    x = (columns * every + first + 0.5)[:, np.newaxis] * cell
    y = (rows * every + first + 0.5)[:, np.newaxis] * cell
    corners = np.stack(
        [
            x + cosine * across[:, 0] - sine * across[:, 1],
            y + sine * across[:, 0] + cosine * across[:, 1],
        ],
        axis=2,
    )

    def draw(canvas: Any, finer: int, left: int, top: int) -> None:
        for arrow in ((corners - (left, top)) * finer).tolist():
            canvas.polygon([tuple(corner) for corner in arrow], fill=255)

    if len(corners):
        _paste(image, ARROW_COLOR, (0, 0, *image.size), draw)


def _paste(image: Image, color: Color, box: tuple[int, int, int, int], draw: Any) -> None:
    """Draw a mask of four times the resolution and paste the color through it."""
    pillow = _pillow()
    from PIL import ImageDraw  # noqa: PLC0415 - optional, and slow to import

    width, height = box[2] - box[0], box[3] - box[1]
    if width <= 0 or height <= 0:
        return
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
