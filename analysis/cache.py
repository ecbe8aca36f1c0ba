"""Results that are kept beside run files, under the checksum of the run.

A folder ``.hindmost`` beside the run files holds them. A result counts as long as the run, what was
asked and the source of the models are the same; one that cannot be read or written is done without.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import hindmost.analysis
import hindmost.models
from hindmost.harness.runfile.reader import Run

FOLDER = ".hindmost"
DIGITS = 24


def kept(
    run: Run,
    what: str,
    asked: dict[str, Any],
    compute: Callable[[], dict[str, Any]],
    keys: frozenset[str],
) -> dict[str, Any]:
    """Return a result that was kept, or compute and keep it.

    Parameters
    ----------
    what : str
        A word for the kind of result, part of the file's name.
    asked : dict
        All that the result depends on beside the run.
    compute : callable
        Gives the result as a JSON object.
    keys : frozenset of str
        That the object has; one without them is computed anew.
    """
    path = place(run, what, asked)
    with suppress(OSError, ValueError):
        told = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(told, dict) and keys <= told.keys():
            return told
    result = compute()
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(f".{hashlib.sha256(str(run.path).encode()).hexdigest()[:8]}.part")
        part.write_text(json.dumps(result), encoding="utf-8")
        part.replace(path)
    return result


def is_kept(run: Run, what: str, asked: dict[str, Any]) -> bool:
    """Tell whether a result is there."""
    return place(run, what, asked).is_file()


def place(run: Run, what: str, asked: dict[str, Any]) -> Path:
    """Return the file of a result."""
    identity = json.dumps([run.checksum, asked, source_of_models()], sort_keys=True)
    name = hashlib.sha256(identity.encode()).hexdigest()[:DIGITS]
    return run.path.parent / FOLDER / f"{what}-{name}.json"


@cache
def source_of_models() -> str:
    """Return a checksum of all source that results come from: that of other source is another."""
    total = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    for folder in (*hindmost.models.__path__, *hindmost.analysis.__path__):
        for path in sorted(Path(folder).rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()
