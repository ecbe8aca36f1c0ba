"""How tables look on a terminal, and in a pipe."""

from __future__ import annotations

import shutil
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

LEFT = "left"
RIGHT = "right"
PIPE_WIDTH = 200


def new_table(title: str, columns: list[tuple[str, str]]) -> Table:
    """Make a plain table: a title, a rule under the heads, no boxes.

    Parameters
    ----------
    columns : list of (str, str)
        Head and side of every column.
    """
    table = Table(
        title=Text(title), title_justify="left", box=None, pad_edge=False, title_style="bold"
    )
    for head, side in columns:
        table.add_column(head, justify="right" if side == RIGHT else "left", no_wrap=True)
    return table


def table_width() -> int:
    """Return how wide a table may be, in letters."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def print_table(table: Table) -> None:
    """Print a table; outside a terminal no column is ever cut short."""
    console = Console(width=table_width(), highlight=False, soft_wrap=not sys.stdout.isatty())
    console.print(table)


def seconds(value: float) -> str:
    """Write a time in four digits, with the unit that leaves one to three before the point."""
    if value == 0.0:
        return "0 s"
    units = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    unit, size = next((each for each in units if abs(value) >= each[1]), units[-1])
    scaled = value / size
    decimals = 1 if abs(scaled) >= 100 else 2 if abs(scaled) >= 10 else 3
    return f"{scaled:.{decimals}f} {unit}"


def percent(value: float) -> str:
    """Write an error in percent, with its sign."""
    return f"{value:+.1f} %"
