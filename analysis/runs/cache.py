"""Results that are cached next to run files, under the checksum of the run.

They lie in a folder ``.hindmost`` next to the run files. A cached result is valid while the run,
the question and the source that shapes the result are the same, and if this user's hindmost wrote
it (`hindmost.seal`): a result that was edited, or that a colleague cached, is computed again. A
cache that cannot be read or written is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy

import hindmost.analysis
import hindmost.harness.runfile
import hindmost.models
from hindmost.files import read_regular, write_atomically
from hindmost.harness.runfile.reader import Run
from hindmost.seal import sealed, unsealed

FOLDER = ".hindmost"
DIGITS = 24
NOT_A_RESULT = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""What reading a result raises where the JSON is of another kind."""

Result = TypeVar("Result")


def cached(
    run: Run,
    what: str,
    asked: dict[str, Any],
    *,
    compute: Callable[[], Result],
    to_json: Callable[[Result], dict[str, Any]],
    from_json: Callable[[dict[str, Any]], Result],
) -> Result:
    """Return a cached result, or compute and cache it.

    Parameters
    ----------
    what : str
        A word for the kind of result, part of the file's name.
    asked : dict
        Everything that the result depends on besides the run.
    compute : callable
        Gives the result.
    to_json, from_json : callable
        Turn the result into a JSON object, and the object into the result.
    """
    values = read_cached(run, what, asked)
    if values is not None:
        with suppress(*NOT_A_RESULT):
            return from_json(values)
    result = compute()
    identity = identity_of(run, what, asked)
    with suppress(OSError):
        blob = sealed(identity, json.dumps(to_json(result)).encode())
        if blob is not None:
            path = cache_file(run, what, identity)
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, blob)
    return result


def read_cached(run: Run, what: str, asked: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON object of a cached result; None if there is none that can be trusted."""
    identity = identity_of(run, what, asked)
    with suppress(OSError, ValueError):
        data = unsealed(identity, read_regular(cache_file(run, what, identity)))
        values = None if data is None else json.loads(data)
        return values if isinstance(values, dict) else None
    return None


def is_cached(run: Run, what: str, asked: dict[str, Any]) -> bool:
    """Tell whether a result is cached."""
    return read_cached(run, what, asked) is not None


def identity_of(run: Run, what: str, asked: dict[str, Any]) -> str:
    """Return everything that a result depends on."""
    return json.dumps([what, run.checksum, asked, source_checksum()], sort_keys=True)


def cache_file(run: Run, what: str, identity: str) -> Path:
    """Return the file of a result."""
    name = hashlib.sha256(identity.encode()).hexdigest()[:DIGITS]
    return run.path.parent / FOLDER / f"{what}-{name}.sealed"


@cache
def source_checksum() -> str:
    """Return a checksum of the source and the libraries that shape results."""
    total = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    for path in result_sources():
        total.update(path.read_bytes())
    return total.hexdigest()


def result_sources() -> Iterator[Path]:
    """Yield every source file that shapes results: the models, what reads runs, and their ground.

    Run files are read by ``harness/runfile``: it decides which times the models are fitted to.
    """
    rooms = (hindmost.models, hindmost.analysis, hindmost.harness.runfile)
    for folder in (folder for room in rooms for folder in room.__path__):
        yield from sorted(Path(folder).rglob("*.py"))
    for folder in (*hindmost.harness.__path__, *hindmost.__path__):
        yield from sorted(Path(folder).glob("*.py"))
