"""The benchmark of bots measures what it says. Nothing is timed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import bench_bots
from benchmarks.bench_bots import CASES, CELLS_A_BOT, Row, make_crowd, time_clients, time_crowds

pytestmark = pytest.mark.slow


def test_crowds_are_of_equal_density_and_stroll_nearby() -> None:
    for bots in (40, 160):
        crowd = make_crowd(bots, avoids=True, threads=1)
        grid = crowd.run.grid
        assert grid.size / bots == pytest.approx(CELLS_A_BOT, rel=0.05)
        crowd.advance(30)
        assert len(crowd.seconds) == 30
        goals = crowd.run._goals - np.floor(crowd.run._tick.position + 0.5)
        assert np.abs(goals).max() <= 2 * bench_bots.REACH
        assert crowd.run.tally.arrivals > 0
        crowd.run.world.close()


def test_rows_of_crowds() -> None:
    rows = {row.metric: row.value for row in time_crowds([40, 80], turns=1, untimed=3)}
    for name in ("40", "40_no_avoidance", "80", "80_no_avoidance"):
        assert rows[f"ns_per_bot_tick_{name}"] * rows[f"bot_ticks_per_s_{name}"] == pytest.approx(
            1e9
        )
    assert rows["growth_40_to_80"] == pytest.approx(
        rows["ns_per_bot_tick_80"] / rows["ns_per_bot_tick_40"]
    )
    assert "growth_40_to_80_no_avoidance" in rows


def test_rows_of_clients() -> None:
    rows = {row.metric: row for row in time_clients(6, 0.4)}
    assert all(row.case == "clients_6" and row.value > 0 for row in rows.values())
    assert rows["p99_us"].value >= rows["p50_us"].value
    assert rows["paced_requests_per_s"].value == pytest.approx(rows["requests_per_s"].value / 4)


def test_a_part_of_the_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        bench_bots, "time_crowds", lambda sizes, turns: asked.append((sizes, turns)) or []
    )
    given = ["--json", "--case", "crowd", "--sizes", "10000", "100000", "--turns", "3"]
    assert bench_bots.main(given) == 0
    assert bench_bots.main(["--json", "--case", "crowd"]) == 0
    assert asked == [([10_000, 100_000], 3), ([1_000, 10_000, 100_000], 12)]


def test_cases_and_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crowds(sizes: list[int], turns: int) -> list[Row]:
        assert (sizes, turns) == ([1_000, 10_000], 4)
        return [Row("crowd", "navserver", "ns_per_bot_tick_1000", 900.0, "ns")]

    monkeypatch.setattr(bench_bots, "time_crowds", crowds)
    assert bench_bots.main(["--quick", "--json", "--case", "crowd"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["metric"] == "ns_per_bot_tick_1000"
    assert CASES == ("crowd", "clients_500")
