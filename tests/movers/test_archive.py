"""Archives: what is packed comes back, and no damaged byte passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from navserver.movers import archive
from navserver.movers.archive import digest_of, pack, unpack
from navserver.status import InputError

ARRAYS = st.dictionaries(
    st.text(max_size=5),
    hnp.arrays(
        st.sampled_from([np.uint8, np.int32, np.int64, np.float32, np.float64]),
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    ),
    max_size=4,
)
FACTS = {"kind": "test", "list": [1, 2.5, "x"]}


@given(ARRAYS)
def test_what_is_packed_comes_back(arrays: dict[str, NDArray[Any]]) -> None:
    facts, back = unpack("data", pack(FACTS, arrays))
    assert facts == FACTS
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()
        assert back[name].flags.writeable
    assert digest_of(facts, back) == digest_of(FACTS, arrays)


def test_the_order_of_bytes_makes_no_difference() -> None:
    small = np.arange(5, dtype="<i4")
    large = small.astype(">i4")
    assert pack(FACTS, {"a": small}) == pack(FACTS, {"a": large})
    assert digest_of(FACTS, {"a": small}) == digest_of(FACTS, {"a": large})


def test_no_byte_can_be_changed_or_left_out() -> None:
    whole = pack(FACTS, {"a": np.arange(3), "b": np.ones((2, 2), np.float32)})
    for i in range(len(whole)):
        damaged = bytearray(whole)
        damaged[i] ^= 1
        with pytest.raises(InputError, match=r"^data: .*(damaged|not an archive)"):
            unpack("data", damaged)
        with pytest.raises(InputError, match=r"^data: .*(damaged|not an archive)"):
            unpack("data", whole[:i])
    with pytest.raises(InputError, match="damaged"):
        unpack("data", whole + b"\0")


@pytest.mark.parametrize("bad", [None, "text", 3, b"", b"NAVARRAY", [1]])
def test_what_is_no_archive_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match=r"^data: "):
        unpack("data", bad)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(archive, "VERSION", archive.VERSION + 1)
        newer = pack(FACTS, {})
    with pytest.raises(InputError, match="version of another format"):
        unpack("data", newer)


def test_a_digest_tells_names_shapes_values_and_facts() -> None:
    array = np.arange(6)
    digests = {
        digest_of(FACTS, {"a": array}),
        digest_of(FACTS, {"b": array}),
        digest_of(FACTS, {"a": array.reshape(2, 3)}),
        digest_of(FACTS, {"a": array.astype(np.int32)}),
        digest_of(FACTS, {"a": array[::-1]}),
        digest_of({}, {"a": array}),
    }
    assert len(digests) == 6
