"""Decks as TOML text: read with every field checked, and written."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.harness.adaptive.decks.deck import Deck

KINDS = {
    "str": ("text in quotes", (str,)),
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "bool": ("true or false", (bool,)),
}
"""By the name of a field's type: what is allowed, in words and as Python's types."""


def parse_deck(text: str, source: str) -> Deck:
    """Read a deck.

    Parameters
    ----------
    text : str
    source : str
        What messages call the text: its file.

    Raises
    ------
    UsageError
        The text is not TOML, a field is unknown, missing, of the wrong kind or out of range.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not a deck in TOML: {error}.") from None
    known = {field.name: str(field.type) for field in fields(Deck)}
    for name, value in given.items():
        where = place(source, text, name)
        if name not in known:
            raise UsageError(f"{where}: Unknown field '{name}'; choose from: {', '.join(known)}.")
        words, kinds = KINDS[known[name]]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise UsageError(f"{where}: {name} = {shown(value)}; {words} is wanted.")
    missing = [
        field.name for field in fields(Deck) if field.default is MISSING and field.name not in given
    ]
    if missing:
        raise UsageError(
            f"{source}: {', '.join(missing)} missing; a deck needs its name, summary, start, "
            "columns, rows, spacing, levels and steps."
        )
    try:
        numbers = {name: float(value) for name, value in given.items() if known[name] == "float"}
    except OverflowError:
        raise UsageError(f"{source}: a number is too large for the machine to hold.") from None
    try:
        return Deck(**(given | numbers))
    except UsageError as error:
        field = str(error).partition(":")[0]
        raise UsageError(f"{place(source, text, field)}: {error}") from None


def read_deck(path: Path) -> Deck:
    """Read a deck from a file; see `parse_deck`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"The deck {path} cannot be read: {reason}.") from None
    return parse_deck(text, str(path))


def write_deck(deck: Deck) -> str:
    """Return a deck as TOML; `parse_deck` reads the same deck from it."""
    lines = [f"{field.name} = {shown(getattr(deck, field.name))}" for field in fields(deck)]
    return "\n".join(lines) + "\n"


def place(source: str, text: str, name: str) -> str:
    """Return the source and, where it can be found, the line that sets a field."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"\s*[\[\"']*{re.escape(name)}[\]\"']*\s*(=|\.|$)", line):
            return f"{source}, line {number}"
    return source


def shown(value: Any) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, float):
        return repr(value)
    # JSON may have the one control character in a text that TOML may not.
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")
