"""Tables on a terminal, in a pipe and in plain text, all laid out by rich."""

from __future__ import annotations

import io
import textwrap

from rich.console import Console
from rich.table import Table as Layout
from rich.text import Text

from hindmost.analysis.show.table import RIGHT, WIDTH, Table
from hindmost.output import is_terminal, write_lines
from hindmost.printable import one_line

GAP = 2
"""Letters between two columns."""
UNLIMITED = 1 << 20
"""Width of a pipe, in letters."""


class PlainConsole(Console):
    """A console that does not interpret markup, and leaves a broken pipe to the command."""

    def on_broken_pipe(self) -> None:
        """Raise the exception: rich would end the process with status 1."""
        raise BrokenPipeError


def new_console(sink: io.StringIO | None = None) -> Console:
    """Make the console for all output of rich; one that writes to a sink is as wide as a pipe."""
    width = None if sink is None else UNLIMITED
    return PlainConsole(file=sink, width=width, highlight=False, markup=False, emoji=False)


def print_table(table: Table) -> None:
    """Print a table; a terminal breaks cells that have no room, a pipe none."""
    if not is_terminal():
        write_lines(*plain_lines(table))
        return
    console = new_console()
    for line in table.title:
        console.print(Text(one_line(line), style="bold"))
    console.print(layout(table, whole=False))
    for line in note_lines(table):
        console.print(Text(line))


def plain_lines(table: Table) -> list[str]:
    """Return the lines of a table for a pipe or a mail: nothing is broken or cut."""
    sink = io.StringIO()
    new_console(sink).print(layout(table, whole=True))
    rows = [line.rstrip() for line in sink.getvalue().splitlines()]
    return [*map(one_line, table.title), *rows, *note_lines(table)]


def layout(table: Table, *, whole: bool) -> Layout:
    """Return a table as rich lays it out: without rules, numbers below each other.

    Parameters
    ----------
    whole : bool
        Whether no cell is broken.
    """
    made = Layout(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for column in table.columns:
        made.add_column(
            Text(one_line(column.head)),
            justify="right" if column.kind == RIGHT else "left",
            overflow="fold",
            no_wrap=whole,
        )
    for row in table.rows:
        made.add_row(*(Text(one_line(cell)) for cell in row))
    return made


def note_lines(table: Table) -> list[str]:
    """Return the notes below a table, broken into lines."""
    return [line for note in table.notes for line in textwrap.wrap(one_line(note), WIDTH)]
