"""Scenario files: which bots, where they start and go, and how the map changes meanwhile."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from navserver.maps.files import read_file
from navserver.search.grid import Grid
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.status import InputError, MapFileError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Area", "BotKind", "MapEdit", "Scenario", "fault_in_file", "load_scenario"]

LONGEST_FILE = 1 << 20
"""Bytes of the largest scenario file."""

MOST_BOTS = 1_000_000
"""Bots of one run."""


class Area(NamedTuple):
    """A rectangle of cells."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class BotKind:  # numpydoc ignore=PR02
    """Bots of one kind: they share a behaviour, a body and where they start and go.

    Parameters
    ----------
    name : str
        Names the kind in the report.
    count : int
        Bots, at least 1.
    behavior : str
        A built-in behaviour, or ``FILE.py`` or ``FILE.py:CLASS``.
    options : mapping of str to object
        Keywords of the behaviour's class.
    speed : float
        Cells a second, above 0.
    radius : float
        In cells, above 0 and at most 0.5.
    profile : Profile
        What each class costs.
    spawn, goals : tuple of Area
        Where bots start and where behaviours draw goals; empty means anywhere.
    """

    name: str
    count: int
    behavior: str = "wander"
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    speed: float = 4.0
    radius: float = 0.3
    profile: Profile = DEFAULT_PROFILE
    spawn: tuple[Area, ...] = ()
    goals: tuple[Area, ...] = ()


class MapEdit(NamedTuple):
    """All cells of an area take a class when a tick begins."""

    tick: int
    area: Area
    class_id: int

    def apply_to(self, grid: Grid) -> None:
        """Change a map, whatever the tick.

        Parameters
        ----------
        grid : Grid
            The map.
        """
        x, y, width, height = self.area
        grid.set_rectangle((x, y), (width, height), self.class_id)


@dataclass(frozen=True)
class Scenario:  # numpydoc ignore=PR02
    """What a run needs besides its map.

    Parameters
    ----------
    kinds : tuple of BotKind
        At least one; their bots are numbered in this order.
    map : str or None
        A map file, relative to the scenario file's folder when it was read from one.
    seed : int
        Of every random choice.
    ticks : int
        Steps of the run.
    dt : float
        Seconds a step, above 0 and at most 1.
    avoidance : bool
        Whether bots keep out of each other's way.
    edits : tuple of MapEdit
        By tick.
    """

    kinds: tuple[BotKind, ...]
    map: str | None = None
    seed: int = 0
    ticks: int = 3000
    dt: float = 0.1
    avoidance: bool = True
    edits: tuple[MapEdit, ...] = ()

    @property
    def bots(self) -> int:
        """Bots of all kinds."""
        return sum(kind.count for kind in self.kinds)

    def check_against(self, grid: Grid) -> None:
        """Raise unless every area lies on the map.

        Parameters
        ----------
        grid : Grid
            The map.

        Raises
        ------
        CellError
            Names the first area that does not.
        """
        areas = [(f"bots[{i}].spawn", a) for i, kind in enumerate(self.kinds) for a in kind.spawn]
        areas += [(f"bots[{i}].goals", a) for i, kind in enumerate(self.kinds) for a in kind.goals]
        areas += [(f"edits[{i}].area", edit.area) for i, edit in enumerate(self.edits)]
        for name, area in areas:
            x, y, width, height = area
            grid.flat_indices([(x, y), (x + width - 1, y + height - 1)], name)


def load_scenario(path: str | PathLike[str]) -> Scenario:
    """Read a scenario file.

    Parameters
    ----------
    path : path-like
        A TOML file; see ``docs/bots.md``.

    Returns
    -------
    Scenario
        Files that it names are relative to its folder.

    Raises
    ------
    MapFileError
        If it cannot be read; names the line and the key.
    """
    try:
        text = read_file(path, longest=LONGEST_FILE).decode()
    except UnicodeDecodeError:
        raise MapFileError(path, None, "is not UTF-8", "save it as UTF-8") from None
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else None
        reason = re.sub(r" \(at .*\)", "", str(error))
        raise MapFileError(path, line, f"is not TOML ({reason})", "correct it there") from None
    return _read_scenario(_Table(Path(fspath(path)), text, "", 0, table))


def fault_in_file(path: str | PathLike[str], error: InputError) -> MapFileError:
    """Return what is wrong with a scenario as a fault of the file that states it.

    Parameters
    ----------
    path : path-like
        The scenario file.
    error : InputError
        Of a field such as ``bots[1].spawn``.

    Returns
    -------
    MapFileError
        Names the line, where the file has the key.
    """
    found = re.match(r"(\w+)\[(\d+)\]\.(\w+)", error.field)
    line = None
    if found is not None:
        text = Path(path).read_text(encoding="utf-8")
        line = _Table(Path(path), text, found[1], int(found[2]), {})._line_of(found[3])
    shown = " ".join(repr(error.value).split())
    return MapFileError(path, line, f"{error.field}: {shown} {error.problem}", error.remedy)


def _read_scenario(table: _Table) -> Scenario:
    table.refuse_others("map", "seed", "ticks", "dt", "avoidance", "bots", "edits")
    map_file = table.text("map", None)
    kinds = tuple(_read_kind(part) for part in table.tables("bots"))
    if not kinds:
        raise table.error("bots", "is missing", "add a table [[bots]] for each kind of bots")
    if sum(kind.count for kind in kinds) > MOST_BOTS:
        raise table.error("bots", "are too many", f"use at most {MOST_BOTS:,} in all")
    edits = sorted((_read_edit(part) for part in table.tables("edits")), key=lambda e: e.tick)
    return Scenario(
        kinds,
        None if map_file is None else table.beside(map_file),
        seed=table.integer("seed", 0, least=0, most=2**63 - 1),
        ticks=table.integer("ticks", 3000, least=0, most=10**9),
        dt=table.number("dt", 0.1, above=0.0, most=1.0),
        avoidance=table.flag("avoidance", True),
        edits=tuple(edits),
    )


