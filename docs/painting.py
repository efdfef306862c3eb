"""Draws the picture that the README opens with: a level is painted, and the path follows.

``python docs/painting.py`` from the checkout, with the package of ``[pictures]``; every frame is a
search on the map as it is then.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from navserver.render import (
    EARTH,
    GOAL_COLOR,
    LINE_COLOR,
    PATH_COLOR,
    START_COLOR,
    draw_picture,
)
from navserver.search.astar import find_path
from navserver.search.grid import SOLID, Grid, Profile
from navserver.search.smoothing import pull_string

TARGET = Path(__file__).resolve().parent / "images" / "painting.gif"
WIDTH, HEIGHT, CELL = 52, 24, 12
START, GOAL = (3, 12), (48, 12)
GRASS, MUD = 0, 1
WALKER = Profile({MUD: 5.0})
FRAME_MS, REST_MS, LAST_MS = 60, 600, 2200
CELLS_A_FRAME = 1.2
COLORS = 48


class Stroke(NamedTuple):
    """A brush drawn along a line."""

    class_id: int
    radius: float
    points: list[tuple[float, float]]


STROKES = (
    Stroke(SOLID, 0.9, [(14, -1), (14, 15), (17, 19)]),
    Stroke(SOLID, 0.9, [(27, 25), (27, 8), (22, 6)]),
    Stroke(MUD, 2.2, [(20, 14), (22, 20), (18, 22), (14, 22)]),
    Stroke(SOLID, 0.9, [(39, -1), (39, 11), (35, 14), (35, 19)]),
    Stroke(GRASS, 1.3, [(13, 11), (15.5, 11)]),
    Stroke(GRASS, 1.3, [(26, 13), (28.5, 13)]),
    Stroke(MUD, 2.6, [(33, 22), (39, 21)]),
    Stroke(GRASS, 1.5, [(37, 7), (41, 7)]),
)


def main(arguments: list[str] | None = None) -> int:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TARGET, help="the GIF to write")
    options = parser.parse_args(arguments)
    frames, durations = zip(*film(), strict=True)
    table = sample_of(frames).quantize(COLORS, dither=Image.Dither.NONE)
    flat = [frame.quantize(palette=table, dither=Image.Dither.NONE) for frame in frames]
    flat[0].save(
        options.out, save_all=True, append_images=flat[1:], duration=list(durations), loop=0,
        optimize=False,
    )  # fmt: skip
    print(f"{options.out}: {len(flat)} frames, {options.out.stat().st_size:,} bytes")
    return 0


def film() -> Iterator[tuple[Image.Image, int]]:
    """Yield pictures and for how many milliseconds each is shown."""
    grid = Grid.filled(WIDTH, HEIGHT, GRASS)
    yield draw(grid, None, 0.0), REST_MS
    for number, stroke in enumerate(STROKES):
        steps = list(along(stroke.points))
        for k, point in enumerate(steps):
            cells = brushed(point, stroke.radius)
            grid.set_cells(cells, stroke.class_id)
            is_last = k == len(steps) - 1
            shown = draw(grid, point, stroke.radius)
            yield shown, REST_MS if is_last else FRAME_MS
        if number == len(STROKES) - 1:
            yield draw(grid, None, 0.0), LAST_MS


def along(points: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield places along a line, a frame's way apart."""
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        count = max(1, round(np.hypot(x1 - x0, y1 - y0) / CELLS_A_FRAME))
        for share in np.arange(1, count + 1) / count:
            yield x0 + share * (x1 - x0), y0 + share * (y1 - y0)


def brushed(point: tuple[float, float], radius: float) -> np.ndarray:
    """Return the cells under the brush, but for those of both ends."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    is_under = np.hypot(x - point[0], y - point[1]) <= radius
    for end_x, end_y in (START, GOAL):
        is_under[end_y, end_x] = False
    return np.argwhere(is_under)[:, ::-1]


def draw(grid: Grid, brush: tuple[float, float] | None, radius: float) -> Image.Image:
    """Return the map with the way on it as it is now."""
    result = find_path(grid, START, GOAL, profile=WALKER)
    line = pull_string(grid, result.cells, profile=WALKER) if result.found else None
    picture = draw_picture(
        grid,
        path=result.cells if result.found else None,
        line=line,
        start=START,
        goal=GOAL,
        profile=WALKER,
    ).resize((WIDTH * CELL, HEIGHT * CELL), Image.Resampling.LANCZOS)
    if brush is not None:
        x, y = ((c + 0.5) * CELL for c in brush)
        r = (radius + 0.35) * CELL
        ImageDraw.Draw(picture).ellipse((x - r, y - r, x + r, y + r), outline=(40, 44, 58), width=2)
    return picture


def sample_of(frames: tuple[Image.Image, ...]) -> Image.Image:
    """Return some frames below one another, to choose colors from."""
    shown = frames[:: max(1, len(frames) // 6)]
    height = shown[0].height
    sample = Image.new("RGB", (shown[0].width, height * (len(shown) + 1)))
    for k, frame in enumerate(shown):
        sample.paste(frame, (0, k * height))
    # What is small would else be shown in the color of something larger.
    kept = (START_COLOR, GOAL_COLOR, PATH_COLOR, LINE_COLOR, EARTH)
    side = sample.width // len(kept)
    for k, color in enumerate(kept):
        sample.paste(color, (k * side, len(shown) * height, (k + 1) * side, sample.height))
    return sample


if __name__ == "__main__":
    sys.exit(main())
