from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.maps.tile_map_layer import NO_OPINION, read_tiles
from navserver.status import InputError

Tile = tuple[int, int, int, int, int, int]


def blob(*tiles: Tile) -> bytes:
    rows = [np.array(tile, np.int64).astype("<u2").tobytes() for tile in tiles]
    return b"\0\0" + b"".join(rows)


def table(*rows: tuple[int, ...]) -> Any:
    return np.array(rows, np.uint16).reshape(-1, 6)


def slow_classes(
    layers: list[list[Tile]], rows: list[tuple[int, ...]], x0: int, y0: int, height: int, width: int
) -> tuple[list[list[int]], int, int]:
    meanings = {tuple(row[:5]): row[5] for row in rows}
    classes = [[NO_OPINION] * width for _ in range(height)]
    outside = unknown = 0
    for layer, tiles in enumerate(layers):
        for x, y, source, atlas_x, atlas_y, alternative in tiles:
            if not (0 <= x - x0 < width and 0 <= y - y0 < height):
                outside += 1
                continue
            meaning = meanings.get((layer, source, atlas_x, atlas_y, alternative & 0x0FFF))
            if meaning is None:
                unknown += 1
            elif meaning != NO_OPINION and classes[y - y0][x - x0] != 255:
                classes[y - y0][x - x0] = meaning
    return classes, outside, unknown


coordinates = st.integers(-3, 6)
small = st.integers(0, 2)
alternatives = st.sampled_from([0, 1, 0x1000, 0x2001, 0x5000, 0x7000])


@st.composite
def layers_of_tiles(draw: st.DrawFn) -> list[list[Tile]]:
    layers = []
    for _ in range(draw(st.integers(0, 3))):
        cells = draw(st.lists(st.tuples(coordinates, coordinates), unique=True, max_size=12))
        layers.append(
            [(x, y, draw(small), draw(small), draw(small), draw(alternatives)) for x, y in cells]
        )
    return layers


rows = st.lists(
    st.tuples(small, small, small, small, st.integers(0, 1), st.sampled_from([0, 1, 255, 256])),
    max_size=20,
)


@given(layers_of_tiles(), rows, coordinates, coordinates)
def test_tiles_mean_what_the_table_says(
    layers: list[list[Tile]], meanings: list[tuple[int, ...]], x0: int, y0: int
) -> None:
    found = read_tiles([blob(*tiles) for tiles in layers], table(*meanings), (x0, y0), (3, 4))
    classes, outside, unknown = slow_classes(layers, meanings, x0, y0, 3, 4)
    assert found.classes.tolist() == classes
    assert (found.outside, found.unknown) == (outside, unknown)


def test_negative_coordinates_and_the_whole_range_are_read() -> None:
    tiles = blob((-32768, 32767, 65535, 65535, 65535, 0))
    found = read_tiles([tiles], table((0, 65535, 65535, 65535, 0, 7)), (-32768, 32767), (1, 1))
    assert found.classes.tolist() == [[7]]


def test_flips_do_not_matter() -> None:
    tiles = blob((0, 0, 1, 0, 0, 20480), (1, 0, 1, 0, 0, 0))
    assert read_tiles([tiles], table((0, 1, 0, 0, 0, 3)), (0, 0), (1, 2)).classes.tolist() == [
        [3, 3]
    ]


def test_a_wall_below_shows_through() -> None:
    wall, floor = blob((0, 0, 1, 0, 0, 0)), blob((0, 0, 2, 0, 0, 0))
    meanings = table(
        (0, 1, 0, 0, 0, 255), (1, 2, 0, 0, 0, 4), (0, 2, 0, 0, 0, 4), (1, 1, 0, 0, 0, 255)
    )
    assert read_tiles([wall, floor], meanings, (0, 0), (1, 1)).classes.item() == 255
    assert read_tiles([floor, wall], meanings, (0, 0), (1, 1)).classes.item() == 255
    assert read_tiles([floor, floor], meanings, (0, 0), (1, 1)).classes.item() == 4


def test_a_layer_without_tiles_says_nothing() -> None:
    for empty in (b"", b"\0\0", np.empty(0, np.uint8)):
        found = read_tiles([empty], table(), (0, 0), (1, 1))
        assert (found.classes.item(), found.outside, found.unknown) == (NO_OPINION, 0, 0)


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0", b"\0" * 13, b"\0" * 15])
def test_what_is_no_tile_map_data_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"tiles of layer 1: '\d+ bytes' are no tile map data"):
        read_tiles([b"", data], table(), (0, 0), (1, 1))


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(InputError, match="format"):
        read_tiles([b"\x01\0" + bytes(12)], table(), (0, 0), (1, 1))


def test_classes_beyond_no_opinion_are_refused() -> None:
    with pytest.raises(InputError, match=r"table\[1\]"):
        read_tiles([], table((0, 0, 0, 0, 0, 256), (0, 0, 0, 0, 0, 257)), (0, 0), (1, 1))
