"""Case files: one query with its map, options and result, as JSON that can be replayed.

::

    {
      "format": "navserver case",
      "version": 1,
      "map": {
        "hash": "..."                    Grid.map_hash(), always compared
        "width": 3, "height": 2,
        "region_position": [0, 0],
        "transform": [[1, 0, 0], [0, 1, 0]],
        "classes": "...",                the map itself, or
        "cell_scale": "...",             (optional)
        "layers": {"mud": "..."},        (optional)
        "file": "arena.map"              the name of its file, looked up beside the case file
      },
      "query": {"start": [0, 0], "goal": [2, 1], "blocked_cells": [], "ignored_cells": []},
      "options": {
        "algorithm": "astar",
        "profile": {"default": 1.0, "costs": {"3": 2.5, "4": "inf"}},
        "diagonal_mode": "only_if_no_obstacles",
        "heuristic": null,
        "weight": 1.0,
        "cost_model": "entered",
        "overlays": {"mud": 0.5},
        "size": 1,
        "radius": 0.0,
        "inexact": false,
        "max_expansions": null,
        "max_cost": null,
        "allow_partial": false
      },
      "result": {"status": "found", "cost": 2.414}     (optional)
    }

Arrays are base64 of zlib of their bytes, row by row: uint8 classes, little-endian float32 for
the rest. An infinite cost is the string "inf", since JSON has no infinity. A map whose arrays
take more than `LONGEST_INLINE` bytes of base64 can only be kept by name and hash.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.maps.files import check_size, read_file
from navserver.maps.loading import load_map
from navserver.search.astar import ALGORITHMS
from navserver.search.grid import DEFAULT_PROFILE, SOLID, CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.movement import MAX_BODY
from navserver.search.overrides import MAX_QUERY_CELLS
from navserver.search.results import PathResult
from navserver.status import InputError, MapFileError, Status

__all__ = ["LONGEST_INLINE", "Case", "load_case", "save_case"]

LONGEST_INLINE = 8 * 2**20
"""Bytes of base64 that the arrays of a map in a case file may take."""

LONGEST_CASE = 2 * LONGEST_INLINE
"""Bytes of the longest case file that is read."""

LONGEST_DECODED = 2**30
"""Bytes that the arrays of one case may take in memory."""

SAME_COST = 1e-9
"""Relative difference up to which a replayed cost is the recorded one."""

_FORMAT = "navserver case"
_VERSION = 1

Enum = TypeVar("Enum", bound=IntEnum)

_DEFAULT_OPTIONS: Mapping[str, Any] = {
    "algorithm": "astar",
    "profile": DEFAULT_PROFILE,
    "diagonal_mode": DiagonalMode.ONLY_IF_NO_OBSTACLES,
    "heuristic": None,
    "weight": 1.0,
    "cost_model": CostModel.ENTERED,
    "overlays": None,
    "size": 1,
    "radius": 0.0,
    "inexact": False,
    "max_expansions": None,
    "max_cost": None,
    "allow_partial": False,
}


@dataclass(frozen=True, eq=False)
class Case:
    """One query, ready to be asked again."""

    path: str
    """The case file."""
    grid: Grid | None
    """The map, if the file holds it."""
    map_hash: str
    """`Grid.map_hash` of the map of the query."""
    map_file: str | None
    """Name of the map's file, if recorded."""
    region_position: tuple[int, int]
    """Top left cell of the map."""
    transform: NDArray[np.float64]
    """From cells to the world, shape (2, 3)."""
    start: tuple[int, int]
    """Start cell (x, y)."""
    goal: tuple[int, int]
    """Goal cell (x, y)."""
    blocked_cells: NDArray[np.int32]
    """Cells that count as walls, shape (n, 2)."""
    ignored_cells: NDArray[np.int32]
    """Cells that count as walkable, shape (n, 2)."""
    options: Mapping[str, Any]
    """Keyword arguments of `navserver.search.astar.find_path`."""
    status: Status | None
    """The recorded outcome."""
    cost: float | None
    """The recorded cost; inf without a path."""

    def resolve_map(self, path: str | PathLike[str] | None = None) -> Grid:
        """Return the map of the query, and make sure that it is the one.

        Parameters
        ----------
        path : path-like, optional
            A map file to use instead of the case's own map or the file that it names.

        Returns
        -------
        Grid
            At the case's region and transform, its hash compared.

        Raises
        ------
        MapFileError
            If the map is neither given nor held nor found beside the case file, cannot be read,
            or is another one.
        """
        if path is None and self.grid is not None:
            return self.grid
        if path is None:
            if self.map_file is None:
                raise MapFileError(
                    self.path, None, "the case holds no map, only its hash", "name the map's file"
                )
            beside = Path(self.path).parent / self.map_file
            if not beside.is_file():
                raise MapFileError(
                    self.path,
                    None,
                    f"the case's map {self.map_file!r} is not beside the case file",
                    "name the map's file",
                )
            path = beside
        read = load_map(path)
        grid = Grid(
            read.classes,
            cell_scale=read.cell_scale,
            region_position=self.region_position,
            transform=self.transform,
        )
        if grid.map_hash() != self.map_hash:
            raise MapFileError(
                path,
                None,
                f"not the map of {self.path}: its hash is {grid.map_hash()[:16]}..., "
                f"the case's {self.map_hash[:16]}...",
                "use the map as it was when the case was saved",
            )
        return grid

    def difference(self, status: Status, cost: float) -> str | None:
        """Compare an outcome with the recorded one.

        Parameters
        ----------
        status : Status
            How the replayed search ended.
        cost : float
            Its cost, inf without a path.

        Returns
        -------
        str or None
            What differs; None if nothing does or nothing is recorded.
        """
        if self.status is None or self.cost is None:
            return None
        if status != self.status:
            return f"status {status.name.lower()}, recorded {self.status.name.lower()}"
        if cost != self.cost and not math.isclose(cost, self.cost, rel_tol=SAME_COST):
            return f"cost {cost!r}, recorded {self.cost!r}"
        return None


