from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.service.worlds import Worlds
from navserver.status import InputError


@pytest.mark.parametrize("name", ["", "x" * 201, 5, None, ["a"]])
def test_a_world_that_is_not_there_is_no_accident_of_types(name: Any) -> None:
    worlds = Worlds()
    with pytest.raises(InputError, match="world"):
        worlds[name]
    assert name not in worlds


def test_worlds_are_bounded_in_number_and_bytes() -> None:
    worlds = Worlds(max_worlds=2, max_bytes=21 * 200)
    worlds.add("a", Grid.filled(10, 10))
    with pytest.raises(InputError, match="size"):
        worlds.add("b", Grid.filled(101, 1))
    worlds.add("b", Grid.filled(10, 10))
    with pytest.raises(InputError, match="as many"):
        worlds.add("c", Grid.filled(1, 1))
    worlds.remove("a")
    worlds.add("c", Grid.filled(1, 1))
    assert [world.name for world in worlds] == ["b", "c"]
    with pytest.raises(InputError, match="taken"):
        worlds.add("c", Grid.filled(1, 1))
    with pytest.raises(InputError, match="grid"):
        worlds.add("d", np.zeros((2, 2)))  # type: ignore[arg-type]
