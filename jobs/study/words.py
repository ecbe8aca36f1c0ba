"""Words of commands with names in braces; a word stays one word, whatever is put in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hindmost.jobs.plan.plan import Value

NAMED = re.compile(r"\{([^{}]*)\}")
"""A name in braces."""
OUT = "out"
"""Stands for the folder of the run's files until the run is begun."""


def fill(word: str, values: Mapping[str, Value]) -> str:
    """Put values in for names; ``{out}`` stays. One pass: what is put in is not looked at."""
    return NAMED.sub(lambda found: text(values[found[1]]) if found[1] != OUT else found[0], word)


def text(value: Value) -> str:
    """Write a value as a command takes it: true and false in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)