def save_case(
    path: str | PathLike[str],
    grid: Grid,
    start: tuple[int, int],
    goal: tuple[int, int],
    *,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    options: Mapping[str, Any] | None = None,
    result: PathResult | None = None,
    map_file: str | None = None,
    inline: bool | None = None,
) -> None:
    """Write a query to a case file.

    Parameters
    ----------
    path : path-like
        The file, replaced if it exists.
    grid : Grid
        The map.
    start, goal : (int, int)
        Cells (x, y).
    blocked_cells, ignored_cells : array-like of int, shape (n, 2), optional
        Cells that the query treats otherwise than the map.
    options : mapping, optional
        Keyword arguments of the search, as for `navserver.search.astar.find_path`.
    result : PathResult, optional
        The result seen, compared on replay.
    map_file : str, optional
        The map's file; only its name is kept.
    inline : bool, optional
        Whether the map itself is kept; if not, it is known by `map_file` and its hash. Left out:
        kept if it takes at most `LONGEST_INLINE` bytes.

    Raises
    ------
    InputError
        If an option is unknown, or the map is too large to be kept and must be.
    MapFileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, os
    >>> name = os.path.join(tempfile.mkdtemp(), "corner.json")
    >>> save_case(name, Grid([[0, 255], [0, 0]]), (0, 0), (1, 1))
    >>> load_case(name).goal
    (1, 1)
    """
    chosen = dict(_DEFAULT_OPTIONS)
    for name, value in (options or {}).items():
        if name not in chosen:
            raise InputError("options", name, "is no option", f"use {', '.join(chosen)}")
        chosen[name] = value
    map_part: dict[str, Any] = {
        "hash": grid.map_hash(),
        "width": grid.width,
        "height": grid.height,
        "region_position": list(grid.region_position),
        "transform": grid.transform.tolist(),
    }
    if map_file is not None:
        map_part["file"] = Path(map_file).name
    if inline is not False:
        map_part.update(_packed_map(grid, may_leave_out=inline is None and map_file is not None))
    content: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "map": map_part,
        "query": {
            "start": [int(i) for i in start],
            "goal": [int(i) for i in goal],
            "blocked_cells": _cell_lists(blocked_cells),
            "ignored_cells": _cell_lists(ignored_cells),
        },
        "options": _option_values(chosen),
    }
    if result is not None:
        content["result"] = {
            "status": result.status.name.lower(),
            "cost": _number(float(result.cost)),
        }
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    try:
        Path(fspath(path)).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MapFileError(
            path, None, f"cannot be written ({reason})", "check the path and its permissions"
        ) from None


