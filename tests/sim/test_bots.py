from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.islands import connected
from navserver.search.movement import Movement
from navserver.sim.bots import (
    BehaviorError,
    BotState,
    Chase,
    Commute,
    Kind,
    Observation,
    Orders,
    Wander,
    ask_behavior,
    free_cells,
    load_behavior,
    make_behavior,
)
from navserver.sim.scenarios import Area, BotKind
from navserver.status import InputError

# Two rooms that a wall parts, on a map whose first cell is not (0, 0).
GRID = Grid.from_blocked(
    np.tile([False, False, False, True, False, False], (3, 1)), region_position=(-2, 5)
)
LEFT, RIGHT = (-2, 5), (3, 7)


def kind_of(spawns: Any, goals: tuple[Area, ...] = (), grid: Grid = GRID, seed: int = 1) -> Kind:
    cells = np.asarray(spawns, np.int32)
    bots = BotKind("bots", len(cells), goals=goals)
    return Kind(grid, Movement(), bots, cells, np.random.default_rng(seed))


def seen(cells: Any, state: Any, *, tick: int = 0, goal: Any = None) -> Observation:
    cells = np.asarray(cells, np.int32)
    positions = cells.astype(np.float32)
    states = np.broadcast_to(np.asarray(state, np.uint8), len(cells))
    goals = cells if goal is None else np.asarray(goal, np.int32)
    return Observation(
        tick, tick * 0.1, positions, np.zeros_like(positions), cells, goals, states, positions
    )


def test_free_cells_of_areas() -> None:
    assert len(free_cells(GRID, Movement(), ())) == 15
    cells = free_cells(GRID, Movement(), (Area(0, 5, 2, 2), Area(0, 6, 1, 1)))
    assert cells.tolist() == [[0, 5], [0, 6]]
    assert len(free_cells(GRID, Movement(size=2), ())) == 6


def test_goals_are_drawn_from_the_bots_own_island() -> None:
    kind = kind_of([LEFT, RIGHT] * 100)
    goals = kind.draw_goals(np.arange(200))
    assert connected(GRID, kind.spawns, goals).all()
    # every cell of either room turns up
    assert len(np.unique(goals, axis=0)) == 15


def test_a_bot_whose_island_has_no_goal_gets_one_all_the_same() -> None:
    kind = kind_of([LEFT, RIGHT], goals=(Area(-2, 5, 1, 1),))
    assert kind.draw_goals([0, 1]).tolist() == [list(LEFT), list(LEFT)]


def test_goals_follow_edits() -> None:
    grid = GRID.copy()
    kind = kind_of([LEFT] * 50, goals=(Area(-2, 5, 6, 1),), grid=grid)
    assert kind.draw_goals(range(50))[:, 0].max() == 0
    grid.set_cell((1, 5), 0)
    assert kind.draw_goals(range(50))[:, 0].max() == 3
    grid.set_all(255)
    assert kind.draw_goals([0]).tolist() == [list(LEFT)]


def test_goal_areas_without_a_free_cell_are_refused() -> None:
    with pytest.raises(InputError, match=r"goals: \[\(1, 5, 1, 3\)\] have no free cell"):
        kind_of([LEFT], goals=(Area(1, 5, 1, 3),))


def test_wander_sends_who_does_not_walk() -> None:
    behavior = Wander(kind_of([LEFT] * 4))
    orders = behavior.decide(
        seen([LEFT] * 4, [BotState.IDLE, BotState.EN_ROUTE, BotState.STUCK, BotState.ARRIVED])
    )
    assert orders is not None
    assert np.asarray(orders.rows).tolist() == [0, 2, 3]
    assert behavior.decide(seen([LEFT] * 4, BotState.EN_ROUTE, tick=1)) is None


def test_a_pause_is_kept() -> None:
    behavior = Wander(kind_of([LEFT]), pause=0.25)
    assert behavior.decide(seen([LEFT], BotState.IDLE)) is not None
    assert behavior.decide(seen([LEFT], BotState.EN_ROUTE, tick=1)) is None
    went = [behavior.decide(seen([LEFT], BotState.ARRIVED, tick=t)) for t in (2, 3, 4, 5)]
    assert [orders is not None for orders in went] == [False, False, False, True]


def test_commuters_go_there_and_back() -> None:
    behavior = Commute(kind_of([LEFT] * 3))
    ends = []
    for tick in range(4):
        orders = behavior.decide(seen([LEFT] * 3, BotState.ARRIVED, tick=tick))
        assert orders is not None
        ends.append(np.asarray(orders.goals).tolist())
    assert ends[0] == ends[2]
    assert ends[1] == ends[3] == [list(LEFT)] * 3


