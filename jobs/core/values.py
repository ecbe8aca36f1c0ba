"""Values of study files: lines of text, words of commands, whole numbers and durations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any, Final

from hindmost.records import Rule
from hindmost.text import choose, parse_duration

Scalar = str | int | float | bool
NAMED = re.compile(r"\{([^{}]*)\}")
"""A name in braces."""
PRINTED: Final = "one line of text that can be printed"
"""The lines of scripts."""


def plain(value: Scalar) -> Scalar:
    """Return a whole number as an integer, so that 1e6 and 1000000 are one."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def is_line(text: str) -> bool:
    """Tell whether a text is one line that can be printed."""
    return all(sign.isprintable() or sign == "\t" for sign in text)


def as_word(value: Any) -> Any:
    """Return a number as the word that it is on a command line."""
    return str(plain(value)) if type(value) in (int, float) else value


def as_seconds(value: Any) -> float:
    """Return a duration in seconds; one that was read before is a number."""
    return value if isinstance(value, float) else parse_duration(value)


def with_names(*allowed: str) -> Callable[[Any], Any]:
    """Return a reader of text that may have some names in braces, and no others."""

    def read(value: Any) -> Any:
        for name in NAMED.findall(value) if isinstance(value, str) else ():
            if name not in allowed:
                raise ValueError(f"{{{name}}} is not known: {choose(allowed, name)}")
        return value

    return read


Line = Annotated[str, Rule(holds=is_line, words=PRINTED)]
Word = Annotated[str, Rule(read=as_word, holds=is_line, words=PRINTED)]
Whole = Annotated[int, Rule(read=plain, least=0)]
