from __future__ import annotations

from argparse import Namespace

import pytest

from navserver.commands.arguments import Parser, UsageError
from navserver.commands.movement import Scene
from navserver.commands.questions import (
    MOST_LISTED,
    add_cell,
    add_cells,
    add_ends,
    cost_shown,
    ends_of,
    listed,
    shown,
    yes_or_no,
)
from navserver.search.grid import Grid


def test_words() -> None:
    assert shown((3, -4)) == "3,-4"
    assert (yes_or_no(True), yes_or_no(False)) == ("yes", "no")
    assert (cost_shown(2.5), cost_shown(float("inf"))) == ("2.5", "none")


def test_a_list_is_cut_where_it_is_longer_than_what_is_shown() -> None:
    lines = [str(i) for i in range(MOST_LISTED + 2)]
    assert listed(lines[:MOST_LISTED]) == lines[:MOST_LISTED]
    assert listed(lines) == [*lines[:MOST_LISTED], "... and 2 more"]


def test_cells_may_be_given_again_and_several_at_once() -> None:
    parser = Parser()
    add_cells(parser, "--at", "at", "cells", required=True)
    add_cell(parser, "--to", "goal", "a cell")
    found = parser.parse_args(["--at", "1,2", "3,4", "--at", "5,6", "--to", "7,8"])
    assert (found.at, found.goal) == ([(1, 2), (3, 4), (5, 6)], (7, 8))
    with pytest.raises(UsageError, match="--at"):
        parser.parse_args([])


def test_ends_are_those_given_else_those_of_the_map() -> None:
    parser = Parser()
    add_ends(parser)
    scene = Scene(Grid.filled(9, 9), (1, 1), (7, 7), {})
    assert ends_of(parser.parse_args([]), scene) == ((1, 1), [(7, 7)])
    given = parser.parse_args(["--from", "2,2", "--to", "3,3", "4,4"])
    assert ends_of(given, scene) == ((2, 2), [(3, 3), (4, 4)])
    with pytest.raises(UsageError, match="--to is missing"):
        ends_of(Namespace(start=(1, 1), goals=None), Scene(scene.grid, None, None, {}))
