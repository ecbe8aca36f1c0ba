"""Stable ids of runs, and the order of blocks."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, MutableSequence
from contextlib import suppress
from typing import Any

from hindmost.jobs.core.plan import Value

DIGITS = 10
"""Of the hash; 10,000 configurations with one head collide in one of 20,000 studies."""
HEAD = 24
"""Characters of the head at most."""
_WHO = ("solver", "deck", "operation", "problem")
"""Names whose values identify a run best for a person."""
_SIZES = {"ranks": "p", "unknowns": "u"}


def run_id(configuration: Mapping[str, Value], block: int) -> str:
    """Return the id of a run, such as ``gmres-p2-u100000-r03-1a2b3c4d5e``.

    It depends on the configuration and on the repeat only: not on what else is swept, on the
    order of names, the seed or the machine.
    """
    text = json.dumps(dict(configuration), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
    return f"{head(configuration)}-r{block:02d}-{digest}"


def head(configuration: Mapping[str, Value]) -> str:
    """Return the part of an id that a person recognizes."""
    texts = [name for name in sorted(configuration) if isinstance(configuration[name], str)]
    named = [name for name in _WHO if name in configuration] + texts
    parts = [slug(str(configuration[named[0]]))[:HEAD]] if named else ["run"]
    parts += [
        f"{letter}{short(configuration[n])}" for n, letter in _SIZES.items() if n in configuration
    ]
    return "-".join(slug(part) or "run" for part in parts)


def short(value: Value) -> str:
    """Write a value of any size for the name of a folder."""
    text = str(value)
    if len(text) > HEAD and not isinstance(value, str):
        with suppress(OverflowError):  # a whole number that is no float
            text = f"{value:g}".replace("+", "")
    return text[:HEAD]


def slug(text: str) -> str:
    """Return a text that is valid in the name of a file."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")


def shuffle(values: MutableSequence[Any], stream: random.Random) -> None:
    """Shuffle in place (Fisher and Yates).

    Python guarantees the same numbers from a seed only for `random.Random.random`; this shuffle
    gives the same order with every version.
    """
    for last in range(len(values) - 1, 0, -1):
        other = int(stream.random() * (last + 1))
        values[last], values[other] = values[other], values[last]
