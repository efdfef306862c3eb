"""Bytes as damaged files have them: random, cut short, with bytes changed or put in."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategies import settings  # noqa: F401 - importing it loads the suite's profile


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """A good file with something wrong, or no file at all."""
    kind = draw(st.sampled_from(("random", "cut", "flip", "insert", "remove", "repeat")))
    if kind == "random":
        return draw(st.binary(max_size=200))
    if kind == "cut":
        return good[: draw(st.integers(0, len(good)))]
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        end = draw(st.integers(at, min(len(data), at + 12)))
        if kind == "flip" and data:
            data[at] ^= draw(st.integers(1, 255))
        elif kind == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=12))
        elif kind == "remove":
            del data[at:end]
        else:
            data[at:at] = data[at:end]
    return bytes(data)
