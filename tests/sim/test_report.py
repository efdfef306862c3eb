from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from navserver.movers.columns import StuckReason
from navserver.search.grid import Grid
from navserver.sim import report
from navserver.sim.bots import BotState
from navserver.sim.report import summary_of, write_report
from navserver.sim.runner import Run, RunResult
from navserver.sim.scenarios import Area, BotKind, Scenario
from navserver.sim.setup import place_bots
from navserver.sim.worlds import NO_REASON, LocalWorld, Tick
from navserver.status import InputError


def a_result(*, error: str | None = None, ticks: int = 3) -> RunResult:
    blocked = np.zeros((9, 12), np.bool_)
    blocked[:, 6] = True
    blocked[4, 6] = False
    blocked[:, 11] = True
    kinds = (
        BotKind("walkers <b>", 4, spawn=(Area(0, 0, 5, 9),), goals=(Area(7, 0, 4, 9),)),
        BotKind("others", 2),
    )
    scenario = Scenario(kinds, seed=5, ticks=ticks)
    setup = place_bots(scenario, Grid.from_blocked(blocked))
    run = Run(scenario, setup, LocalWorld(setup, 1))
    for _ in range(ticks):
        run.advance()
    return run.result(error)


def with_states(result: RunResult, states: list[int], reasons: list[int]) -> RunResult:
    tick = result.tick
    result.tick = Tick(
        tick.position,
        tick.velocity,
        np.array(states, np.uint8),
        np.array(reasons, np.uint8),
        tick.arrived,
        tick.stuck,
        tick.repaths,
    )
    return result


STATES = [BotState.STUCK, BotState.STUCK, BotState.NO_PATH, *[BotState.EN_ROUTE] * 3]
REASONS = [StuckReason.CROWD, StuckReason.WALL, StuckReason.UNREACHABLE, *[NO_REASON] * 3]


def test_a_summary_adds_up_and_is_json() -> None:
    summary = summary_of(with_states(a_result(), STATES, REASONS))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["bots"] == 6
    states = [summary[name] for name in ("arrived", "en_route", "stuck", "no_path")]
    assert states == [0, 3, 2, 1]
    assert summary["stuck_reasons"] == {"wall": 1, "crowd": 1}
    assert summary["latency_us"] is None
    assert summary["tick_us"]["p50"] <= summary["tick_us"]["max"]
    assert summary["peak_memory_bytes"] > 1 << 20


def test_who_makes_no_progress_counts_as_stuck() -> None:
    result = with_states(a_result(), [BotState.EN_ROUTE] * 6, [NO_REASON] * 6)
    result.tally._anchor_time[:2] = -99.0
    summary = summary_of(result)
    assert (summary["stuck"], summary["en_route"]) == (2, 4)
    assert summary["stuck_reasons"] == {"no_progress": 2}


def test_a_run_without_a_tick_has_a_report(tmp_path: Path) -> None:
    result = a_result(ticks=0, error="told by someone")
    assert summary_of(result)["tick_us"] is None
    page = write_report(tmp_path, result, "nothing").read_text()
    assert "The run ended early: told by someone" in page


def test_a_report_is_a_page_an_object_and_pictures(tmp_path: Path) -> None:
    from PIL import Image

    result = with_states(a_result(), STATES, REASONS)
    wall, crowd = int(StuckReason.WALL), int(StuckReason.CROWD)
    result.tally.stuck_reasons.update({(wall, 14): 2, (crowd, 14): 3, (crowd, 0): 1000})
    folder = tmp_path / "new" / "report"
    page = write_report(folder, result, "a <title>")
    assert page == folder / "report.html"
    html = page.read_text(encoding="utf-8")
    assert "a &lt;title&gt;" in html
    assert "walkers &lt;b&gt;: goal 1 (7, 0, 4 x 9)" in html
    assert html.count("data:image/png;base64,") == 2
    for name in ("traffic.png", "stuck.png"):
        with Image.open(folder / name) as image:
            assert image.size[0] >= 12
    report = json.loads((folder / "report.json").read_text())
    assert report["bots"] == 6
    assert len(report["stuck_places"]) == 2
    assert report["stuck_events"] == {"crowd": 1003, "wall": 2}
    worst = [(place["cell"], place["reasons"]) for place in report["worst_places"]]
    assert worst == [([0, 0], {"crowd": 1000}), ([2, 1], {"wall": 2, "crowd": 3})]
    assert "Over the whole run: 1,003 crowd, 2 wall times." in html
    assert "At the end: 1 wall, 1 crowd." in html
    assert report["reachable_share"]["shares"][0][0] == 1.0
    assert report["reachable_share"]["shares"][0][1] is None


def test_the_gap_of_a_wall_is_a_choke_point(tmp_path: Path) -> None:
    result = a_result()
    result.tally.entries[:] = 0
    result.tally.entries[4 * 12 + 6] = 50
    write_report(tmp_path, result, "a gap")
    (choke,) = json.loads((tmp_path / "report.json").read_text())["choke_points"]
    assert (choke["cell"], choke["entries"], choke["width"]) == ([6, 4], 50, 1.0)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--out: .* cannot be written"):
        write_report(tmp_path / "file", a_result(), "x")


def test_a_report_that_fails_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(tmp_path, a_result(), "first")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert before.keys() == {"traffic.png", "stuck.png", "report.json", "report.html"}

    def fail(_page: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report.Page, "html", fail)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        write_report(tmp_path, a_result(), "second")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_lonely_cells_of_large_maps_are_drawn_larger() -> None:
    counts = np.zeros((5, 900), np.int64)
    counts[0, 0], counts[2, 450], counts[4, 899] = 3, 7, 5
    spread = report._spread(counts.reshape(-1), 900, 5).reshape(5, 900)
    # 900 // 200 = 4 cells to each side
    assert (spread[:, 446:455] == 7).all()
    assert not spread[:, 6:446].any()
    assert (spread[0:5, 0:5] == 3).all()
    assert (spread[0:5, 895:900] == 5).all()
    few = counts[:, :5].reshape(-1)
    assert (report._spread(few, 5, 5) == few).all()
