"""The picture that the README opens with shows what its program draws."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from docs import painting


def test_the_brush_never_covers_an_end_and_there_is_always_a_way() -> None:
    grid = painting.Grid.filled(painting.WIDTH, painting.HEIGHT, painting.GRASS)
    costs = []
    for stroke in painting.STROKES:
        for point in painting.along(stroke.points):
            grid.set_cells(painting.brushed(point, stroke.radius), stroke.class_id)
            result = painting.find_path(
                grid, painting.START, painting.GOAL, profile=painting.WALKER
            )
            assert result.found
            costs.append(result.cost)
    # Walls and mud make the way longer, doors shorter again.
    assert costs[0] < max(costs) > costs[-1]


@pytest.mark.slow
def test_the_picture_is_drawn_by_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert painting.main(["--out", str(tmp_path / "painting.gif")]) == 0
    assert "frames" in capsys.readouterr().out
    with Image.open(painting.TARGET) as kept, Image.open(tmp_path / "painting.gif") as drawn:
        assert (kept.n_frames, kept.size) == (drawn.n_frames, drawn.size)  # type: ignore[attr-defined]
