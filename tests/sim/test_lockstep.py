"""The same run in process, on two workers, and over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from navserver.maps.builtin import load_builtin
from navserver.search.profile import Profile
from navserver.sim.lockstep import LockstepWorld
from navserver.sim.runner import RunResult, replay, run_scenario
from navserver.sim.scenarios import Area, BotKind, MapEdit, Scenario
from navserver.sim.setup import Setup
from navserver.sim.worlds import BotWorld, LocalWorld
from navserver.wire.questions import list_worlds, shut_down
from tests.serving import Serving, serving

pytestmark = pytest.mark.slow

SCENE = load_builtin("countryside", width=64, height=48, seed=5)
KINDS = (
    BotKind("a", 30, profile=Profile(SCENE.class_costs)),
    BotKind("b", 20, "commute", speed=6.0, radius=0.4),
    BotKind("c", 20, "chase", profile=Profile({3: float("inf")})),
)
EDITS = (
    MapEdit(20, Area(20, 10, 4, 30), 255),
    MapEdit(40, Area(20, 10, 4, 30), 0),
)
SCENARIO = Scenario(KINDS, seed=5, ticks=60, edits=EDITS)


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(workers=1) as running:
        yield running


@pytest.fixture
def connection_file(shared: Serving, tmp_path: Path) -> Path:
    file = tmp_path / "connection.json"
    shared.info.write(file)
    return file


@pytest.mark.parametrize("avoidance", [True, False])
def test_hashes_are_equal_in_process_on_two_workers_and_over_the_wire(
    avoidance: bool, shared: Serving, connection_file: Path
) -> None:
    scenario = Scenario(KINDS, seed=5, ticks=60, edits=EDITS, avoidance=avoidance)
    runs: dict[str, RunResult] = {}
    hashes: dict[str, list[list[int]]] = {}

    def wire(setup: Setup) -> BotWorld:
        return LockstepWorld(setup, connection_file)

    for name, make in {
        "one worker": lambda setup: LocalWorld(setup, 1),
        "two workers": lambda setup: LocalWorld(setup, 2),
        "wire": wire,
    }.items():
        runs[name], recorder = run_scenario(scenario, SCENE.grid, make, record=True)
        assert recorder is not None
        assert runs[name].error is None
        hashes[name] = recorder.recording().hashes.tolist()
        if name == "one worker":
            recording = recorder.recording()
    one = runs["one worker"]
    assert one.tally.arrivals > 0
    assert one.repaths > 0
    for name in ("two workers", "wire"):
        assert hashes[name] == hashes["one worker"]
        assert runs[name].state_hash == one.state_hash
        assert runs[name].counts == one.counts
        assert (runs[name].tick.position == one.tick.position).all()
        assert runs[name].tally.arrivals == one.tally.arrivals
        assert runs[name].repaths == one.repaths
    traffic = runs["wire"].traffic
    assert one.traffic is None
    assert traffic is not None
    assert traffic.latencies.shape == (60,)
    assert traffic.latencies.min() > 0
    # A recording made in one place is stepped again in the other.
    assert replay(recording, wire) is None
    with shared.client() as client:
        assert client.ask(list_worlds()) == []


def test_a_run_whose_sidecar_ends_keeps_what_it_has(tmp_path: Path) -> None:
    with serving(workers=1) as running:
        file = tmp_path / "connection.json"
        running.info.write(file)
        client = running.client()

        class Ending(LockstepWorld):
            ticks = 0

            def step(self):  # type: ignore[no-untyped-def]
                self.ticks += 1
                if self.ticks == 3:
                    client.ask(shut_down())
                    running.wait_for("ended")
                    self._map.client.timeout = 0.5
                return super().step()

        result, _ = run_scenario(SCENARIO, SCENE.grid, lambda setup: Ending(setup, file))
        assert result.ticks == 2
        assert result.error is not None
        assert len(result.state_hash) == 32
        assert sum(result.counts.values()) == 70
        client.close()
