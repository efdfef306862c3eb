from __future__ import annotations

from navserver.service.metrics import KindMetrics


def test_quantiles_forget_what_is_old_and_counts_do_not() -> None:
    metrics = KindMetrics()
    for _ in range(100):
        metrics.note("found", 9.0, 9.0)
    for _ in range(4096):
        metrics.note("limit", 1e-3, 2e-3)
    summary = metrics.summary()
    assert summary["count"] == 4196
    assert summary["outcomes"] == {"found": 100, "limit": 4096}
    assert (summary["waiting_p99_us"], summary["searching_p99_us"]) == (1000.0, 2000.0)
    assert summary["total_p50_us"] == 3000.0


def test_nothing_yet_is_zero() -> None:
    assert KindMetrics().summary()["total_p99_us"] == 0.0
