"""Names with the wildcards ``*`` and ``?``: what they match, and what is near them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

ANY = "*"
NEAREST = 3


def fits(pattern: str, name: str) -> bool:
    """Tell whether a pattern matches a name; a name with wildcards also matches itself."""
    return pattern == name or fnmatchcase(name, pattern)


def suggested(pattern: str, names: Sequence[str]) -> str:
    """Return the names nearest to an unknown one."""
    near = get_close_matches(pattern.replace(ANY, "").lower(), names, NEAREST, 0.0)
    left = len(names) - len(near)
    return f"The nearest are: {', '.join(map(repr, near))}{f'; and {left} more' if left else ''}."
