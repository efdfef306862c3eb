from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from navserver.maps.builtin import load_builtin
from navserver.movers.columns import StuckReason
from navserver.search.grid import Grid
from navserver.sim import planning, runner
from navserver.sim.bots import BehaviorError, BotState
from navserver.sim.recording import Recording, load_recording
from navserver.sim.runner import Run, RunResult, replay, run_scenario
from navserver.sim.scenarios import Area, BotKind, MapEdit, Scenario
from navserver.sim.setup import Setup
from navserver.sim.worlds import LocalWorld, Tick
from navserver.status import InputError

ROOMS = load_builtin("rooms").grid
CELL = tuple(int(n) for n in np.argwhere(~ROOMS.blocked())[300][::-1])
EDITS = (MapEdit(5, Area(0, 0, 20, 20), 255), MapEdit(9, Area(0, 0, 20, 20), 0))


def local(threads: int = 1):  # type: ignore[no-untyped-def]
    return lambda setup: LocalWorld(setup, threads)


def rooms_run(behavior: str = "wander", **changes: object) -> tuple[RunResult, Recording]:
    fields = {"ticks": 25, "seed": 3, "edits": EDITS} | changes
    scenario = Scenario((BotKind("a", 20, behavior), BotKind("b", 10, "commute")), **fields)  # type: ignore[arg-type]
    result, recorder = run_scenario(scenario, ROOMS, local(), record=True)
    assert recorder is not None
    return result, recorder.recording()


@pytest.mark.slow
@pytest.mark.parametrize("behavior", ["wander", "commute", "chase"])
def test_a_run_adds_up(behavior: str) -> None:
    result, recording = rooms_run(behavior)
    assert result.error is None
    assert result.ticks == recording.ticks == 25
    assert sum(result.counts.values()) == 30
    assert result.in_wall == 0
    assert result.tally.visits.sum() == 30 * 25
    assert result.tally.orders >= 30
    assert result.bot_ticks_per_s > 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_and_another_does_not() -> None:
    (one, _), (same, _), (other, _) = rooms_run(), rooms_run(), rooms_run(seed=4)
    assert one.state_hash == same.state_hash != other.state_hash


@pytest.mark.slow
def test_a_replay_repeats_the_run_and_finds_where_it_parts() -> None:
    _, recording = rooms_run()
    seen = []
    assert replay(recording, local(2), lambda _tick, _bots, grid: seen.append(grid.version)) is None
    assert seen[0] < seen[6] < seen[10]
    hashes = recording.hashes.copy()
    hashes[17] ^= 1
    changed = Recording(
        recording.setup,
        recording.edits,
        recording.order_ticks,
        recording.order_rows,
        recording.order_goals,
        hashes,
    )
    assert replay(changed, local()) == 17
    goals = recording.order_goals.copy()
    goals[0] = CELL
    misled = Recording(
        recording.setup,
        recording.edits,
        recording.order_ticks,
        recording.order_rows,
        goals,
        recording.hashes,
    )
    assert replay(misled, local()) == 0


@pytest.mark.slow
def test_a_saved_recording_replays(tmp_path: Path) -> None:
    scenario = Scenario((BotKind("a", 5),), ticks=8)
    _, recorder = run_scenario(scenario, ROOMS, local(), record=True)
    assert recorder is not None
    recorder.save(tmp_path / "run.npz")
    assert replay(load_recording(tmp_path / "run.npz"), local()) is None


def test_the_map_given_is_not_edited() -> None:
    before = ROOMS.version
    run_scenario(Scenario((BotKind("a", 1),), ticks=6, edits=EDITS), ROOMS, local())
    assert ROOMS.version == before


def test_a_behavior_that_fails_ends_the_run_with_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "class Own:\n"
        "    def __init__(self, kind): pass\n"
        "    def decide(self, bots):\n"
        "        return None if bots.tick < 4 else bots.goals\n"
    )
    scenario = Scenario((BotKind("mine", 3, str(file)),), ticks=9)
    result, _ = run_scenario(scenario, ROOMS, local())
    assert result.ticks == 4
    assert result.error is not None
    assert "behavior of mine at tick 4" in result.error
    assert "own.py:4: AttributeError" in result.error
    assert sum(result.counts.values()) == 3


def test_a_user_stops_it() -> None:
    def stop(_done: int, _total: int, _run: Run) -> bool:
        return False

    result, _ = run_scenario(Scenario((BotKind("a", 1),)), ROOMS, local(), progress=stop)
    assert (result.ticks, result.error) == (0, "stopped by the user")


