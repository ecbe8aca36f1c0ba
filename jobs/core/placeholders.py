"""Names in braces: in the commands of a study, and in what a site writes for its launcher."""

from __future__ import annotations

from collections.abc import Mapping

from hindmost.jobs.core.plan import Value
from hindmost.jobs.core.values import NAMED

OUT = "out"
"""Stands for the folder of the run's files until the run starts."""


def fill_word(word: str, values: Mapping[str, Value]) -> str:
    """Replace the names in a word of a command by their values; ``{out}`` stays.

    A word stays one word, and names in braces inside a value are not replaced.
    """
    return NAMED.sub(
        lambda found: value_text(values[found[1]]) if found[1] != OUT else found[0], word
    )


def value_text(value: Value) -> str:
    """Write a value as a command line has it: true and false in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def fill_numbers(text: str, values: Mapping[str, int]) -> str:
    """Replace the names in a text of a site, such as ``{ranks}``, by numbers."""
    return NAMED.sub(lambda found: str(values[found[1]]), text)