def _packed_map(grid: Grid, *, may_leave_out: bool) -> dict[str, Any]:
    packed: dict[str, Any] = {"classes": _pack(grid.classes)}
    total = len(packed["classes"])
    if grid.cell_scale is not None:
        packed["cell_scale"] = _pack(grid.cell_scale.astype("<f4"))
        total += len(packed["cell_scale"])
    if grid.layers:
        packed["layers"] = {name: _pack(a.astype("<f4")) for name, a in grid.layers.items()}
        total += sum(map(len, packed["layers"].values()))
    if total > LONGEST_INLINE and may_leave_out:
        return {}
    if total > LONGEST_INLINE:
        raise InputError(
            "grid",
            total,
            f"bytes are more than the {LONGEST_INLINE} that a map may take in a case file",
            "pass map_file=... to keep its name and hash",
        )
    return packed


def _pack(array: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 6)).decode("ascii")


def _cell_lists(cells: ArrayLike | None) -> list[list[int]]:
    if cells is None:
        return []
    lists: list[list[int]] = np.asarray(cells, np.int64).reshape(-1, 2).tolist()
    return lists


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _option_values(options: Mapping[str, Any]) -> dict[str, Any]:
    profile: Profile = options["profile"]
    # The shortest decimals that give the same float32 again.
    costs = [float(str(cost)) for cost in profile.costs]
    values, counts = np.unique(costs[:SOLID], return_counts=True)
    default = float(values[counts.argmax()])
    named = {str(i): _number(c) for i, c in enumerate(costs[:SOLID]) if c != default}
    if not math.isinf(costs[SOLID]):
        named[str(SOLID)] = costs[SOLID]
    heuristic = options["heuristic"]
    return {
        **options,
        "profile": {"default": _number(default), "costs": named},
        "diagonal_mode": DiagonalMode(options["diagonal_mode"]).name.lower(),
        "heuristic": None if heuristic is None else Heuristic(heuristic).name.lower(),
        "weight": float(options["weight"]),
        "cost_model": CostModel(options["cost_model"]).name.lower(),
        "overlays": {name: float(weight) for name, weight in (options["overlays"] or {}).items()},
        "size": int(options["size"]),
        "radius": float(options["radius"]),
        "inexact": bool(options["inexact"]),
        "allow_partial": bool(options["allow_partial"]),
    }


def load_case(path: str | PathLike[str]) -> Case:
    """Read a case file.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Case
        Checked field by field.

    Raises
    ------
    MapFileError
        If the file is no case file, or a field is missing, unknown or out of bounds; names the
        field and its value.
    """
    data = read_file(path, longest=LONGEST_CASE)
    return _Reader(fspath(path)).read(data)


