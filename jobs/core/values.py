"""Values of study files: lines of text, words of commands, whole numbers, names in braces."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from hindmost.records import RecordError
from hindmost.text import choose

Scalar = str | int | float | bool
NAMED = re.compile(r"\{([^{}]*)\}")
"""A name in braces."""
ONE_LINE = (
    r"\A[^\x00-\x08\x0a-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    r"\u3000\ud800-\uf8ff\ufeff\ufff0-\uffff]*\Z"
)
"""The lines of scripts: without control characters, and marks that change the direction."""


def plain(value: Scalar) -> Scalar:
    """Return a whole number as an integer, so that 1e6 and 1000000 are one."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def as_words(words: Any) -> Any:
    """Return a list in which numbers are the words that they are on a command line."""
    if not isinstance(words, list):
        return words
    return [str(plain(word)) if type(word) in (int, float) else word for word in words]


def check_names(text: str, allowed: Sequence[str], *path: str | int) -> None:
    """Raise a RecordError if a text has other names in braces than those allowed."""
    for name in NAMED.findall(text):
        if name not in allowed:
            raise RecordError(
                f"{{{name}}} is not known: {choose(allowed, name)}", *path, found=text
            )


Line = Annotated[str, Meta(pattern=ONE_LINE, description="one line of text that can be printed")]
Whole = Annotated[int, Meta(ge=0)]
OUT = "out"
"""Stands for the folder of the run's files until the run starts."""


def fill(text: str, values: Mapping[str, Scalar]) -> str:
    """Replace the names in a text, such as ``{ranks}``, by their values.

    A word stays one word, and names in braces inside a value are not replaced; ``{out}`` stays.
    """
    return NAMED.sub(
        lambda found: found[0] if found[1] == OUT else value_text(values[found[1]]), text
    )


def value_text(value: Scalar) -> str:
    """Write a value as a command line has it: true and false in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
