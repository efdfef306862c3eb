"""Options, shared fixtures and the closing list of what was skipped and why."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dev
from tests import strategies  # noqa: F401  # loads the settings of every property test

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.terminal import TerminalReporter

CHECKOUT = Path(__file__).resolve().parent.parent
QUICK_STEP = 100  # about 560 of the 56,000 scenarios: seconds, and still every map
JIT_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}

_soak_left_out = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("navserver")
    group.addoption(
        "--require-godot", action="store_true", help="fail, not skip, where there is no Godot"
    )
    group.addoption("--soak", action="store_true", help="run the long forms too")
    group.addoption(
        "--every",
        type=int,
        metavar="N",
        help=f"take every N-th MovingAI scenario (default {QUICK_STEP}; 1 under --soak)",
    )


def pytest_configure(config: pytest.Config) -> None:
    every = config.getoption("--every")
    if every is not None and every < 1:
        raise pytest.UsageError(f"--every: {every} is no sampling step; give 1 or more")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--soak"):
        left_out = [item for item in items if item.get_closest_marker("soak")]
        config.stash[_soak_left_out] = len(left_out)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker("soak")]
    if JIT_DISABLED:
        for item in items:
            if item.get_closest_marker("slow"):
                reason = "NUMBA_DISABLE_JIT is set: too long for interpreted kernels"
            elif item.get_closest_marker("jit"):
                reason = "NUMBA_DISABLE_JIT is set: there are no compiled kernels to look at"
            else:
                continue
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def every(request: pytest.FixtureRequest) -> int:
    """Sampling step for MovingAI scenarios."""
    given = request.config.getoption("--every")
    if given is not None:
        return int(given)
    return 1 if request.config.getoption("--soak") else QUICK_STEP


@pytest.fixture(scope="session")
def godot(request: pytest.FixtureRequest) -> Path:
    """Path of a real Godot; tests that ask for it carry the marker `godot`."""
    search = dev.find_godot()
    if search.path is not None:
        return search.path
    reason = f"no Godot {dev.GODOT_WANTED} or newer: run `python3 dev.py godot`, or set GODOT"
    if request.config.getoption("--require-godot"):
        pytest.fail(f"{reason}; looked at: {'; '.join(search.looked)}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def movingai() -> Path:
    """Folder with the MovingAI `maps` and `scens`; they are too large for the repository."""
    given = os.environ.get("NAVSERVER_MOVINGAI")
    folder = Path(given) if given else CHECKOUT.parent / "shared" / "movingai"
    if (folder / "scens").is_dir() and (folder / "maps").is_dir():
        return folder
    place = f"NAVSERVER_MOVINGAI={given}" if given else "../shared/movingai beside the checkout"
    pytest.skip(
        f"no MovingAI maps: {place} has no folders maps and scens; set NAVSERVER_MOVINGAI to them"
    )


def _skip_reasons(reports: Iterable[object]) -> dict[str, list[str]]:
    tests = defaultdict(list)
    for report in reports:
        longrepr = getattr(report, "longrepr", None)
        reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
        tests[reason.removeprefix("Skipped: ")].append(getattr(report, "nodeid", "?"))
    return tests


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    reasons = _skip_reasons(terminalreporter.getreports("skipped"))
    soak = config.stash.get(_soak_left_out, 0)
    if not reasons and not soak:
        return
    terminalreporter.section("left out, and why")
    for reason, tests in sorted(reasons.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        terminalreporter.write_line(f"{len(tests)} skipped: {reason}")
        for file in sorted({test.split("::", maxsplit=1)[0] for test in tests}):
            terminalreporter.write_line(f"    {file}")
    if soak:
        terminalreporter.write_line(f"{soak} deselected: long forms run only with --soak")
