"""Results of runs that are kept under the checksum of the run and of the source."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from hindmost.cache import keep, read_kept, source_checksum
from hindmost.harness.runfile.reader import Run

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
    """Return a kept result, or compute and keep it.

    Parameters
    ----------
    what : str
        A word for the kind of result.
    asked : dict
        Everything that the result depends on besides the run.
    compute : callable
        Gives the result.
    to_json, from_json : callable
        Turn the result into a JSON object, and the object into the result.
    """
    found = read_kept(what, *made_of(run, asked))
    if found is not None:
        with suppress(*NOT_A_RESULT):
            return from_json(json.loads(found))
    result = compute()
    keep(json.dumps(to_json(result)).encode(), what, *made_of(run, asked))
    return result


def is_cached(run: Run, what: str, asked: dict[str, Any]) -> bool:
    """Tell whether a result is kept."""
    return read_kept(what, *made_of(run, asked)) is not None


def made_of(run: Run, asked: dict[str, Any]) -> tuple[str, str, str]:
    """Return everything that a result depends on."""
    return run.checksum, json.dumps(asked, sort_keys=True), source_checksum()
