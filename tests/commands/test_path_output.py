from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from navserver import render
from navserver.maps.loading import load_map
from tests.commands.asking import Find


def test_json_has_all_there_is(find: Find, field: str) -> None:
    code, out, err = find(field, "--from", "0,0", "--to", "3,2", "--json", "--class-cost", "2=0.5")
    assert (code, err) == (0, "")
    content = json.loads(out)
    search_us = content.pop("search_us")
    assert search_us > 0
    assert content == {
        "status": "found",
        "detail": [],
        "found": True,
        "start": [0, 0],
        "goal": [3, 2],
        "cost": 4.5,
        "length": 5.0,
        "suboptimality": 1.0,
        "cells": [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2], [3, 2]],
        "metrics": content["metrics"],
        "map": {"width": 4, "height": 3, "hash": load_map(field).map_hash()},
    }
    assert set(content["metrics"]) == {"expanded", "generated", "reopened", "open_peak"}
    assert all(isinstance(value, int) for value in content["metrics"].values())


def test_json_without_a_path_has_null_for_the_infinite(find: Find, field: str) -> None:
    code, out, _ = find(
        field, "--from", "0,0", "--to", "1,1", "--json", "--allow-partial", "--max-cost", "0"
    )
    content = json.loads(out)
    assert (code, content["status"], content["found"]) == (1, "partial", False)
    assert content["cost"] == 0.0
    _, out, _ = find(field, "--from", "1,1", "--to", "0,0", "--json")
    content = json.loads(out)
    assert content["status"] == "start_blocked"
    assert content["cells"] == []
    assert content["cost"] is None
    assert content["length"] is None


def test_bounds_are_told(find: Find, field: str) -> None:
    _, out, _ = find(field, "--from", "0,0", "--to", "3,2", "--weight", "1.5")
    assert "cost        5 (at most 1.5 times the least)\n" in out
    options = ("--heuristic", "manhattan", "--inexact")
    _, out, _ = find(field, "--from", "0,0", "--to", "3,2", *options)
    assert "cost        5 (may not be the least)\n" in out


def test_picture(find: Find, field: str, tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    code, out, _ = find(field, "--from", "0,0", "--to", "3,2", "--png", str(file))
    assert code == 0
    assert f"picture     {file} (96 x 72 pixels)\n" in out
    with Image.open(file) as image:
        assert image.getpixel((36, 12)) == render.PATH_COLOR


def test_map_that_does_not_fit_points_to_png(find: Find, tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    np.save(file, np.zeros((4, 81), np.uint8))
    code, out, _ = find(str(file), "--from", "0,0", "--to", "3,2")
    assert code == 0
    assert out.endswith(
        "The map of 81 x 4 cells does not fit this terminal; --png FILE draws it.\n"
    )
    _, out, _ = find(str(file), "--from", "0,0", "--to", "3,2", "--png", str(tmp_path / "a.png"))
    assert "does not fit" not in out


def test_colors_only_on_a_terminal(find: Find, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    arguments = (field, "--from", "0,0", "--to", "3,2")
    assert "\x1b[" not in find(*arguments)[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert ("\x1b[" in find(*arguments)[1]) == (os.name != "nt")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in find(*arguments)[1]


def test_square_bodies_are_drawn_by_their_centre(find: Find, tmp_path: Path) -> None:
    source, file = tmp_path / "a.txt", tmp_path / "a.png"
    source.write_text("....\n....\n")
    find(str(source), "--from", "0,0", "--to", "2,0", "--size", "2", "--png", str(file))
    with Image.open(file) as image:
        assert image.getpixel((48, 24)) == render.PATH_COLOR
        assert image.getpixel((48, 12)) != render.PATH_COLOR


def test_flow_is_drawn_with_arrows(find: Find, field: str, tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    code, out, _ = find(
        field, "--from", "3,0", "--to", "3,2", "--algorithm", "flow", "--png", str(file)
    )
    assert code == 0
    assert "field       10 cells reach the goal, built in " in out
    with Image.open(file) as image:
        assert image.getpixel((36, 12)) == render.ARROW_COLOR
