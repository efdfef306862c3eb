"""Movers drawn as discs on their map, and films of them: animated GIFs and strips of moments."""

from __future__ import annotations

import colorsys
import io
import math
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.render import PAPER, Color, draw_picture
from navserver.search.grid import Grid
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.search.validation import checked_array, checked_count, checked_number
from navserver.status import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Film", "draw_movers"]

USUAL_SIDE = 480
"""Pixels along the longer side of a picture of movers, unless told."""

LARGEST_SIDE = 2048
"""Most pixels along it."""

MOST_BYTES = 400_000
"""Bytes that a GIF takes at most, unless told."""

FIRST_HUE = 0.58
"""The hue of the first order, a blue; in turns of the color wheel."""

INK: Color = (40, 44, 58)
"""Captions, and the rim of those without an order."""

# From the hue of one order to that of the next: as far apart as a sunflower's seeds.
_NEXT_HUE = 0.6180339887498949
# Masks are drawn this much finer, then reduced, for smooth rims.
_FINER = 4
# One color table for all frames: what does not change then costs a GIF nothing.
_GIF_COLORS = 96
_CAPTION = 24
_GAP = 8


class _Moment(NamedTuple):
    """What is drawn of all movers at one time."""

    time: float
    ground: Image
    position: NDArray[np.float32]
    velocity: NDArray[np.float32]
    radius: NDArray[np.float32]
    state: NDArray[np.uint8]
    hue: NDArray[np.float64]
    """NaN where a mover was never sent."""


def draw_movers(
    movers: Movers,
    *,
    hues: ArrayLike | None = None,
    side: int = USUAL_SIDE,
    profile: Profile = DEFAULT_PROFILE,
) -> Image:
    """Draw the movers of a table on their map.

    Each is a disc of its radius. Movers that walk are filled and have a white mark that points
    where they go; those at rest are pale with a rim of their color; those that wait for a way are
    white with a rim. Movers of one order have one color; who was never sent is gray.

    Parameters
    ----------
    movers : Movers
        The table.
    hues : array-like of float, shape (slots,), optional
        The color of each slot in turns of the color wheel: 0 red, 1/3 green, 2/3 blue; NaN gray.
        Default: one a order.
    side : int
        Pixels along the longer side, 1 to 2,048.
    profile : Profile
        Cost of each class, for the picture of the map.

    Returns
    -------
    PIL.Image.Image
        An RGB picture.

    Raises
    ------
    NavserverError
        If Pillow is not installed.
    InputError
        If there are fewer hues than slots, or the side is out of bounds.

    Examples
    --------
    >>> movers = Movers(Grid.filled(30, 20))
    >>> units = movers.add([(5, 5)], radius=0.5, max_speed=4.0)
    >>> draw_movers(movers, side=300).size
    (300, 200)
    """
    ground = _ground(movers.grid, _checked_side(side), profile)
    return _drawn(movers.grid, _moment(movers, ground, 0.0, hues))


