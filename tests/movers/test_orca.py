"""ORCA: half-planes against the velocity obstacle itself, pairs that pass, scenes that end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.movers import Movers
from navserver.movers.orca import Avoidance, Avoiding, half_plane_
from navserver.movers.walls import Moving
from navserver.movers.workers import Workers
from navserver.search.grid import Grid
from navserver.status import InputError

coordinates = st.floats(-5.0, 5.0)


def nearest_approach(p: NDArray[np.float64], v: NDArray[np.float64], horizon: float) -> float:
    """Least distance of two points within the horizon, from the place and velocity of one."""
    square = float(v @ v)
    t = 0.0 if square == 0.0 else min(max(float(p @ v) / square, 0.0), horizon)
    return float(np.linalg.norm(p - t * v))


@given(coordinates, coordinates, coordinates, coordinates, st.floats(0.1, 2.0), st.floats(0.5, 9.0))
def test_the_border_of_the_obstacle_is_as_far_as_the_half_plane_says(
    px: float, py: float, vx: float, vy: float, reach: float, horizon: float
) -> None:
    p, v = np.array([px, py]), np.array([vx, vy])
    assume(np.linalg.norm(p) > reach * 1.01)
    nx, ny, change = half_plane_(px, py, vx, vy, reach, 1 / horizon, 4.0, 0, 1)
    n = np.array([nx, ny])
    assert np.linalg.norm(n) == pytest.approx(1.0)
    on_border = v + change * n
    assert nearest_approach(p, on_border, horizon) == pytest.approx(reach, abs=1e-6)
    assert nearest_approach(p, on_border + 1e-3 * n, horizon) > reach - 1e-7
    # Nothing nearer is on the border: v's side of it does not change within that distance.
    inside = nearest_approach(p, v, horizon) < reach
    if abs(change) > 1e-6:
        assert inside == (change > 0)
    for angle in np.linspace(0, 2 * math.pi, 16, endpoint=False):
        other = v + 0.999 * abs(change) * np.array([math.cos(angle), math.sin(angle)])
        if inside:
            assert nearest_approach(p, other, horizon) < reach + 1e-6
        else:
            assert nearest_approach(p, other, horizon) > reach - 1e-6


@given(coordinates, coordinates, coordinates, coordinates, st.floats(0.1, 2.0))
def test_discs_that_overlap_part_within_one_step(
    px: float, py: float, vx: float, vy: float, reach: float
) -> None:
    p, v = np.array([px, py]), np.array([vx, vy])
    p *= min(1.0, 0.99 * reach / max(float(np.linalg.norm(p)), 1e-300))
    nx, ny, change = half_plane_(p[0], p[1], vx, vy, reach, 0.1, 4.0, 3, 5)
    away = p - (v + change * np.array([nx, ny])) / 4.0
    assert np.linalg.norm(away) == pytest.approx(reach, abs=1e-6)


@given(coordinates, coordinates, coordinates, coordinates, st.floats(0.1, 2.0))
def test_both_of_a_pair_turn_opposite_ways(
    px: float, py: float, vx: float, vy: float, reach: float
) -> None:
    mine = half_plane_(px, py, vx, vy, reach, 0.5, 4.0, 3, 5)
    theirs = half_plane_(-px, -py, -vx, -vy, reach, 0.5, 4.0, 5, 3)
    assert mine[2] == pytest.approx(theirs[2])
    w = math.hypot(vx - 0.5 * px, vy - 0.5 * py)
    # Straight at each other both sides are equally near, and each takes its own left one.
    if w > 1e-6 and abs(px * vy - py * vx) > 1e-9:
        assert mine[:2] == pytest.approx((-theirs[0], -theirs[1]))


class Scene:
    """Movers that go straight for their goals and avoid each other on open ground."""

    def __init__(
        self,
        starts: NDArray[np.float64],
        goals: NDArray[np.float64],
        grid: Grid | None = None,
        avoidance: Avoidance | None = None,
        threads: int = 1,
        **properties: object,
    ) -> None:
        half = int(np.abs([starts, goals]).max()) + 3
        ground = grid or Grid.filled(2 * half + 1, 2 * half + 1, region_position=(-half, -half))
        self.movers = Movers(ground)
        options = {"radius": 0.4, "max_speed": 2.0} | properties
        self.units = self.movers.add(starts, **options)  # type: ignore[arg-type]
        self.goals = goals.astype(np.float32)
        workers = Workers(threads)
        self.phases = [
            Avoiding(self.movers, workers, avoidance or Avoidance()),
            Moving(self.movers, workers),
        ]

    def step(self, dt: float, speed: float = 1.0) -> None:
        n = self.movers.slots
        way = self.goals - self.movers.position
        length = np.linalg.norm(way, axis=1, keepdims=True)
        wish = way * np.minimum(speed / np.maximum(length, 1e-6), 1.0 / dt)
        self.movers.columns.preferred_velocity[:n] = wish
        for phase in self.phases:
            phase.run(dt)

    def gaps(self) -> NDArray[np.float64]:
        """Distance of each pair's borders."""
        places = self.movers.position.astype(np.float64)
        radius = self.movers.radius.astype(np.float64)
        i, j = np.triu_indices(len(places), 1)
        gaps: NDArray[np.float64] = (
            np.linalg.norm(places[i] - places[j], axis=1) - radius[i] - radius[j]
        )
        return gaps

    def away(self) -> float:
        return float(np.linalg.norm(self.goals - self.movers.position, axis=1).max())


