"""HTML from templates: all text in it is escaped, and its unprintable characters are shown."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hindmost.analysis.show import phrases
from hindmost.printable import printable
from hindmost.text import percent, seconds, unbroken

if TYPE_CHECKING:
    from jinja2 import Environment

ROOT = Path(__file__).resolve().parent.parent
"""The folder of `hindmost.analysis`: each topic keeps its templates next to its code."""


def rendered(template: str, macro: str, *args: Any, **named: Any) -> Markup:
    """Return what a macro makes of values.

    Parameters
    ----------
    template : str
        A file below `ROOT`, as in ``show/parts.html``.
    macro : str
    *args, **named
        Its arguments. Only `markupsafe.Markup`, which templates return, is taken as HTML.
    """
    made: Markup = getattr(module_of(template), macro)(*args, **named)
    return made


@cache
def environment() -> Environment:
    """Return the one environment of all templates."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # verbs without pages

    made = Environment(
        loader=FileSystemLoader(ROOT),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    made.filters |= {
        "percent": percent,
        "seconds": seconds,
        "amount": phrases.amount,
        "share": phrases.share,
        "share_interval": phrases.share_interval,
        "sentences": phrases.text,
    }
    made.globals |= {"kind_of": lambda part: type(part).__name__}
    return made


@cache
def module_of(template: str) -> Any:
    """Return the macros of a template."""
    return environment().get_template(template).module


def shown(value: Any) -> Any:
    """Return a value as a page shows it: names from files are hostile, units stay at numbers."""
    return value if isinstance(value, Markup) else unbroken(printable(str(value)))
