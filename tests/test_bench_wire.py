from __future__ import annotations

import json

import pytest

from benchmarks import bench_wire


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "contenders", "metrics"),
    [
        ("trivial_path", {"navserver", "bare_echo"}, {"p50_us", "p99_us"}),
        ("batch_10000", {"wire", "in_process"}, {"paths_per_s"}),
        ("in_flight_64", {"navserver", "bare_echo"}, {"paths_per_s"}),
    ],
)
def test_each_contender_has_its_figures(
    case: str, contenders: set[str], metrics: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench_wire.main(["--quick", "--json", "--case", case]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["case"] for row in rows} == {case}
    assert {row["contender"] for row in rows} == contenders
    assert {row["metric"] for row in rows} == metrics
    assert len(rows) == len(contenders) * len(metrics)
    assert all(row["value"] > 0.0 for row in rows)
