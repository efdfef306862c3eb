"""Files and folders that a long command is to write: looked at before the work, not after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from navserver.status import InputError, NavserverError

__all__ = ["Outputs", "check_file", "make_folder"]


def check_file(option: str, file: str | None) -> None:
    """Refuse a file that plainly cannot be written.

    Parameters
    ----------
    option : str
        What names it.
    file : str or None
        None if the option was left out.

    Raises
    ------
    InputError
        If it is a folder, lies in none, or may not be written.
    """
    if file is None:
        return
    path = Path(file).absolute()
    if not file or path.is_dir():
        raise InputError(option, file, "is no name of a file", "name a file")
    if not path.parent.is_dir():
        raise InputError(option, file, "lies in no folder", "make its folder first")
    # A file is replaced as a whole, so it is the folder that must allow it; a device is not.
    written = path if path.exists() and not path.is_file() else path.parent
    if not os.access(written, os.W_OK):
        raise InputError(option, file, "may not be written", "name another file")


def make_folder(option: str, folder: str | None) -> None:
    """Make a folder where it is not there.

    Parameters
    ----------
    option : str
        What names it.
    folder : str or None
        None if the option was left out.

    Raises
    ------
    InputError
        If it cannot be made, or may not be written to.
    """
    if folder is None:
        return
    if not folder:
        raise InputError(option, folder, "is no name of a folder", "name a folder")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            option, folder, f"cannot be made ({reason})", "name another folder"
        ) from None
    if not os.access(folder, os.W_OK):
        raise InputError(option, folder, "may not be written to", "name another folder")


class Outputs:
    """Writes what was asked for, as much of it as can be; the first failure is told at the end."""

    def __init__(self) -> None:
        self._failure: NavserverError | None = None

    def write(self, write: Callable[[], object]) -> bool:
        """Write one thing.

        Parameters
        ----------
        write : callable
            Does it.

        Returns
        -------
        bool
            Whether it could.
        """
        try:
            write()
        except NavserverError as error:
            self._failure = self._failure or error
            return False
        return True

    def end(self) -> None:
        """Tell what could not be written.

        Raises
        ------
        NavserverError
            The first failure.
        """
        if self._failure is not None:
            raise self._failure
