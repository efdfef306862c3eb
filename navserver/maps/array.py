"""NumPy ``.npy`` files: blocked cells, classes, or a cost a cell."""

from __future__ import annotations

import warnings
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from navserver.maps.files import check_size, read_start
from navserver.search.grid import SOLID, Grid
from navserver.status import MapFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load_array", "load_layer"]

_MAGIC = b"\x93NUMPY"


def load_array(path: str | PathLike[str]) -> Grid:
    """Read a two-dimensional ``.npy`` array, indexed [y, x].

    ========  ==========================================================================
    dtype     meaning
    ========  ==========================================================================
    bool      True is a wall, False class 0
    uint8     the class of each cell; 255 is a wall
    float     the cell's scale (its cost under the default profile), >= 0; +inf is a wall
    ========  ==========================================================================

    Pickled arrays are never opened: unpickling runs code from the file.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Grid
        With `cell_scale` if the array is of floats that are not all 1.

    Raises
    ------
    MapFileError
        If the file is no such array; names the cell that is NaN, negative or beyond float32.
    """
    array = _open_map(path)
    if array.dtype == np.bool_:
        return Grid.from_blocked(np.array(array, np.bool_))
    if array.dtype == np.uint8:
        return Grid(np.array(array, np.uint8))
    if array.dtype.kind != "f":
        raise MapFileError(
            path,
            None,
            f"dtype {array.dtype} has no meaning as a map",
            "save bool (True blocks), uint8 (classes) or float32 (costs): array.astype(...)",
        )
    return _grid_of_costs(path, array)


def load_layer(path: str | PathLike[str]) -> NDArray[np.float32]:
    """Read a two-dimensional ``.npy`` array of floats, indexed [y, x], as a layer of a map.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    float32 array (height, width)
        Finite and >= 0, as `Grid` takes it.

    Raises
    ------
    MapFileError
        If the file is no such array; names the cell that is NaN, negative or infinite.
    """
    array = _open_map(path)
    if array.dtype.kind != "f":
        raise MapFileError(
            path,
            None,
            f"dtype {array.dtype} is not a layer's",
            "save floats: array.astype(numpy.float32)",
        )
    values = _checked_floats(path, array, "give a finite value >= 0")
    _refuse_cells(path, array, np.isinf(values), "is infinite", "give a finite value >= 0")
    return values


def _open_map(path: str | PathLike[str]) -> NDArray[Any]:
    array = _open_array(path)
    if array.ndim != 2:
        raise MapFileError(
            path,
            None,
            f"the array has shape {array.shape}",
            "save a two-dimensional array indexed [y, x]",
        )
    height, width = array.shape
    check_size(path, None, width, height)
    return array


def _open_array(path: str | PathLike[str]) -> NDArray[Any]:
    """Return the array as a read-only view of the file: nothing is allocated by its header."""
    if read_start(path, len(_MAGIC)) != _MAGIC:
        raise MapFileError(
            path, None, "not a .npy file", "save the array with numpy.save(path, array)"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.load(fspath(path), mmap_mode="r", allow_pickle=False)
    except Exception as error:  # noqa: BLE001 - a damaged header is parsed as Python source
        reason = " ".join(str(error).split())[:80] or type(error).__name__
        raise MapFileError(
            path,
            None,
            f"damaged or unsupported .npy file ({reason})",
            "save it again with numpy.save(path, array); object arrays are not read",
        ) from None
    return np.asarray(array)


def _grid_of_costs(path: str | PathLike[str], array: NDArray[Any]) -> Grid:
    scale = _checked_floats(path, array, "give a cost >= 0, or inf for a wall")
    walls = np.isinf(scale)
    scale[walls] = 1.0
    classes = np.where(walls, np.uint8(SOLID), np.uint8(0))
    return Grid(classes, cell_scale=None if (scale == 1.0).all() else scale)


def _checked_floats(
    path: str | PathLike[str], array: NDArray[Any], remedy: str
) -> NDArray[np.float32]:
    """Return a copy in float32, infinite where the array is."""
    with np.errstate(over="ignore"):
        values = np.array(array, np.float32, order="C")
    _refuse_cells(path, array, np.isnan(array), "is NaN", remedy)
    _refuse_cells(path, array, array < 0, "is negative", remedy)
    _refuse_cells(path, array, np.isinf(values) & ~np.isinf(array), "exceeds float32", remedy)
    return values


def _refuse_cells(
    path: str | PathLike[str],
    array: NDArray[Any],
    wrong: NDArray[np.bool_],
    problem: str,
    remedy: str,
) -> None:
    if wrong.any():
        y, x = (int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        raise MapFileError(path, None, f"cell {x},{y}: {array[y, x]} {problem}", remedy)
