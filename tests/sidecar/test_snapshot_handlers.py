from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from navserver.service.snapshot import load_worlds
from navserver.sidecar import snapshot_handlers
from navserver.wire.errors import WireError
from navserver.wire.questions import (
    Question,
    add_movers,
    create_world,
    edit_world,
    find_path,
    list_worlds,
    mover_info,
    order_movers,
    set_profile,
    set_up_movers,
    step_movers,
    world_hash,
    world_info,
)
from tests.sidecar.direct import Direct


def snapshot(world: str | None = None, *, save: bool = False) -> Question[bytes]:
    def read(answer: Any) -> bytes:
        state = answer.arrays.get("state", np.zeros(answer.fields["bytes"], np.uint8))
        assert answer.fields["bytes"] == state.size
        return bytes(state.tobytes())

    return Question("snapshot", {"world": world, "save": save}, read)


def restore(state: bytes) -> Question[list[str]]:
    arrays = {"state": np.frombuffer(state, np.uint8)}
    return Question("restore", {}, lambda answer: list(answer.fields["worlds"]), arrays)


@pytest.fixture
def city(direct: Direct) -> Direct:
    direct.ask(create_world("city", [[0, 255, 0], [0, 0, 2]], position=(3, 4)))
    direct.ask(create_world("farm", width=4, height=4))
    direct.ask(edit_world("city", layer="danger", values=2.0, cell_scale=3.0))
    direct.ask(set_profile("city", "ghost", np.full(256, 2.0)))
    return direct


def test_what_is_packed_is_restored(city: Direct) -> None:
    before = city.ask(world_info("city")), city.ask(world_hash("city"))
    state = city.ask(snapshot())
    city.ask(edit_world("city", class_ids=7))
    assert city.ask(restore(state)) == ["city", "farm"]
    info = city.ask(world_info("city"))
    assert {**info, "memory_bytes": 0} == {**before[0], "memory_bytes": 0}
    assert city.ask(world_hash("city")) == before[1]
    assert city.ask(find_path("city", (3, 4), (4, 4), profile="ghost")).found
    assert city.ask(edit_world("city", class_ids=7)) == info["version"] + 1


def test_movers_are_packed_and_belong_to_nobody_afterwards(city: Direct) -> None:
    city.ask(set_up_movers("farm", budget=99, keep_right=0.5))
    units = city.ask(add_movers("farm", [(0, 0), (3, 0)], radius=0.3, max_speed=2.0), 2)
    city.ask(order_movers("farm", units, (2, 3)))
    city.ask(step_movers("farm", 0.1, 3))
    before = city.ask(mover_info("farm", hash=True)).hash
    state = city.ask(snapshot())
    other = Direct()
    other.ask(restore(state))
    assert other.ask(mover_info("farm", hash=True)).hash == before
    assert other.ask(mover_info("city")).movers == 0
    arrived = other.ask(step_movers("farm", 0.1, 100)).view.events.of("arrived")
    assert sorted(arrived.tolist()) == units.tolist()
    other.close()
    # Also in the place of those that step on.
    city.ask(step_movers("farm", 0.1, 5))
    city.ask(restore(state))
    assert city.ask(mover_info("farm", hash=True)).hash == before
    city.sessions.connection_lost(2, city.now)
    city.now += 100.0
    city.step()
    city.step()
    assert city.ask(mover_info("farm")).movers == 2


def test_restored_movers_keep_to_the_limit(city: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    city.ask(add_movers("farm", [(0, 0), (3, 0)], radius=0.3, max_speed=2.0))
    state = city.ask(snapshot("farm"))
    city.ask(add_movers("city", [(3, 4)], radius=0.3, max_speed=2.0))
    monkeypatch.setattr(snapshot_handlers, "MAX_MOVERS", 2)
    with pytest.raises(WireError) as caught:
        city.ask(restore(state))
    assert caught.value.value == "3"
    assert city.ask(mover_info("city")).movers == 1


def test_one_world_may_be_packed(city: Direct) -> None:
    state = city.ask(snapshot("farm"))
    other = Direct()
    assert other.ask(restore(state)) == ["farm"]
    assert other.ask(list_worlds()) == ["farm"]
    assert other.ask(world_info("farm"))["lineage"] == city.ask(world_info("farm"))["lineage"]
    other.close()
    with pytest.raises(WireError) as caught:
        city.ask(snapshot("town"))
    assert caught.value.code == "unknown_world"


def test_damage_changes_nothing(city: Direct) -> None:
    state = bytearray(city.ask(snapshot()))
    before = city.ask(world_hash("city"))
    for bad in (b"", bytes(state[:-1]), bytes(state[:50]), bytes(state) + b"x"):
        with pytest.raises(WireError) as caught:
            city.ask(restore(bad))
        assert caught.value.code == "bad_field"
    state[len(state) // 2] ^= 1
    with pytest.raises(WireError):
        city.ask(restore(bytes(state)))
    assert city.ask(world_hash("city")) == before


def test_what_waits_for_a_world_that_is_replaced_is_told(city: Direct) -> None:
    state = city.ask(snapshot())
    city.is_searching = False
    number = city.submit(find_path("farm", (0, 0), (3, 3)))
    city.ask(restore(state))
    (answer,) = city.wait(number)
    assert answer.status == "world_removed"  # type: ignore[union-attr]


def test_snapshots_are_saved_to_the_servers_file(city: Direct, tmp_path: Path) -> None:
    with pytest.raises(WireError, match="--restore"):
        city.ask(snapshot(save=True))
    city.office.snapshot_file = tmp_path / "worlds"
    city.ask(snapshot(save=True))
    assert [world.name for world in load_worlds(tmp_path / "worlds")] == ["city", "farm"]
    assert len(list(tmp_path.iterdir())) == 1
    city.office.snapshot_file = tmp_path / "no" / "worlds"
    with pytest.raises(WireError, match="cannot be written"):
        city.ask(snapshot(save=True))
