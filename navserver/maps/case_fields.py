"""Fields of a case file, checked one by one; each error names the file and the field."""

from __future__ import annotations

import contextlib
import json
import math
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from navserver.search.overrides import MAX_QUERY_CELLS
from navserver.status import MapFileError

__all__ = ["FieldReader"]

Enum = TypeVar("Enum", bound=IntEnum)


class FieldReader:
    """Checks the fields of one file.

    Parameters
    ----------
    path : str
        The file, for errors.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        """The file, for errors."""

    def refuse(self, field: str, value: object, problem: str, remedy: str) -> NoReturn:
        """Raise an error that names a field, its value and a remedy.

        Parameters
        ----------
        field : str
            The field.
        value : object
            What it holds.
        problem, remedy : str
            What is wrong, and what to do.

        Raises
        ------
        MapFileError
            Always.
        """
        shown = " ".join(repr(value).split())
        if len(shown) > 60:
            shown = f"{shown[:50]}..."
        raise MapFileError(self.path, None, f"{field}: {shown} {problem}", remedy)

    def parse(self, data: bytes) -> object:
        """Return what a file holds.

        Parameters
        ----------
        data : bytes
            JSON in UTF-8.

        Returns
        -------
        object
            Of Python's own types.

        Raises
        ------
        MapFileError
            If it is no JSON, or an object has a field twice.
        """

        def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
            found = dict(pairs)
            if len(found) < len(pairs):
                names = [name for name, _ in pairs]
                twice = next(name for name in names if names.count(name) > 1)
                self.refuse("field", twice, "stands twice", "remove one")
            return found

        def constant(name: str) -> NoReturn:
            self.refuse("number", name, "is not JSON", 'write "inf" for an infinite cost')

        try:
            return json.loads(
                data.decode("utf-8-sig"), object_pairs_hook=unique, parse_constant=constant
            )
        except json.JSONDecodeError as error:
            raise MapFileError(
                self.path,
                error.lineno,
                f"column {error.colno}: not JSON ({error.msg})",
                "mend the file or save the case again",
            ) from None
        except MapFileError:
            raise
        except (RecursionError, ValueError) as error:
            reason = "too deep" if isinstance(error, RecursionError) else str(error)[:80]
            raise MapFileError(
                self.path, None, f"not JSON ({reason})", "mend the file or save the case again"
            ) from None

    def read_object(self, field: str, value: object) -> dict[str, Any]:
        """Return a field that must be an object.

        Parameters
        ----------
        field : str
            Its name.
        value : object
            What it holds.

        Returns
        -------
        dict
            Its fields.

        Raises
        ------
        MapFileError
            If it is not.
        """
        if not isinstance(value, dict):
            self.refuse(field, value, "is not an object", "see the layout of case files")
        return value

    def check_fields(self, field: str, value: dict[str, Any], needed: str, optional: str) -> None:
        """Make sure that an object has the fields that it must have, and no unknown ones.

        Parameters
        ----------
        field : str
            The object's own name.
        value : dict
            The object.
        needed, optional : str
            Names with spaces between them.

        Raises
        ------
        MapFileError
            If it is not.
        """
        for name in needed.split():
            if name not in value:
                self.refuse(field, name, "is missing", "add the field")
        allowed = needed.split() + optional.split()
        for name in value:
            if name not in allowed:
                self.refuse(field, name, "is no field of it", f"use {', '.join(allowed)}")

    def read_integer(self, field: str, value: object, least: int, most: int) -> int:
        """Return a field that must be a whole number.

        Parameters
        ----------
        field : str
            Its name.
        value : object
            What it holds.
        least, most : int
            Its bounds.

        Returns
        -------
        int
            Within them.

        Raises
        ------
        MapFileError
            If it is not.
        """
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.refuse(field, value, "is out of bounds", f"give an integer {least} to {most}")
        return value

    def read_float(self, field: str, value: object, least: float) -> float:
        """Return a field that must be a finite number.

        Parameters
        ----------
        field : str
            Its name.
        value : object
            What it holds.
        least : float
            Its bound.

        Returns
        -------
        float
            At least that.

        Raises
        ------
        MapFileError
            If it is not.
        """
        number = math.nan
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            with contextlib.suppress(OverflowError):
                number = float(value)
        if not least <= number < math.inf:
            self.refuse(field, value, "is out of bounds", f"give a finite number >= {least:g}")
        return number

    def read_cost(self, field: str, value: object) -> float:
        """Return a field that must be a cost.

        Parameters
        ----------
        field : str
            Its name.
        value : object
            What it holds.

        Returns
        -------
        float
            At least 0; inf where the field is "inf".

        Raises
        ------
        MapFileError
            If it is not.
        """
        if value == "inf":
            return math.inf
        return self.read_float(field, value, 0.0)

    def read_bool(self, field: str, value: object) -> bool:
        """Return a field that must be a truth value.

        Parameters
        ----------
        field : str
            Its name.
        value : object
            What it holds.

        Returns
        -------
        bool
            Its value.

        Raises
        ------
        MapFileError
            If it is not.
        """
        if not isinstance(value, bool):
            self.refuse(field, value, "is not a truth value", "give true or false")
        return value

    def read_enum(self, field: str, value: object, kind: type[Enum]) -> Enum:
        """Return a field that must be a name of an enumeration.

        Parameters
        ----------
        field : str
            Its name.
        value : object
            What it holds.
        kind : type of IntEnum
            The enumeration; names are in lower case.

        Returns
        -------
        IntEnum
            Its member.

        Raises
        ------
        MapFileError
            If it is not.
        """
        names = {member.name.lower(): member for member in kind}
        if not isinstance(value, str) or value not in names:
            self.refuse(field, value, "is unknown", f"use one of {', '.join(names)}")
        return names[value]

    def read_cell(self, field: str, value: object) -> tuple[int, int]:
        """Return a field that must be a cell.

        Parameters
        ----------
        field : str
            Its name.
        value : object
            What it holds.

        Returns
        -------
        (int, int)
            The cell.

        Raises
        ------
        MapFileError
            If it is not.
        """
        if not isinstance(value, list) or len(value) != 2:
            self.refuse(field, value, "is not a cell", "give [x, y]")
        x, y = (self.read_integer(field, i, -(2**31), 2**31 - 1) for i in value)
        return x, y

    def read_cells(self, field: str, value: object) -> NDArray[np.int32]:
        """Return a field that must be a list of cells.

        Parameters
        ----------
        field : str
            Its name.
        value : object
            What it holds.

        Returns
        -------
        int32 array (n, 2)
            At most `MAX_QUERY_CELLS` of them.

        Raises
        ------
        MapFileError
            If it is not.
        """
        if not isinstance(value, list):
            self.refuse(field, value, "is not a list of cells", "give [[x, y], ...]")
        if len(value) > MAX_QUERY_CELLS:
            self.refuse(field, len(value), "cells are too many", f"give at most {MAX_QUERY_CELLS}")
        cells = [self.read_cell(f"{field}[{i}]", cell) for i, cell in enumerate(value)]
        return np.array(cells, np.int32).reshape(-1, 2)
