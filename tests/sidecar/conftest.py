from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sidecar.direct import Direct


@pytest.fixture
def direct() -> Iterator[Direct]:
    made = Direct()
    yield made
    made.close()
