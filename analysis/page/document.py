"""Put parts together into one page and write it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from hindmost.analysis.figures.palette import DARK_FILLS, DARK_LINES, FILLS, LINES
from hindmost.analysis.page.parts import LivePart, Part
from hindmost.errors import UsageError

STYLE = Path(__file__).with_name("page.css")
LIVE = Path(__file__).parent / "live"


def document(title: str, subtitle: str, parts: Sequence[Part], *, served: bool = False) -> str:
    """Return the HTML of a page.

    It may load nothing from anywhere and run no script but the one that its parts ask for, which
    is named by its hash: whatever else finds its way into the page stays dead. A page that is
    ``served`` may ask its own server.
    """
    body = "\n".join(part.html() for part in parts)
    script, policy = "", ""
    live = [part for part in parts if isinstance(part, LivePart)]
    if live:
        code = live_script(dict.fromkeys(name for part in live for name in part.scripts))
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        script, policy = f"<script>{code}</script>", f"; script-src 'sha256-{digest}'"
        policy += "; connect-src 'self'" if served else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'{policy}">
<title>{escape(title)}</title>
<style>
{colours()}{STYLE.read_text(encoding="utf-8")}{styles(live)}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="quiet">{escape(subtitle)}</p>
{body}
{script}
</body>
</html>
"""


def live_script(names: Iterable[str]) -> str:
    """Return scripts of ``live`` in that order, all in one scope of its own."""
    code = "\n".join((LIVE / f"{name}.js").read_text(encoding="utf-8") for name in names)
    return f'"use strict";\n(() => {{\n{code}}})();\n'


def styles(parts: Iterable[LivePart]) -> str:
    """Return the style sheets of ``live`` that parts ask for."""
    names = dict.fromkeys(name for part in parts for name in part.styles)
    return "".join((LIVE / f"{name}.css").read_text(encoding="utf-8") for name in names)


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
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )


def write_page(path: Path, html: str, option: str = "--out") -> Path:
    """Write a page, whole or not at all; what is no page is never replaced by one.

    Parameters
    ----------
    path : Path
    html : str
    option : str
        By which the place was chosen, for messages.

    Raises
    ------
    UsageError
        It cannot be written there.
    """
    if path.suffix == ".h5":
        raise UsageError(
            f"{option} {path}: the name of a run file; a page is HTML, as in report.html."
        )
    path = path.resolve()
    part = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():  # a device, a pipe: nothing to replace
            path.write_text(html, encoding="utf-8")
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(html, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}; choose another place with {option}."
        ) from error
    return path
