"""Numba's traps: stale callees, frozen globals, silent reads out of range; and the cache."""

from __future__ import annotations

import ast
import dis
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import navserver
from navserver import _jit
from navserver.movers.movers import Movers
from navserver.movers.proximity import ProximityIndex
from navserver.movers.stepper import Stepper
from navserver.search.astar import AStar, find_path
from navserver.search.flow_field import FlowField
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.line_of_sight import line_of_sight
from navserver.search.nodes import CancelFlag, SearchTrace

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = CHECKOUT / "navserver"


def mixed_workload() -> list[Any]:
    """Call all that compiles, with every kind of map and option, at every border of the map."""
    random = np.random.default_rng(1)
    answers: list[Any] = []
    shapes = [(1, 1), (1, 9), (9, 1), (2, 2), (7, 12), (24, 24)]
    for number, (height, width) in enumerate(shapes):
        classes = random.choice(np.array([0, 1, 255], np.uint8), (height, width), p=[0.6, 0.2, 0.2])
        scale = random.integers(1, 4, (height, width)).astype(np.float32)
        layer = random.integers(0, 3, (height, width)).astype(np.float32)
        corners = [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)]
        for cell_scale in (None, scale):
            for layers, overlays in ((None, None), ({"mud": layer}, {"mud": 2.0})):
                grid = Grid(classes, cell_scale=cell_scale, layers=layers)
                for mode in DiagonalMode:
                    search = AStar(
                        grid,
                        diagonal_mode=mode,
                        profile=Profile({1: 3.0}),
                        heuristic=Heuristic((number + mode) % 5),
                        cost_model=CostModel((number + mode) % 3),
                        overlays=overlays,
                        inexact=True,
                        weight=1.5,
                        allow_partial=True,
                        max_expansions=500,
                        max_cost=1000.0,
                    )
                    for start in corners:
                        trace = SearchTrace(3)
                        result = search.find_path(
                            start,
                            corners[3],
                            blocked_cells=corners[1:2],
                            ignored_cells=[corners[0], corners[3]],
                            cancel=CancelFlag(),
                            trace=trace,
                        )
                        answers.append([int(result.status), result.cells.tolist()])
                        answers.append([*result.metrics, trace.cells.tolist()])
                    ends = np.array([(a, b) for a in corners for b in corners], np.int64)
                    seen = line_of_sight(grid, ends[:, 0], ends[:, 1], diagonal_mode=mode)
                    answers.append(np.asarray(seen).tolist())
                for corner in corners:
                    grid.set_cell(corner, 255)
                    grid.set_cells([corner, corner], [1, 0], cell_scale=2.0)
                    grid.set_rectangle(corner, (1, 1), 1, layers={"other": 1.0})
                grid.set_all(0)
                answers.append(AStar(grid).find_path(corners[0], corners[3]).cells.tolist())
    # In each engine more open cells than the open list has room for at first.
    noisy = (random.integers(1, 1000, (120, 120)) / 8).astype(np.float32)
    with_zero = noisy.copy()
    with_zero[0, 1] = 0.0
    for scale in (noisy, with_zero):
        search = AStar(Grid.filled(120, 120, cell_scale=scale), diagonal_mode=DiagonalMode.ALWAYS)
        hard = search.find_path((60, 60), (0, 119))
        assert hard.metrics.open_peak > 1024
        answers.append([hard.cells.tolist(), *hard.metrics])
    for classes in (np.zeros((600, 600), np.uint8), np.eye(600, dtype=np.uint8)):
        wide = find_path(
            Grid(classes),
            (300, 300),
            (0, 599),
            profile=Profile({1: 2.0}),
            diagonal_mode=DiagonalMode.ALWAYS,
        )
        answers.append([wide.cells.tolist(), *wide.metrics])
    for avoidance in (False, True):
        answers += steps_of_movers(avoidance)
    return answers


