"""Parameters in the names of folders, as Extra-P's users write them.

``PREFIX.p4.n10.r1``: a prefix up to the first dot, which may be missing, pairs of a parameter's
name and its value, together or separated by dots or commas, and the number of the repetition, which
may be missing. A value may have a decimal point or comma: ``mm.a1.5b2``, ``mm.x1,5.y2``.
"""

from __future__ import annotations

import re

_LETTER = r"[^\W\d_]"
_PAIR = re.compile(rf"({_LETTER}(?:[^\d.,]*{_LETTER})?)(\d+(?:[.,]\d+)?)[.,]?")
_REPETITION = re.compile(r"\.r\d*$")


def parameters_in(name: str) -> dict[str, float]:
    """Return the parameters that the name of a folder gives; empty if it does not give any."""
    pairs = _REPETITION.sub("", name)
    rest = pairs.partition(".")[2]
    if rest[:1].isalpha():
        pairs = rest
    found: dict[str, float] = {}
    at = 0
    while at < len(pairs):
        match = _PAIR.match(pairs, at)
        if match is None or match[1] in found:
            return {}
        found[match[1]] = float(match[2].replace(",", "."))
        at = match.end()
    return found
