"""The HTML renderer: pages by templates, in sections, with all scripts and styles inside."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from hindmost.analysis.show.page import (
    Folded,
    Heading,
    Page,
    Part,
    Widget,
    shared_scripts,
)
from hindmost.analysis.show.palette import DARK_FILLS, DARK_LINES, FILLS, LINES
from hindmost.analysis.show.templates import rendered
from hindmost.errors import UsageError
from hindmost.files import write_output

FIRST_SCRIPTS, LAST_SCRIPTS = shared_scripts("address"), shared_scripts("frame")
"""Of every page, before and after those that its parts ask for."""
DARK = "@media screen and (prefers-color-scheme: dark)"
SERIES = "verdicts"
"""The section with a table of all series of a history."""
STYLE = Path(__file__).with_name("page.css")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """A section of a page.

    Attributes
    ----------
    anchor, text : str
        Its id, and its entry in the contents; the first section of a page may have no entry.
    facets : mapping of str to str
        What it can be filtered by.
    headed : bool
        Whether it begins with a heading, and not with a widget that is an element by itself.
    """

    anchor: str
    text: str
    facets: Mapping[str, str] = field(default_factory=dict)
    headed: bool = False
    parts: list[Part] = field(default_factory=list)

    @property
    def entries(self) -> list[tuple[str, str]]:
        """Anchors and names of the charts in the section."""
        return [
            (widget.anchor, widget.heading)
            for widget in widgets_in(self.parts)
            if widget.anchor and widget.heading
        ]

    @property
    def facets_json(self) -> str:
        """What the section can be filtered by, for the script."""
        return json.dumps(dict(self.facets))


def widgets_in(parts: Iterable[Part]) -> Iterator[Widget]:
    """Yield the widgets among parts and within them."""
    for part in parts:
        if isinstance(part, Widget):
            yield part
            yield from widgets_in(part.inner)
        elif isinstance(part, Folded):
            yield from widgets_in(part.parts)


def sections_of(page: Page) -> Iterator[PageSection]:
    """Divide the parts of a page at its headings and at widgets that begin a section."""
    current = PageSection(anchor="", text="")
    for number, part in enumerate(page.parts):
        begun = None
        if isinstance(part, Heading):
            anchor, text = part.anchor or f"section-{number}", part.short or part.text
            begun = PageSection(anchor=anchor, text=text, facets=part.facets, headed=True)
        elif isinstance(part, Widget) and part.begins:
            begun = PageSection(anchor=part.anchor, text=part.begins)
        if begun is not None:
            if current.parts:
                yield current
            current = begun
        current.parts.append(part)
    yield current


def page_html(page: Page) -> str:
    """Return the HTML of a page.

    It may load nothing from anywhere and run no script but that of its frame and parts, which is
    named by its hash: whatever else finds its way into the page stays dead. A page that is
    ``served`` may ask its own server.
    """
    widgets = list(widgets_in(page.parts))
    asked = (path for widget in widgets for path in widget.scripts)
    code = live_script(dict.fromkeys([*FIRST_SCRIPTS, *asked, *LAST_SCRIPTS]))
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"; script-src 'sha256-{digest}'" + ("; connect-src 'self'" if page.served else "")
    style = themed(f"{colours()}{STYLE.read_text(encoding='utf-8')}{styles(widgets)}")
    made = rendered(
        "show/page.html",
        "page",
        page,
        sections=list(sections_of(page)),
        style=Markup(style),
        code=Markup(code),
        policy=Markup(policy),
    )
    return with_places(str(made))


def with_places(html: str) -> str:
    """Return a page whose links to what scripts choose also lead to its chart without scripts.

    ``#chart-4=189`` is iteration 189 in chart 4; ``#machine/case/timer`` is a series.
    """
    named = set(re.findall(r'\bid="([^"]+)"', html))
    chosen: dict[str, list[str]] = {}
    for address in dict.fromkeys(re.findall(r'href="#([^"]+)"', html)):
        base = address.partition("=")[0]
        if address not in named:
            chosen.setdefault(base if base in named else SERIES, []).append(address)
    for base, addresses in chosen.items():
        spans = "".join(f'<span id="{address}"></span>' for address in addresses)
        place = re.search(rf'<[^<>]*\bid="{re.escape(base)}"', html)
        if place is not None:
            at = place.start()
            html = f"{html[:at]}<noscript>{spans}</noscript>{html[at:]}"
    return html


def live_script(paths: Iterable[Path]) -> str:
    """Return scripts in that order, all in one scope."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return f'"use strict";\n(() => {{\n{code}}})();\n'


def styles(widgets: Iterable[Widget]) -> str:
    """Return the style sheets that widgets ask for."""
    paths = dict.fromkeys(path for widget in widgets for path in widget.styles)
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def part_html(part: Part) -> Markup:
    """Return the HTML of a part of a page."""
    return rendered("show/parts.html", "part", part)


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


def colours() -> str:
    """Return the figures' colours as variables of the style sheet, for light and dark pages."""

    def variables(lines: Sequence[str], fills: Sequence[str]) -> str:
        named = {"line": lines, "fill": fills}
        return " ".join(
            f"--{kind}-{number}: {colour};"
            for kind, each in named.items()
            for number, colour in enumerate(each)
        )

    dark = variables(DARK_LINES, DARK_FILLS)
    return (
        f":root {{ color-scheme: light dark; {variables(LINES, FILLS)} }}\n"
        f"{DARK} {{ :root {{ {dark} }} }}\n"
    )


def check_page_name(path: Path, option: str = "--out") -> None:
    """Raise a UsageError for a page that has the name of a run file; ask before the work begins."""
    if path.suffix == ".h5":
        raise UsageError(
            f"{option} {path}: the name of a run file; a page is HTML, as in report.html."
        )


def write_page(path: Path, page: Page, option: str = "--out") -> Path:
    """Write a page, whole or not at all; what is no page is never replaced by one.

    Parameters
    ----------
    path : Path
    page : Page
    option : str
        By which the place was chosen, for messages.

    Raises
    ------
    UsageError
        It cannot be written there.
    """
    check_page_name(path, option)
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_output(path, page_html(page))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}; choose another place with {option}."
        ) from error
    return path
