"""Words in braces that a site writes into its launcher and its requests: ``{ranks}``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hindmost.errors import UsageError

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def fill(text: str, values: Mapping[str, int], *, where: str) -> str:
    """Put numbers in the place of their names.

    Parameters
    ----------
    text : str
    values : mapping of str to int
    where : str
        What the text is, for the message: ``launch_template of machine 'archer'``.

    Raises
    ------
    UsageError
        A name in braces is none of those that have a value.
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            choices = ", ".join(f"{{{name}}}" for name in values)
            raise UsageError(f"Unknown {found[0]} in {where}; choose from: {choices}.")
        return str(values[found[1]])

    return _PLACEHOLDER.sub(value, text)