class _Reader:
    """Checks the fields of one file; each error names the file and the field."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, data: bytes) -> Case:
        whole = self._object("the file", self._parse(data))
        if whole.get("format") != _FORMAT:
            self._refuse("format", whole.get("format"), "is not a case file's", f"use {_FORMAT!r}")
        if whole.get("version") != _VERSION or isinstance(whole.get("version"), bool):
            self._refuse("version", whole.get("version"), "is unknown", f"use version {_VERSION}")
        self._fields("the file", whole, "format version map query options", "result")
        map_part = self._object("map", whole["map"])
        query = self._object("query", whole["query"])
        self._fields("query", query, "start goal", "blocked_cells ignored_cells")
        grid, region_position, transform = self._map(map_part)
        status, cost = None, None
        if "result" in whole:
            result = self._object("result", whole["result"])
            self._fields("result", result, "status cost", "")
            status = self._enum("result.status", result["status"], Status)
            cost = self._cost("result.cost", result["cost"])
        case = Case(
            path=self._path,
            grid=grid,
            map_hash=map_part["hash"],
            map_file=map_part.get("file"),
            region_position=region_position,
            transform=transform,
            start=self._cell("query.start", query["start"]),
            goal=self._cell("query.goal", query["goal"]),
            blocked_cells=self._cells("query.blocked_cells", query.get("blocked_cells", [])),
            ignored_cells=self._cells("query.ignored_cells", query.get("ignored_cells", [])),
            options=self._options(self._object("options", whole["options"])),
            status=status,
            cost=cost,
        )
        if grid is not None and grid.map_hash() != case.map_hash:
            self._refuse(
                "map.hash", case.map_hash, "is not the hash of the map in the file", "save it again"
            )
        return case

    def _refuse(self, field: str, value: object, problem: str, remedy: str) -> NoReturn:
        shown = " ".join(repr(value).split())
        if len(shown) > 60:
            shown = f"{shown[:50]}..."
        raise MapFileError(self._path, None, f"{field}: {shown} {problem}", remedy)

    def _parse(self, data: bytes) -> object:
        def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
            found = dict(pairs)
            if len(found) < len(pairs):
                names = [name for name, _ in pairs]
                twice = next(name for name in names if names.count(name) > 1)
                self._refuse("field", twice, "stands twice", "remove one")
            return found

        def constant(name: str) -> NoReturn:
            self._refuse("number", name, "is not JSON", 'write "inf" for an infinite cost')

        try:
            return json.loads(
                data.decode("utf-8-sig"), object_pairs_hook=unique, parse_constant=constant
            )
        except json.JSONDecodeError as error:
            raise MapFileError(
                self._path,
                error.lineno,
                f"column {error.colno}: not JSON ({error.msg})",
                "mend the file or save the case again",
            ) from None
        except MapFileError:
            raise
        except (RecursionError, ValueError) as error:
            reason = "too deep" if isinstance(error, RecursionError) else str(error)[:80]
            raise MapFileError(
                self._path, None, f"not JSON ({reason})", "mend the file or save the case again"
            ) from None

    def _object(self, field: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._refuse(field, value, "is not an object", "see the layout of case files")
        return value

    def _fields(self, field: str, value: dict[str, Any], needed: str, optional: str) -> None:
        for name in needed.split():
            if name not in value:
                self._refuse(field, name, "is missing", "add the field")
        allowed = needed.split() + optional.split()
        for name in value:
            if name not in allowed:
                self._refuse(field, name, "is no field of it", f"use {', '.join(allowed)}")

    def _integer(self, field: str, value: object, least: int, most: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self._refuse(field, value, "is out of bounds", f"give an integer {least} to {most}")
        return value

    def _float(self, field: str, value: object, least: float) -> float:
        number = math.nan
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            with contextlib.suppress(OverflowError):
                number = float(value)
        if not least <= number < math.inf:
            self._refuse(field, value, "is out of bounds", f"give a finite number >= {least:g}")
        return number

    def _cost(self, field: str, value: object) -> float:
        if value == "inf":
            return math.inf
        return self._float(field, value, 0.0)

    def _bool(self, field: str, value: object) -> bool:
        if not isinstance(value, bool):
            self._refuse(field, value, "is not a truth value", "give true or false")
        return value

    def _enum(self, field: str, value: object, kind: type[Enum]) -> Enum:
        names = {member.name.lower(): member for member in kind}
        if not isinstance(value, str) or value not in names:
            self._refuse(field, value, "is unknown", f"use one of {', '.join(names)}")
        return names[value]

    def _cell(self, field: str, value: object) -> tuple[int, int]:
        if not isinstance(value, list) or len(value) != 2:
            self._refuse(field, value, "is not a cell", "give [x, y]")
        x, y = (self._integer(field, i, -(2**31), 2**31 - 1) for i in value)
        return x, y

    def _cells(self, field: str, value: object) -> NDArray[np.int32]:
        if not isinstance(value, list):
            self._refuse(field, value, "is not a list of cells", "give [[x, y], ...]")
        if len(value) > MAX_QUERY_CELLS:
            self._refuse(field, len(value), "cells are too many", f"give at most {MAX_QUERY_CELLS}")
        cells = [self._cell(f"{field}[{i}]", cell) for i, cell in enumerate(value)]
        return np.array(cells, np.int32).reshape(-1, 2)

    def _map(
        self, part: dict[str, Any]
    ) -> tuple[Grid | None, tuple[int, int], NDArray[np.float64]]:
        self._fields(
            "map",
            part,
            "hash width height",
            "region_position transform classes cell_scale layers file",
        )
        if not isinstance(part["hash"], str) or not re.fullmatch("[0-9a-f]{64}", part["hash"]):
            self._refuse("map.hash", part["hash"], "is not a hash", "give 64 hex digits")
        width = self._integer("map.width", part["width"], 0, 2**31)
        height = self._integer("map.height", part["height"], 0, 2**31)
        check_size(self._path, None, width, height)
        if "file" in part:
            name = part["file"]
            if (
                not isinstance(name, str)
                or name in ("", ".", "..")
                or re.search(r'[/\\:\x00-\x1f"<>|?*]', name)
            ):
                self._refuse("map.file", name, "is not a file's name", "give a name, no folder")
        region_position = self._cell("map.region_position", part.get("region_position", [0, 0]))
        rows = part.get("transform", [[1, 0, 0], [0, 1, 0]])
        if (
            not isinstance(rows, list)
            or len(rows) != 2
            or not all(isinstance(row, list) and len(row) == 3 for row in rows)
        ):
            self._refuse("map.transform", rows, "is not 2 x 3", "give two rows of three numbers")
        transform = np.array(
            [[self._float("map.transform", i, -math.inf) for i in row] for row in rows]
        )
        if "classes" not in part:
            for name in ("cell_scale", "layers"):
                if name in part:
                    self._refuse("map", name, "stands without classes", "add the classes")
            # Region and transform are checked here, not only when the map's file is read.
            self._grid(np.zeros((1, 1), np.uint8), None, {}, region_position, transform)
            return None, region_position, transform
        layers = self._object("map.layers", part.get("layers", {}))
        n_floats = len(layers) + ("cell_scale" in part)
        decoded = width * height * (1 + 4 * n_floats)
        if decoded > LONGEST_DECODED:
            self._refuse("map", decoded, "bytes are too large", f"use at most {LONGEST_DECODED}")
        shape = (height, width)
        classes = self._array("map.classes", part["classes"], "u1", shape)
        scale = None
        if "cell_scale" in part:
            scale = self._array("map.cell_scale", part["cell_scale"], "<f4", shape)
        overlays = {
            name: self._array(f"map.layers.{name}", text, "<f4", shape)
            for name, text in layers.items()
        }
        grid = self._grid(classes, scale, overlays, region_position, transform)
        return grid, region_position, transform

    def _grid(
        self,
        classes: NDArray[Any],
        scale: NDArray[Any] | None,
        layers: dict[str, NDArray[Any]],
        region_position: tuple[int, int],
        transform: NDArray[np.float64],
    ) -> Grid:
        try:
            return Grid(
                classes,
                cell_scale=scale,
                layers=layers,
                region_position=region_position,
                transform=transform,
            )
        except InputError as error:
            self._refuse(f"map.{error.field}", error.value, error.problem, error.remedy)

    def _array(self, field: str, text: object, dtype: str, shape: tuple[int, int]) -> NDArray[Any]:
        if not isinstance(text, str):
            self._refuse(field, text, "is not text", "give base64 of zlib of the array")
        expected = shape[0] * shape[1] * np.dtype(dtype).itemsize
        try:
            unpacker = zlib.decompressobj()
            # One byte more than expected shows an array that is too long without unpacking it.
            data = unpacker.decompress(base64.b64decode(text, validate=True), expected + 1)
        except (binascii.Error, ValueError, zlib.error):
            self._refuse(field, text, "is not base64 of zlib", "save the case again")
        if len(data) != expected or not unpacker.eof or unpacker.unused_data:
            self._refuse(field, text, f"does not unpack to {expected} bytes", "save the case again")
        return np.frombuffer(data, dtype).reshape(shape)

    def _options(self, part: dict[str, Any]) -> Mapping[str, Any]:
        self._fields("options", part, "", " ".join(_DEFAULT_OPTIONS))
        chosen = dict(_DEFAULT_OPTIONS)
        for name, value in part.items():
            field = f"options.{name}"
            if name == "algorithm":
                if value not in ALGORITHMS:
                    self._refuse(field, value, "is unknown", f"use {', '.join(ALGORITHMS)}")
                chosen[name] = value
            elif name == "profile":
                chosen[name] = self._profile(field, self._object(field, value))
            elif name == "diagonal_mode":
                chosen[name] = self._enum(field, value, DiagonalMode)
            elif name == "cost_model":
                chosen[name] = self._enum(field, value, CostModel)
            elif name == "heuristic":
                chosen[name] = None if value is None else self._enum(field, value, Heuristic)
            elif name == "weight":
                chosen[name] = self._float(field, value, 1.0)
            elif name == "overlays":
                weights = self._object(field, {} if value is None else value)
                chosen[name] = {
                    layer: self._float(f"{field}.{layer}", weight, 0.0)
                    for layer, weight in weights.items()
                } or None
            elif name == "size":
                chosen[name] = self._integer(field, value, 1, MAX_BODY)
            elif name == "radius":
                chosen[name] = self._float(field, value, 0.0)
            elif name == "max_expansions":
                if value is not None:
                    chosen[name] = self._integer(field, value, 1, 2**62)
            elif name == "max_cost":
                chosen[name] = None if value is None else self._float(field, value, 0.0)
            else:
                chosen[name] = self._bool(field, value)
        if chosen["algorithm"] == "dijkstra" and chosen["weight"] != 1.0:
            self._refuse(
                "options.weight", chosen["weight"], "does not go with dijkstra", "leave it out"
            )
        if chosen["size"] > 1 and chosen["radius"] > 0.0:
            self._refuse(
                "options.radius", chosen["radius"], "does not go with a size", "leave out one"
            )
        return chosen

    def _profile(self, field: str, part: dict[str, Any]) -> Profile:
        self._fields(field, part, "", "default costs")
        default = self._cost(f"{field}.default", part.get("default", 1.0))
        costs = {}
        for name, value in self._object(f"{field}.costs", part.get("costs", {})).items():
            if not re.fullmatch("0|[1-9][0-9]{0,2}", name) or int(name) > 255:
                self._refuse(f"{field}.costs", name, "is not a cell class", "use 0 to 255")
            costs[int(name)] = self._cost(f"{field}.costs.{name}", value)
        try:
            return Profile(costs, default=default)
        except InputError as error:
            self._refuse(f"{field}.{error.field}", error.value, error.problem, error.remedy)
