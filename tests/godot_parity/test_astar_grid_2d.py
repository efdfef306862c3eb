"""Parity of the grid searches with AStarGrid2D in a real Godot.

Random maps are made here, answered by one Godot process (answer_cases.gd states the format of
the files) and searched by navserver. The paths may differ where several are cheapest; their costs,
recomputed in float64 by one rule, and what is found at all may not. AStarGrid2D works in float32,
hence the tolerance of 1e-5.
"""

from __future__ import annotations

import math
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pytest

from navserver.search.astar import AStar
from navserver.search.grid import DEFAULT_PROFILE, SOLID, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.status import Status
from tests import reference as ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tests.reference import Cell

pytestmark = pytest.mark.godot

PROJECT = Path(__file__).parent
MAGIC = 0x4350474E
NO_ESTIMATE = -1
MAPS_A_MODE = 240
TIMEOUT_SECONDS = 120
RELATIVE_TOLERANCE = 1e-5
T = TypeVar("T")
HEURISTICS: list[Heuristic] = [Heuristic.OCTILE, Heuristic.EUCLIDEAN]


class StepCode(IntEnum):
    """The numbers of answer_cases.gd."""

    SOLIDS = 0
    WEIGHTS = 1
    POINT_SOLID = 2
    REGION_SOLID = 3
    POINT_WEIGHT = 4
    REGION_WEIGHT = 5
    QUERY = 6


@dataclass(frozen=True)
class SetSolid:
    """Make a rectangle solid or walkable; without a size, one cell."""

    position: Cell
    size: Cell | None
    solid: bool


@dataclass(frozen=True)
class SetWeight:
    """Give a rectangle a class and a scale; without a size, one cell."""

    position: Cell
    size: Cell | None
    class_id: int
    scale: float


@dataclass(frozen=True)
class Query:
    start: Cell
    goal: Cell


Step = SetSolid | SetWeight | Query


@dataclass
class Terrain:
    """What a map holds, kept apart from both searches: the weights survive under a wall."""

    position: Cell
    solid: NDArray[np.bool_]
    class_ids: NDArray[np.uint8]
    scale: NDArray[np.float32]
    table: NDArray[np.float32]

    @property
    def width(self) -> int:
        return int(self.solid.shape[1])

    @property
    def height(self) -> int:
        return int(self.solid.shape[0])

    def copy(self) -> Terrain:
        return Terrain(
            self.position,
            self.solid.copy(),
            self.class_ids.copy(),
            self.scale.copy(),
            self.table,
        )

    def weights(self) -> NDArray[np.float64]:
        """The cost of entering each cell were it walkable."""
        return self.table[self.class_ids].astype(np.float64) * self.scale

    def classes(self) -> NDArray[np.uint8]:
        """The classes with the walls among them, as Grid holds them."""
        return np.where(self.solid, SOLID, self.class_ids).astype(np.uint8)

    def cell_costs(self) -> ref.Costs:
        """The walkable cells and what it costs to enter them."""
        return ref.cell_costs(
            ref.Model(self.classes(), self.scale, region=self.position), self.table
        )

    def window(self, position: Cell, size: Cell | None) -> tuple[slice, slice]:
        """The rectangle as an index of the arrays."""
        width, height = size or (1, 1)
        x, y = position[0] - self.position[0], position[1] - self.position[1]
        return slice(y, y + height), slice(x, x + width)

    def apply(self, step: SetSolid | SetWeight) -> None:
        window = self.window(step.position, step.size)
        if isinstance(step, SetSolid):
            self.solid[window] = step.solid
        else:
            self.class_ids[window] = step.class_id
            self.scale[window] = step.scale


@dataclass
class Case:
    """A map, how to search it, and what is done with it in order."""

    name: str
    terrain: Terrain
    mode: DiagonalMode
    compute: Heuristic
    estimate: Heuristic | None
    scaled: bool
    steps: list[Step] = field(default_factory=list)


# --- making cases -------------------------------------------------------------------------------


