"""Names in braces: in the commands of a study, and in what a site writes for its launcher."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hindmost.errors import UsageError
from hindmost.jobs.core.plan import Value
from hindmost.jobs.core.values import NAMED
from hindmost.text import choose

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


def fill_numbers(text: str, values: Mapping[str, int], *, where: str) -> str:
    """Replace the names in a text of a site, such as ``{ranks}``, by numbers.

    Parameters
    ----------
    text : str
    values : mapping of str to int
    where : str
        What the text is, for the message: ``launch_template of machine 'archer'``.

    Raises
    ------
    UsageError
        A name in braces has no value.
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            choices = [f"{{{name}}}" for name in values]
            raise UsageError(f"Unknown {found[0]} in {where}; {choose(choices)}.")
        return str(values[found[1]])

    return NAMED.sub(value, text)
