"""The script that draws the pictures of the guides: its scenes, small and short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docs import pictures
from navserver.movers.columns import MoverState


@pytest.mark.slow
@pytest.mark.parametrize("name", pictures.SCENES)
def test_scenes_begin_apart_and_are_drawn(name: str, tmp_path: Path) -> None:
    n = 12
    scene = pictures.SCENES[name](n)
    movers = scene.stepper.movers
    assert len(movers) == n == len(scene.hues)
    places = movers.position.astype(np.float64)
    gaps = np.hypot(*(places[:, np.newaxis] - places).transpose(2, 0, 1))
    assert (gaps + 9.0 * np.eye(n) >= 2.0 * movers.radius).all()
    told = pictures.draw(tmp_path, name, scene, most_seconds=2.0)
    assert told.startswith(f"{name}: 0 of {n} at rest after 2.0 s")
    assert (movers.state == MoverState.PATH).any()
    with Image.open(tmp_path / f"{name}.gif") as gif:
        assert gif.n_frames == 11  # type: ignore[attr-defined]
    with Image.open(tmp_path / f"{name}.png") as strip:
        assert strip.width > 2 * scene.side


def test_unknown_scenes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        pictures.main(["ballroom"])
    assert "no such scene: ballroom" in capsys.readouterr().err