class CaseMaker:
    """Makes one random case from a seed."""

    def __init__(self, seed: int, mode: DiagonalMode) -> None:
        self.random = np.random.Generator(np.random.PCG64([seed, int(mode)]))
        self.name = f"{mode.name} {seed}"
        self.mode = mode
        # Weights under 1 make Godot's estimate too large, so those maps are searched without one.
        self.light = self.chance(0.3)
        self.highest = 2.0 if self.light else float(self.pick([3.0, 10.0, 500.0]))
        self.whole_numbers = self.chance(0.4)
        # The weights are classes that a profile prices, scales of the cells, both, or all 1.
        uniform = self.chance(0.2)
        self.classed = not uniform and self.chance(0.6)
        self.scaled = not uniform and (not self.classed or self.chance(0.3))

    def make(self) -> Case:
        terrain = self.terrain()
        compute = self.pick(HEURISTICS)
        estimate = None if self.light else self.pick(HEURISTICS)
        case = Case(self.name, terrain, self.mode, compute, estimate, self.scaled)
        case.steps += self.queries(terrain, 5)
        now = terrain.copy()
        for _ in range(self.between(1, 4) if self.chance(0.5) else 0):
            for _ in range(self.between(1, 3)):
                edit = self.edit(now)
                now.apply(edit)
                case.steps.append(edit)
            case.steps += self.queries(now, 3)
        return case

    def terrain(self) -> Terrain:
        width, height = self.extent(), self.extent()
        shape = (height, width)
        terrain = Terrain(
            (0, 0) if self.chance(0.3) else (self.between(-70, 30), self.between(-70, 30)),
            self.solids(shape),
            np.zeros(shape, np.uint8),
            np.ones(shape, np.float32),
            DEFAULT_PROFILE.costs.copy(),
        )
        if self.classed:
            terrain.table[:6] = [self.weight() for _ in range(6)]
            terrain.class_ids[:] = self.random.integers(0, 6, shape)
        # Some maps get their first scale by an edit.
        if self.scaled and self.chance(0.8):
            terrain.scale[:] = [[self.weight() for _ in range(width)] for _ in range(height)]
        return terrain

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def between(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.between(0, len(choices) - 1)]

    def extent(self) -> int:
        return self.between(1, 3) if self.chance(0.12) else self.between(4, 40)

    def weight(self) -> float:
        """From 0 or 1 upwards, small ones more often."""
        lowest = 0.0 if self.light else 1.0
        value = lowest + (self.highest - lowest) * self.random.random() ** 2
        return float(np.round(value) if self.whole_numbers else np.float32(value))

    def solids(self, shape: tuple[int, int]) -> NDArray[np.bool_]:
        density = self.pick([0.0, 0.1, 0.2, 0.3, 0.3, 0.4, 0.5, 1.0 if self.chance(0.2) else 0.2])
        solid = self.random.random(shape) < density
        for _ in range(self.between(0, 4)):
            y, x = self.between(0, shape[0] - 1), self.between(0, shape[1] - 1)
            if self.chance(0.5):
                solid[y, x : x + self.between(1, 20)] = True
            else:
                solid[y : y + self.between(1, 20), x] = True
        return solid

    def cell(self, terrain: Terrain, solid: bool | None = None) -> Cell:
        """A cell, of the wanted kind where there is one."""
        wanted = np.flatnonzero(terrain.solid == solid)
        if solid is None or wanted.size == 0:
            wanted = np.arange(terrain.solid.size)
        y, x = divmod(int(self.random.choice(wanted)), terrain.width)
        return terrain.position[0] + x, terrain.position[1] + y

    def queries(self, terrain: Terrain, count: int) -> Iterator[Query]:
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.75:
                yield Query(self.cell(terrain, False), self.cell(terrain, False))
            elif kind < 0.80:
                yield Query(self.cell(terrain, True), self.cell(terrain, False))
            elif kind < 0.85:
                yield Query(self.cell(terrain, False), self.cell(terrain, True))
            elif kind < 0.90:
                yield Query(self.cell(terrain, True), self.cell(terrain, True))
            else:
                ends = self.cell(terrain, self.chance(0.5))
                yield Query(ends, ends)

    def edit(self, terrain: Terrain) -> SetSolid | SetWeight:
        position = self.cell(terrain)
        size = None
        if self.chance(0.5):
            size = (
                self.between(1, terrain.position[0] + terrain.width - position[0]),
                self.between(1, terrain.position[1] + terrain.height - position[1]),
            )
        if self.chance(0.5) or not (self.classed or self.scaled):
            # A large new wall would leave little to ask.
            return SetSolid(position, size, self.chance(0.3 if size else 0.6))
        return SetWeight(
            position,
            size,
            self.between(0, 5) if self.classed else 0,
            self.weight() if self.scaled else 1.0,
        )


def every_small_map(mode: DiagonalMode) -> Iterator[Case]:
    """All maps of 2 x 2 cells with all their queries: the rule of the diagonals and no more."""
    cells = [(x, y) for y in (-1, 0) for x in (-1, 0)]
    queries = [Query(start, goal) for start in cells for goal in cells]
    for pattern in range(16):
        terrain = Terrain(
            cells[0],
            np.array([bool(pattern >> bit & 1) for bit in range(4)]).reshape(2, 2),
            np.zeros((2, 2), np.uint8),
            np.ones((2, 2), np.float32),
            DEFAULT_PROFILE.costs,
        )
        name = f"{mode.name} 2 x 2 {pattern:04b}"
        yield Case(name, terrain, mode, Heuristic.OCTILE, Heuristic.OCTILE, False, list(queries))


