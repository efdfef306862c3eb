from __future__ import annotations

import math
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from navserver import render
from navserver.maps.builtin import load_builtin
from navserver.render import draw_picture, draw_text, fits_terminal, save_picture
from navserver.search.astar import find_path
from navserver.search.grid import SOLID, Grid, Profile
from navserver.search.moves import DX, DY
from navserver.search.nodes import SearchTrace
from navserver.status import CellError, InputError, NavserverError


def test_text_of_classes() -> None:
    grid = Grid([[0, 1, 9, 10, SOLID]])
    assert draw_text(grid) == ".19?#"
    assert draw_text(grid, profile=Profile({9: math.inf, SOLID: 2.0})) == ".1#??"


def test_text_of_a_search_in_a_region() -> None:
    grid = Grid([[0, 0, 0, SOLID], [0, 0, 0, 0]], region_position=(-2, 5))
    drawn = draw_text(
        grid,
        path=[(-2, 5), (-1, 6), (0, 6)],
        explored=[(-2, 5), (-2, 6), (-1, 6), (0, 6), (0, 5)],
        start=(-2, 5),
        goal=(0, 6),
    )
    assert drawn == "S.+#\n+*G."


def test_text_with_colors_is_the_same_text() -> None:
    grid = Grid([[0, SOLID], [0, 0]])
    options = {"path": [(0, 0), (0, 1)], "start": (0, 0), "goal": (0, 1)}
    colored = draw_text(grid, color=True, **options)  # type: ignore[arg-type]
    assert colored != draw_text(grid, **options)  # type: ignore[arg-type]
    assert re.sub("\x1b\\[[0-9;]*m", "", colored) == draw_text(grid, **options)  # type: ignore[arg-type]
    assert all(line.endswith(("\x1b[0m", ".")) for line in colored.splitlines())


def test_cells_outside_the_map() -> None:
    with pytest.raises(CellError):
        draw_text(Grid.filled(2, 2), path=[(0, 0), (2, 0)])
    with pytest.raises(CellError):
        draw_picture(Grid.filled(2, 2), explored=[(0, -1)])


def test_what_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    size = os.terminal_size((80, 24))
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: size)
    assert fits_terminal(Grid.filled(80, 48))
    assert not fits_terminal(Grid.filled(81, 1))
    assert not fits_terminal(Grid.filled(1, 49))


