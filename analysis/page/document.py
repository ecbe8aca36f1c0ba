"""Put parts together into one page and write it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from hindmost.analysis.page.parts import Part
from hindmost.errors import UsageError

STYLE = Path(__file__).with_name("page.css")


def document(title: str, subtitle: str, parts: Sequence[Part]) -> str:
    """Return the HTML of a page."""
    body = "\n".join(part.html() for part in parts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>
{STYLE.read_text()}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="quiet">{escape(subtitle)}</p>
{body}
</body>
</html>
"""


def write_page(path: Path, html: str) -> Path:
    """Write a page, whole or not at all; what is no page is never replaced by one."""
    if path.suffix == ".h5":
        raise UsageError(
            f"--out {path}: the name of a run file; a page is HTML, as in report.html."
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
            f"{path} cannot be written: {error.strerror}; choose another place with --out."
        ) from error
    return path
