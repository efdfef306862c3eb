from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import pytest

from navserver.commands.arguments import (
    Parser,
    UsageError,
    as_cell,
    as_class_cost,
    as_name,
    as_number,
    as_overlay,
    as_point,
    as_positive,
    as_seed,
    choices_of,
    finite,
    in_options,
    protect_cells,
    shown_name,
)
from navserver.search.grid import DiagonalMode
from navserver.status import InputError


@pytest.mark.parametrize(
    ("text", "cell"),
    [("3,4", (3, 4)), ("-3,4", (-3, 4)), ("+3,-4", (3, -4)), (" 3 , 4 ", (3, 4)), ("0,0", (0, 0))],
)
def test_cells(text: str, cell: tuple[int, int]) -> None:
    assert as_cell(text) == cell


@pytest.mark.parametrize("text", ["", "3", "3,", "3,4,5", "3.0,4", "a,b", "3 4", "٣,٤"])
def test_what_is_no_cell(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a cell; give X,Y"):
        as_cell(text)


def test_cells_that_no_map_has() -> None:
    assert as_cell("-9999999999,1") == (-9999999999, 1)
    for text in ("1" * 11 + ",1", "0,-" + "1" * 5000):
        with pytest.raises(argparse.ArgumentTypeError, match=r"is too far out; stay within"):
            as_cell(text)


@pytest.mark.parametrize(
    ("given", "protected"),
    [
        (["--from", "-3,4", "--to", "-1,-1"], ["--from", " -3,4", "--to", " -1,-1"]),
        (["--from=-3,4", "--to", "5,6", "-7,8"], ["--from=-3,4", "--to", "5,6", " -7,8"]),
        (["--at", "-.5,4", "--json"], ["--at", " -.5,4", "--json"]),
        (["--from", "--json"], ["--from", "--json"]),
        (["--png", "-3,4"], ["--png", "-3,4"]),
        ([], []),
    ],
)
def test_negative_cells_are_protected(given: list[str], protected: list[str]) -> None:
    assert protect_cells(given) == protected


def test_points() -> None:
    assert as_point("3.5,-4") == (3.5, -4.0)
    assert as_point(" -3 , 1e2") == (-3.0, 100.0)
    for text in ("", "3", "3,", "3,4,5", "a,b", "3 4"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a point; give X,Y such as"):
            as_point(text)


def test_overlays() -> None:
    assert as_overlay("danger.npy=2.5") == ("danger.npy", 2.5)
    assert as_overlay("a=b.npy=0") == ("a=b.npy", 0.0)
    for text in ("", "danger.npy", "=2", "danger.npy=", "danger.npy=x"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not FILE=WEIGHT; give a file"):
            as_overlay(text)


def test_seeds() -> None:
    assert [as_seed(text) for text in ("0", "17")] == [0, 17]
    for text in ("-1", "1.5", "", "²"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number of 0 or more"):
            as_seed(text)


def test_finite_numbers_for_json() -> None:
    assert finite(2.5) == 2.5
    assert finite(math.inf) is None


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


@pytest.mark.parametrize("read", [as_positive, as_seed])
def test_numbers_too_large(read: Callable[[str], int]) -> None:
    assert read("9" * 18) == read("000" + "9" * 18) == 10**18 - 1
    for text in ("1" + "0" * 18, "9" * 20, "9" * 5000):
        with pytest.raises(argparse.ArgumentTypeError, match=f"large; give at most {'9' * 18}"):
            read(text)


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
    with pytest.raises(
        UsageError,
        match=r"^unrecognized arguments: --long=1; did you mean --longest\?; see p --help$",
    ):
        parser.parse_args(["--long=1"])


def test_the_command_that_does_not_know_an_argument_points_at_its_own_help() -> None:
    parser = Parser(prog="p")
    walk = parser.add_subparsers(parser_class=Parser).add_parser("walk")
    walk.add_argument("--steps")
    with pytest.raises(UsageError, match=r"^unrecognized arguments: --fast 1; see p walk --help$"):
        parser.parse_args(["walk", "--fast", "1"])
    with pytest.raises(UsageError, match=r"^unrecognized arguments: --fast; see p --help$"):
        parser.parse_args(["--fast", "walk"])


def options_of(*arguments: str) -> dict[str, str]:
    """What a command with a subcommand says of its options."""
    parser = Parser(prog="p")
    parser.add_argument("--outer")
    commands = parser.add_subparsers(parser_class=Parser)
    command = commands.add_parser("ask")
    for option, name in (("--from", "start"), ("--to", "goals"), ("--class-cost", "class_costs")):
        command.add_argument(option, dest=name)
    command.add_argument("--inexact", action="store_true")
    options: dict[str, str] = parser.parse_args([*arguments]).options
    return options


@pytest.mark.parametrize(
    ("field", "remedy", "text"),
    [
        ("start", "do", "--from: 1 is bad; do"),
        ("starts[3]", "do", "--from: 1 is bad; do"),
        ("goals[0]", "do", "--to: 1 is bad; do"),
        ("goal", "do", "--to: 1 is bad; do"),
        ("costs[255]", "do", "--class-cost: 1 is bad; do"),
        ("start", "pass inexact=True to do", "--from: 1 is bad; give --inexact to do"),
        ("start", "pass other=True to do", "--from: 1 is bad; pass other=True to do"),
        ("outer", "do", "outer: 1 is bad; do"),
        ("--maps", "do", "--maps: 1 is bad; do"),
    ],
)
def test_errors_speak_of_options(field: str, remedy: str, text: str) -> None:
    options = options_of("ask", "--from", "3")
    assert "outer" not in options
    assert in_options(InputError(field, 1, "is bad", remedy), options) == text


def test_without_a_subcommand_the_options_are_its_own() -> None:
    assert options_of()["outer"] == "--outer"
