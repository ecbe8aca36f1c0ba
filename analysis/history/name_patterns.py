"""Names with the wildcards ``*`` and ``?``: what they match, and what is near them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from fnmatch import fnmatchcase

ANY = "*"
NEAREST = 3
ALIKE = 0.6
"""Least similarity of near names, by difflib."""


def fits(pattern: str, name: str) -> bool:
    """Tell whether a pattern matches a name; a name with wildcards also matches itself."""
    return pattern == name or fnmatchcase(name, pattern)


def suggested(pattern: str, names: Sequence[str]) -> str:
    """Return the names nearest to an unknown one, or some of those that exist."""
    word = pattern.replace(ANY, "").replace("?", "").lower()
    ranked = sorted(names, key=lambda name: -likeness(word, name.lower()))
    near = [name for name in ranked[:NEAREST] if likeness(word, name.lower()) >= ALIKE]
    if near:
        return f"The nearest are: {', '.join(map(repr, near))}."
    some = ", ".join(repr(name) for name in names[:NEAREST])
    left = len(names) - NEAREST
    return f"There are: {some}{f' and {left} more' if left > 0 else ''}."


def likeness(word: str, name: str) -> float:
    """Return the similarity of a word to a name or a part of it, from 0 to 1."""
    if not word:
        return 0.0
    if word in name:
        return 1.0
    size = len(word) + 1
    parts = {name, name[:size], name[-size:]}
    return max(SequenceMatcher(None, word, part).ratio() for part in parts)
