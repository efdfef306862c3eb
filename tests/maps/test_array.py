from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from navserver.maps.array import load_array, load_layer
from navserver.search.grid import SOLID, Grid
from navserver.status import MapFileError
from tests.maps.damage import damaged


def npy(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def load(tmp_path: Path, array: NDArray[np.generic]) -> Grid:
    file = tmp_path / "a.npy"
    file.write_bytes(npy(array))
    return load_array(file)


def test_bool_blocks(tmp_path: Path) -> None:
    grid = load(tmp_path, np.array([[True, False, False]]))
    assert grid.classes.tolist() == [[SOLID, 0, 0]]
    assert grid.cell_scale is None


def test_uint8_is_classes_in_any_memory_order(tmp_path: Path) -> None:
    classes = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert load(tmp_path, classes).classes.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert load(tmp_path, np.asfortranarray(classes)).classes.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4", ">f8"])
def test_floats_are_scales_and_inf_a_wall(tmp_path: Path, dtype: str) -> None:
    grid = load(tmp_path, np.array([[0.0, 2.5, np.inf, 1.0, -0.0]], dtype))
    assert grid.classes.tolist() == [[0, 0, SOLID, 0, 0]]
    assert grid.cell_scale is not None
    assert grid.cell_scale.tolist() == [[0.0, 2.5, 1.0, 1.0, 0.0]]


def test_floats_that_are_all_1_need_no_scale(tmp_path: Path) -> None:
    assert load(tmp_path, np.array([[1.0, np.inf]])).cell_scale is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [(np.nan, "nan is NaN"), (-1.0, "-1.0 is negative"), (-np.inf, "-inf is negative"),
     (1e39, "1e.39 exceeds float32")],
)  # fmt: skip
def test_bad_value_names_its_cell(tmp_path: Path, value: float, problem: str) -> None:
    array = np.ones((3, 4))
    array[1, 2] = value
    with pytest.raises(MapFileError, match=rf"a\.npy: cell 2,1: {problem}; give a cost"):
        load(tmp_path, array)


def test_layers(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    values = np.array([[0.0, 1.5], [2.0, 1.0]])
    for array in (values, np.asfortranarray(values), values.astype(np.float16)):
        file.write_bytes(npy(array))
        layer = load_layer(file)
        assert layer.dtype == np.float32
        assert layer.flags.c_contiguous
        assert layer.tolist() == values.tolist()
    file.write_bytes(npy(np.ones((1, 3), np.float32)))
    assert load_layer(file).tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.zeros((2, 2), np.uint8), "dtype uint8 is not a layer's; save floats"),
        (np.zeros((2, 2), np.bool_), "dtype bool is not a layer's; save floats"),
        (np.zeros(4), r"the array has shape \(4,\); save a two-dimensional array"),
        (np.array([[0.0, -1.0]]), "cell 1,0: -1.0 is negative; give a finite value >= 0"),
        (np.array([[0.0], [np.nan]]), "cell 0,1: nan is NaN; give a finite value >= 0"),
        (np.array([[0.0, np.inf]]), "cell 1,0: inf is infinite; give a finite value >= 0"),
        (np.array([[0.0, 1e39]]), r"cell 1,0: 1e\+39 exceeds float32; give a finite value >= 0"),
    ],
)
def test_bad_layers(tmp_path: Path, array: NDArray[np.generic], problem: str) -> None:
    file = tmp_path / "a.npy"
    file.write_bytes(npy(array))
    with pytest.raises(MapFileError, match=rf"a\.npy: {problem}"):
        load_layer(file)


@pytest.mark.parametrize("dtype", ["i4", "u2", "i1", "c16", "U3", "M8[s]", "f4,f4"])
def test_other_dtypes_say_what_to_save(tmp_path: Path, dtype: str) -> None:
    with pytest.raises(MapFileError, match=r"has no meaning as a map; save bool .*astype"):
        load(tmp_path, np.zeros((2, 2), dtype))


@pytest.mark.parametrize("shape", [(), (4,), (2, 2, 3)])
def test_other_shapes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(MapFileError, match=r"has shape .*two-dimensional"):
        load(tmp_path, np.zeros(shape, np.uint8))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_no_cells(tmp_path: Path, shape: tuple[int, int]) -> None:
    with pytest.raises(MapFileError):
        load(tmp_path, np.zeros(shape, np.uint8))


def test_too_large(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match=r"too large \(8193 x 1\)"):
        load(tmp_path, np.zeros((1, 8193), np.uint8))


class Sentinel:
    """Raises where it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("the file was unpickled",))


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    array = np.empty((1, 1), object)
    array[0, 0] = Sentinel()
    with pytest.raises(MapFileError, match="object arrays are not read"):
        load(tmp_path, array)
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Sentinel()))
    with pytest.raises(MapFileError, match=r"not a \.npy file"):
        load_array(tmp_path / "b.npy")


def test_archive_of_arrays_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.zeros((2, 2)))
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    with pytest.raises(MapFileError, match=r"not a \.npy file; save the array with numpy\.save"):
        load_array(tmp_path / "a.npy")


def test_header_that_promises_too_much_allocates_nothing(tmp_path: Path) -> None:
    data = npy(np.zeros((2, 2), np.uint8)).replace(b"(2, 2), }", b"(2**60, 2), }")
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(MapFileError, match="damaged or unsupported"):
        load_array(tmp_path / "a.npy")
    long = npy(np.zeros((2, 2), np.uint8)).replace(b"(2, 2), }      ", b"(8000, 8000), }")
    (tmp_path / "a.npy").write_bytes(long)
    with pytest.raises(MapFileError, match="damaged or unsupported"):
        load_array(tmp_path / "a.npy")


@given(data=damaged(npy(np.array([[1.0, 2.0], [np.inf, 0.5]], np.float32))))
def test_damaged_array_is_read_or_refused_by_map_file_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Whatever the bytes are, only MapFileError escapes."""
    file = tmp_path_factory.mktemp("npy") / "a.npy"
    file.write_bytes(data)
    try:
        load_array(file)
    except MapFileError as error:
        assert str(error).startswith(str(file))
