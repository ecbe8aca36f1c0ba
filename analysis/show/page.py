"""A page and its parts as values; `html_renderer` renders them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from hindmost.analysis.show.table import Table

SHARED = Path(__file__).parent / "live"


def shared_scripts(*names: str) -> tuple[Path, ...]:
    """Return scripts that pages of several topics use, by their names."""
    return tuple(SHARED / f"{name}.js" for name in names)


class Widget(Protocol):
    """What only a page can show: it gives its HTML itself."""

    def html(self) -> str:
        """Return the widget's HTML."""


@runtime_checkable
class LiveWidget(Widget, Protocol):
    """A widget that answers: it needs scripts, and may need a style sheet.

    Attributes
    ----------
    scripts, styles : tuple of Path
        In the order of the page; the last script starts the others.
    """

    scripts: ClassVar[tuple[Path, ...]]
    styles: ClassVar[tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that begins a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Subheading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a quiet one is for what only some readers need."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Caution:
    """A paragraph that puts the numbers above it in doubt."""

    text: str


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts that open on a click."""

    summary: str
    parts: Sequence[Part]
    opened: bool = False


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Widgets next to each other where the screen is wide enough; all use the same scripts."""

    parts: Sequence[LiveWidget]

    @property
    def scripts(self) -> tuple[Path, ...]:
        """Those of the parts."""
        return self.parts[0].scripts

    @property
    def styles(self) -> tuple[Path, ...]:
        """Those of the parts."""
        return self.parts[0].styles

    def html(self) -> str:
        """Return them in a grid."""
        inner = "\n".join(part.html() for part in self.parts)
        return f'<div class="beside">{inner}</div>'


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that travels inside the page."""

    png: bytes
    description: str
    caption: str


Part = Heading | Subheading | Paragraph | Caution | Folded | Picture | Table | Widget
"""Anything that can stand on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page.

    Attributes
    ----------
    title, subtitle : str
    parts : sequence of Part
    served : bool
        Whether a server sends it, which its scripts may ask for more.
    """

    title: str
    subtitle: str
    parts: Sequence[Part]
    served: bool = False


class Html(str):
    """Text that is HTML already; all other text on a page is escaped."""

    __slots__ = ()