def steps_of_movers(avoidance: bool) -> list[Any]:
    """Step movers that are sent, led by a field and steered, past a door and through an edit."""
    blocked = np.zeros((9, 16), bool)
    blocked[:, 8] = True
    blocked[4:6, 8] = False
    grid = Grid.from_blocked(blocked)
    movers = Movers(grid)
    places = [(2, 3), (2, 5), (13, 4), (13, 6), (3, 1), (12, 1)]
    units = movers.add(places, radius=0.4, max_speed=3.0, turn_rate=[np.inf, 6.0] * 3)
    stepper = Stepper(movers, avoidance=avoidance, threads=1)
    stepper.order(units[:2], (13, 3))
    stepper.order(units[2:4], [(3, 6), (2, 6)])
    movers.steer(units[4:5], (1.0, 0.3))
    movers.set_field(units[5:], FlowField(grid, [(14, 7)]))
    arrived: list[int] = []
    for tick in range(120):
        if tick == 8:
            grid.set_cell((9, 4), 255)
        arrived += (stepper.step(0.1).arrived & 0xFFFF).tolist()
    seen = ProximityIndex(movers).in_rectangle([(0, 0, 7, 8)])[0]
    return [sorted(arrived), movers.of("state", units).tolist(), seen.size]


WORKLOAD = """
import json
from tests.test_jit import mixed_workload
print(json.dumps(mixed_workload()))
"""


def run_python(code: str, *, folder: Path = CHECKOUT, **environment: str | None) -> str:
    """Run code in a new process, from a folder that holds the package; return what it prints."""
    env = {**os.environ, "PYTHONPATH": str(folder)}
    env.pop("NUMBA_DISABLE_JIT", None)
    for name, value in environment.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copied_package(folder: Path) -> Path:
    """Copy the package's sources alone into a folder."""
    ignore = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.copytree(PACKAGE, folder / "navserver", ignore=ignore)
    return folder


