"""Whatever is sent: what comes back is a reply, an error that names a field, or nothing.

Nothing else happens: no exception, no request without its answer, no memory that stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navserver.wire.codec import decode_message
from navserver.wire.limits import ERROR_CODES
from navserver.wire.messages import EVENTS, MESSAGES
from tests.sidecar.direct import PATIENCE, Direct
from tests.sidecar.hostile import (
    EXAMPLES,
    FIELDS,
    VALUES,
    Frames,
    Maker,
    bombs,
    numbered,
    odd_numbers,
    spoiled_examples,
)

CONNECTION = 99
# What a run may hold beyond what it held after a fifth of it.
ALLOWED_GROWTH = 48 << 20


class Victim(Direct):
    """A server with little room that is sent whatever one likes on one connection."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler.worlds.max_bytes = 1 << 21
        self.errors = self.replies = 0
        self._last_id = 1 << 40
        self._reset()

    def _reset(self) -> None:
        """Let there be a session, and the world and the movers of the examples."""
        # All that was sent is said to be answered, so that no reply is kept for ever.
        wanted = ["hello", "ping"]
        worlds = self.office.worlds
        if "city" not in worlds:
            wanted += ["world_create", "profile_set"]
        if "city" not in worlds or not len(worlds["city"].movers):
            wanted += ["movers_setup", "movers_add"]
        for name in wanted:
            self._last_id += 1
            self.feed(numbered(name, self._last_id, self._last_id - 1))

    def feed(self, frames: Frames) -> None:
        """Send a message, let it be carried out, and look at all that comes of it."""
        self.sessions.receive_message(CONNECTION, frames, self.now)
        self.now += 0.01
        self._carry_out()

    def _carry_out(self) -> None:
        dispatch = self.dispatch
        for _ in range(int(PATIENCE / 0.1)):
            dispatch.take_events(self.now)
            dispatch.advance(self.now)
            self._search()
            dispatch.take_results()
            self._look()
            if not self.sessions.open_requests:
                return
            self._woken.wait(0.1)
            self._woken.clear()
        raise AssertionError("no answer")

    def _look(self) -> None:
        out = self.sessions.messages_to_send()
        while out:
            _, frames = out.popleft()
            header, arrays = decode_message([bytes(frame) for frame in frames])
            kind = header["type"]
            if "id" not in header:
                EVENTS[kind].read(header, arrays, strict=True)
            elif header["status"] == "error":
                self.errors += 1
                assert header["code"] in ERROR_CODES
                assert header["code"] != "internal", header
                assert header["remedy"]
                assert header["problem"]
                assert isinstance(header["field"], str)
            else:
                self.replies += 1
                message = MESSAGES[kind]
                if header["status"] in message.statuses:
                    message.read_reply(header, arrays, strict=True)

    def keep_house(self) -> None:
        """Let sessions that nobody uses expire, and begin another one."""
        self.sessions.tick(self.now)
        self._carry_out()
        self._reset()


def feed_all(victim: Victim, inputs: Iterable[Frames]) -> int:
    n = 0
    for n, frames in enumerate(inputs, 1):
        victim.feed(frames)
        if n % 50 == 0:
            victim.keep_house()
    return n


@pytest.fixture
def victim() -> Iterator[Victim]:
    made = Victim()
    yield made
    made.close()


def held() -> int:
    """Bytes in use; what the allocator keeps of a large message for the next one is not."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


@pytest.mark.slow
@pytest.mark.parametrize(
    "count", [100_000, pytest.param(10_000_000, marks=pytest.mark.soak)], ids="{:,}".format
)
def test_no_input_does_harm_and_none_is_kept(victim: Victim, count: int) -> None:
    maker = Maker(seed=count)
    inputs = islice(chain(bombs(), spoiled_examples(), iter(maker.make, None)), count)
    done = feed_all(victim, islice(inputs, count // 5))
    before = held()
    done += feed_all(victim, inputs)
    assert done == count
    assert held() - before < ALLOWED_GROWTH
    # Most is refused, and some of it was fit to be carried out.
    assert victim.errors > 0.4 * count
    assert victim.replies > 0.1 * count
    victim.keep_house()
    answered = victim.replies
    victim.feed(numbered("ping", 1 << 41))
    assert victim.replies == answered + 1


def test_bombs_do_no_harm(victim: Victim) -> None:
    feed_all(victim, bombs())
    assert victim.errors > 0


def test_numbers_that_are_none_do_no_harm(victim: Victim) -> None:
    assert feed_all(victim, odd_numbers()) > 100
    assert victim.errors > 0


scalars = st.sampled_from([value for value in VALUES if type(value) is not bytes])
numbers = st.floats() | st.integers(-(2**63), 2**64 - 1)
values = st.recursive(
    scalars | numbers | st.text(max_size=70) | st.binary(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def lasting_victim() -> Iterator[Victim]:
    made = Victim()
    yield made
    made.close()


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(MESSAGES)),
    st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=6), values, max_size=6),
    st.booleans(),
)
def test_no_header_that_can_be_written_does_harm(
    lasting_victim: Victim, kind: str, fields: dict[str, Any], is_extended: bool
) -> None:
    import msgpack

    header = msgpack.unpackb(EXAMPLES[kind][0]) if is_extended else {"type": kind, "id": 7}
    packed = msgpack.packb({**header, **fields}, unicode_errors="surrogatepass")
    lasting_victim.feed([packed, *EXAMPLES[kind][1:]] if is_extended else [packed])
    lasting_victim.keep_house()
