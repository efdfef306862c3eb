"""Movers in pictures: where discs are and in which color, and what films keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from navserver.animation import Film, draw_movers
from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.render import PAPER
from navserver.search.grid import SOLID, Grid
from navserver.status import InputError

Pixel = tuple[int, int, int]


def table() -> Movers:
    """Four movers of a region: idle, walking right, waiting, removed."""
    grid = Grid(np.zeros((10, 20), np.uint8), region_position=(-4, 7))
    movers = Movers(grid)
    places = [(0, 9), (5, 9), (10, 9), (14, 9)]
    units = movers.add(places, radius=1.0, max_speed=1.0)
    columns = movers.columns
    columns.state[:3] = [MoverState.IDLE, MoverState.PATH, MoverState.WAITING]
    columns.velocity[1] = (1.0, 0.0)
    movers.remove(units[3:])
    return movers


def pixel(image: Image.Image, x: float, y: float, cell: int = 20) -> Pixel:
    """The pixel at a point of the region of `table`."""
    color = image.getpixel((int((x + 4.5) * cell), int((y - 7 + 0.5) * cell)))
    assert isinstance(color, tuple)
    return color  # type: ignore[return-value]


def is_gray(color: Pixel) -> bool:
    return max(color) - min(color) <= 2


def is_blue(color: Pixel) -> bool:
    return color[2] > color[0] + 20


def test_discs_are_where_movers_are_and_show_state_and_heading() -> None:
    movers = table()
    image = draw_movers(movers, hues=np.full(4, 0.62), side=400)
    assert image.size == (400, 200)
    idle, walking, waiting = (pixel(image, x, 9.5) for x in (0, 5, 10))
    assert sum(idle) > sum(walking)
    assert is_blue(idle)
    assert is_blue(walking)
    assert waiting == (255, 255, 255)
    # The mark's tip lies ahead.
    assert pixel(image, 5.6, 9) == (255, 255, 255)
    assert is_blue(pixel(image, 4.4, 9))
    for x in (0, 5, 10):
        assert is_blue(pixel(image, x, 9.95)), "rims have the color"
    ground = draw_movers(Movers(movers.grid), side=400)
    assert pixel(image, 14, 9) == pixel(ground, 14, 9), "removed"
    assert pixel(image, 5, 10.3) == pixel(ground, 5, 10.3), "beyond the radius"


def test_colors_are_of_orders_and_gray_without_one() -> None:
    movers = table()
    movers.columns.state[:3] = MoverState.IDLE
    movers.columns.velocity[:3] = 0.0
    movers.columns.group[:3] = [0, 1, -1]
    image = draw_movers(movers, side=400)
    first, second, none = (pixel(image, x, 9) for x in (0, 5, 10))
    assert is_blue(first)
    assert not is_blue(second)
    assert not is_gray(second)
    assert is_gray(none)


def test_tiny_and_empty() -> None:
    grid = Grid.filled(3, 1)
    assert draw_movers(Movers(grid), side=1).size == (1, 1)
    movers = Movers(grid)
    movers.add([(1, 0)], radius=0.0, max_speed=0.0)
    image = draw_movers(movers, side=300)
    color = image.getpixel((150, 50))
    assert isinstance(color, tuple)
    assert sum(color) < sum(PAPER) - 60, "a body without size is seen"


@pytest.mark.parametrize("side", [0, -1, 2049, 1.5, None])
def test_bad_sides(side: object) -> None:
    with pytest.raises(InputError) as error:
        draw_movers(table(), side=side)  # type: ignore[arg-type]
    assert error.value.field == "side"


def test_hues_are_one_a_slot() -> None:
    for hues in ([0.5], 0.5, [[0.1] * 4]):
        with pytest.raises(InputError) as error:
            draw_movers(table(), hues=hues)
        assert error.value.field == "hues"


def walk(film: Film, movers: Movers, n: int) -> None:
    for i in range(n):
        movers.columns.position[1, 0] = 5 + 0.2 * i
        film.record(i / 10)


def durations(file: Path) -> list[int]:
    with Image.open(file) as gif:
        found = []
        for i in range(gif.n_frames):  # type: ignore[attr-defined]
            gif.seek(i)
            found.append(gif.info["duration"])
        return found


def test_gif_lasts_as_long_as_the_world_did(tmp_path: Path) -> None:
    movers = table()
    film = Film(movers, side=200)
    walk(film, movers, 9)
    file = tmp_path / "a.gif"
    assert film.save_gif(file, speed=2.0) == file.stat().st_size
    assert durations(file) == [50] * 8 + [1000]
    with Image.open(file) as gif:
        assert gif.size == (200, 100)
        assert gif.info["loop"] == 0
        gif.seek(8)
        drawn = np.asarray(gif.convert("RGB"), np.int64)
    wanted = np.asarray(draw_movers(movers, side=200), np.int64)
    # 96 colors for all frames.
    assert np.abs(drawn - wanted).mean() < 3.0


def test_gif_leaves_frames_out_until_it_is_small_enough(tmp_path: Path) -> None:
    movers = table()
    film = Film(movers, side=200)
    walk(film, movers, 33)
    file = tmp_path / "a.gif"
    whole = film.save_gif(file)
    assert film.save_gif(file, most_bytes=whole // 2) <= whole // 2
    left = durations(file)
    assert 2 <= len(left) < 33
    assert sum(left) == 3200 + 1000
    with pytest.raises(InputError) as error:
        film.save_gif(file, most_bytes=100)
    assert error.value.field == "most_bytes"
    assert durations(file) == left, "nothing was written"


def test_strip_takes_the_nearest_moments(tmp_path: Path) -> None:
    movers = table()
    film = Film(movers, side=200)
    walk(film, movers, 9)
    file = tmp_path / "a.png"
    size = film.save_strip(file, [0.0, 0.44, 99.0], columns=2)
    with Image.open(file) as strip:
        assert strip.size == size
        picture = strip.convert("RGB")
    assert size == (2 * 208 + 8, 2 * 132 + 8)
    last = np.asarray(picture.crop((8, 8 + 132 + 24, 208, 8 + 132 + 124)), np.int64)
    wanted = np.asarray(draw_movers(movers, side=200), np.int64)
    assert np.abs(last - wanted).mean() < 1.0
    first = np.asarray(picture.crop((8, 32, 208, 132)), np.int64)
    assert np.abs(first - wanted).mean() > 2.0


def test_films_show_edits_from_then_on(tmp_path: Path) -> None:
    movers = table()
    film = Film(movers, side=200)
    film.record(0.0)
    movers.grid.set_rectangle((-4, 7), (20, 1), SOLID)
    film.record(1.0)
    film.save_strip(tmp_path / "a.png", [0.0, 1.0])
    with Image.open(tmp_path / "a.png") as strip:
        picture = strip.convert("L")
    before, after = picture.getpixel((100, 36)), picture.getpixel((308, 36))
    assert isinstance(before, int)
    assert isinstance(after, int)
    assert before > 200
    assert after < 100


def test_films_refuse_what_they_cannot_do(tmp_path: Path) -> None:
    movers = table()
    film = Film(movers, side=50)
    for call in (
        lambda: film.save_gif(tmp_path / "a.gif"),
        lambda: film.save_strip(tmp_path / "a.png", [0.0]),
    ):
        with pytest.raises(InputError, match="has no moments"):
            call()
    film.record(1.0)
    for time in (1.0, 0.5, float("nan"), float("inf")):
        with pytest.raises(InputError) as error:
            film.record(time)
        assert error.value.field == "time"
    assert film.times == [1.0]
    for moments in ([], [float("nan")], [[0.0]]):
        with pytest.raises(InputError) as error:
            film.save_strip(tmp_path / "a.png", moments)  # type: ignore[arg-type]
        assert error.value.field == "moments"
    with pytest.raises(InputError) as error:
        film.save_gif(tmp_path / "a.gif", speed=0.0)
    assert error.value.field == "speed"
    with pytest.raises(InputError) as error:
        film.save_gif(tmp_path / "nowhere" / "a.gif")
    assert error.value.field == "gif"
    assert list(tmp_path.iterdir()) == []
