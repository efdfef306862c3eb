"""Runnable benchmarks: ``python -m benchmarks.bench_search --quick``; see README.md."""