def random_cases(mode: DiagonalMode) -> list[Case]:
    return [CaseMaker(seed, mode).make() for seed in range(MAPS_A_MODE)]


# --- the files of answer_cases.gd ---------------------------------------------------------------


def encode(cases: Sequence[Case]) -> bytes:
    ints = int_words([MAGIC, len(cases)])
    return b"".join([ints, *map(encode_case, cases)])


def encode_case(case: Case) -> bytes:
    terrain = case.terrain.copy()
    estimate = NO_ESTIMATE if case.estimate is None else case.estimate
    words = [
        int_words([terrain.width, terrain.height, *terrain.position]),
        int_words([case.mode, case.compute, estimate, len(case.steps) + 2]),
        int_words([StepCode.SOLIDS, *terrain.solid.ravel()]),
        int_words([StepCode.WEIGHTS]),
        float_words(terrain.weights().ravel()),
    ]
    for step in case.steps:
        if isinstance(step, Query):
            words.append(int_words([StepCode.QUERY, *step.start, *step.goal]))
            continue
        terrain.apply(step)
        if isinstance(step, SetSolid):
            code, value = StepCode.POINT_SOLID, int_words([step.solid])
        else:
            # A step gives its whole rectangle one class and one scale, thus one weight.
            window = terrain.window(step.position, step.size)
            code, value = StepCode.POINT_WEIGHT, float_words(terrain.weights()[window].ravel()[:1])
        if step.size is not None:
            code = StepCode(code + 1)
        words.append(int_words([code, *step.position, *(step.size or ())]) + value)
    return b"".join(words)


def int_words(values: Sequence[int]) -> bytes:
    return np.array(values, "<i4").tobytes()


def float_words(values: NDArray[np.float64]) -> bytes:
    return values.astype("<f4").tobytes()


def decode(data: bytes) -> Iterator[list[Cell]]:
    """The paths of a result file, in the order of the queries."""
    words = np.frombuffer(data, "<i4")
    if words.size == 0 or words[-1] != MAGIC:
        raise AssertionError("the result file is not whole")
    at = 0
    while at < words.size - 1:
        end = at + 1 + 2 * int(words[at])
        yield [(int(x), int(y)) for x, y in words[at + 1 : end].reshape(-1, 2)]
        at = end


