"""A grid's scale and overlay layers, and the bounds of costs that they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.layers import EditTarget, Layers
from navserver.search.movement import Movement
from navserver.status import InputError

HEIGHT, WIDTH = 70, 130


def rectangle(x0: int, y0: int, x1: int, y1: int) -> EditTarget:
    where = (slice(y0, y1), slice(x0, x1))
    return EditTarget(where, (y1 - y0, x1 - x0), (x0, y0, x1, y1), np.empty(0, np.int64))


def single(flat: int) -> EditTarget:
    cells = np.array([flat])
    return EditTarget((cells // WIDTH, cells % WIDTH), (1,), None, cells)


targets = st.one_of(
    st.integers(0, HEIGHT * WIDTH - 1).map(single),
    st.tuples(st.integers(0, WIDTH - 1), st.integers(0, HEIGHT - 1)).map(
        lambda corner: rectangle(*corner, WIDTH, HEIGHT)
    ),
)
values = st.sampled_from((0.0, 0.5, 1.0, 4.0))


@given(
    writes=st.lists(st.tuples(st.sampled_from(("scale", "a", "b")), targets, values), max_size=8)
)
def test_bounds_follow_any_sequence_of_writes(writes: list[Any]) -> None:
    layers = Layers(HEIGHT, WIDTH)
    scale = np.ones((HEIGHT, WIDTH))
    plain = {name: np.zeros((HEIGHT, WIDTH)) for name in "ab"}
    made = set()
    for name, target, value in writes:
        filled = np.full(target.shape, value, np.float32)
        if name == "scale":
            is_new = layers.write_scale(target, filled)
            scale[target.where] = value
        else:
            is_new = layers.write_layer(target, name, filled)
            plain[name][target.where] = value
        assert is_new == (name not in made)
        made.add(name)
    overlays = dict.fromkeys(layers.names, 2.0)
    least, greatest = layers.cost_bounds(Movement(overlays=overlays), np.array([1.0, 3.0]))
    assert least == scale.min() + sum(2.0 * plain[name].min() for name in overlays)
    assert greatest == 3.0 * scale.max() + sum(2.0 * plain[name].max() for name in overlays)
    for name in layers.names:
        np.testing.assert_array_equal(layers[name], plain[name])


def test_a_layer_that_goes_leaves_the_others_as_they_were() -> None:
    layers = Layers(HEIGHT, WIDTH)
    whole = rectangle(0, 0, WIDTH, HEIGHT)
    for value, name in enumerate("cab", 1):
        layers.write_layer(whole, name, np.full((HEIGHT, WIDTH), value, np.float32))
    layers.remove("a")
    assert layers.names == ["b", "c"]
    assert (layers["b"] == 3.0).all()
    assert (layers["c"] == 1.0).all()
    rows, weights = layers.overlay_rows(Movement(overlays={"c": 0.5, "b": 2.0}))
    assert [(layers.stack[row, 0], weight) for row, weight in zip(rows, weights, strict=True)] == [
        (3.0, 2.0),
        (1.0, 0.5),
    ]


@pytest.mark.parametrize("name", ["b", 3, None])
def test_layers_that_are_not_there_are_told(name: Any) -> None:
    layers = Layers(HEIGHT, WIDTH)
    layers.write_layer(single(0), "a", np.ones(1, np.float32))
    with pytest.raises(InputError, match=r"not a layer of the grid.*its layers: a"):
        layers.remove(name)
    with pytest.raises(InputError, match="overlays"):
        layers.overlay_rows(Movement(overlays={"b": 1.0}))
