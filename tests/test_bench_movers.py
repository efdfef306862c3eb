"""The benchmark of movers measures what it says. Nothing is timed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import bench_movers, walk_cases
from benchmarks.movers_process import MOVER_CASES
from benchmarks.walk_cases import LEGS, ByNavserver, ByNumpy, walk


def test_paths_stay_on_the_map_and_have_their_legs() -> None:
    problem = walk(500, 40)
    assert problem.waypoints.shape == (500, LEGS, 2)
    assert problem.waypoints.min() >= 0
    assert problem.waypoints.max() <= 39
    wide = walk(500, 4096)
    points = np.concatenate([wide.starts[:, None], wide.waypoints], axis=1)
    inner = (np.abs(points - 2048) < 1500).all(axis=(1, 2))
    legs = np.linalg.norm(np.diff(points[inner], axis=1), axis=2)
    assert legs.min() > 1.99
    assert legs.max() < 14.01
    assert legs.mean() == pytest.approx(8, abs=0.1)


def test_contenders_walk_alike_and_arrive() -> None:
    problem = walk(40, 64, seed=3)
    theirs, ours = ByNumpy(problem), ByNavserver(problem)
    arrived = [0, 0]
    for step in range(6000):
        arrived[0] += len(theirs.step())
        arrived[1] += len(ours.step().arrived)  # type: ignore[attr-defined]
        if step % 100 == 0:
            assert np.abs(theirs.position - ours.position).max() < 1e-6 * 64 * (step + 10)
    assert arrived == [40, 40]


def test_rows_are_those_of_the_contract(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(MOVER_CASES) >= {"walk_10000", "walk_1000000"}
    monkeypatch.setattr(walk_cases, "ROUND", 7)
    for by in (walk_cases.by_navserver, walk_cases.by_numpy):
        rows = by("walk_10000", 30, 64, 1)
        metrics = {row.metric: row for row in rows}
        assert {"ns_per_mover", "ms_per_step"} <= set(metrics)
        per_step = metrics["ms_per_step"].value
        assert metrics["ns_per_mover"].value == pytest.approx(per_step * 1e6 / 30)
        assert all(row.value > 0 for row in rows)

    def run_process(contender: str, cases: list[str], quick: bool) -> list[object]:
        assert quick
        return [bench_movers.Row(case, contender, "ns_per_mover", 1.5, "ns") for case in cases]

    monkeypatch.setattr(bench_movers, "run_process", run_process)
    assert bench_movers.main(["--quick", "--json", "--case", "walk_10000"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {row["contender"] for row in printed} >= {"navserver", "numpy"}
    monkeypatch.setattr(bench_movers, "run_process", lambda *_: None)
    assert bench_movers.main(["--case", "walk_10000"]) == 1
