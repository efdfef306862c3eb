"""The report as one HTML page that needs nothing else: no script, no font, no server."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Page", "histogram", "sparkline"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2433; --paper: #faf8f3; --line: #d8d3c6;
        --bar: #5b7fa6; --warn: #b3303f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e0; --paper: #1b1e27; --line: #3a3f4d; --bar: #86aad0; --warn: #ff8a94; } }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.2rem 4rem; background: var(--paper);
       color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 .2rem; font-size: 1.7rem; } h2 { margin: 2.6rem 0 .6rem; font-size: 1.2rem; }
p { max-width: 46rem; } .sub { opacity: .75; margin-top: 0; } .warn { color: var(--warn); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .8rem; }
.tile { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .9rem; }
.tile b { display: block; font-size: 1.5rem; } .tile span { opacity: .75; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .9rem .25rem 0; text-align: left; }
td.n, th.n { text-align: right; } .wide { overflow-x: auto; }
img { max-width: 100%; border: 1px solid var(--line); border-radius: .4rem; }
svg { max-width: 100%; height: auto; } svg rect { fill: var(--bar); }
svg path { fill: none; stroke: var(--bar); stroke-width: 1.5; }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
figcaption { opacity: .75; font-size: .9rem; } figure { margin: 0; }
"""


class Page:
    """A page that is filled from top to bottom.

    Parameters
    ----------
    title, subtitle : str
        Plain text, as all texts given to its methods.
    """

    def __init__(self, title: str, subtitle: str) -> None:
        self._parts = [f"<h1>{escape(title)}</h1>", f'<p class="sub">{escape(subtitle)}</p>']
        self._title = title

    def heading(self, text: str, explanation: str = "") -> None:
        """Begin a section.

        Parameters
        ----------
        text : str
            Its name.
        explanation : str
            What it shows and how to read it.
        """
        self._parts.append(f"<h2>{escape(text)}</h2>")
        if explanation:
            self.paragraph(explanation)

    def paragraph(self, text: str, *, warns: bool = False) -> None:
        """Add a paragraph.

        Parameters
        ----------
        text : str
            Plain text.
        warns : bool
            Whether it stands out.
        """
        self._parts.append(f"<p{' class=warn' if warns else ''}>{escape(text)}</p>")

    def tiles(self, values: Iterable[tuple[str, str]]) -> None:
        """Add figures side by side.

        Parameters
        ----------
        values : iterable of (str, str)
            Name and value of each.
        """
        tiles = (
            f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
            for name, value in values
        )
        self._parts.append(f'<div class="tiles">{"".join(tiles)}</div>')

    def table(self, columns: Sequence[str], values: Iterable[Sequence[object]]) -> None:
        """Add a table.

        Parameters
        ----------
        columns : sequence of str
            Headings.
        values : iterable of sequences
            Cells row by row; numbers are set to the right.
        """
        table = [list(row) for row in values]
        is_number = [
            bool(table) and all(isinstance(row[i], (int, float)) for row in table)
            for i in range(len(columns))
        ]
        sides = [" class=n" if number else "" for number in is_number]
        head = "".join(f"<th{s}>{escape(c)}</th>" for s, c in zip(sides, columns, strict=True))
        rows = (
            "".join(f"<td{s}>{_shown(v)}</td>" for s, v in zip(sides, row, strict=True))
            for row in table
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        self._parts.append(f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>')

    def picture(self, png: bytes, caption: str) -> None:
        """Add a picture, which becomes part of the page.

        Parameters
        ----------
        png : bytes
            A PNG file.
        caption : str
            What it shows, also for those who do not see it.
        """
        data = base64.b64encode(png).decode()
        self._parts.append(
            f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def drawing(self, svg: str, caption: str) -> None:
        """Add a drawing that this module has made.

        Parameters
        ----------
        svg : str
            From `histogram` or `sparkline`.
        caption : str
            What it shows.
        """
        self._parts.append(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>")

    def html(self) -> str:
        """Return the whole page.

        Returns
        -------
        str
            HTML 5.
        """
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self._title)}</title><style>{_STYLE}</style></head>"
            f"<body>{chr(10).join(self._parts)}</body></html>\n"
        )


def _shown(value: object) -> str:
    if isinstance(value, float):
        if np.isnan(value):
            return "no cell"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


def histogram(values: ArrayLike, unit: str, *, bins: int = 40) -> str:
    """Draw how values are spread, the farthest hundredth left out on the right.

    Parameters
    ----------
    values : array-like of float, shape (n,)
        At least one.
    unit : str
        Stands behind the numbers of the axis.
    bins : int
        Bars.

    Returns
    -------
    str
        SVG.
    """
    given = np.asarray(values, np.float64)
    low, high = float(given.min()), float(np.percentile(given, 99))
    counts, _ = np.histogram(given, bins, (low, high if high > low else low + 1.0))
    width, height, most = 640, 160, max(int(counts.max()), 1)
    step = width / bins
    bars = "".join(
        f'<rect x="{i * step + 1:.1f}" y="{height - 130 * n / most:.1f}" '
        f'width="{step - 2:.1f}" height="{130 * n / most:.1f}"/>'
        for i, n in enumerate(counts.tolist())
    )
    ticks = "".join(
        f'<text x="{share * width:.0f}" y="{height + 14}" text-anchor="{anchor}">'
        f"{low + share * (max(high, low) - low):.3g} {escape(unit)}</text>"
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    )
    return (
        f'<svg viewBox="0 0 {width} {height + 20}" width="{width}" role="img">{bars}{ticks}'
        f'<text x="0" y="12">{most:,} at most</text></svg>'
    )


def sparkline(values: ArrayLike, unit: str) -> str:
    """Draw values in their order; of many, the greatest of each stretch.

    Parameters
    ----------
    values : array-like of float, shape (n,)
        At least one.
    unit : str
        Stands behind the greatest.

    Returns
    -------
    str
        SVG.
    """
    given = np.asarray(values, np.float64)
    firsts = np.unique(np.linspace(0, given.size, 640, endpoint=False).astype(np.int64))
    peaks = np.maximum.reduceat(given, firsts)
    width, height, most = 640, 100, float(peaks.max()) or 1.0
    x = np.linspace(0, width, len(peaks)) if len(peaks) > 1 else np.array([0.0])
    y = height - 80 * peaks / most
    line = " L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img"><path d="M{line}"/>'
        f'<text x="0" y="12">{most:.3g} {escape(unit)} at most</text></svg>'
    )
