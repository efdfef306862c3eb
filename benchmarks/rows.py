"""What every benchmark prints: rows of figures, as JSON or as a table."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Metrics that find room beside one another in a table of 80 columns.
WIDEST = 3


class Row(NamedTuple):
    """One figure."""

    case: str
    contender: str
    metric: str
    value: float
    unit: str


def say(text: str) -> None:
    """Tell the reader something beside the figures; stdout is for these alone."""
    print(text, file=sys.stderr, flush=True)


def print_rows(title: str, rows: Sequence[Row], as_json: bool) -> None:
    """Print the rows on stdout: an array of objects, or a table for each case."""
    if as_json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
        return
    console = Console()
    console.print(f"[bold]{title}[/bold]")
    for case in unique(row.case for row in rows):
        part = [row for row in rows if row.case == case]
        metrics = {row.metric: row.unit for row in part}
        contenders = unique(row.contender for row in part)
        values = {(row.contender, row.metric): shown(row.value) for row in part}
        if len(contenders) == 1 or len(metrics) > WIDEST:
            table = Table("metric", title=case, title_justify="left")
            for contender in contenders:
                table.add_column(contender, justify="right")
            table.add_column("unit")
            for metric, unit in metrics.items():
                table.add_row(metric, *(values.get((c, metric), "") for c in contenders), unit)
        else:
            table = Table("contender", title=case, title_justify="left")
            for metric, unit in metrics.items():
                table.add_column(f"{metric}\n({unit})", justify="right")
            for contender in contenders:
                table.add_row(contender, *(values.get((contender, m), "") for m in metrics))
        console.print(table)


def unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def shown(value: float) -> str:
    """Return a figure with four digits that count."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