def compiled_functions() -> Iterator[tuple[types.ModuleType, str, Any]]:
    """Give each compiled function of the package once, with the module that defines it."""
    for info in pkgutil.walk_packages(navserver.__path__, "navserver."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            function = getattr(value, "py_func", None)
            if function is not None and function.__module__ == info.name:
                yield module, name, value


# --- a cached caller and its callee ---------------------------------------------------------------

COST_AND_CACHE = """
import json
from navserver import _jit
from navserver.search.astar import find_path
from navserver.search.grid import Grid
cost = find_path(Grid.filled(3, 1), (0, 0), (2, 0)).cost
hits = sum(sum(k.stats.cache_hits.values()) for k in _jit.KERNELS.values())
misses = sum(sum(k.stats.cache_misses.values()) for k in _jit.KERNELS.values())
print(json.dumps([cost, hits, misses, str(_jit._folder_of("search"))]))
"""


DEARER = """
from navserver._jit import subkernel

former_cost_ = cell_cost_


@subkernel
def cell_cost_(terrain: Terrain, cell: int) -> float:
    return former_cost_(terrain, cell) + 40.0
"""


@pytest.mark.jit
def test_a_cached_caller_takes_the_new_body_of_an_edited_callee(tmp_path: Path) -> None:
    folder, cache = copied_package(tmp_path), str(tmp_path / "cache")

    def run() -> list[Any]:
        answer = run_python(COST_AND_CACHE, folder=folder, NAVSERVER_CACHE_DIR=cache)
        return list(json.loads(answer))

    cost, hits, misses, first_folder = run()
    assert (cost, hits) == (2.0, 0)
    assert misses > 0
    cost, hits, misses, again_folder = run()
    assert (cost, misses) == (2.0, 0), "an unchanged package compiles once"
    assert hits > 0
    assert again_folder == first_folder
    # `cell_cost_` lies in another file than the kernels that call it.
    callee = folder / "navserver" / "search" / "costs.py"
    callee.write_text(callee.read_text() + DEARER)
    cost, _, _, new_folder = run()
    assert cost == 82.0, "the cached caller kept the old body of its callee"
    assert new_folder != first_folder


# --- globals are frozen when a kernel is compiled -------------------------------------------------


def globals_read(code: types.CodeType) -> set[str]:
    """Names that a function loads as globals; attributes of the same name do not count."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname == "LOAD_GLOBAL"
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= globals_read(constant)
    return names


def is_constant(value: object) -> bool:
    if isinstance(value, tuple):
        return all(is_constant(item) for item in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@pytest.mark.jit
def test_kernels_read_no_globals_but_constants() -> None:
    # A global is frozen into the machine code, so it must be one that never changes.
    checked = 0
    for module, name, function in compiled_functions():
        namespace = function.py_func.__globals__
        for variable in sorted(globals_read(function.py_func.__code__)):
            if variable not in namespace:
                continue  # a builtin
            value = namespace[variable]
            checked += 1
            if isinstance(value, types.ModuleType) or hasattr(value, "py_func"):
                continue
            if isinstance(value, type) and issubclass(value, tuple):
                continue
            if callable(value) and getattr(_jit, variable, None) is value:
                continue
            where = f"{module.__name__}.{name} reads the global {variable}"
            assert variable.isupper(), f"{where}, which is not written as a constant"
            assert is_constant(value), f"{where}, which is a {type(value).__name__}"
    assert checked > 30


def bound_names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_constants_are_set_once_where_they_are_defined() -> None:
    for source in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(source.read_text())
        bound: list[str] = []
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Global), f"{source.name}: `global` rebinds a name"
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                is_name_of_module = node.attr.isupper() and isinstance(node.value, ast.Name)
                is_config = isinstance(node.value, ast.Name) and node.value.id == "config"
                assert is_config or not is_name_of_module, f"{source.name}: sets {node.attr}"
        for node in tree.body:
            if isinstance(node, ast.Assign):
                bound += [name for target in node.targets for name in bound_names(target)]
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
                bound += bound_names(node.target)
        constants = [name for name in bound if name.isupper()]
        assert len(constants) == len(set(constants)), f"{source.name} sets a constant twice"


# --- reads out of range ---------------------------------------------------------------------------

BOUNDS_ARE_CHECKED = """
import numpy as np
from navserver._jit import kernel, KERNELS
@kernel
def read_(array, i):
    return array[i]
del KERNELS["__main__.read_"]
try:
    read_(np.zeros(3), 3)
except IndexError:
    print("checked")
"""


@pytest.mark.jit
def test_kernels_stay_in_range(tmp_path: Path) -> None:
    script = tmp_path / "control.py"
    script.write_text(BOUNDS_ARE_CHECKED)
    control = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    own = str(tmp_path)
    assert run_python(control, NUMBA_BOUNDSCHECK="1", NAVSERVER_CACHE_DIR=own) == "checked\n"
    # These have a cache of their own beside the others': minutes of compiling, once.
    checked = json.loads(run_python(WORKLOAD, NUMBA_BOUNDSCHECK="1"))
    assert checked == json.loads(json.dumps(mixed_workload()))


@pytest.mark.jit
def test_checked_and_unchecked_kernels_share_no_cache() -> None:
    code = "from navserver import _jit; print(_jit._folder_of('search'))"
    assert run_python(code, NUMBA_BOUNDSCHECK="1") != run_python(code, NUMBA_BOUNDSCHECK=None)


# --- one signature, none missed -------------------------------------------------------------------

SIGNATURES = """
import json
from navserver import _jit
import navserver.search.astar, navserver.search.line_of_sight
from tests.test_jit import mixed_workload
_jit.warm_up()
warm = {name: len(kernel.signatures) for name, kernel in _jit.KERNELS.items()}
mixed_workload()
mixed = {name: [str(s) for s in kernel.signatures] for name, kernel in _jit.KERNELS.items()}
print(json.dumps([warm, mixed]))
"""


@pytest.mark.jit
def test_warm_up_compiles_each_kernel_and_nothing_else_compiles_one() -> None:
    warm, mixed = json.loads(run_python(SIGNATURES))
    missed = [name for name, count in warm.items() if count != 1]
    assert not missed, "warm_up must call each kernel, with the types that all callers use"
    assert len(warm) >= 8
    for name, signatures in mixed.items():
        assert len(signatures) == 1, f"{name} was compiled for {signatures}"


@pytest.mark.jit
def test_every_kernel_releases_the_interpreter() -> None:
    for name, function in _jit.KERNELS.items():
        assert function.targetoptions.get("nogil") is True, name
        assert not function.targetoptions.get("fastmath"), name
        assert not function.targetoptions.get("parallel"), name


@pytest.mark.jit
def test_the_registry_holds_what_python_calls() -> None:
    known = {id(function) for function in _jit.KERNELS.values()}
    for name, function in _jit.KERNELS.items():
        assert name == f"{function.py_func.__module__}.{function.py_func.__name__}"
    named = [function for _, _, function in compiled_functions() if id(function) in known]
    assert len(named) == len(known)


def test_warm_up_tells_its_progress() -> None:
    steps: list[tuple[int, int, str]] = []
    _jit.warm_up(lambda done, total, name: steps.append((done, total, name)))
    total = steps[0][1]
    assert total >= 3
    assert [done for done, _, _ in steps] == list(range(total + 1))
    assert {step[1] for step in steps} == {total}
    assert all(isinstance(name, str) and name for _, _, name in steps)


def test_numba_is_imported_by_one_module_alone() -> None:
    for source in sorted(PACKAGE.rglob("*.py")):
        names = set()
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
        assert source.name == "_jit.py" or not names & {"numba", "llvmlite"}, source.name


# --- the cache folder -----------------------------------------------------------------------------

FOLDER_AND_COST = """
import json, sys
from navserver import _jit
from navserver.search.line_of_sight import line_of_sight
from navserver.search.grid import Grid
print(json.dumps([str(_jit.cache_folder()), line_of_sight(Grid.filled(3, 1), (0, 0), (2, 0))]))
"""


@pytest.mark.jit
def test_an_unwritable_cache_folder_is_passed_over(tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.write_text("not a folder")
    other = tmp_path / "other"
    folder, seen = json.loads(
        run_python(FOLDER_AND_COST, NAVSERVER_CACHE_DIR=str(no_folder), NUMBA_CACHE_DIR=str(other))
    )
    assert seen is True
    assert Path(folder).is_relative_to(other)
    assert list(Path(folder).rglob("*.nbi")), "the kernels are not in the folder"


@pytest.mark.jit
def test_kernels_work_where_no_folder_is_writable(tmp_path: Path) -> None:
    copied_package(tmp_path)
    no_folder = tmp_path / "file"
    no_folder.write_text("not a folder")
    nowhere = {
        name: str(no_folder)
        for name in ("NAVSERVER_CACHE_DIR", "NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME")
    }
    code = f"import tempfile; tempfile.tempdir = {str(no_folder)!r}\n{FOLDER_AND_COST}"
    code += "assert _jit.cache_folder() is None\n"
    nowhere |= {"LOCALAPPDATA": str(no_folder), "USERPROFILE": str(no_folder)}
    folder, seen = json.loads(run_python(code, folder=tmp_path, **nowhere))
    assert (folder, seen) == ("None", True)
    assert not list(tmp_path.rglob("*.nbi")), "the package's own folder was written"


@pytest.mark.jit
def test_nothing_is_written_beside_the_sources(tmp_path: Path) -> None:
    copied_package(tmp_path / "site")
    cache = tmp_path / "cache"
    run_python(FOLDER_AND_COST, folder=tmp_path / "site", NAVSERVER_CACHE_DIR=str(cache))
    assert list(cache.rglob("*.nbi"))
    assert not list((tmp_path / "site").rglob("*.nb[ic]"))


@pytest.mark.jit
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
def test_a_folder_that_others_may_write_is_passed_over(tmp_path: Path) -> None:
    cache, other = str(tmp_path / "cache"), tmp_path / "other"
    folder, _ = json.loads(run_python(FOLDER_AND_COST, NAVSERVER_CACHE_DIR=cache))
    assert Path(folder).is_relative_to(cache)
    assert not Path(folder).stat().st_mode & 0o022
    Path(folder).chmod(0o777)
    folder, _ = json.loads(
        run_python(FOLDER_AND_COST, NAVSERVER_CACHE_DIR=cache, NUMBA_CACHE_DIR=str(other))
    )
    assert Path(folder).is_relative_to(other)


# --- without a compiler ---------------------------------------------------------------------------


def test_interpreted_kernels_answer_the_same() -> None:
    interpreted = json.loads(run_python(WORKLOAD, NUMBA_DISABLE_JIT="1"))
    assert interpreted == json.loads(json.dumps(mixed_workload()))
