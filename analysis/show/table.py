"""A table as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

MAX_LISTED = 20
"""Rows of a table, and lines of a list, that people are shown; the rest is counted."""
LEADING = 3
"""Loops, ranks and kernels that are named first, those that matter most."""
WIDTH = 100
"""Letters of a line of words on a terminal."""
Kind = Literal["left", "right", "name", "short", "wide"]
LEFT: Kind = "left"
RIGHT: Kind = "right"
"""Of numbers, so that their units stand below each other."""
NAME: Kind = "name"
"""Of names, which break anywhere on a page."""
SHORT: Kind = "short"
"""Of dates, which stay on one line of a page."""
WIDE: Kind = "wide"
"""Of sentences, which break into lines on a page."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, and how its cells are set."""

    head: str
    kind: Kind = LEFT


class Graded(str):
    """A cell with a grade: a page shows it as a colour, everything else only as a mark."""

    __slots__ = ("grade", "mark")
    grade: str
    mark: str

    def __new__(cls, text: str, grade: str, mark: str) -> Graded:
        """Return the text with its mark; the grade is a class of the page's style sheet."""
        cell = super().__new__(cls, text + mark)
        cell.grade, cell.mark = grade, mark
        return cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of text.

    ``terminal.print_table`` renders it on a terminal and in a pipe, ``terminal.plain_lines`` as
    plain text, and ``html_renderer.table_html`` on a page.

    Attributes
    ----------
    columns : sequence of Column
    rows : sequence of sequences of str
        A cell per column. A page indents a cell by its leading spaces, two for each level; there a
        cell may also be `markupsafe.Markup`.
    title : tuple of str
        Lines above the heads.
    notes : tuple of str
        Paragraphs below the table: how to read it.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def under(self, *lines: str) -> Table:
        """Return the table with more lines above its title."""
        return replace(self, title=(*lines, *self.title))
