"""Tables on a terminal, in a pipe and in plain text."""

from __future__ import annotations

import shutil
import textwrap

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from hindmost.analysis.show.table import NAME, RIGHT, WIDE, WIDTH, Table
from hindmost.output import is_terminal, write_lines
from hindmost.printable import one_line

SHORTEST_NAME, NARROWEST = 24, 40
GAP = 2
"""Letters between two columns."""
CUT = "…"


class PlainConsole(Console):
    """A console that does not interpret markup, and leaves a broken pipe to the command."""

    def on_broken_pipe(self) -> None:
        """Raise the exception: rich would end the process with status 1."""
        raise BrokenPipeError


def new_console(width: int | None = None) -> Console:
    """Make the console for all output of rich."""
    return PlainConsole(width=width, highlight=False, markup=False, emoji=False)


def table_width() -> int:
    """Return how wide the terminal is, in letters."""
    return shutil.get_terminal_size().columns


def print_table(table: Table) -> None:
    """Print a table; outside a terminal no column is cut."""
    if not is_terminal():
        write_lines(*plain_lines(table))
        return
    width = table_width()
    console = new_console(width)
    for line in table.title:
        console.print(Text(one_line(line), style="bold"))
    for line in (*row_lines(table, width), *note_lines(table, width)):
        console.print(Text(line), soft_wrap=True)


def plain_lines(table: Table) -> list[str]:
    """Return the lines of a table for a pipe or a mail: nothing is cut."""
    return [*map(one_line, table.title), *row_lines(table), *note_lines(table)]


def row_lines(table: Table, width: int | None = None) -> list[str]:
    """Return the line of the heads and the line of every row.

    Where the lines are wider than ``width``, a last column of sentences follows below each row, and
    names are cut in the middle; they keep `SHORTEST_NAME` letters, and other cells all of theirs.
    """
    rows = [[one_line(column.head) for column in table.columns]]
    rows += [[one_line(cell) for cell in row] for row in table.rows]
    widths = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    excess = 0 if width is None else sum(widths) + GAP * (len(widths) - 1) - width
    below: list[str] = []
    if width is not None and excess > 0 and table.columns[-1].kind == WIDE:
        below = [row.pop() for row in rows]
        excess -= widths.pop() + GAP
    for at, column in enumerate(table.columns):
        if column.kind == NAME and excess > 0:
            room = max(widths[at] - excess, min(SHORTEST_NAME, widths[at]))
            excess -= widths[at] - room
            widths[at] = room
            for row in rows:
                row[at] = cut_middle(row[at], room)
    lines = []
    for number, row in enumerate(rows):
        cells = []
        for cell, column, room in zip(row, table.columns, widths, strict=False):
            blank = " " * (room - cell_len(cell))
            cells.append(blank + cell if column.kind == RIGHT else cell + blank)
        lines.append((" " * GAP).join(cells).rstrip())
        if below and number:
            room = max(width or 0, NARROWEST)
            lines += textwrap.wrap(
                below[number], room, initial_indent="    ", subsequent_indent="      "
            )
    return lines


def note_lines(table: Table, width: int | None = None) -> list[str]:
    """Return the notes below a table, broken into lines."""
    room = min(width or WIDTH, WIDTH)
    return [line for note in table.notes for line in textwrap.wrap(one_line(note), room)]


def cut_middle(text: str, room: int) -> str:
    """Cut a text in the middle to a width in letters, so that both ends stay visible.

    Wide letters count as two.
    """
    if cell_len(text) <= room:
        return text
    half = (room - 1) // 2
    begin = set_cell_size(text, room - 1 - half).rstrip()
    end = ""
    for letter in reversed(text):
        if cell_len(letter + end) > half:
            break
        end = letter + end
    return f"{begin}{CUT}{end.lstrip()}"
