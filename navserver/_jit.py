"""The only importer of numba: kernel decorators, the cache folder, warm-up.

Numba checks only a kernel's own file before it reuses a cached one, so a caller would keep the
old body of a callee edited elsewhere. The kernels of a floor are therefore cached in a folder
named by a digest of its sources and of those below it: an edit to any of them starts a new folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
import platformdirs
from llvmlite import ir
from numba import config, types
from numba.cpython.unsafe import numbers
from numba.extending import intrinsic

__all__ = [
    "KERNELS",
    "cache_folder",
    "inlined",
    "kernel",
    "prefetch",
    "register_warm_up",
    "subkernel",
    "trailing_zeros",
    "warm_up",
]

F = TypeVar("F", bound=Callable[..., Any])

KERNELS: dict[str, Any] = {}
"""Every kernel called from Python, by ``module.name``."""

_WARM_UPS: dict[str, Callable[[], None]] = {}
# Kernels allocate nothing, so they need no runtime that counts references to arrays. Its atomic
# counts at every call that passes an array made short searches thirty times as slow, and without
# it an allocation that slips in does not compile.
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}

_STALE_AFTER_SECONDS = 30 * 24 * 3600


# The folders that hold kernels, lowest first; each calls only kernels of its own and below.
_FLOORS = ("search", "navmesh", "movers")


def _floor_of(module: str) -> str:
    names = module.split(".")[1:2]
    return names[0] if names and names[0] in _FLOORS else _FLOORS[-1]


@functools.cache
def _sources_digest(floor: str) -> str:
    """Return a digest of what the compiled kernels of one floor hang on."""
    package = Path(__file__).parent
    digest = hashlib.sha256(repr(bool(config.BOUNDSCHECK)).encode())
    below = _FLOORS[: _FLOORS.index(floor) + 1]
    sources = [package / "_jit.py", package / "status.py"]
    for name in below:
        sources += sorted((package / name).rglob("*.py"))
    for source in sources:
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_parents() -> Iterator[Path]:
    """Yield the folders that may hold the cache, best first."""
    for variable in ("NAVSERVER_CACHE_DIR", "NUMBA_CACHE_DIR"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "navserver-kernels"
    with contextlib.suppress(RuntimeError, OSError):
        yield Path(platformdirs.user_cache_dir("navserver", appauthor=False)) / "kernels"
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    yield Path(tempfile.gettempdir()) / f"navserver-kernels-{user}"


def _is_ours(folder: Path) -> bool:
    """Return whether nobody else can have planted compiled code in the folder."""
    if not hasattr(os, "getuid"):
        return True
    info = folder.stat()
    return info.st_uid == os.getuid() and not info.st_mode & 0o022


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return _is_ours(folder)
    except OSError:
        return False


def _remove_stale(parent: Path, keep: str) -> None:
    """Remove the folders of sources that have not been used for a month."""
    limit = time.time() - _STALE_AFTER_SECONDS
    for folder in parent.iterdir():
        if folder.name != keep and re.fullmatch(r"[0-9a-f]{16}", folder.name):
            with contextlib.suppress(OSError):
                if folder.stat().st_mtime < limit:
                    shutil.rmtree(folder, ignore_errors=True)


_CACHE_FOLDER = None if config.DISABLE_JIT else next(filter(_writable, _cache_parents()), None)


@functools.cache
def _folder_of(floor: str) -> Path | None:
    """Return where the kernels of a floor are cached."""
    if _CACHE_FOLDER is None:
        return None
    folder = _CACHE_FOLDER / _sources_digest(floor)
    try:
        if folder.exists():
            os.utime(folder)
        else:
            folder.mkdir(exist_ok=True)
            _remove_stale(_CACHE_FOLDER, folder.name)
    except OSError:
        return None
    return folder


def cache_folder() -> Path | None:
    """Return the folder of the compiled kernels, or None if no folder is writable.

    It has a folder for each state of the sources, removed when unused for a month. The first
    writable one is taken of ``NAVSERVER_CACHE_DIR``, ``NUMBA_CACHE_DIR``, the user's cache folder
    and the temporary folder. Without one, kernels are compiled in each process.
    """
    return _CACHE_FOLDER


@contextlib.contextmanager
def _numba_caches_in(folder: Path) -> Iterator[None]:
    """Point numba's cache at the folder while a kernel is decorated, and only then."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def kernel(function: F) -> F:
    """Compile a function that Python calls: nogil, no fastmath, cached, one signature.

    Parameters
    ----------
    function : callable
        Takes C-contiguous arrays of fixed dtype, named tuples of them, and scalars.

    Returns
    -------
    callable
        The compiled function, also entered in `KERNELS`.
    """
    folder = _folder_of(_floor_of(function.__module__))
    if folder is None:
        compiled = numba.njit(**_OPTIONS)(function)
    else:
        with _numba_caches_in(folder):
            compiled = numba.njit(**_OPTIONS, cache=True)(function)
    KERNELS[f"{function.__module__}.{function.__name__}"] = compiled
    return compiled


def subkernel(function: F) -> F:
    """Compile a function that only kernels call; it lives in the cache of its callers.

    Parameters
    ----------
    function : callable
        As for `kernel`.

    Returns
    -------
    callable
        The compiled function.
    """
    return numba.njit(**_OPTIONS)(function)


def inlined(function: F) -> F:
    """Make a short function of inner loops part of each kernel that calls it.

    Parameters
    ----------
    function : callable
        As for `kernel`; short, since each call is a copy. Arrays are worth it: a call hands each
        of them over as seven words.

    Returns
    -------
    callable
        The function to be called in kernels.
    """
    return numba.njit(**_OPTIONS, forceinline=True)(function)


def _trailing_zeros_interpreted(word: int) -> int:
    word = int(word)
    return (word & -word).bit_length() - 1


# One machine instruction in kernels; not for 0.
trailing_zeros: Callable[[Any], int] = (
    _trailing_zeros_interpreted if config.DISABLE_JIT else numbers.trailing_zeros
)


def _prefetch(_context: Any, array: Any, index: Any) -> tuple[Any, Any]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        # To be read, kept in all caches, data.
        builder.call(function, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


def _prefetch_interpreted(array: Any, index: Any) -> None:
    """Do nothing: interpreted kernels have other worries."""


# Asks for the cache line of an entry that is read soon. It reads nothing, so any index will do.
prefetch: Callable[[Any, Any], None] = (
    _prefetch_interpreted if config.DISABLE_JIT else intrinsic(_prefetch)
)


def register_warm_up(name: str, function: Callable[[], None]) -> None:
    """Add a function that calls every kernel of one module on tiny input.

    Parameters
    ----------
    name : str
        What is being compiled, in the user's words; shown as progress.
    function : callable
        Called without arguments by `warm_up`.
    """
    _WARM_UPS[name] = function


def warm_up(progress: Callable[[int, int, str], None] | None = None) -> None:
    """Compile every kernel, or load it from the cache.

    Parameters
    ----------
    progress : callable, optional
        Called as ``progress(done, total, name)`` before each group of kernels and at the end.
    """
    total = len(_WARM_UPS)
    for done, (name, function) in enumerate(_WARM_UPS.items()):
        if progress is not None:
            progress(done, total, name)
        function()
    if progress is not None:
        progress(total, total, "done")