@pytest.mark.parametrize("offset", [0.0, 0.1, -0.3])
def test_two_that_meet_head_on_pass_without_touching(offset: float) -> None:
    starts = np.array([[-5.0, 0.0], [5.0, offset]])
    scene = Scene(starts, -starts)
    for _ in range(400):
        scene.step(1 / 30)
        assert scene.gaps().min() > -1e-3
    assert scene.away() < 0.1


def test_a_mover_alone_goes_straight_at_the_speed_it_prefers() -> None:
    scene = Scene(np.array([[0.0, 0.0]]), np.array([[10.0, 5.0]]))
    for _ in range(60):
        scene.step(1 / 60)
    assert scene.movers.position[0] == pytest.approx(np.array([2, 1]) / math.sqrt(5), abs=1e-4)


def test_who_slides_along_a_wall_does_not_keep_right() -> None:
    # Facing down, its right leads away from the corner that it wants around.
    blocked = np.zeros((20, 20), bool)
    blocked[10:, :10] = True
    movers = Movers(Grid.from_blocked(blocked))
    movers.add([(9.2, 9.3), (9.2, 7.5)], radius=0.2, max_speed=4.0)
    phase = Avoiding(movers, Workers(1), Avoidance(keep_right=0.5))
    columns = movers.columns
    for y, turns in ((9.3, False), (8.3, True)):
        columns.position[0] = (9.2, y)
        columns.velocity[0] = (0.0, 0.0)
        columns.preferred_velocity[0] = (0.4, 3.9)
        phase.run(0.1)
        assert (columns.velocity[0, 0] < 0.0) == turns


def test_nobody_is_faster_than_the_top_speed() -> None:
    random = np.random.default_rng(5)
    starts = random.uniform(-3, 3, (40, 2))
    scene = Scene(starts, -starts, max_speed=random.uniform(0.0, 2.0, 40))
    for _ in range(20):
        scene.step(0.1, speed=50.0)
        speed = np.linalg.norm(scene.movers.velocity, axis=1)
        assert (speed <= scene.movers.max_speed * (1 + 1e-5) + 1e-6).all()


def test_who_has_priority_keeps_its_way() -> None:
    starts = np.array([[-4.0, 0.0], [4.0, 0.0]])
    scene = Scene(starts, -starts, priority=[1.0, 0.5])
    for _ in range(300):
        scene.step(1 / 30)
        assert scene.gaps().min() > -1e-3
        assert abs(scene.movers.position[0, 1]) < 1e-4
    assert scene.away() < 0.1


def test_layers_and_masks_say_who_sees_whom() -> None:
    starts = np.array([[-4.0, 0.0], [4.0, 0.0]])
    # The second is on a layer that the first ignores, and goes all the way round it.
    scene = Scene(starts, -starts, layers=[1, 2], mask=[1, 1])
    for _ in range(300):
        scene.step(1 / 30)
        assert scene.gaps().min() > -1e-3
        assert abs(scene.movers.position[0, 1]) < 1e-4
    assert scene.away() < 0.1
    blind = Scene(starts, -starts, layers=[1, 1], mask=[2, 2])
    gaps = []
    for _ in range(300):
        blind.step(1 / 30)
        gaps.append(blind.gaps().min())
    assert min(gaps) < -0.7


def test_movers_in_one_place_part() -> None:
    scene = Scene(np.zeros((12, 2)), np.zeros((12, 2)))
    for _ in range(60):
        scene.step(1 / 10, speed=0.0)
    assert np.isfinite(scene.movers.position).all()
    assert scene.gaps().min() > -0.05


