"""The parts of a page: each gives its HTML."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import ClassVar, Protocol, runtime_checkable


class Part(Protocol):
    """Anything that can stand on a page."""

    def html(self) -> str:
        """Return the part's HTML."""


@runtime_checkable
class LivePart(Part, Protocol):
    """A part that answers: it needs scripts, and may need a style sheet of its own.

    Attributes
    ----------
    scripts, styles : tuple of str
        Files of ``live`` without their endings, in the order of the page; the last script begins.
    """

    scripts: ClassVar[tuple[str, ...]]
    styles: ClassVar[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that begins a section."""

    text: str

    def html(self) -> str:
        """Return the heading."""
        return f"<h2>{escape(self.text)}</h2>"


@dataclass(frozen=True, slots=True)
class Subheading:
    """A heading within a section."""

    text: str

    def html(self) -> str:
        """Return the heading."""
        return f'<h3 class="part">{escape(self.text)}</h3>'


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a quiet one is for what only some readers need."""

    text: str
    quiet: bool = False

    def html(self) -> str:
        """Return the paragraph."""
        kind = ' class="quiet"' if self.quiet else ""
        return f"<p{kind}>{as_html(self.text)}</p>"


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts that open on a click."""

    summary: str
    parts: Sequence[Part]
    opened: bool = False

    def html(self) -> str:
        """Return them under their summary."""
        inner = "\n".join(part.html() for part in self.parts)
        kind = " open" if self.opened else ""
        return f"<details{kind}><summary>{as_html(self.summary)}</summary>\n{inner}</details>"


@dataclass(frozen=True, slots=True)
class Beside:
    """Parts beside each other where the screen is wide enough; all answer by the same scripts."""

    parts: Sequence[LivePart]

    @property
    def scripts(self) -> tuple[str, ...]:
        """Those of the parts."""
        return self.parts[0].scripts

    @property
    def styles(self) -> tuple[str, ...]:
        """Those of the parts."""
        return self.parts[0].styles

    def html(self) -> str:
        """Return them in a grid."""
        inner = "\n".join(part.html() for part in self.parts)
        return f'<div class="beside">{inner}</div>'


class Html(str):
    """Text that is HTML already; all other text on a page is escaped."""

    __slots__ = ()


def as_html(text: str) -> str:
    """Return text as it stands on a page."""
    return text if isinstance(text, Html) else escape(text)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head and how its cells are set (``left``, ``right``, ``wide``)."""

    head: str
    setting: str = "left"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text, or of HTML where a cell says that it is that."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    def html(self) -> str:
        """Return the table, in a box of its own that scrolls on narrow screens."""
        heads = "".join(
            f'<th scope="col" class="{column.setting}">{escape(column.head)}</th>'
            for column in self.columns
        )
        rows = "".join(f"<tr>{self._cells(row)}</tr>\n" for row in self.rows)
        return (
            f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>\n'
            f"<tbody>{rows}</tbody></table></div>"
        )

    def _cells(self, row: Sequence[str]) -> str:
        return "".join(
            f'<td class="{column.setting}">{as_html(cell)}</td>'
            for column, cell in zip(self.columns, row, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that travels inside the page."""

    png: bytes
    description: str
    caption: str

    def html(self) -> str:
        """Return the picture with its caption."""
        return (
            f"<figure>{picture_html(self.png, self.description)}"
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


def picture_html(png: bytes, description: str) -> str:
    """Return a picture that travels inside the page."""
    data = base64.b64encode(png).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{escape(description)}">'