def _read_kind(table: _Table) -> BotKind:
    table.refuse_others(
        "name", "count", "behavior", "options", "speed", "radius", "class_costs", "spawn", "goals"
    )
    behavior = table.text("behavior", "wander") or "wander"
    if behavior.partition(":")[0].endswith(".py"):
        behavior = table.beside(behavior)
    return BotKind(
        name=table.text("name", None) or f"kind {table.index + 1}",
        count=table.integer("count", None, least=1, most=MOST_BOTS),
        behavior=behavior,
        options=MappingProxyType(table.table("options")),
        speed=table.number("speed", 4.0, above=0.0, most=1e3),
        radius=table.number("radius", 0.3, above=0.0, most=0.5),
        profile=table.profile("class_costs"),
        spawn=table.areas("spawn"),
        goals=table.areas("goals"),
    )


def _read_edit(table: _Table) -> MapEdit:
    table.refuse_others("tick", "area", "class")
    areas = table.areas("area")
    if len(areas) != 1:
        raise table.error("area", "is not one area", "give [x, y, width, height]")
    return MapEdit(
        table.integer("tick", None, least=0, most=10**9),
        areas[0],
        table.integer("class", None, least=0, most=255),
    )


class _Table:
    """One table of a file, read key by key; each error names the key and its line."""

    def __init__(
        self, path: Path, text: str, name: str, index: int, values: Mapping[str, Any]
    ) -> None:
        self.path = path
        self.text_of_file = text
        self.name = name
        self.index = index
        self.values = values

    def error(self, key: str, problem: str, remedy: str) -> MapFileError:
        where = f"{self.name}[{self.index}].{key}" if self.name else key
        return MapFileError(self.path, self._line_of(key), f"{where} {problem}", remedy)

    def _line_of(self, key: str) -> int | None:
        """Return the line of a key, or of its table; the parser tells neither."""
        header = re.compile(rf"\s*\[\[\s*{re.escape(self.name)}\s*\]\]")
        own = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[\]=.]")
        line_of_table, seen = None, -1 if self.name else 0
        for number, line in enumerate(self.text_of_file.splitlines(), 1):
            if self.name and header.match(line):
                seen += 1
                if seen == self.index:
                    line_of_table = number
            elif seen == self.index and own.match(line):
                return number
        return line_of_table

    def refuse_others(self, *known: str) -> None:
        for key in self.values:
            if key not in known:
                raise self.error(key, "is unknown", f"use {', '.join(known)}")

    def _get(self, key: str, default: Any) -> Any:
        value = self.values.get(key, default)
        if value is None and key not in ("map", "name"):
            raise self.error(key, "is missing", "add it")
        return value

    def text(self, key: str, default: str | None) -> str | None:
        value = self._get(key, default)
        if value is not None and (not isinstance(value, str) or not value):
            raise self.error(key, f"is {value!r}", "give a text in quotes")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"is {value!r}", "give true or false")
        return value

    def integer(self, key: str, default: int | None, *, least: int, most: int) -> int:
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.error(key, f"is {value!r}", f"give a whole number from {least} to {most}")
        return value

    def number(self, key: str, default: float, *, above: float, most: float) -> float:
        value = self._get(key, default)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not above < value <= most:
            raise self.error(
                key, f"is {value!r}", f"give a number above {above:g} and at most {most:g}"
            )
        return float(value)

    def table(self, key: str) -> dict[str, Any]:
        value = self._get(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"is {value!r}", f"give a table, like {key} = {{ name = 1 }}")
        return value

    def tables(self, key: str) -> list[_Table]:
        value = self._get(key, [])
        if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
            raise self.error(key, "is not a list of tables", f"begin each with [[{key}]]")
        return [_Table(self.path, self.text_of_file, key, i, part) for i, part in enumerate(value)]

    def areas(self, key: str) -> tuple[Area, ...]:
        value = self._get(key, [])
        if isinstance(value, list):
            areas = [value] if value and not isinstance(value[0], list) else value
            if all(_is_area(area) for area in areas):
                return tuple(Area(*area) for area in areas)
        raise self.error(
            key, f"is {value!r}", "give [x, y, width, height] in whole cells, or a list of them"
        )

    def profile(self, key: str) -> Profile:
        costs = {}
        for name, cost in self.table(key).items():
            is_number = isinstance(cost, (int, float)) and not isinstance(cost, bool)
            if not re.fullmatch(r"\d{1,3}", name) or not is_number or math.isnan(cost):
                raise self.error(
                    key, f"has {name} = {cost!r}", "give costs by class, like { 2 = 4.0, 7 = inf }"
                )
            costs[int(name)] = float(cost)
        try:
            return Profile(costs) if costs else DEFAULT_PROFILE
        except InputError as error:
            raise self.error(key, f"is refused ({error.problem})", error.remedy) from None

    def beside(self, name: str) -> str:
        """Return a file's name as it is from where the process runs."""
        return str(self.path.parent / name)


def _is_area(area: object) -> bool:
    if not isinstance(area, Sequence) or len(area) != 4:
        return False
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in area)
    return whole and area[2] >= 1 and area[3] >= 1 and all(abs(n) <= 2**30 for n in area)
