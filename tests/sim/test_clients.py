from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from navserver.client import ServerUnavailableError, UnansweredError
from navserver.fleet import Fleet, Reply
from navserver.maps.builtin import load_builtin
from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.sim.clients import ClientsWorld
from navserver.sim.runner import run_scenario
from navserver.sim.scenarios import Area, BotKind, MapEdit, Scenario
from navserver.sim.setup import Setup, place_bots
from navserver.status import InputError
from navserver.wire.questions import list_worlds
from tests.serving import Serving, serving

pytestmark = pytest.mark.slow

SCENE = load_builtin("countryside", width=64, height=48, seed=5)
KINDS = (
    BotKind("a", 20, profile=Profile(SCENE.class_costs)),
    BotKind("b", 10, "commute", profile=Profile({3: float("inf")})),
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(workers=1) as running:
        yield running


@pytest.fixture
def connection_file(shared: Serving, tmp_path: Path) -> Path:
    file = tmp_path / "connection.json"
    shared.info.write(file)
    return file


def test_bots_ask_for_their_paths_and_walk_them(shared: Serving, connection_file: Path) -> None:
    edits = (MapEdit(20, Area(20, 10, 4, 30), 255), MapEdit(40, Area(20, 10, 4, 30), 0))
    scenario = Scenario(KINDS, seed=5, ticks=120, edits=edits)
    before = len(shared.logged("session_opened"))
    result, _ = run_scenario(
        scenario, SCENE.grid, lambda setup: ClientsWorld(setup, connection_file, 1)
    )
    assert result.error is None
    assert result.in_wall == 0
    assert result.tally.arrivals > 0
    assert sum(result.counts.values()) == 30
    traffic = result.traffic
    assert traffic is not None
    assert traffic.latencies.size >= 30
    assert traffic.overloaded == 0
    assert 0 < traffic.latencies.max() <= traffic.waited
    # a session for each bot, and one that has made the world
    assert len(shared.logged("session_opened")) - before == 31
    with shared.client() as client:
        assert client.ask(list_worlds()) == []


def test_who_has_no_way_is_told(connection_file: Path) -> None:
    classes = np.zeros((8, 17), np.uint8)
    classes[:, 8] = 255
    setup = place_bots(Scenario((BotKind("a", 2, spawn=(Area(0, 0, 8, 8),)),)), Grid(classes))
    world = ClientsWorld(setup, connection_file, 1)
    try:
        world.order(np.array([0, 1]), np.array([[12, 4], [2, 2]], np.int32))
        tick = world.step()
        assert tick.state.tolist() == [4, 1]
    finally:
        world.close()


def test_requests_that_are_put_off_are_made_again(
    connection_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect = Fleet.collect
    refused = []

    def put_off_once(self: Fleet, timeout: float = 0.0) -> list[Reply]:
        replies = collect(self, timeout)
        if not refused:
            refused.extend(replies)
            error = UnansweredError("path", "overloaded")
            return [reply._replace(answer=error) for reply in replies]
        return replies

    monkeypatch.setattr(Fleet, "collect", put_off_once)
    scenario = Scenario((BotKind("a", 5),), ticks=40)
    result, _ = run_scenario(
        scenario, Grid.filled(20, 20), lambda setup: ClientsWorld(setup, connection_file, 1)
    )
    assert result.error is None
    assert result.traffic is not None
    assert result.traffic.overloaded == len(refused) > 0
    assert result.traffic.latencies.size >= 5
    assert result.tally.arrivals > 0


def test_what_cannot_begin_leaves_nothing_behind(
    shared: Serving, connection_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navserver.fleet.allow_open_files", lambda _wanted: 200)
    setup: Setup = place_bots(Scenario((BotKind("a", 30),)), Grid.filled(9, 9))
    with pytest.raises(InputError, match="30 clients need"):
        ClientsWorld(setup, connection_file, 1)
    with shared.client() as client:
        assert client.ask(list_worlds()) == []
    connection_file.write_text(connection_file.read_text().replace(shared.info.token, "wrong"))
    with pytest.raises(ServerUnavailableError):
        ClientsWorld(setup, connection_file, 1)