def centre(image: Image.Image, cell: tuple[int, int], side: int) -> tuple[int, ...]:
    """The pixel at the centre of a cell."""
    color = image.getpixel((cell[0] * side + side // 2, cell[1] * side + side // 2))
    assert isinstance(color, tuple)
    return color


def test_pixels_of_path_ends_and_ground() -> None:
    grid = Grid([[0, 0, 0, 0, 0], [0, 0, SOLID, 4, 0], [0, 0, 0, 0, 0]], region_position=(-7, 3))
    profile = Profile({4: math.inf})
    path = [(-7, 3), (-6, 3), (-5, 3), (-4, 3), (-3, 4)]
    image = draw_picture(grid, path=path, start=(-7, 3), goal=(-3, 4), profile=profile)
    side = render.LARGEST_CELL
    assert image.size == (5 * side, 3 * side)
    assert image.mode == "RGB"
    assert centre(image, (0, 0), side) == render.START_COLOR
    assert centre(image, (4, 1), side) == render.GOAL_COLOR
    assert {centre(image, (x, 0), side) for x in (1, 2, 3)} == {render.PATH_COLOR}
    assert centre(image, (2, 1), side) == render.STONE
    assert centre(image, (3, 1), side) == render.WATER
    assert centre(image, (0, 2), side) == render.PAPER


@pytest.mark.parametrize("name", ["rooms", "countryside"])
def test_every_path_cell_has_the_color_of_the_path(name: str) -> None:
    scene = load_builtin(name)
    result = find_path(scene.grid, scene.start, scene.goal)
    image = draw_picture(scene.grid, path=result.cells)
    side = image.width // scene.grid.width
    for x, y in result.cells.tolist():
        assert centre(image, (x, y), side) == render.PATH_COLOR


def test_path_on_a_map_that_is_larger_than_the_picture() -> None:
    grid = Grid.filled(5000, 3001)
    path = [(x, 1500) for x in range(100, 4900)]
    image = draw_picture(grid, path=path, start=path[0], goal=path[-1])
    assert image.size == (1667, 1001)
    assert image.getpixel((833, 500)) == render.PATH_COLOR
    assert image.getpixel((833, 100)) == render.PAPER
    assert image.getpixel((33, 500)) == render.START_COLOR


def test_reduced_pixels_are_means_in_bands_too() -> None:
    classes = np.zeros((2049, 2050), np.uint8)
    classes[1::2] = SOLID
    classes[-1, -1] = SOLID
    image = draw_picture(Grid(classes))
    assert image.size == (1025, 1025)
    mean = tuple(round((a + b) / 2) for a, b in zip(render.PAPER, render.STONE, strict=True))
    for place in ((0, 0), (500, 700), (1024, 1023)):
        color = image.getpixel(place)
        assert isinstance(color, tuple)
        assert all(abs(a - b) <= 1 for a, b in zip(color, mean, strict=True))
    assert image.getpixel((3, 1024)) == render.PAPER


def test_costlier_cells_are_darker() -> None:
    grid = Grid([[0, 1, 2, 3]], cell_scale=[[1, 1, 2, 1]], layers={"mud": [[0, 0, 0, 1]]})
    image = draw_picture(grid, profile=Profile({1: 2, 2: 2, 3: 5}), overlays={"mud": 3.0})
    shades = [sum(centre(image, (x, 0), render.LARGEST_CELL)) for x in range(4)]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 4
    assert centre(image, (0, 0), render.LARGEST_CELL) == render.PAPER
    assert centre(image, (3, 0), render.LARGEST_CELL) == render.EARTH


@pytest.mark.parametrize("scale", [[[0, 0, 0]], [[0, 1, 1]], [[0, 1, 5]], [[1e-6, 1, 1e6]]])
def test_free_cells_shade_from_zero_to_huge(scale: list[list[float]]) -> None:
    image = draw_picture(Grid([[0, 0, 0]], cell_scale=scale))
    assert centre(image, (0, 0), render.LARGEST_CELL) == render.PAPER


def test_a_full_map_is_stone() -> None:
    image = draw_picture(Grid.filled(3, 3, SOLID))
    assert image.getcolors() == [(9 * render.LARGEST_CELL**2, render.STONE)]


def test_explored_cells_are_tinted_in_order_and_the_last_expansion_counts() -> None:
    grid = Grid.filled(4, 1)
    side = render.LARGEST_CELL
    image = draw_picture(grid, explored=[(0, 0), (1, 0), (2, 0)])
    assert centre(image, (0, 0), side) == render.EXPLORED_RAMP[0]
    assert centre(image, (1, 0), side) == render.EXPLORED_RAMP[1]
    assert centre(image, (2, 0), side) == render.EXPLORED_RAMP[2]
    assert centre(image, (3, 0), side) == render.PAPER
    again = draw_picture(grid, explored=[(0, 0), (1, 0), (0, 0)])
    assert centre(again, (0, 0), side) == render.EXPLORED_RAMP[2]


def test_a_trace_is_drawn_as_it_comes(tmp_path: Path) -> None:
    scene = load_builtin("caves")
    trace = SearchTrace(2 * scene.grid.size)
    result = find_path(scene.grid, scene.start, scene.goal, trace=trace)
    size = save_picture(
        tmp_path / "a.png",
        scene.grid,
        path=result.cells,
        explored=trace.cells,
        start=scene.start,
        goal=scene.goal,
    )
    with Image.open(tmp_path / "a.png") as image:
        assert image.size == size == (1200, 720)
        assert image.format == "PNG"


def test_marks_in_text() -> None:
    drawn = draw_text(Grid.filled(4, 1), path=[(0, 0), (1, 0), (2, 0)], marks=[(1, 0), (3, 0)])
    assert drawn == "*o*o"


def test_shades_go_from_the_least_to_the_greatest_finite_value() -> None:
    grid = Grid.filled(5, 1)
    image = draw_picture(grid, shades=[[3.0, 5.0, 7.0, math.inf, math.nan]])
    colors = [centre(image, (x, 0), render.LARGEST_CELL) for x in range(5)]
    assert colors == [*render.EXPLORED_RAMP, render.PAPER, render.PAPER]
    even = draw_picture(grid, shades=np.full((1, 5), 4.0))
    assert centre(even, (4, 0), render.LARGEST_CELL) == render.EXPLORED_RAMP[0]
    none = draw_picture(grid, shades=np.full((1, 5), np.inf))
    assert centre(none, (4, 0), render.LARGEST_CELL) == render.PAPER


def test_shades_on_a_map_that_is_larger_than_the_picture() -> None:
    shades = np.full((3, 4096), np.nan)
    shades[:, 2048:] = 1.0
    image = draw_picture(Grid.filled(4096, 3), shades=shades)
    assert image.getpixel((100, 0)) == render.PAPER
    assert image.getpixel((2000, 1)) == render.EXPLORED_RAMP[0]


def test_labels_have_colors_of_their_own() -> None:
    image = draw_picture(Grid.filled(40, 1), labels=[[*range(39), 1]])
    side = image.width // 40
    colors = [centre(image, (x, 0), side) for x in range(40)]
    assert colors[0] == render.PAPER
    assert colors[39] == colors[1]
    assert len(set(colors)) == 39


@pytest.mark.parametrize("direction", range(8))
def test_arrows_point_along_the_direction(direction: int) -> None:
    """The tail of an arrow is broad and its tip narrow, so most of it lies behind the middle."""
    side = render.LARGEST_CELL
    image = draw_picture(Grid.filled(3, 3), directions=np.full((3, 3), direction, np.uint8))
    cell = np.asarray(image.crop((side, side, 2 * side, 2 * side))).astype(int)
    y, x = np.nonzero((np.abs(cell - render.ARROW_COLOR) < 9).all(axis=2)) - np.array(
        (side - 1) / 2
    )
    along = np.array([DX[direction], DY[direction]]) / math.hypot(DX[direction], DY[direction])
    assert x.mean() * along[0] + y.mean() * along[1] < -0.3
    assert abs(x.mean() * along[1] - y.mean() * along[0]) < 0.3
    none = draw_picture(Grid.filled(3, 3), directions=np.full((3, 3), 255, np.uint8))
    assert none.getcolors() == draw_picture(Grid.filled(3, 3)).getcolors()


def test_arrows_are_thinned_out_on_large_maps() -> None:
    grid = Grid.filled(300, 200)
    image = draw_picture(grid, directions=np.zeros((200, 300), np.uint8))
    pixels = np.asarray(image).astype(int)
    covered = (np.abs(pixels - render.ARROW_COLOR) < 9).all(axis=2).mean()
    assert 0.02 < covered < 0.5


def test_line_over_the_path_and_offset() -> None:
    side = render.LARGEST_CELL
    grid = Grid.filled(6, 3, region_position=(-3, 2))
    path = [(-3, 2), (-2, 3), (-1, 4), (0, 4), (1, 4), (2, 4)]
    image = draw_picture(grid, path=path, line=[(-3.0, 2.0), (2.0, 2.0), (9.0, 2.0)])
    assert centre(image, (3, 0), side) == render.LINE_COLOR
    assert centre(image, (5, 0), side) == render.LINE_COLOR
    assert centre(image, (1, 1), side) == render.PATH_COLOR
    moved = draw_picture(grid, path=[(-3, 2), (-2, 2), (-1, 2)], offset=1.0)
    assert centre(moved, (2, 1), side) == render.PATH_COLOR
    assert centre(moved, (1, 0), side) == render.PAPER


def test_line_that_lies_outside_the_map() -> None:
    image = draw_picture(Grid.filled(2, 2), line=[(50.0, 0.0), (60.0, 0.0)])
    assert image.getcolors() == draw_picture(Grid.filled(2, 2)).getcolors()


def test_marks() -> None:
    image = draw_picture(Grid.filled(3, 1), marks=[(2, 0)])
    assert centre(image, (2, 0), render.LARGEST_CELL) == render.LINE_COLOR
    assert centre(image, (0, 0), render.LARGEST_CELL) == render.PAPER


def test_path_of_one_cell_and_no_path() -> None:
    side = render.LARGEST_CELL
    image = draw_picture(Grid.filled(2, 2), path=[(1, 1)])
    assert centre(image, (1, 1), side) == render.PATH_COLOR
    empty = draw_picture(Grid.filled(2, 2), path=np.empty((0, 2), np.int32))
    assert centre(empty, (1, 1), side) == render.PAPER


def test_picture_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"png: .* cannot be written .*; name another file"):
        save_picture(tmp_path / "no" / "a.png", Grid.filled(2, 2))


def test_without_pillow_the_error_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(NavserverError, match=r'pip install "navserver\[pictures\]"'):
        draw_picture(Grid.filled(2, 2))
