"""The frame of every page: its parts in sections, and a rail with contents, filters and colours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hindmost.analysis.show.page import Heading, Page, Part, SideBySide, Widget, shared_scripts
from hindmost.printable import escape

FIRST_SCRIPTS, LAST_SCRIPTS = shared_scripts("address"), shared_scripts("frame")
"""Of every page, before and after those that its parts ask for."""
KEYS = (
    ("j k", "next, previous section"),
    ("c", "contents"),
    ("f", "filters"),
    ("o", "order of ranks in maps"),
    ("t", "light, dark"),
)
THEMES = (("", "as the system"), ("light", "light"), ("dark", "dark"))
DARK = "@media screen and (prefers-color-scheme: dark)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """A section of a page.

    Attributes
    ----------
    anchor, text : str
        Its id, and its entry in the contents; the first section of a page may have no entry.
    facets : mapping of str to str
        What it can be filtered by.
    entries : list of (str, str)
        Anchors and names of its charts.
    """

    anchor: str
    text: str
    facets: Mapping[str, str]
    parts: list[Part] = field(default_factory=list)

    @property
    def entries(self) -> list[tuple[str, str]]:
        """Anchors and names of the charts in the section."""
        return [
            (each.anchor, each.heading)
            for part in self.parts
            for each in widgets_in(part)
            if each.anchor and each.heading
        ]


def widgets_in(part: Part) -> Sequence[Widget]:
    """Return the widgets that a part is or contains."""
    if isinstance(part, SideBySide):
        return part.parts
    return [part] if isinstance(part, Widget) else []


def sections_of(page: Page) -> Iterator[PageSection]:
    """Divide the parts of a page at its headings and at widgets that begin a section."""
    current = PageSection(anchor="", text="", facets={})
    for number, part in enumerate(page.parts):
        begins = isinstance(part, Heading) or (isinstance(part, Widget) and part.begins)
        if begins:
            if current.parts:
                yield current
            current = begun(part, number)
        current.parts.append(part)
    yield current


def begun(part: Part, number: int) -> PageSection:
    """Return the section that a part begins."""
    if isinstance(part, Heading):
        return PageSection(
            anchor=part.anchor or f"section-{number}",
            text=part.short or part.text,
            facets=part.facets,
        )
    assert isinstance(part, Widget)
    return PageSection(anchor=part.anchor, text=part.begins, facets={})


def sections_html(page: Page, render: Callable[[Part], str]) -> str:
    """Return all sections of a page; those that a widget begins have their own element."""
    return "\n".join(section_html(each, render) for each in sections_of(page))


def section_html(section: PageSection, render: Callable[[Part], str]) -> str:
    """Return one section."""
    inner = "\n".join(map(render, section.parts))
    if not section.parts or not isinstance(section.parts[0], Heading):
        return inner
    facets = f' data-facets="{escape(json.dumps(dict(section.facets)))}"' if section.facets else ""
    return f'<section id="{escape(section.anchor)}"{facets}>\n{inner}\n</section>'


def rail_html(page: Page) -> str:
    """Return the rail: contents, filters, colours and keys."""
    entries = "".join(entry_html(each) for each in sections_of(page) if each.text)
    themes = "".join(f'<option value="{value}">{text}</option>' for value, text in THEMES)
    keys = "".join(f"<li><kbd>{key}</kbd> {text}</li>" for key, text in KEYS)
    return (
        '<nav id="rail" aria-label="Contents"><details id="contents" open>'
        f'<summary>Contents</summary><ol>{entries}</ol></details><div id="filters" hidden></div>'
        f'<p class="tools"><label>colours <select id="theme">{themes}</select></label></p>'
        f'<details class="keys"><summary>Keys</summary><ul>{keys}</ul></details></nav>'
    )


def entry_html(section: PageSection) -> str:
    """Return the entry of a section in the contents, with its charts."""
    inner = "".join(
        f'<li><a href="#{escape(anchor)}">{escape(text)}</a></li>'
        for anchor, text in section.entries
    )
    below = f"<ul>{inner}</ul>" if inner else ""
    return f'<li><a href="#{escape(section.anchor)}">{escape(section.text)}</a>{below}</li>'


def themed(css: str) -> str:
    """Return a style sheet whose dark colours can be chosen as well.

    In a block for dark systems, every rule begins with ``:root``.
    """
    pieces = re.split(re.escape(DARK), css)
    made = [pieces[0]]
    for piece in pieces[1:]:
        end = block_end(piece)
        block, rest = piece[:end], piece[end:]
        asked = block.replace(":root", ':root[data-theme="dark"]')
        system = block.replace(":root", ':root:not([data-theme="light"])')
        made += [f"{DARK}{system}\n@media screen{asked}", rest]
    return "".join(made)


def block_end(text: str) -> int:
    """Return where the first block in braces ends."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == "}" and depth == 0:
            return at + 1
    return len(text)