def circle(n: int, radius: float) -> NDArray[np.float64]:
    angles = np.arange(n) * 2 * math.pi / n
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_a_perfectly_symmetric_circle_does_not_block_itself() -> None:
    starts = circle(12, 5.0)
    scene = Scene(starts, -starts)
    for _ in range(400):
        scene.step(1 / 20)
    assert scene.away() < 0.2


@pytest.mark.slow
def test_the_same_bytes_on_any_number_of_threads() -> None:
    random = np.random.default_rng(3)
    starts = random.uniform(-60, 60, (5000, 2))
    scenes = [Scene(starts, -starts, threads=threads) for threads in (1, 2, 3)]
    for _ in range(5):
        for scene in scenes:
            scene.step(0.1)
        for scene in scenes[1:]:
            assert scene.movers.position.tobytes() == scenes[0].movers.position.tobytes()
            assert scene.movers.velocity.tobytes() == scenes[0].movers.velocity.tobytes()


def test_without_time_nothing_changes() -> None:
    scene = Scene(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]]))
    scene.step(0.1)
    before = {name: array.copy() for name, array in scene.movers.columns.arrays().items()}
    for phase in scene.phases:
        assert phase.run(0.0) == 0
    for name, array in scene.movers.columns.arrays().items():
        np.testing.assert_array_equal(array, before[name], name)


@pytest.mark.slow
@pytest.mark.parametrize("scene_name", ["circle", "dense"])
def test_rvo2_scenes_end_with_less_overlap_than_in_rvo2(scene_name: str) -> None:
    pyrvo = pytest.importorskip("pyrvo", reason="the peer of avoidance: pip install pyrvo")
    n, dt, scale = 100, 0.25, 3.0
    starts = circle(n, 200 * n / 250)
    if scene_name == "dense":
        x, y = np.meshgrid(np.arange(10), np.arange(10))
        starts = (np.stack([x, y], axis=-1).reshape(-1, 2) - 4.5) * 6.0
    peer = pyrvo.RVOSimulator(dt, 15.0, 10, 10.0, 10.0, 1.5, 2.0)
    for x, y in starts.tolist():
        peer.add_agent((x, y))
    # A third of the size, so that a disc is as wide as a cell.
    ours = Scene(
        starts / scale, -starts / scale,
        avoidance=Avoidance(neighbor_dist=15 / scale, time_horizon=10.0),
        radius=1.5 / scale, max_speed=2.0 / scale,
    )  # fmt: skip

    def overlaps(places: NDArray[np.float64]) -> NDArray[np.float64]:
        i, j = np.triu_indices(n, 1)
        return np.maximum(3.0 - np.linalg.norm(places[i] - places[j], axis=1), 0.0)

    worst = {"peer": 0.0, "ours": 0.0}
    total = {"peer": 0.0, "ours": 0.0}
    steps = {"peer": 0, "ours": 0}
    places = {"peer": starts.copy(), "ours": starts.copy()}
    for who in ("peer", "ours"):
        while steps[who] < 3000 and np.linalg.norm(places[who] + starts, axis=1).max() > 1.5:
            if who == "peer":
                way = -starts - places[who]
                length = np.linalg.norm(way, axis=1, keepdims=True)
                for i, (x, y) in enumerate((way / np.maximum(length, 1.0)).tolist()):
                    peer.set_agent_pref_velocity(i, (x, y))
                peer.do_step()
                places[who] = np.array([peer.get_agent_position(i).to_tuple() for i in range(n)])
            else:
                ours.step(dt, speed=1.0 / scale)
                places[who] = ours.movers.position.astype(np.float64) * scale
            found = overlaps(places[who])
            worst[who] = max(worst[who], float(found.max()))
            total[who] += float(found.sum())
            steps[who] += 1
    assert steps["ours"] < 3000, "all arrive"
    assert worst["ours"] <= worst["peer"]
    assert total["ours"] / steps["ours"] <= total["peer"] / steps["peer"]


@pytest.mark.parametrize(
    "options",
    [
        {"neighbor_dist": 0.0},
        {"neighbor_dist": math.inf},
        {"max_neighbors": 0},
        {"max_neighbors": 65},
        {"max_neighbors": 2.5},
        {"time_horizon": -1.0},
        {"time_horizon": math.nan},
        {"keep_right": 1.5},
        {"keep_right": "left"},
    ],
)
def test_options_out_of_bounds_are_named(options: dict[str, float]) -> None:
    (name,) = options
    with pytest.raises(InputError, match=name):
        Avoidance(**options)  # type: ignore[arg-type]
