"""The benchmarks measure what they say: problems, contenders, checks and sums. Nothing is timed."""

from __future__ import annotations

import importlib
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import bench_search, field_cases, problems, search_cases
from benchmarks.bench_search import Race, judge, plan_of, rows_of
from benchmarks.contenders import yardstick
from benchmarks.contenders.searching import path_cost
from benchmarks.problems import Problem, cell_costs, spread, w1
from benchmarks.rows import Row, print_rows, shown
from benchmarks.search_process import MODULES, OTHER_CASES, time_paths
from tests import reference as ref

CUTS_CORNERS = ("tcod", "scikit-image", "pyastar2d")


# --- problems -------------------------------------------------------------------------------------


def test_w1_is_the_published_map() -> None:
    problem = w1()
    assert problem.blocked.shape == (200, 200)
    assert problem.blocked.sum() == 7240
    search = yardstick.Search(problem.blocked)
    path = search.find_path(0, 0, 199, 199)
    assert len(path) == 259
    assert search.judge(path).cost == pytest.approx(315.98989873, abs=1e-8)


def test_cell_costs_follow_the_stated_hash() -> None:
    def plain(x: int, y: int, seed: int) -> float:
        h = (x + 65536 * y) ^ (seed * 0x9E3779B9 & 0xFFFFFFFF)
        h ^= h >> 16
        h = h * 0x7FEB352D & 0xFFFFFFFF
        h ^= h >> 15
        h = h * 0x846CA68B & 0xFFFFFFFF
        h ^= h >> 16
        return 1.0 + h % 5

    costs = cell_costs(37, 29, 4)
    assert costs.shape == (29, 37)
    assert costs.tolist() == [[plain(x, y, 4) for x in range(37)] for y in range(29)]
    many = cell_costs(300, 300)
    values, counts = np.unique(many, return_counts=True)
    assert values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert counts.min() > 17000