@pytest.mark.slow
def test_a_user_stops_it_within_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "SLICE", 1)
    monkeypatch.setattr(runner, "_PROGRESS_SECONDS", 0.0)
    told = []

    def stop(done: int, _total: int, run: Run) -> bool:
        told.append((done, run.waiting))
        return len(told) < 400

    scenario = Scenario((BotKind("a", 200),), ticks=10**6)
    result, recorder = run_scenario(scenario, ROOMS, local(), record=True, progress=stop)
    assert result.error == "stopped by the user"
    assert sum(result.counts.values()) == 200
    # from the first tick on, and as long as bots wait in it
    assert told[0] == (0, 0)
    assert told[1] in [(0, 199), (0, 200)]
    assert recorder is not None
    done, waiting = told[399]
    # A step that was not through is counted, but not kept: it could not be repeated.
    assert result.ticks == (done + 1 if waiting else done)
    recording = recorder.recording()
    assert recording.ticks == done
    recorder.save(tmp_path / "run.npz")
    assert replay(load_recording(tmp_path / "run.npz"), local()) is None


def test_progress_ends_with_all_ticks() -> None:
    told = []

    def tell(done: int, total: int, _run: Run) -> bool:
        told.append((done, total))
        return True

    run_scenario(Scenario((BotKind("a", 1),), ticks=3), ROOMS, local(), progress=tell)
    assert told[-1] == (3, 3)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (BotKind("a", 1, "none.py"), InputError),
        (BotKind("a", 1, "wander", options={"pauses": 1}), InputError),
        (BotKind("a", 1, "OWN"), BehaviorError),
        (BotKind("a", 10**6), InputError),
    ],
)
def test_what_cannot_begin_is_refused(
    kind: BotKind, error: type[Exception], tmp_path: Path
) -> None:
    if kind.behavior == "OWN":
        own = tmp_path / "own.py"
        own.write_text(
            "class Own:\n"
            "    def __init__(self, kind): raise RuntimeError\n"
            "    def decide(self, bots): pass\n"
        )
        kind = replace(kind, behavior=str(own))
    with pytest.raises(error):
        run_scenario(Scenario((kind,)), ROOMS, local())


def test_the_world_is_closed_whatever_happens() -> None:
    closed = []

    class World(LocalWorld):
        def close(self) -> None:
            closed.append(True)
            super().close()

    def make(setup: Setup) -> World:
        return World(setup, 1)

    with pytest.raises(InputError):
        run_scenario(Scenario((BotKind("a", 1, "none.py"),)), ROOMS, make)
    assert closed == [True]


def test_a_wall_far_away_holds_nobody() -> None:
    grid = Grid.filled(40, 20)
    grid.set_rectangle((20, 0), (1, 9), 255)
    spawns = ((19, 4), (5, 9), (0, 0))
    kinds = tuple(BotKind(str(i), 1, spawn=(Area(x, y, 1, 1),)) for i, (x, y) in enumerate(spawns))

    class Held(LocalWorld):
        """All say that a wall holds them."""

        def step(self) -> Tick:
            tick = super().step()
            return tick._replace(
                stuck=np.arange(3),
                state=np.full(3, BotState.STUCK, np.uint8),
                reason=np.full(3, StuckReason.WALL, np.uint8),
            )

    scenario = Scenario(kinds, ticks=1)
    result, _ = run_scenario(scenario, grid, lambda setup: Held(setup, 1))
    wall, crowd = StuckReason.WALL, StuckReason.CROWD
    assert result.tick.reason.tolist() == [wall, crowd, wall]
    cells = grid.flat_indices(list(spawns)).tolist()
    expected = dict.fromkeys(zip((wall, crowd, wall), cells, strict=True), 1)
    assert result.tally.stuck_reasons == expected


def test_bots_in_walls_are_counted() -> None:
    grid = Grid.filled(4, 4)
    result, _ = run_scenario(Scenario((BotKind("a", 2),), ticks=2), grid, local())
    run = Run(result.scenario, result.setup, LocalWorld(result.setup, 1))
    run.grid.set_all(255)
    run.advance()
    assert run.result().in_wall == 2


def test_a_behavior_that_ends_the_process_ends_only_the_run(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "import sys\n"
        "class Own:\n"
        "    def __init__(self, kind): pass\n"
        "    def decide(self, bots): sys.exit(3)\n"
    )
    result, _ = run_scenario(Scenario((BotKind("mine", 3, str(file)),), ticks=9), ROOMS, local())
    assert result.ticks == 0
    assert result.error is not None
    assert "own.py:4: SystemExit: 3" in result.error
