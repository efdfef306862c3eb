"""Carries out the messages about snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np

from navserver.service.snapshot import pack_worlds, restore_worlds, save_worlds
from navserver.service.world import World
from navserver.sidecar.office import Call, Handler, Office
from navserver.wire.errors import WireError
from navserver.wire.limits import MAX_MOVERS
from navserver.wire.message import Reply

__all__ = ["SNAPSHOT_HANDLERS"]


def _snapshot(office: Office, call: Call) -> None:
    worlds = list(office.worlds) if call.world is None else [office.world_of(call)]
    if call.fields["save"]:
        _save(office, call, worlds)
        return

    def finish(packed: bytes) -> Reply:
        return Reply("ok", {"bytes": len(packed)}, {"state": np.frombuffer(packed, np.uint8)})

    office.run_aside(call, lambda: pack_worlds(worlds), finish)


def _save(office: Office, call: Call, worlds: list[World]) -> None:
    path = office.snapshot_file
    if path is None:
        raise WireError(
            "bad_field", "save", True, "has no file to write to", "start the server with --restore"
        )

    def save() -> int:
        try:
            return save_worlds(path, worlds)
        except OSError as error:
            raise WireError(
                "bad_field", "save", str(path), f"cannot be written: {error.strerror}",
                "make room, or start the server with another file",
            ) from None  # fmt: skip

    def finish(written: int) -> Reply:
        office.logbook.note("info", "snapshot_saved", file=str(path), bytes=written)
        return Reply("ok", {"bytes": written}, {})

    office.run_aside(call, save, finish)


def _restore(office: Office, call: Call) -> None:
    packed = call.arrays["state"].tobytes()

    def finish(done: tuple[list[World], list[World]]) -> Reply:
        restored, replaced = done
        for world in replaced:
            office.leave_world(world, office.clock())
        fields: dict[str, Any] = {"worlds": sorted(world.name for world in restored)}
        office.logbook.note("info", "snapshot_restored", worlds=len(restored))
        return Reply("ok", fields, {})

    office.run_aside(call, lambda: restore_worlds(office.worlds, packed, MAX_MOVERS), finish)


SNAPSHOT_HANDLERS: dict[str, Handler] = {"snapshot": _snapshot, "restore": _restore}
"""Who carries out which message."""