@given(st.integers(0, 500), st.integers(0, 300))
def test_samples_are_spread_evenly(n: int, wanted: int) -> None:
    chosen = spread(n, wanted).tolist()
    assert len(chosen) == min(n, wanted)
    if chosen:
        assert chosen[0] >= 0
        assert chosen[-1] < n
        gaps = [b - a for a, b in pairwise([-chosen[0] - 1, *chosen])][1:]
        assert all(n // len(chosen) <= gap <= -(-n // len(chosen)) for gap in gaps)


def test_w2_is_every_kth_scenario(movingai: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(problems.VARIABLE, str(movingai))
    (problem,) = problems.problems("w2", ["arena"])
    # 130 scenarios or so: k is 1; the optima are those of the file.
    search = yardstick.Search(problem.blocked)
    for query, optimum in zip(problem.queries.tolist(), problem.optima, strict=True):
        assert search.judge(search.find_path(*query)).cost == pytest.approx(optimum, abs=0.011)
    for name in ("den312d", "maze512-1-0"):
        (problem,) = problems.problems("w2", [name])
        assert 100 < len(problem.queries) <= 200
    (weighted,) = problems.problems("w2w", ["arena"])
    assert weighted.costs is not None
    assert weighted.costs.tolist() == cell_costs(49, 49).tolist()
    (always,) = problems.problems("w2_always", ["arena"])
    assert always.cut_corners


def test_quick_samples_are_among_those_of_the_yardstick(movingai: Path) -> None:
    assert movingai.is_dir()
    for quick in (False, True):
        whole = plan_of("yardstick", "w2", quick)
        for contender in ("heapq", "godot", "navserver"):
            for name, (queries, runs) in plan_of(contender, "w2", quick).items():
                assert set(queries) <= set(whole[name][0])
                assert queries
                assert runs >= 1


# --- contenders -----------------------------------------------------------------------------------


def contender_of(name: str) -> Any:
    if name in CUTS_CORNERS or name == "pathfinding":
        pytest.importorskip(bench_search.NEEDED_MODULES[name])
    return importlib.import_module(f"benchmarks.contenders.{MODULES[name]}")


def small_problem(seed: int, *, weighted: bool, cut_corners: bool) -> Problem:
    random = np.random.default_rng(seed)
    height, width = random.integers(2, 24, 2)
    blocked = random.random((height, width)) < 0.3
    free = np.argwhere(~blocked)[:, ::-1]
    if len(free) == 0:
        blocked[0, 0] = False
        free = np.array([[0, 0]])
    queries = free[random.integers(0, len(free), (12, 2))].reshape(-1, 4)
    costs = random.integers(1, 6, blocked.shape).astype(np.float64) if weighted else None
    unknown = np.full(len(queries), np.nan)
    return Problem("small", blocked, queries, unknown, 0.0, costs, cut_corners)


def optimum(problem: Problem, query: list[int]) -> float:
    height, width = problem.blocked.shape
    costs = {
        (x, y): 1.0 if problem.costs is None else float(problem.costs[y, x])
        for y in range(height)
        for x in range(width)
        if not problem.blocked[y, x]
    }
    mode = ref.ALWAYS if problem.cut_corners else ref.ONLY_IF_NO_OBSTACLES
    best = ref.distances(costs, (query[0], query[1]), mode, ref.ENTERED)
    return best.get((query[2], query[3]), math.inf)


@pytest.mark.parametrize("name", [name for name in MODULES if name not in CUTS_CORNERS])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cut_corners", [False, True])
def test_contenders_find_the_optimum(name: str, weighted: bool, cut_corners: bool) -> None:
    module = contender_of(name)
    for seed in range(6):
        problem = small_problem(seed, weighted=weighted, cut_corners=cut_corners)
        search = module.Search(problem.blocked, problem.costs, cut_corners=cut_corners)
        for query in problem.queries.tolist():
            answer = search.judge(search.find_path(*query))
            assert answer.cost == pytest.approx(optimum(problem, query), rel=1e-12)
            if answer.expanded is not None:
                assert 0 <= answer.expanded <= problem.blocked.size
                assert answer.expanded >= 1 or answer.cost in (0.0, math.inf)


@pytest.mark.parametrize("name", CUTS_CORNERS)
def test_contenders_that_cut_corners_find_their_optimum(name: str) -> None:
    module = contender_of(name)
    problem = small_problem(5, weighted=False, cut_corners=True)
    search = module.Search(problem.blocked, None, cut_corners=True)
    asked = 0
    for query in problem.queries.tolist():
        best = optimum(problem, query)
        if math.isinf(best) or query[:2] == query[2:]:
            continue
        asked += 1
        if name == "pyastar2d":
            best = search.own_optimum(*query)
        assert search.judge(search.find_path(*query)).cost == pytest.approx(best, rel=1e-6)
    assert asked > 3
    with pytest.raises(ValueError, match="ALWAYS"):
        module.Search(problem.blocked, None)


def test_the_yardstick_counts_steps_where_a_diagonal_costs_one() -> None:
    blocked = np.zeros((9, 9), np.bool_)
    search = yardstick.Search(blocked, cut_corners=True, diagonal=1.0)
    assert len(search.find_path(0, 0, 8, 3)) == 9


def test_a_path_costs_what_its_steps_do() -> None:
    costs = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    cells = np.array([[0, 0], [1, 1], [2, 1]])
    assert path_cost(cells, None) == pytest.approx(math.sqrt(2.0) + 1.0)
    assert path_cost(cells, costs) == pytest.approx(5.0 * math.sqrt(2.0) + 6.0)
    # Jump points: some cells apart, in a line.
    assert path_cost(np.array([[0, 0], [3, 3], [3, 9]]), None) == pytest.approx(3 * 2**0.5 + 6)
    assert path_cost(cells[:1], None) == 0.0
    assert math.isinf(path_cost(cells[:0], None))


def test_a_process_reports_each_chosen_query() -> None:
    problem = small_problem(3, weighted=True, cut_corners=False)
    found = time_paths("yardstick", problem, [0, 4, 7], 3)
    assert found["queries"] == [0, 4, 7]
    assert len(found["us"]) == 3
    assert min(found["us"]) > 0.0
    expected = [optimum(problem, problem.queries[i].tolist()) for i in (0, 4, 7)]
    assert found["costs"] == pytest.approx(expected, rel=1e-12)
    assert found["own_optima"] is None


# --- figures and their checks ---------------------------------------------------------------------


def part(us: list[float], costs: list[float], **more: Any) -> dict[str, Any]:
    queries = more.pop("queries", list(range(len(us))))
    return {
        "queries": queries,
        "us": us,
        "costs": costs,
        "expanded": more.pop("expanded", [None] * len(us)),
        "own_optima": more.pop("own_optima", None),
    }


def race_of_w1(contender: str, us: float, cost: float) -> Race:
    race = Race()
    race.times["w1", "yardstick"] = {"w1": part([1000.0], [315.98989873], expanded=[10000])}
    race.times["w1", contender] = {"w1": part([us], [cost])}
    return race


def test_figures_are_geometric_means_over_the_maps() -> None:
    race = Race()
    race.times["w2", "yardstick"] = {
        "a": part([100.0, 300.0, 800.0], [1.0, 2.0, 3.0], expanded=[1000, 1000, 2000]),
        "b": part([50.0], [4.0], expanded=[100]),
    }
    race.times["w2", "navserver"] = {
        "a": part([50.0, 150.0], [1.0, 2.0], queries=[0, 1], expanded=[500, 500]),
        "b": part([5.0], [4.0], expanded=[50]),
    }
    figures = {row.metric: row.value for row in rows_of(race, "w2", "navserver")}
    assert figures["us_per_query"] == pytest.approx(math.sqrt(100.0 * 5.0))
    assert figures["ns_per_expanded"] == pytest.approx(math.sqrt(200.0 * 100.0))
    # Only the queries that both were asked: 200 / 100 on a, 50 / 5 on b.
    assert figures["ratio_to_yardstick"] == pytest.approx(math.sqrt(2.0 * 10.0))
    own = {row.metric: row.value for row in rows_of(race, "w2", "yardstick")}
    assert own["us_per_query"] == pytest.approx(math.sqrt(400.0 * 50.0))
    assert own["ratio_to_yardstick"] == pytest.approx(1.0)


def test_expansions_that_are_not_told_give_no_figure() -> None:
    race = race_of_w1("pathfinding", 5000.0, 315.98989873)
    metrics = [row.metric for row in judge(race, "w1") if row.contender == "pathfinding"]
    assert metrics == ["us_per_query", "ratio_to_yardstick"]
    assert race.problems == []


@pytest.mark.parametrize(
    ("contender", "cost", "is_right"),
    [
        ("navserver", 315.98989873, True),
        ("navserver", 315.99, False),
        ("navserver", 316.5, False),
        ("navserver", math.inf, False),
        ("godot", 315.99, True),
        ("godot", 316.5, False),
    ],
)
def test_a_wrong_cost_voids_its_rows(
    contender: str, cost: float, is_right: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    race = race_of_w1(contender, 1500.0, cost)
    rows = judge(race, "w1")
    assert any(row.contender == contender for row in rows) is is_right
    assert any(row.contender == "yardstick" for row in rows)
    assert bool(race.problems) is not is_right
    assert ("VOID" in capsys.readouterr().err) is not is_right


def test_a_yardstick_that_misses_the_published_optimum_voids_the_run() -> None:
    race = Race()
    race.times["w1", "yardstick"] = {"w1": part([1000.0], [315.98], expanded=[10000])}
    judge(race, "w1")
    assert "published" in race.problems[0]


@pytest.mark.parametrize(
    ("us", "is_fair"), [(2500.0, False), (1999.0, True), (1180.0, True), (1100.0, False)]
)
def test_the_run_is_void_unless_the_yardstick_is_fair_to_godot(us: float, is_fair: bool) -> None:
    race = race_of_w1("godot", us, 315.98989873)
    judge(race, "w1")
    assert (race.problems == []) is is_fair
    if not is_fair:
        assert race.problems[0].startswith("VOID: Godot without jumping")


def test_a_contender_is_held_to_the_optimum_of_its_own_problem() -> None:
    race = Race()
    race.times["w1_always", "yardstick"] = {"w1": part([1.0], [290.8], expanded=[9])}
    race.times["w1_always", "pyastar2d"] = {"w1": part([1.0], [215.0], own_optima=[215.0])}
    assert any(row.contender == "pyastar2d" for row in judge(race, "w1_always"))
    race.times["w1_always", "pyastar2d"]["w1"]["own_optima"] = [214.0]
    assert not any(row.contender == "pyastar2d" for row in judge(race, "w1_always"))


def test_rows_print_as_json_and_as_tables(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        Row("w1", "navserver", "us_per_query", 12.5, "us"),
        Row("w1", "yardstick", "us_per_query", 1670.2, "us"),
        Row("memory", "navserver", "scratch_bytes", 640000, "bytes"),
    ]
    print_rows("title", rows, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed[0] == {
        "case": "w1",
        "contender": "navserver",
        "metric": "us_per_query",
        "value": 12.5,
        "unit": "us",
    }
    assert len(printed) == 3
    print_rows("title", rows, as_json=False)
    table = capsys.readouterr().out
    several = [Row("c", name, f"metric_{i}", i + 0.5, "us") for name in "ab" for i in range(5)]
    print_rows("", several, as_json=False)
    wide = capsys.readouterr().out
    assert all(f"metric_{i}" in wide for i in range(5))
    for text in ("title", "w1", "1,670", "12.5", "memory", "640,000"):
        assert text in table
    assert [shown(v) for v in (0.0, 0.0123456, 1.0, 99.944, 1234.4)] == [
        "0", "0.01235", "1", "99.94", "1,234",
    ]  # fmt: skip


def test_every_case_has_contenders_that_can_run() -> None:
    for case, contenders in bench_search.RACERS.items():
        assert contenders
        for contender in contenders:
            if case in problems.CASES:
                assert contender in MODULES or contender in bench_search.GODOT
            else:
                assert contender in OTHER_CASES[case]
    for contender in ("tcod", "scikit-image", "pyastar2d"):
        cases = [c for c, names in bench_search.RACERS.items() if contender in names]
        assert all(case.endswith("_always") or case not in problems.CASES for case in cases)


def test_scipy_is_given_the_steps_of_the_rule() -> None:
    blocked, _ = field_cases.random_map(12)
    graph = field_cases.graph_of(blocked).toarray()
    free = {(x, y) for y in range(12) for x in range(12) if not blocked[y, x]}
    for a in range(144):
        for b in range(144):
            start, end = (a % 12, a // 12), (b % 12, b // 12)
            legal = ref.move_allowed(free, start, end, ref.ONLY_IF_NO_OBSTACLES)
            assert graph[a, b] == (ref.step_length(start, end) if legal else 0.0)


@pytest.mark.parametrize("contender", ["navserver", "tcod", "scipy"])
def test_fields_are_compared_on_equal_distances(contender: str) -> None:
    if contender != "navserver":
        pytest.importorskip(contender)
    run = {
        "navserver": field_cases.navserver_fields,
        "tcod": field_cases.tcod_distances,
        "scipy": field_cases.scipy_distances,
    }[contender]
    rows = run(True, sides=(24, 40))
    metrics = {
        "navserver": ["", "_always"], "tcod": ["_always"], "scipy": [""],
    }[contender]  # fmt: skip
    assert [row[:3] for row in rows] == [
        ("flow_field", contender, f"ns_per_cell_{side}{end}")
        for side in (24, 40)
        for end in metrics
    ]


def test_fields_of_other_distances_are_refused() -> None:
    blocked, goal = field_cases.random_map(16)
    costs = field_cases.field_of(blocked, goal, always=False).costs.astype(np.float64)
    field_cases.check(costs, blocked, always=False, rtol=1e-6)
    costs[goal[1], goal[0] + 1] += 0.5
    with pytest.raises(RuntimeError, match="not the same"):
        field_cases.check(costs, blocked, always=False, rtol=1e-6)


# --- the script -----------------------------------------------------------------------------------


def test_what_is_missing_is_left_out_and_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_search.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("GODOT", "/nowhere/godot")
    kept, program = bench_search.available(["yardstick", "pathfinding", "godot", "tcod"])
    assert kept == ["yardstick"]
    assert program is None
    said = capsys.readouterr().err
    assert "pathfinding is left out" in said
    assert "godot is left out" in said


def test_without_movingai_maps_their_cases_are_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(problems.VARIABLE, str(tmp_path))
    assert bench_search.main(["--case", "w2", "--case", "w2w", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == []
    assert "w2, w2w left out" in printed.err


@pytest.mark.slow
def test_one_case_runs_from_end_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--json", "--case", "w1", "--contender", "navserver"]
    assert bench_search.main(arguments) == 0
    rows = [Row(**row) for row in json.loads(capsys.readouterr().out)]
    assert {row.contender for row in rows} == {"yardstick", "navserver"}
    assert {row.metric for row in rows} == {
        "us_per_query",
        "ns_per_expanded",
        "ratio_to_yardstick",
    }
    assert all(row.case == "w1" and row.value > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["line_of_sight", "after_search", "memory", "query_overhead"])
def test_other_cases_report_their_rows(case: str) -> None:
    for contender, run in OTHER_CASES[case].items():
        rows = run(True)
        assert rows
        assert all(row[:2] == (case, contender) for row in rows)
        assert all(math.isfinite(row.value) for row in rows)
        assert len({row.metric for row in rows}) == len(rows)


@pytest.mark.slow
def test_edits_are_reported_apart_from_the_query() -> None:
    metrics = {row.metric for row in search_cases.edit_4096(quick=True, side=2300)}
    assert metrics == {"ms", "worst_ms", "us_per_edit", "us_per_query"}


@pytest.mark.slow
def test_batches_are_reported_by_threads() -> None:
    metrics = [row.metric for row in search_cases.batch(quick=True, side=64)]
    assert metrics == [
        "us_per_query_alone",
        "us_per_query_1_thread",
        "us_per_query_2_threads",
        "speedup_2_threads",
    ]


@pytest.mark.slow
def test_the_weight_sweep_reports_time_and_length(
    movingai: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(problems.VARIABLE, str(movingai))
    monkeypatch.setattr(search_cases, "SMALL_MAPS", ("arena",))
    rows = {row.metric: row.value for row in search_cases.weight_sweep(quick=True)}
    assert len(rows) == 3 * len(search_cases.WEIGHTS)
    assert rows["mean_length_w1.0"] == pytest.approx(1.0)
    for weight in search_cases.WEIGHTS:
        assert 1.0 <= rows[f"worst_length_w{weight:.1f}"] <= weight + 1e-9
