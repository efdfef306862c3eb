from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sidecar.direct import Direct


@pytest.fixture
def direct() -> Iterator[Direct]:
    made = Direct()
    yield made
    made.close()


@pytest.fixture(scope="module")
def lasting() -> Iterator[Direct]:
    """One for all examples of a property."""
    made = Direct()
    yield made
    made.close()
