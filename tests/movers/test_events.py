"""Events: flags become handles, and are cleared."""

from __future__ import annotations

import numpy as np

from navserver.movers.columns import Columns, EventFlag
from navserver.movers.events import NO_EVENTS, collect_events


def test_flags_become_handles_in_the_order_of_slots() -> None:
    columns = Columns.of(8)
    columns.generation[:] = np.arange(1, 9)
    columns.events[5] = EventFlag.ARRIVED | EventFlag.PATH_BLOCKED
    columns.events[2] = EventFlag.ARRIVED
    columns.events[3] = EventFlag.STUCK
    columns.events[6] = EventFlag.REPATH_WANTED | EventFlag.ARRIVED_CROWD_FULL
    columns.events[7] = EventFlag.ARRIVED
    columns.stuck_reason[3] = 4
    events = collect_events(columns, 7)
    assert events
    assert events.arrived.tolist() == [3 << 32 | 2, 6 << 32 | 5]
    assert events.path_blocked.tolist() == [6 << 32 | 5]
    assert events.repath_wanted.tolist() == [7 << 32 | 6]
    assert events.arrived_crowd_full.tolist() == [7 << 32 | 6]
    assert events.stuck.tolist() == [4 << 32 | 3]
    assert events.stuck_reason.tolist() == [4]
    assert all(handles.dtype == np.int64 for handles in events[:-1])
    assert columns.events.tolist() == [0, 0, 0, 0, 0, 0, 0, EventFlag.ARRIVED]
    assert collect_events(columns, 7) is NO_EVENTS


def test_no_events_are_none() -> None:
    assert not NO_EVENTS
    assert all(len(handles) == 0 and not handles.flags.writeable for handles in NO_EVENTS)
    assert [handles.dtype for handles in NO_EVENTS] == [np.int64] * 5 + [np.uint8]
