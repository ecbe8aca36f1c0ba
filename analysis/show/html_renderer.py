"""The HTML renderer: pages, tables and paragraphs."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hindmost.analysis.show.html_frame import (
    DARK,
    FIRST_SCRIPTS,
    LAST_SCRIPTS,
    rail_html,
    sections_html,
    themed,
    widgets_in,
)
from hindmost.analysis.show.page import (
    Caution,
    Folded,
    Heading,
    Html,
    Page,
    Paragraph,
    Part,
    Picture,
    SideBySide,
    Subheading,
    Widget,
)
from hindmost.analysis.show.palette import DARK_FILLS, DARK_LINES, FILLS, LINES
from hindmost.analysis.show.table import Graded, Table
from hindmost.errors import UsageError
from hindmost.files import write_output
from hindmost.printable import escape

SERIES = "verdicts"
"""The section with a table of all series of a history."""
STYLE = Path(__file__).with_name("page.css")


def page_html(page: Page) -> str:
    """Return the HTML of a page.

    It may load nothing from anywhere and run no script but that of its frame and parts, which is
    named by its hash: whatever else finds its way into the page stays dead. A page that is
    ``served`` may ask its own server.
    """
    title = escape(page.title)
    kind = 'p class="eyebrow"' if page.headed else "h1"
    widgets = [widget for part in page.parts for widget in widgets_in(part)]
    asked = (path for each in widgets for path in each.scripts)
    code = live_script(dict.fromkeys([*FIRST_SCRIPTS, *asked, *LAST_SCRIPTS]))
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"; script-src 'sha256-{digest}'"
    policy += "; connect-src 'self'" if page.served else ""
    style = themed(f"{colours()}{STYLE.read_text(encoding='utf-8')}{styles(widgets)}")
    return with_places(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'{policy}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip the contents</a>
{rail_html(page)}
<main id="main">
<{kind}>{title}</{kind[:2].strip()}>
<p class="quiet">{escape(page.subtitle)}</p>
{sections_html(page, part_html)}
</main>
<script>{code}</script>
</body>
</html>
""")


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
        spans = "".join(f'<span id="{each}"></span>' for each in addresses)
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
    paths = dict.fromkeys(path for each in widgets for path in each.styles)
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def part_html(part: Part) -> str:
    """Return the HTML of a part of a page."""
    match part:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Subheading(text):
            return f'<h3 class="part">{escape(text)}</h3>'
        case Paragraph(text, quiet):
            kind = ' class="quiet"' if quiet else ""
            return f"<p{kind}>{as_html(text)}</p>"
        case Caution(text):
            return f'<p class="caution">{escape(text)}</p>'
        case Folded(summary, parts, opened):
            inner = "\n".join(map(part_html, parts))
            kind = " open" if opened else ""
            return f"<details{kind}><summary>{as_html(summary)}</summary>\n{inner}</details>"
        case Picture(png, description, caption):
            return (
                f"<figure>{picture_html(png, description)}"
                f"<figcaption>{escape(caption)}</figcaption></figure>"
            )
        case Table():
            return table_html(part)
        case SideBySide(parts):
            inner = "\n".join(map(part_html, parts))
            return f'<div class="beside">{inner}</div>'
        case Widget():
            return part.html


def as_html(text: str) -> str:
    """Return text as it stands on a page."""
    return text if isinstance(text, Html) else escape(text)


def table_html(table: Table) -> str:
    """Return a table in a box that scrolls on narrow screens, with its notes below it."""
    caption = "<br>".join(map(escape, table.title))
    heads = "".join(
        f'<th scope="col" class="{column.kind}">{escape(column.head)}</th>'
        for column in table.columns
    )
    rows = "".join(f"<tr>{row_html(table, row)}</tr>\n" for row in table.rows)
    return (
        f'<div class="scroll"><table>{f"<caption>{caption}</caption>" if caption else ""}'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
        + "".join(f'\n<p class="quiet">{as_html(note)}</p>' for note in table.notes)
    )


def row_html(table: Table, row: Sequence[str]) -> str:
    """Return the cells of a row."""
    return "".join(
        f'<td class="{column.kind}">{cell_html(cell)}</td>'
        for column, cell in zip(table.columns, row, strict=True)
    )


def cell_html(cell: str) -> str:
    """Return a cell: a grade as a colour with its mark, leading spaces as a level."""
    if isinstance(cell, Graded):
        mark = f'<span class="mark">{escape(cell.mark)}</span>' if cell.mark.strip() else ""
        value = escape(cell.removesuffix(cell.mark))
        return f'<span class="grade {cell.grade}">{value}{mark}</span>'
    level = (len(cell) - len(cell.lstrip(" "))) // 2
    return (
        f'<span class="level-{level}">{as_html(cell.lstrip())}</span>' if level else as_html(cell)
    )


def picture_html(png: bytes, description: str) -> str:
    """Return a picture that travels inside the page."""
    data = base64.b64encode(png).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{escape(description)}">'


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
