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
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.maps.case_fields import FieldReader
from navserver.maps.files import check_size, read_file
from navserver.maps.loading import load_map
from navserver.search.astar import ALGORITHMS
from navserver.search.grid import DEFAULT_PROFILE, CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.movement import MAX_BODY
from navserver.status import InputError, MapFileError, Status

__all__ = ["LONGEST_INLINE", "Case", "load_case"]

LONGEST_INLINE = 8 * 2**20
"""Bytes of base64 that the arrays of a map in a case file may take."""

LONGEST_CASE = 2 * LONGEST_INLINE
"""Bytes of the longest case file that is read."""

LONGEST_DECODED = 2**30
"""Bytes that the arrays of one case may take in memory."""

SAME_COST = 1e-9
"""Relative difference up to which a replayed cost is the recorded one."""

FORMAT = "navserver case"
VERSION = 1

DEFAULT_OPTIONS: Mapping[str, Any] = {
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


class _Reader(FieldReader):
    """Reads one file."""

    def read(self, data: bytes) -> Case:
        whole = self.read_object("the file", self.parse(data))
        if whole.get("format") != FORMAT:
            self.refuse("format", whole.get("format"), "is not a case file's", f"use {FORMAT!r}")
        if whole.get("version") != VERSION or isinstance(whole.get("version"), bool):
            self.refuse("version", whole.get("version"), "is unknown", f"use version {VERSION}")
        self.check_fields("the file", whole, "format version map query options", "result")
        map_part = self.read_object("map", whole["map"])
        query = self.read_object("query", whole["query"])
        self.check_fields("query", query, "start goal", "blocked_cells ignored_cells")
        grid, region_position, transform = self._map(map_part)
        status, cost = None, None
        if "result" in whole:
            result = self.read_object("result", whole["result"])
            self.check_fields("result", result, "status cost", "")
            status = self.read_enum("result.status", result["status"], Status)
            cost = self.read_cost("result.cost", result["cost"])
        case = Case(
            path=self.path,
            grid=grid,
            map_hash=map_part["hash"],
            map_file=map_part.get("file"),
            region_position=region_position,
            transform=transform,
            start=self.read_cell("query.start", query["start"]),
            goal=self.read_cell("query.goal", query["goal"]),
            blocked_cells=self.read_cells("query.blocked_cells", query.get("blocked_cells", [])),
            ignored_cells=self.read_cells("query.ignored_cells", query.get("ignored_cells", [])),
            options=self._options(self.read_object("options", whole["options"])),
            status=status,
            cost=cost,
        )
        if grid is not None and grid.map_hash() != case.map_hash:
            self.refuse(
                "map.hash", case.map_hash, "is not the hash of the map in the file", "save it again"
            )
        return case

    def _map(
        self, part: dict[str, Any]
    ) -> tuple[Grid | None, tuple[int, int], NDArray[np.float64]]:
        self.check_fields(
            "map",
            part,
            "hash width height",
            "region_position transform classes cell_scale layers file",
        )
        if not isinstance(part["hash"], str) or not re.fullmatch("[0-9a-f]{64}", part["hash"]):
            self.refuse("map.hash", part["hash"], "is not a hash", "give 64 hex digits")
        width = self.read_integer("map.width", part["width"], 0, 2**31)
        height = self.read_integer("map.height", part["height"], 0, 2**31)
        check_size(self.path, None, width, height)
        if "file" in part:
            name = part["file"]
            if (
                not isinstance(name, str)
                or name in ("", ".", "..")
                or re.search(r'[/\\:\x00-\x1f"<>|?*]', name)
            ):
                self.refuse("map.file", name, "is not a file's name", "give a name, no folder")
        region_position = self.read_cell("map.region_position", part.get("region_position", [0, 0]))
        rows = part.get("transform", [[1, 0, 0], [0, 1, 0]])
        if (
            not isinstance(rows, list)
            or len(rows) != 2
            or not all(isinstance(row, list) and len(row) == 3 for row in rows)
        ):
            self.refuse("map.transform", rows, "is not 2 x 3", "give two rows of three numbers")
        transform = np.array(
            [[self.read_float("map.transform", i, -math.inf) for i in row] for row in rows]
        )
        if "classes" not in part:
            for name in ("cell_scale", "layers"):
                if name in part:
                    self.refuse("map", name, "stands without classes", "add the classes")
            # Region and transform are checked here, not only when the map's file is read.
            self._grid(np.zeros((1, 1), np.uint8), None, {}, region_position, transform)
            return None, region_position, transform
        layers = self.read_object("map.layers", part.get("layers", {}))
        n_floats = len(layers) + ("cell_scale" in part)
        decoded = width * height * (1 + 4 * n_floats)
        if decoded > LONGEST_DECODED:
            self.refuse("map", decoded, "bytes are too large", f"use at most {LONGEST_DECODED}")
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
            self.refuse(f"map.{error.field}", error.value, error.problem, error.remedy)

    def _array(self, field: str, text: object, dtype: str, shape: tuple[int, int]) -> NDArray[Any]:
        if not isinstance(text, str):
            self.refuse(field, text, "is not text", "give base64 of zlib of the array")
        expected = shape[0] * shape[1] * np.dtype(dtype).itemsize
        try:
            unpacker = zlib.decompressobj()
            # One byte more than expected shows an array that is too long without unpacking it.
            data = unpacker.decompress(base64.b64decode(text, validate=True), expected + 1)
        except (binascii.Error, ValueError, zlib.error):
            self.refuse(field, text, "is not base64 of zlib", "save the case again")
        if len(data) != expected or not unpacker.eof or unpacker.unused_data:
            self.refuse(field, text, f"does not unpack to {expected} bytes", "save the case again")
        return np.frombuffer(data, dtype).reshape(shape)

    def _options(self, part: dict[str, Any]) -> Mapping[str, Any]:
        self.check_fields("options", part, "", " ".join(DEFAULT_OPTIONS))
        chosen = dict(DEFAULT_OPTIONS)
        for name, value in part.items():
            field = f"options.{name}"
            if name == "algorithm":
                if value not in ALGORITHMS:
                    self.refuse(field, value, "is unknown", f"use {', '.join(ALGORITHMS)}")
                chosen[name] = value
            elif name == "profile":
                chosen[name] = self._profile(field, self.read_object(field, value))
            elif name == "diagonal_mode":
                chosen[name] = self.read_enum(field, value, DiagonalMode)
            elif name == "cost_model":
                chosen[name] = self.read_enum(field, value, CostModel)
            elif name == "heuristic":
                chosen[name] = None if value is None else self.read_enum(field, value, Heuristic)
            elif name == "weight":
                chosen[name] = self.read_float(field, value, 1.0)
            elif name == "overlays":
                weights = self.read_object(field, {} if value is None else value)
                chosen[name] = {
                    layer: self.read_float(f"{field}.{layer}", weight, 0.0)
                    for layer, weight in weights.items()
                } or None
            elif name == "size":
                chosen[name] = self.read_integer(field, value, 1, MAX_BODY)
            elif name == "radius":
                chosen[name] = self.read_float(field, value, 0.0)
            elif name == "max_expansions":
                if value is not None:
                    chosen[name] = self.read_integer(field, value, 1, 2**62)
            elif name == "max_cost":
                chosen[name] = None if value is None else self.read_float(field, value, 0.0)
            else:
                chosen[name] = self.read_bool(field, value)
        if chosen["algorithm"] == "dijkstra" and chosen["weight"] != 1.0:
            self.refuse(
                "options.weight", chosen["weight"], "does not go with dijkstra", "leave it out"
            )
        if chosen["size"] > 1 and chosen["radius"] > 0.0:
            self.refuse(
                "options.radius", chosen["radius"], "does not go with a size", "leave out one"
            )
        return chosen

    def _profile(self, field: str, part: dict[str, Any]) -> Profile:
        self.check_fields(field, part, "", "default costs")
        default = self.read_cost(f"{field}.default", part.get("default", 1.0))
        costs = {}
        for name, value in self.read_object(f"{field}.costs", part.get("costs", {})).items():
            if not re.fullmatch("0|[1-9][0-9]{0,2}", name) or int(name) > 255:
                self.refuse(f"{field}.costs", name, "is not a cell class", "use 0 to 255")
            costs[int(name)] = self.read_cost(f"{field}.costs.{name}", value)
        try:
            return Profile(costs, default=default)
        except InputError as error:
            self.refuse(f"{field}.{error.field}", error.value, error.problem, error.remedy)
