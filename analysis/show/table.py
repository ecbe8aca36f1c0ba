"""A table as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["left", "right", "name", "short", "wide"]
LEFT: Kind = "left"
RIGHT: Kind = "right"
"""Of numbers, so that their units stand below each other."""
NAME: Kind = "name"
"""Of names, which are cut in the middle where a terminal is narrow."""
SHORT: Kind = "short"
"""Of dates, which stay on one line of a page."""
WIDE: Kind = "wide"
"""Of sentences, which break into lines on a page."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, and how its cells are set."""

    head: str
    kind: Kind = LEFT


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of text.

    ``terminal.print_table`` renders it on a terminal and in a pipe, ``terminal.plain_lines`` as
    plain text, and ``html_renderer.table_html`` on a page.

    Attributes
    ----------
    columns : sequence of Column
    rows : sequence of sequences of str
        A cell per column. On a page a cell may be `page.Html`.
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
