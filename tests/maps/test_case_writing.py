from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.maps import case_writing
from navserver.maps.case import load_case
from navserver.maps.case_writing import save_case
from navserver.search.grid import Grid, Profile
from navserver.status import InputError, MapFileError


@given(
    costs=st.dictionaries(
        st.integers(0, 255), st.floats(0, 2.0**127, width=32) | st.just(math.inf), max_size=20
    ),
    default=st.floats(0, 2.0**127, width=32) | st.just(math.inf),
)
def test_profiles_come_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, costs: dict[int, float], default: float
) -> None:
    file = tmp_path_factory.mktemp("case") / "a.json"
    profile = Profile(costs, default=default)
    save_case(file, Grid.filled(1, 1), (0, 0), (0, 0), options={"profile": profile})
    assert load_case(file).options["profile"] == profile


def test_large_map_is_kept_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_writing, "LONGEST_INLINE", 40)
    file = tmp_path / "a.json"
    noise = Grid(np.random.RandomState(1).randint(0, 99, (20, 20)).astype(np.uint8))
    with pytest.raises(InputError, match=r"grid: .* bytes are more than the 40 .*map_file"):
        save_case(file, noise, (0, 0), (1, 1))
    with pytest.raises(InputError, match="grid: "):
        save_case(file, noise, (0, 0), (1, 1), map_file="noise.npy", inline=True)
    save_case(file, noise, (0, 0), (1, 1), map_file="noise.npy")
    assert load_case(file).map_file == "noise.npy"
    assert load_case(file).grid is None


def test_unknown_option_and_unwritable_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="options: 'speed' is no option; use algorithm"):
        save_case(tmp_path / "a.json", Grid.filled(1, 1), (0, 0), (0, 0), options={"speed": 1})
    with pytest.raises(MapFileError, match="cannot be written"):
        save_case(tmp_path / "no" / "a.json", Grid.filled(1, 1), (0, 0), (0, 0))
