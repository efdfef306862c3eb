from __future__ import annotations

import io
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from PIL import Image

from navserver.maps.image import load_image
from navserver.search.grid import SOLID, Grid
from navserver.status import MapFileError
from tests.maps.damage import damaged


def load(tmp_path: Path, image: Image.Image, ending: str = "png", **options: Any) -> Grid:
    file = tmp_path / f"a.{ending}"
    image.save(file, **options)
    return load_image(file)


def grey(*levels: int) -> Image.Image:
    return Image.fromarray(np.array([levels], np.uint8))


def test_rule_of_luminance(tmp_path: Path) -> None:
    grid = load(tmp_path, grey(0, 63, 64, 128, 254, 255))
    assert grid.classes.tolist() == [[SOLID, SOLID, 0, 0, 0, 0]]
    assert grid.cell_scale is not None
    expected = [1, 1, 255 / 64, 255 / 128, 255 / 254, 1]
    assert grid.cell_scale[0].tolist() == pytest.approx(expected, rel=1e-6)


def test_walls_and_white_have_no_scale(tmp_path: Path) -> None:
    assert load(tmp_path, grey(0, 10, 255)).cell_scale is None


def test_rows_and_columns(tmp_path: Path) -> None:
    image = Image.new("L", (3, 2), 255)
    image.putpixel((2, 1), 0)
    assert load(tmp_path, image).classes.tolist() == [[0, 0, 0], [0, 0, SOLID]]


def expected_of(image: Image.Image) -> list[list[int]]:
    return np.where(np.asarray(image.convert("L")) < 64, SOLID, 0).tolist()


MODES = {
    "png": "1 L LA P RGB RGBA",
    "bmp": "1 L P RGB",
    "gif": "1 L LA P RGB RGBA",
    "jpg": "L RGB CMYK YCbCr",
    "ppm": "1 L RGB",
    # no YCbCr: Pillow 12 cannot read what it writes
    "tif": "1 L LA P RGB RGBA CMYK LAB",
    "webp": "L P RGB RGBA",
}


@pytest.mark.parametrize(
    ("ending", "mode"),
    [(ending, mode) for ending, modes in MODES.items() for mode in modes.split()],
)
def test_modes_and_formats(tmp_path: Path, ending: str, mode: str) -> None:
    image = Image.new("L", (16, 16), 255)
    image.paste(0, (0, 0, 8, 16))
    if mode == "LAB":
        lab = np.zeros((16, 16, 3), np.uint8)
        lab[:, 8:, 0] = 255
        stored = Image.fromarray(lab, "LAB")
    else:
        stored = image.convert("RGB").convert(mode)
    assert load(tmp_path, stored, ending).classes.tolist() == expected_of(image)


def test_luminance_weighs_colors(tmp_path: Path) -> None:
    image = Image.new("RGB", (3, 1))
    for x, color in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255)]):
        image.putpixel((x, 0), color)
    grid = load(tmp_path, image)
    assert grid.classes.tolist() == [[0, 0, SOLID]]
    assert grid.cell_scale is not None
    assert grid.cell_scale[0, 0] == pytest.approx(255 / 76)
    assert grid.cell_scale[0, 1] == pytest.approx(255 / 150, rel=0.01)


def test_transparency_lies_on_black(tmp_path: Path) -> None:
    image = Image.new("RGBA", (4, 1))
    for x, color in enumerate(
        [(255, 255, 255, 0), (255, 255, 255, 128), (255, 255, 255, 255), (0, 0, 0, 255)]
    ):
        image.putpixel((x, 0), color)
    grid = load(tmp_path, image)
    assert grid.classes.tolist() == [[SOLID, 0, 0, SOLID]]
    assert grid.cell_scale is not None
    assert grid.cell_scale[0, 1] == pytest.approx(255 / 128)


def test_transparent_color_of_a_palette(tmp_path: Path) -> None:
    image = Image.new("P", (2, 1), 0)
    image.putpalette([255, 255, 255, 255, 255, 255])
    image.putpixel((1, 0), 1)
    assert load(tmp_path, image, transparency=1).classes.tolist() == [[0, SOLID]]


def test_sixteen_bits(tmp_path: Path) -> None:
    values = np.array([[0, 63 * 257, 64 * 257, 128 * 257 + 100, 0xFFFF]], np.uint16)
    for ending in ("png", "tif"):
        grid = load(tmp_path, Image.fromarray(values), ending)
        assert grid.classes.tolist() == [[SOLID, SOLID, 0, 0, 0]]
        assert grid.cell_scale is not None
        assert grid.cell_scale[0, 3] == pytest.approx(255 / 128)


def test_pixels_without_a_stated_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match="pixels are floats"):
        load(tmp_path, Image.fromarray(np.ones((2, 2), np.float32)), "tif")
    with pytest.raises(MapFileError, match="exceed 16 bits"):
        load(tmp_path, Image.fromarray(np.full((2, 2), 70000, np.int32)), "tif")


def test_animation_gives_its_first_picture(tmp_path: Path) -> None:
    first, second = Image.new("L", (2, 2), 255), Image.new("L", (2, 2), 0)
    grid = load(tmp_path, first, "gif", save_all=True, append_images=[second])
    assert grid.classes.tolist() == [[0, 0], [0, 0]]


def png_of_size(width: int, height: int) -> bytes:
    """A PNG whose header states a size and whose data is one short row."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(b"\0" * 10))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(8193, 1), (1, 8193), (10000, 10000), (2**20, 2**20)])
def test_too_large_is_refused_before_decoding(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "a.png").write_bytes(png_of_size(*size))
    with pytest.raises(MapFileError, match="too large"):
        load_image(tmp_path / "a.png")


def test_truncated_and_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png_of_size(100, 100))
    with pytest.raises(MapFileError, match=r"a\.png: damaged picture"):
        load_image(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n")
    with pytest.raises(MapFileError, match="not a picture of a known format; save it as one of"):
        load_image(tmp_path / "a.png")
    with pytest.raises(MapFileError, match="no such file"):
        load_image(tmp_path / "b.png")
    with pytest.raises(MapFileError, match="is a folder"):
        load_image(tmp_path)


def test_without_pillow_the_error_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.png").write_bytes(png_of_size(1, 1))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MapFileError, match=r'pip install "navserver\[pictures\]"'):
        load_image(tmp_path / "a.png")


def encoded(image: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


SMALL = Image.effect_noise((12, 9), 90)


@pytest.mark.parametrize("kind", ["PNG", "GIF", "BMP", "JPEG", "TIFF", "WEBP", "PPM"])
def test_damaged_picture_is_read_or_refused_by_map_file_error(
    tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    """Whatever the bytes are, only MapFileError escapes."""
    file = tmp_path_factory.mktemp("image") / "a.png"

    @given(data=damaged(encoded(SMALL, kind)))
    def check(data: bytes) -> None:
        file.write_bytes(data)
        try:
            load_image(file)
        except MapFileError as error:
            assert str(error).startswith(str(file))

    check()
