"""A page and its parts as values; `html_renderer` renders them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from hindmost.analysis.show.table import Table

SHARED = Path(__file__).parent / "live"


def shared_scripts(*names: str) -> tuple[Path, ...]:
    """Return scripts that pages of several topics use, by their names."""
    return tuple(SHARED / f"{name}.js" for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget:
    """What only a page can show: HTML that scripts fill or make interactive.

    Attributes
    ----------
    html : Markup
    scripts, styles : tuple of Path
        What it needs, in the order of the page; the last script starts the others.
    anchor : str
        Its id on the page, if it has one.
    name : str
        By which other parts refer to it; may be empty.
    heading : str
        By which contents list it; may be empty.
    begins : str
        What the section is called that it begins, as its HTML is one; may be empty.
    inner : sequence of Widget
        Those that stand within its HTML.
    """

    html: Markup
    anchor: str = ""
    name: str = ""
    heading: str = ""
    begins: str = ""
    scripts: tuple[Path, ...] = ()
    styles: tuple[Path, ...] = ()
    inner: Sequence[Widget] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that begins a section.

    Attributes
    ----------
    text : str
    anchor : str
        The id of the section; by default its number.
    short : str
        What it is called in the contents; by default the text.
    facets : mapping of str to str
        What the section can be filtered by.
    """

    text: str
    anchor: str = ""
    short: str = ""
    facets: Mapping[str, str] = field(default_factory=dict)


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


Part = Heading | Subheading | Paragraph | Caution | Folded | Table | Widget
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
    headed : bool
        Whether its first part has the main heading, so that the title is a line above it.
    """

    title: str
    subtitle: str
    parts: Sequence[Part]
    served: bool = False
    headed: bool = False