class Film:
    """Moments of the movers on a map, kept until they are written as a picture.

    Parameters
    ----------
    movers : Movers
        Whom to film.
    hues : array-like of float, shape (slots,), optional
        As for `draw_movers`.
    side : int
        Pixels along the longer side of a frame, 1 to 2,048.
    profile : Profile
        As for `draw_movers`.

    Raises
    ------
    NavserverError
        If Pillow is not installed.
    InputError
        If the side is out of bounds.

    Notes
    -----
    A moment takes 29 bytes a mover; the map is kept once a version of it.

    Examples
    --------
    >>> from navserver.movers.stepper import Stepper
    >>> movers = Movers(Grid.filled(30, 20))
    >>> units = movers.add([(5, 5), (5, 7)], radius=0.5, max_speed=4.0)
    >>> stepper = Stepper(movers, avoidance=True)
    >>> stepper.order(units, (22, 12))
    >>> film = Film(movers)
    >>> for tick in range(60):
    ...     film.record(tick / 10)
    ...     events = stepper.step(1 / 10)
    >>> len(film)
    60
    """

    def __init__(
        self,
        movers: Movers,
        *,
        hues: ArrayLike | None = None,
        side: int = USUAL_SIDE,
        profile: Profile = DEFAULT_PROFILE,
    ) -> None:
        self._movers = movers
        self._hues = hues
        self._side = _checked_side(side)
        self._profile = profile
        self._version = movers.grid.version
        self._ground = _ground(movers.grid, self._side, profile)
        self._moments: list[_Moment] = []

    def __len__(self) -> int:
        """Return how many moments were recorded."""
        return len(self._moments)

    @property
    def times(self) -> list[float]:
        """Seconds of each moment."""
        return [moment.time for moment in self._moments]

    def record(self, time: float) -> None:
        """Keep the movers, and the map, as they are now.

        Parameters
        ----------
        time : float
            Seconds of world time, more than those of the moment before.

        Raises
        ------
        InputError
            If the time is not later, or there are fewer hues than slots.
        """
        seconds = checked_number("time", time, -math.inf, "give finite seconds")
        if self._moments and seconds <= self._moments[-1].time:
            raise InputError(
                "time", time, f"is not after {self._moments[-1].time:g}", "record forwards"
            )
        grid = self._movers.grid
        if grid.version != self._version:
            self._version = grid.version
            self._ground = _ground(grid, self._side, self._profile)
        self._moments.append(_moment(self._movers, self._ground, seconds, self._hues))

    def save_gif(
        self, path_of_file: str | PathLike[str], *, speed: float = 1.0, most_bytes: int = MOST_BYTES
    ) -> int:
        """Write all moments as an animated GIF that repeats.

        Frames are left out, every second one and again, until the file is small enough; it lasts
        as long all the same. The last moment always stays, and is shown for a second more.

        Parameters
        ----------
        path_of_file : path-like
            The file, replaced if it exists.
        speed : float
            World seconds shown in a second, more than 0.
        most_bytes : int
            Bytes that the file may take.

        Returns
        -------
        int
            Bytes of the file.

        Raises
        ------
        InputError
            If nothing was recorded, two frames are still too large, or the file cannot be written.
        """
        if not self._moments:
            raise InputError("film", self, "has no moments", "call record between steps")
        rate = checked_number("speed", speed, 1e-6, "give a number above 0")
        limit = checked_count("most_bytes", most_bytes)
        times = [moment.time / rate for moment in self._moments]
        frames = self._frames()
        while len(data := _gif(frames, times)) > limit:
            if len(frames) <= 2:
                raise InputError(
                    "most_bytes", most_bytes, f"is less than two frames take, {len(data)}",
                    "allow more, or give the film a shorter side",
                )  # fmt: skip
            # From the end, so that the last one stays.
            frames, times = frames[::-2][::-1], times[::-2][::-1]
        _write(path_of_file, "gif", lambda file: file.write(data))
        return len(data)

    def _frames(self) -> list[Image]:
        """Return a picture of every moment, all in colors that suit them all."""
        grid = self._movers.grid
        some = self._moments[:: max(1, len(self._moments) // 6)]
        table = _palette_of([_drawn(grid, moment) for moment in some])
        # One at a time is reduced to a byte a pixel: a long film would fill the memory.
        none = _image_module().Dither.NONE
        return [
            _drawn(grid, moment).quantize(palette=table, dither=none) for moment in self._moments
        ]

    def save_strip(
        self, path_of_file: str | PathLike[str], moments: Sequence[float], *, columns: int = 5
    ) -> tuple[int, int]:
        """Write some moments side by side as PNG, each with its time.

        Parameters
        ----------
        path_of_file : path-like
            The file, replaced if it exists.
        moments : sequence of float
            Seconds, one or more; for each the moment recorded nearest to it.
        columns : int
            So many stand in a row, 1 or more.

        Returns
        -------
        (int, int)
            Width and height in pixels.

        Raises
        ------
        InputError
            If nothing was recorded, no moment is asked for, or the file cannot be written.
        """
        if not self._moments:
            raise InputError("film", self, "has no moments", "call record between steps")
        wanted = checked_array("moments", moments)
        if wanted.ndim != 1 or not wanted.size or not np.isfinite(wanted).all():
            raise InputError("moments", moments, "are not seconds", "give one or more numbers")
        nearest = np.abs(np.subtract.outer(wanted, self.times)).argmin(axis=1)
        chosen = [self._moments[i] for i in nearest.tolist()]
        strip = _strip(
            [_drawn(self._movers.grid, moment) for moment in chosen],
            [f"{moment.time:.1f} s" for moment in chosen],
            checked_count("columns", columns),
        )
        flat = strip.quantize(256, dither=_image_module().Dither.NONE)
        _write(path_of_file, "png", lambda file: flat.save(file, format="PNG", optimize=True))
        return strip.size


def _image_module() -> Any:
    from PIL import Image  # noqa: PLC0415 - optional, and slow to import

    return Image


def _checked_side(side: int) -> int:
    pixels = checked_count("side", side)
    if pixels > LARGEST_SIDE:
        raise InputError("side", side, "is out of bounds", f"give 1 to {LARGEST_SIDE} pixels")
    return pixels


def _ground(grid: Grid, side: int, profile: Profile) -> Image:
    """Return the picture of a map, of that many pixels along its longer side."""
    image = draw_picture(grid, profile=profile)
    scale = side / max(grid.width, grid.height)
    size = (max(1, round(grid.width * scale)), max(1, round(grid.height * scale)))
    return image.resize(size, _image_module().Resampling.BOX)


def _moment(movers: Movers, ground: Image, time: float, hues: ArrayLike | None) -> _Moment:
    alive = np.flatnonzero(movers.state)
    if hues is None:
        orders = movers.columns.group[alive].astype(np.float64)
        hue = np.where(orders < 0, np.nan, (FIRST_HUE + orders * _NEXT_HUE) % 1.0)
    else:
        given = np.asarray(hues, np.float64)
        if given.ndim != 1 or len(given) < movers.slots:
            raise InputError(
                "hues", given.shape, "do not go with the movers", f"give {movers.slots} numbers"
            )
        hue = given[alive]
    return _Moment(
        time,
        ground,
        movers.position[alive],
        movers.velocity[alive],
        movers.radius[alive],
        movers.state[alive],
        hue,
    )


def _color(hue: float, lightness: float) -> Color:
    if not math.isfinite(hue):
        level = round(255 * lightness)
        return (level, level, level)
    # Yellow and green look lighter than blue and red of the same lightness.
    lightness -= 0.10 * max(0.0, math.cos(2.0 * math.pi * (hue - 0.25))) * (1.0 - lightness)
    red, green, blue = colorsys.hls_to_rgb(hue, lightness, 0.78)
    return (round(255 * red), round(255 * green), round(255 * blue))


def _drawn(grid: Grid, moment: _Moment) -> Image:
    """Return a picture of the movers over the ground."""
    from PIL import ImageDraw  # noqa: PLC0415 - optional, and slow to import

    module = _image_module()
    width, height = moment.ground.size
    image = moment.ground.resize((width * _FINER, height * _FINER), module.Resampling.NEAREST)
    canvas = ImageDraw.Draw(image)
    cell = width / grid.width * _FINER
    centres = (moment.position.astype(np.float64) - grid.region_position + 0.5) * cell
    # A body so small that it would vanish is drawn as large as can be seen.
    radii = np.maximum(moment.radius * cell, 1.5 * _FINER)
    speeds = np.hypot(*moment.velocity.T)
    for i in np.lexsort((moment.state == MoverState.PATH, -radii)).tolist():
        x, y = centres[i]
        r = radii[i]
        hue = float(moment.hue[i])
        rim = max(_FINER, 0.16 * r)
        fill, edge = _fill(int(moment.state[i]), hue)
        canvas.ellipse((x - r, y - r, x + r, y + r), fill=edge)
        inner = r - rim
        canvas.ellipse((x - inner, y - inner, x + inner, y + inner), fill=fill)
        # Who rests and is pushed aside has a velocity too, but goes nowhere.
        is_walking = (
            moment.state[i] in (MoverState.PATH, MoverState.FIELD, MoverState.STEERED)
            and speeds[i] > 0.0
        )
        if is_walking and r >= 3 * _FINER:
            dx, dy = moment.velocity[i] / speeds[i] * r
            # A kite: tip, corner, notch, corner.
            kite = [(0.78, 0.0), (-0.45, 0.48), (-0.15, 0.0), (-0.45, -0.48)]
            canvas.polygon(
                [(x + a * dx - b * dy, y + a * dy + b * dx) for a, b in kite],
                fill=(255, 255, 255),
            )
    return image.resize((width, height), module.Resampling.BOX)


def _fill(state: int, hue: float) -> tuple[Color, Color]:
    """Return the colors of a disc and of its rim."""
    if state == MoverState.IDLE:
        return _color(hue, 0.82), _color(hue, 0.46)
    if state == MoverState.WAITING:
        return (255, 255, 255), _color(hue, 0.46)
    return _color(hue, 0.50), _color(hue, 0.34)


def _palette_of(frames: list[Image]) -> Image:
    """Return a picture whose color table suits all frames."""
    module = _image_module()
    sample = module.new("RGB", (frames[0].width, sum(frame.height for frame in frames)))
    y = 0
    for frame in frames:
        sample.paste(frame, (0, y))
        y += frame.height
    table: Image = sample.quantize(_GIF_COLORS, dither=module.Dither.NONE)
    return table


def _gif(frames: list[Image], times: list[float]) -> bytes:
    # GIF counts hundredths of a second; sums are rounded, so that errors do not add up.
    ends = [round(100 * (time - times[0])) for time in [*times[1:], times[-1] + 1.0]]
    starts = [0, *ends[:-1]]
    durations = [10 * max(2, end - start) for start, end in zip(starts, ends, strict=True)]
    data = io.BytesIO()
    frames[0].save(
        data,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=durations,
        loop=0,
        optimize=False,
    )
    return data.getvalue()


def _strip(frames: list[Image], captions: list[str], columns: int) -> Image:
    from PIL import ImageDraw, ImageFont  # noqa: PLC0415 - optional, and slow to import

    across = min(columns, len(frames))
    down = -(-len(frames) // across)
    width, height = frames[0].width + _GAP, frames[0].height + _CAPTION + _GAP
    size = (across * width + _GAP, down * height + _GAP)
    strip: Image = _image_module().new("RGB", size, PAPER)
    canvas = ImageDraw.Draw(strip)
    font = ImageFont.load_default()
    for i, (frame, caption) in enumerate(zip(frames, captions, strict=True)):
        x, y = _GAP + i % across * width, _GAP + i // across * height
        canvas.text((x + 2, y + 5), caption, fill=INK, font=font)
        strip.paste(frame, (x, y + _CAPTION))
    return strip


def _write(path_of_file: str | PathLike[str], field: str, write: Callable[[Any], object]) -> None:
    try:
        with Path(fspath(path_of_file)).open("wb") as file:
            write(file)
    except OSError as error:
        raise InputError(
            field, fspath(path_of_file), f"cannot be written ({error.strerror or error})",
            "name another file",
        ) from None  # fmt: skip
