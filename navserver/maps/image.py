"""Pictures as maps: dark is a wall, grey costs more than white.

Needs Pillow, which ``pip install "navserver[pictures]"`` brings.
"""

from __future__ import annotations

import warnings
from os import PathLike, fspath
from typing import TYPE_CHECKING

import numpy as np

from navserver.maps.files import check_size, read_start
from navserver.search.grid import SOLID, Grid
from navserver.status import MapFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

__all__ = ["DARKEST_FREE", "IMAGE_FORMATS", "load_image"]

DARKEST_FREE = 64
"""Luminance below which a pixel is a wall."""

IMAGE_FORMATS = ("PNG", "BMP", "GIF", "JPEG", "PPM", "TIFF", "WEBP")
"""What Pillow may open here: formats whose decoders start no other program."""

_RGB_MODES = ("RGB", "CMYK", "YCbCr", "LAB", "HSV", "RGBX")
_ALPHA_MODES = ("RGBA", "LA", "PA", "RGBa", "La")


def load_image(path: str | PathLike[str]) -> Grid:
    """Read a picture, one pixel a cell.

    The rule, with L the luminance from 0 to 255 (``0.299 R + 0.587 G + 0.114 B``):

    - L < 64 is a wall;
    - any other pixel is class 0 with ``cell_scale = 255 / L``: white 1, mid grey about 2, the
      darkest free grey 3.98. A picture of walls and white alone has no `cell_scale`.
    - Transparent pixels are laid on black: nothing there is a wall, half-transparent white a grey.
    - 16-bit grey counts by its upper eight bits, palettes by their colours, and of an animation
      only the first picture. Pixels are taken as stored: a turn stated in EXIF is ignored.

    Parameters
    ----------
    path : path-like
        A PNG, BMP, GIF, JPEG, PPM, TIFF or WebP file.

    Returns
    -------
    Grid
        Classes 0 and `SOLID`.

    Raises
    ------
    MapFileError
        If Pillow is missing, the file is not such a picture or is damaged, or a side exceeds
        8192 pixels (refused before anything is decoded).
    """
    read_start(path, 1)
    luminance = _read_luminance(path)
    walls = luminance < DARKEST_FREE
    classes = np.where(walls, np.uint8(SOLID), np.uint8(0))
    if (walls | (luminance == 255)).all():
        return Grid(classes)
    scale_of = np.ones(256, np.float32)
    scale_of[DARKEST_FREE:] = 255.0 / np.arange(DARKEST_FREE, 256)
    return Grid(classes, cell_scale=scale_of[luminance])


def _read_luminance(path: str | PathLike[str]) -> NDArray[np.uint8]:
    try:
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        raise MapFileError(
            path,
            None,
            "pictures need Pillow, which is not installed",
            'run: pip install "navserver[pictures]"',
        ) from None
    try:
        with warnings.catch_warnings():
            # Pillow warns of sizes that are within our own limit, and of damaged metadata.
            warnings.simplefilter("ignore")
            with Image.open(fspath(path), formats=IMAGE_FORMATS) as image:
                check_size(path, None, image.width, image.height)
                image.load()
                return _luminance(path, image)
    except MapFileError:
        raise
    except UnidentifiedImageError:
        raise MapFileError(
            path,
            None,
            "not a picture of a known format",
            f"save it as one of {', '.join(IMAGE_FORMATS)}",
        ) from None
    except Image.DecompressionBombError:
        raise MapFileError(
            path, None, "the picture is too large", "make it at most 8192 x 8192 pixels"
        ) from None
    except Exception as error:  # noqa: BLE001 - decoders raise almost anything on damaged files
        reason = " ".join(str(error).split())[:80] or type(error).__name__
        raise MapFileError(
            path, None, f"damaged picture ({reason})", "save it again, best as PNG"
        ) from None


def _luminance(path: str | PathLike[str], image: Image) -> NDArray[np.uint8]:
    """Return the luminance of a loaded picture, uint8 of shape (h, w)."""
    if image.mode == "F":
        raise MapFileError(
            path,
            None,
            "the pixels are floats, whose range is not stated",
            "save 8-bit grey, or the array as .npy",
        )
    if image.mode.startswith("I"):
        values = np.asarray(image).astype(np.int64)
        if values.min() < 0 or values.max() > 0xFFFF:
            raise MapFileError(path, None, "the pixels exceed 16 bits", "save 8-bit or 16-bit grey")
        return np.asarray(values >> 8, np.uint8)
    if image.mode in _ALPHA_MODES or "transparency" in image.info:
        pixels = np.asarray(image.convert("RGBA"))
        grey = np.asarray(image.convert("RGBA").convert("RGB").convert("L"))
        laid = grey.astype(np.uint16) * pixels[:, :, 3]
        return np.asarray((laid + 127) // 255, np.uint8)
    if image.mode in _RGB_MODES or image.mode == "P":
        image = image.convert("RGB")
    return np.array(image.convert("L"), np.uint8)
