"""Draws the pictures of the movers' guide: `python docs/pictures.py` writes docs/images/movers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from navserver import Grid, Movers, MoverState, Stepper
from navserver.animation import FIRST_HUE, Film

IMAGES = Path(__file__).resolve().parent / "images" / "movers"

DT = 1 / 20
"""Seconds a step."""

FRAME = 4
"""Steps a frame."""


class Scene(NamedTuple):
    """Movers that have been given their orders."""

    stepper: Stepper
    hues: NDArray[np.float64]
    side: int
    """Pixels of a frame of the GIF."""


def circle(n: int = 80) -> Scene:
    """Everybody on a circle walks to the opposite place."""
    radius = max(4.0, n / 4.5)
    width = 2 * round(radius + 3) + 1
    movers = Movers(Grid.filled(width, width))
    angles = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
    offsets = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    middle = width // 2
    units = movers.add(middle + offsets, radius=0.45, max_speed=3.0)
    stepper = Stepper(movers, avoidance=True)
    for unit, goal in zip(units, middle - offsets, strict=True):
        stepper.order([unit], goal, spread=False)
    return Scene(stepper, angles / (2.0 * np.pi), 440)


def doorway(n: int = 24) -> Scene:
    """Two groups want through one door that is two bodies wide, from both sides."""
    blocked = np.zeros((22, 44), np.bool_)
    blocked[:, 21:23] = True
    blocked[10:12, 21:23] = False
    movers = Movers(Grid.from_blocked(blocked))
    each = n // 2
    x, y = np.divmod(np.arange(each), 6)
    left = movers.add(np.column_stack([12 - 1.2 * x, 7.5 + 1.2 * y]), radius=0.4, max_speed=3.0)
    right = movers.add(np.column_stack([31 + 1.2 * x, 7.5 + 1.2 * y]), radius=0.4, max_speed=3.0)
    stepper = Stepper(movers, avoidance=True)
    stepper.order(left, (35, 10.5))
    stepper.order(right, (8, 10.5))
    return Scene(stepper, np.repeat([FIRST_HUE, 0.06], each), 528)


def one_goal(n: int = 300) -> Scene:
    """Units from all sides are sent to one point between some walls."""
    blocked = np.zeros((48, 48), np.bool_)
    blocked[16:18, 8:20] = blocked[30:32, 28:42] = True
    blocked[8:18, 34:36] = blocked[30:40, 12:14] = True
    movers = Movers(Grid.from_blocked(blocked))
    y, x = np.mgrid[2:47:1.5, 2:47:1.5].reshape(2, -1)
    is_far = (np.hypot(x - 24, y - 24) > 15) & ~blocked[
        np.rint(y).astype(int), np.rint(x).astype(int)
    ]
    places = np.column_stack([x, y])[is_far]
    places = places[np.random.default_rng(4).permutation(len(places))[:n]]
    movers_hues = np.arctan2(places[:, 1] - 24, places[:, 0] - 24) / (2.0 * np.pi) % 1.0
    units = movers.add(places, radius=0.4, max_speed=3.0)
    stepper = Stepper(movers, avoidance=True)
    stepper.order(units, (24, 24))
    return Scene(stepper, movers_hues, 440)


SCENES: dict[str, Callable[..., Scene]] = {
    "circle": circle,
    "doorway": doorway,
    "one-goal": one_goal,
}


def film(scene: Scene, most_seconds: float = 60.0) -> Film:
    """Return a film of a scene until all are at rest."""
    movers = scene.stepper.movers
    recording = Film(movers, hues=scene.hues, side=scene.side)
    steps = 0
    while steps * DT < most_seconds:
        if steps % FRAME == 0:
            recording.record(steps * DT)
        scene.stepper.step(DT)
        steps += 1
        if (movers.state == MoverState.IDLE).all():
            break
    recording.record(steps * DT)
    return recording


def draw(out: Path, name: str, scene: Scene, most_seconds: float = 60.0) -> str:
    """Write the GIF and the strip of a scene, and return what there is to tell."""
    taken = film(scene, most_seconds)
    end = taken.times[-1]
    strip = out / f"{name}.png"
    # Not the very first: before the first step all wait for their ways.
    taken.save_strip(strip, [0.05 * end, 0.3 * end, 0.6 * end, end], columns=2)
    gif = taken.save_gif(out / f"{name}.gif", speed=2.0)
    at_rest = int(np.count_nonzero(scene.stepper.movers.state == MoverState.IDLE))
    return (
        f"{name}: {at_rest} of {len(scene.stepper.movers)} at rest after {end:.1f} s, "
        f"GIF {gif:,} bytes, PNG {strip.stat().st_size:,} bytes"
    )


def main(arguments: list[str] | None = None) -> int:
    """Draw all scenes, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", help=f"among {', '.join(SCENES)}; default: all")
    parser.add_argument("--out", type=Path, default=IMAGES, help="folder to write to")
    options = parser.parse_args(arguments)
    unknown = set(options.scenes) - set(SCENES)
    if unknown:
        parser.error(f"no such scene: {', '.join(sorted(unknown))}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.scenes or SCENES:
        print(draw(options.out, name, SCENES[name]()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