def run_godot(godot: Path, folder: Path, data: bytes) -> subprocess.CompletedProcess[str]:
    """Run answer_cases.gd over a case file in a copy of the project, which Godot may write to."""
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (folder / "cases.bin").write_bytes(data)
    command = [str(godot), "--headless", "--path", str(folder), "-s", "res://answer_cases.gd"]
    return subprocess.run(
        [*command, "--", "res://cases.bin", "res://results.bin"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


# --- judging ------------------------------------------------------------------------------------


class Judge:
    """Replays a case on a Grid that is edited as Godot's was, and compares each answer."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.terrain = case.terrain.copy()
        self.costs = self.terrain.cell_costs()
        # A map all of whose scales are 1 gets none; an edit may bring it later.
        scale = self.terrain.scale if np.any(self.terrain.scale != 1.0) else None
        self.grid = Grid(
            self.terrain.classes(), cell_scale=scale, region_position=self.terrain.position
        )
        self.profile = Profile(self.terrain.table)
        # Kept over the edits: what they remember of the map has to follow it.
        self.searches = {
            name: AStar(
                self.grid, profile=self.profile, diagonal_mode=case.mode, heuristic=heuristic
            )
            for name, heuristic in (("astar", case.estimate), ("dijkstra", Heuristic.ZERO))
        }
        self.kinds: Counter[str] = Counter()

    def problems(self, godot_paths: Iterable[list[Cell]]) -> Iterator[str]:
        godot_path = iter(godot_paths)
        for number, step in enumerate(self.case.steps):
            if isinstance(step, Query):
                try:
                    self.judge(step, next(godot_path))
                except AssertionError as error:
                    yield f"{self.case.name}, step {number}, {step}: {error}"
            else:
                self.terrain.apply(step)
                self.costs = self.terrain.cell_costs()
                self.edit_grid(step)

    def edit_grid(self, step: SetSolid | SetWeight) -> None:
        classes = self.terrain.classes()[self.terrain.window(step.position, step.size)]
        scale = step.scale if isinstance(step, SetWeight) and self.case.scaled else None
        if step.size is None:
            self.grid.set_cell(step.position, int(classes[0, 0]), cell_scale=scale)
        else:
            self.grid.set_rectangle(step.position, step.size, classes, cell_scale=scale)

    def judge(self, query: Query, godot_path: list[Cell]) -> None:
        expected = Status.FOUND if godot_path else Status.UNREACHABLE
        if query.start not in self.costs:
            expected = Status.START_BLOCKED
        elif query.goal not in self.costs:
            expected = Status.GOAL_BLOCKED
        self.kinds[expected.name] += 1
        self.kinds["EQUAL " + expected.name] += query.start == query.goal
        godot_cost = math.inf
        if godot_path:
            assert expected == Status.FOUND, f"Godot goes from or into a wall: {godot_path}"
            godot_cost = self.checked_cost(query, godot_path)
        for name, search in self.searches.items():
            result = search.find_path(query.start, query.goal)
            path = ref.as_cells(result.cells)
            shown = f"{name} {result.status.name} {path}, Godot {godot_path}"
            assert result.status == expected, f"{expected.name} expected: {shown}"
            assert bool(path) == bool(godot_path), shown
            if path:
                cost = self.checked_cost(query, path)
                assert math.isclose(cost, godot_cost, rel_tol=RELATIVE_TOLERANCE), (
                    f"costs {cost} and {godot_cost}: {shown}"
                )
                assert math.isclose(result.cost, cost, rel_tol=1e-9), (
                    f"costs {cost}, but says {result.cost}: {shown}"
                )

    def checked_cost(self, query: Query, path: list[Cell]) -> float:
        """The path's cost in float64, after its steps were found to be legal.

        Legal by the rule as the class reference of AStarGrid2D states it, and by the grid's own
        move masks.
        """
        cost, _ = ref.check_path(
            self.costs, path, query.start, query.goal, self.case.mode, ref.ENTERED
        )
        masks = self.grid.move_masks(self.profile, self.case.mode)
        left, top = self.grid.region_position
        for here, there in pairwise(path):
            direction = ref.DIRECTIONS.index((there[0] - here[0], there[1] - here[1]))
            assert masks[here[1] - top, here[0] - left] >> direction & 1, (
                f"the move mask of {here} forbids the step to {there}: {path}"
            )
        return cost


@pytest.fixture(scope="module")
def answers(
    godot: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[DiagonalMode, list[tuple[Case, list[list[Cell]]]]]:
    """Every case of every mode with Godot's paths, all from one Godot process."""
    cases = [
        case for mode in DiagonalMode for case in [*every_small_map(mode), *random_cases(mode)]
    ]
    folder = tmp_path_factory.mktemp("godot") / "project"
    run = run_godot(godot, folder, encode(cases))
    assert run.returncode == 0, run.stdout
    assert run.stdout.splitlines()[-1] == f"{len(cases)} passed, 0 failed"
    paths = decode((folder / "results.bin").read_bytes())
    answers: dict[DiagonalMode, list[tuple[Case, list[list[Cell]]]]] = {}
    for case in cases:
        queries = sum(isinstance(step, Query) for step in case.steps)
        answers.setdefault(case.mode, []).append((case, [next(paths) for _ in range(queries)]))
    assert next(paths, None) is None
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("mode", DiagonalMode, ids=lambda mode: mode.name)
def test_paths_agree(
    mode: DiagonalMode, answers: dict[DiagonalMode, list[tuple[Case, list[list[Cell]]]]]
) -> None:
    kinds: Counter[str] = Counter()
    problems: list[str] = []
    for case, paths in answers[mode]:
        judge = Judge(case)
        problems += judge.problems(paths)
        kinds += judge.kinds
    assert not problems, f"{len(problems)} problems, the first:\n" + "\n".join(problems[:5])
    # The maps are of use only as long as they ask everything.
    for kind in ("FOUND", "UNREACHABLE", "START_BLOCKED", "GOAL_BLOCKED"):
        assert kinds[kind] >= 50, kinds
    for kind in ("EQUAL FOUND", "EQUAL START_BLOCKED"):
        assert kinds[kind] >= 20, kinds


def test_a_case_file_cut_short_is_a_failure(godot: Path, tmp_path: Path) -> None:
    """The runner's own promise: no error passes as a success, none lets Godot run on."""
    whole = encode(list(every_small_map(DiagonalMode.ALWAYS)))
    for number, data in enumerate((b"", whole[:2], whole[4:], whole[:-8], whole + whole[:4])):
        run = run_godot(godot, tmp_path / str(number), data)
        assert run.returncode == 1, run.stdout
        assert run.stdout.splitlines()[-1] == "0 passed, 1 failed"
        assert not (tmp_path / str(number) / "results.bin").exists()


def test_an_error_of_the_engine_is_a_failure(godot: Path, tmp_path: Path) -> None:
    cases = list(every_small_map(DiagonalMode.ALWAYS))
    cases[3].steps.append(Query((-1, -1), (7, 7)))
    run = run_godot(godot, tmp_path / "project", encode(cases))
    assert run.returncode == 1, run.stdout
    assert "15 passed, 1 failed" in run.stdout.splitlines()
