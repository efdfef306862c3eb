from __future__ import annotations

import numpy as np
import pytest

from navserver.movers.movers import Movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid
from navserver.service.mover_views import instance_transforms, stance_of, view_of, world_velocities
from navserver.status import InputError

TURNED = [[0.0, -16.0, 8.0], [16.0, 0.0, 4.0]]


def stepped(transform: list[list[float]]) -> Movers:
    movers = Movers(Grid.filled(8, 8, transform=transform))
    units = movers.add([(1, 1), (3, 3)], radius=0.4, max_speed=2.0)
    movers.set_paths(units[1:], [(3, 6)], [0, 1])
    Stepper(movers, threads=1).step(0.5)
    return movers


def test_instances_stand_in_the_world_and_look_ahead() -> None:
    movers = stepped([[16.0, 0, 8.0], [0, 16.0, 4.0]])
    view = view_of(movers, 1, None, None)
    # Godot: x.x, y.x, 0, origin.x, x.y, y.y, 0, origin.y
    assert instance_transforms(movers.grid, view).tolist() == [
        [1.0, 0.0, 0.0, 24.0, 0.0, 1.0, 0.0, 20.0],
        [0.0, -1.0, 0.0, 56.0, 1.0, 0.0, 0.0, 68.0],
    ]
    empty = view_of(movers, 1, (7, 7, 7, 7), None)
    assert instance_transforms(movers.grid, empty).shape == (0, 8)


def test_an_area_of_the_world_is_one_of_world_positions() -> None:
    movers = stepped(TURNED)
    # Cell (3, 4) lies at 8 - 16 * 4, 4 + 16 * 3.
    inside = view_of(movers, 1, (-57.0, 51.0, -55.0, 53.0), None, in_world=True)
    assert inside.positions.tolist() == [[3.0, 4.0]]
    assert world_velocities(movers.grid, inside.velocities).tolist() == [[-32.0, 0.0]]
    assert len(view_of(movers, 1, (-57.0, 51.0, -55.0, 53.0), None).handles) == 0
    everywhere = view_of(movers, 1, (-1e9, -1e9, 1e9, 1e9), 1, in_world=True)
    assert (len(everywhere.handles), everywhere.truncated) == (1, True)


def test_a_view_knows_where_they_stood_before_the_step() -> None:
    movers = stepped([[16.0, 0, 8.0], [0, 16.0, 4.0]])
    units = movers.handles()
    before = stance_of(movers)
    Stepper(movers, threads=1).step(0.5)
    then = instance_transforms(
        movers.grid, view_of(movers, 2, None, None, before=before), before=True
    )
    assert then.tolist() == [
        [1.0, 0.0, 0.0, 24.0, 0.0, 1.0, 0.0, 20.0],
        [0.0, -1.0, 0.0, 56.0, 1.0, 0.0, 0.0, 68.0],
    ]
    # Who was not there before stands where it is, in a slot of another as well.
    movers.remove(units[:1])
    movers.add([(6, 6), (2, 7)], radius=0.4, max_speed=2.0)
    view = view_of(movers, 2, None, None, before=before)
    assert view.positions_before.tolist() == [[6.0, 6.0], [3.0, 4.0], [2.0, 7.0]]
    assert view.positions.tolist() == [[6.0, 6.0], [3.0, 5.0], [2.0, 7.0]]
    # A slot that was free then, and is given again under the number it was to have.
    gone = movers.handles()[2:]
    movers.remove(gone)
    before = stance_of(movers)
    movers.add([(4, 4)], radius=0.4, max_speed=2.0)
    assert view_of(movers, 2, None, None, before=before).positions_before[2].tolist() == [4.0, 4.0]


@pytest.mark.parametrize("bad", [(5, 5, 4, 6), (0, 0, float("nan"), 1), (1, 2), "abcd"])
def test_what_is_no_rectangle_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="rectangle"):
        view_of(Movers(Grid.filled(2, 2)), 0, bad, None)  # type: ignore[arg-type]


def test_views_are_copies() -> None:
    movers = stepped(TURNED)
    view = view_of(movers, 1, None, None)
    view.positions[:] = 0
    assert np.any(movers.position)
