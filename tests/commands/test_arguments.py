from __future__ import annotations

import argparse
import math

import pytest

from navserver.commands.arguments import (
    Parser,
    UsageError,
    as_cell,
    as_class_cost,
    as_name,
    as_number,
    as_positive,
    choices_of,
    join_cells,
    shown_name,
)
from navserver.search.grid import DiagonalMode


@pytest.mark.parametrize(
    ("text", "cell"),
    [("3,4", (3, 4)), ("-3,4", (-3, 4)), ("+3,-4", (3, -4)), (" 3 , 4 ", (3, 4)), ("0,0", (0, 0))],
)
def test_cells(text: str, cell: tuple[int, int]) -> None:
    assert as_cell(text) == cell


@pytest.mark.parametrize(
    "text", ["", "3", "3,", "3,4,5", "3.0,4", "a,b", "3 4", "٣,٤", "1" * 11 + ",1"]
)
def test_what_is_no_cell(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a cell; give X,Y"):
        as_cell(text)


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        (["--from", "-3,4", "--to", "-1,-1"], ["--from=-3,4", "--to=-1,-1"]),
        (["--from=-3,4", "--to", "5,6"], ["--from=-3,4", "--to", "5,6"]),
        (["--from", "--json"], ["--from", "--json"]),
        (["--png", "-3,4"], ["--png", "-3,4"]),
        ([], []),
    ],
)
def test_negative_cells_are_joined_to_their_option(given: list[str], joined: list[str]) -> None:
    assert join_cells(given) == joined


def test_class_costs() -> None:
    assert as_class_cost("255=2.5") == (255, 2.5)
    assert as_class_cost("0=inf") == (0, math.inf)
    for text in ("1", "1=", "=2", "256=1", "-1=2", "1=x", "a=1", "1=2=3"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not CLASS=COST"):
            as_class_cost(text)


def test_numbers() -> None:
    assert as_number("1.5") == 1.5
    assert as_positive("12") == 12
    with pytest.raises(argparse.ArgumentTypeError, match="'x' is not a number"):
        as_number("x")
    for text in ("0", "-1", "1.5", "", "1e3", "²"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number of 1 or more"):
            as_positive(text)


def test_names_in_any_case_with_hyphens_or_underscores() -> None:
    names = [shown_name(mode) for mode in DiagonalMode]
    read = as_name(names)
    for text in ("only-if-no-obstacles", "ONLY_IF_NO_OBSTACLES", "Only-If_no-obstacles"):
        assert read(text) == "only-if-no-obstacles"
    with pytest.raises(argparse.ArgumentTypeError, match="'some' is unknown; use always, never"):
        read("some")
    assert choices_of(names).startswith("{always,never,")


def test_parser_raises_one_line() -> None:
    parser = Parser(prog="p")
    parser.add_argument("--longest")
    with pytest.raises(UsageError, match=r"^unrecognized arguments: --long=1; see p --help$"):
        parser.parse_args(["--long=1"])