def test_chasers_run_after_the_nearest_prey() -> None:
    grid = Grid.filled(50, 1)
    spawns = [(5, 0), (40, 0), *[(x, 0) for x in range(18)]]
    behavior = Chase(kind_of(spawns, grid=grid), prey=0.1, interval=0.3)
    orders = behavior.decide(seen(spawns, BotState.EN_ROUTE))
    assert orders is not None
    assert np.asarray(orders.rows).tolist() == list(range(2, 20))
    assert {tuple(goal) for goal in np.asarray(orders.goals).tolist()} == {(5, 0)}
    assert behavior.decide(seen(spawns, BotState.EN_ROUTE, tick=2)) is None
    assert behavior.decide(seen(spawns, BotState.EN_ROUTE, tick=3)) is not None


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("wander", {"pause": -1}, "options.pause: -1"),
        ("wander", {"pause": float("nan")}, "options.pause: nan"),
        ("chase", {"prey": 0}, "options.prey: 0"),
        ("chase", {"interval": 0}, "options.interval: 0"),
        ("swim", {}, "behavior: 'swim' is unknown; use wander"),
        ("none.py", {}, "is not a file"),
    ],
)
def test_bad_options(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        make_behavior(name, kind_of([LEFT]), options)
    assert words in str(caught.value)


def test_unknown_options_are_told() -> None:
    with pytest.raises(BehaviorError, match="unexpected keyword argument 'speed'"):
        make_behavior("wander", kind_of([LEFT]), {"speed": 1})


def of_user(tmp_path: Path, decide: str, *, more: str = "") -> str:
    file = tmp_path / "own.py"
    file.write_text(
        "import numpy as np\n"
        "class Own:\n"
        "    def __init__(self, kind): self.kind = kind\n"
        f"    def decide(self, bots):\n        {decide}\n{more}"
    )
    return str(file)


def ask(tmp_path: Path, decide: str) -> tuple[list[int], list[list[int]]]:
    behavior = make_behavior(of_user(tmp_path, decide), kind_of([LEFT] * 3), {})
    rows, goals = ask_behavior(behavior, "bots", seen([LEFT] * 3, 0, tick=7), GRID)
    return rows.tolist(), goals.tolist()


@pytest.mark.parametrize(
    ("decide", "answer"),
    [
        ("return None", ([], [])),
        ("return [], np.zeros((0, 2))", ([], [])),
        ("return [2], [(0, 5)]", ([2], [[0, 5]])),
        ("return [2, 0], np.array([(0.0, 5.0), (-2.0, 6.0)])", ([2, 0], [[0, 5], [-2, 6]])),
    ],
)
def test_what_users_may_answer(tmp_path: Path, decide: str, answer: Any) -> None:
    assert ask(tmp_path, decide) == answer


@pytest.mark.parametrize(
    ("decide", "words"),
    [
        ("return 1 / 0", "own.py:5: ZeroDivisionError: division by zero"),
        ("return 3", "it returned 3; give rows and goals, or None"),
        ("return {1: 2}", "it returned {1: 2}; give rows and goals, or None"),
        ("return [0], [(np.nan, 5)]", "its goals are not cells, as [nan  5.] of row 0"),
        ("return [0, 1], [(0, 5), (0.5, 5)]", "of row 1; give whole numbers"),
        ("return [0], [(99, 5)]", "goals[0]: (99, 5) lies outside the map"),
        ("return [0], [('a', 'b')]", "its goals are not cells"),
        ("return [3], [(0, 5)]", "are not whole numbers below 3"),
        ("return [-1], [(0, 5)]", "are not whole numbers below 3"),
        ("return [0.5], [(0, 5)]", "are not whole numbers below 3"),
        ("return [0, 0], [(0, 5), (0, 5)]", "name a bot twice"),
        ("return [0, 1], [(0, 5)]", "have shapes (2,) and (1, 2)"),
        ("bots.state[0] = 3", "ValueError: assignment destination is read-only"),
    ],
)
def test_bad_orders_are_told_by_kind_and_tick(tmp_path: Path, decide: str, words: str) -> None:
    with pytest.raises(BehaviorError) as caught:
        ask(tmp_path, decide)
    assert str(caught.value).startswith("behavior of bots at tick 7")
    assert f"{tmp_path / 'own.py'}:" in str(caught.value)
    assert words in str(caught.value)


def test_a_file_of_two_classes_needs_a_name(tmp_path: Path) -> None:
    two = of_user(tmp_path, "return None", more="class Other(Own): pass\n")
    with pytest.raises(InputError, match="names no behaviour; the file has Own, Other"):
        load_behavior(two)
    assert load_behavior(f"{two}:Other").__name__ == "Other"
    with pytest.raises(InputError):
        load_behavior(f"{two}:Third")


def test_files_that_cannot_be_run(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("def decide(:\n")
    with pytest.raises(BehaviorError, match=r"broken\.py:1: invalid syntax"):
        load_behavior(str(file))
    file.write_text("import math\n\nmath.sqrt(-1)\n")
    with pytest.raises(BehaviorError, match=r"broken\.py:3: ValueError"):
        load_behavior(str(file))
    file.write_text("Own = 3\n")
    with pytest.raises(InputError, match="the file has no class that has a method decide"):
        load_behavior(str(file))


def test_orders_are_a_named_tuple() -> None:
    assert Orders([1], [(0, 0)]).rows == [1]
