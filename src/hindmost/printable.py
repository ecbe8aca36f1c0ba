"""Text from files made safe to show: on a terminal, in a command line, in HTML, in a page's JSON.

Terminals and browsers follow control characters and marks that reverse the direction of writing,
the latter also across the end of a name. Every unprintable character is shown as Python escapes it.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from typing import Any

NO_BREAK = "\u00a0"
"""A space at which no line is broken; hindmost's own sentences have it."""
KEPT = f"\n\t{NO_BREAK}"
NOT_ASCII = re.compile(r"[^\x00-\x7e]")


def printable(text: str) -> str:
    """Return text in which every unprintable character is written as Python escapes it.

    Names of hosts, tests and metrics come from other people's files: none of them may move the
    cursor, set a title or reverse the direction of writing. Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in KEPT else ascii(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """Return text as `printable` does, with line ends and tabs escaped as well.

    A line end in a name would start a line that looks like one of hindmost's own.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def cleaned(value: Any) -> Any:
    """Return a value of JSON whose texts are `one_line` each."""
    if isinstance(value, str):
        return one_line(" ".join(value.split()))
    if isinstance(value, list):
        return [cleaned(each) for each in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(each) for key, each in value.items()}
    return value


def _escaped(character: str) -> str:
    """Return a character, escaped if it is not printable."""
    return character if character.isprintable() or character == NO_BREAK else ascii(character)[1:-1]


def shell_word(path: object) -> str:
    """Return a path as a command line that is suggested has it: quoted, and no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def escape(text: str) -> str:
    """Return text as HTML shows it, in an element or in a quoted attribute."""
    return html.escape(printable(text))


def page_json(data: Any, *, allow_nan: bool = True) -> str:
    """Return JSON on one line, in whose strings unprintable characters are shown escaped."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=allow_nan)
    if text.isprintable():
        return text
    return NOT_ASCII.sub(_shown, text)  # json.dumps has escaped the control characters of ASCII


def _shown(found: re.Match[str]) -> str:
    """Return a character as a string of JSON shows it."""
    character = found[0]
    if character.isprintable() or character == NO_BREAK:
        return character
    return ascii(character)[1:-1].replace("\\", "\\\\")
