"""Results of runs: kept while a run is open, or under its checksum and that of the source."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from hindmost.cache import keep, read_kept, source_checksum
from hindmost.harness.runfile.reader import Run
from hindmost.output import plain

Result = TypeVar("Result")


def once_a_run(find: Callable[[Run], Result]) -> Callable[[Run], Result]:
    """Let a function find something of a run once, while that is open."""
    known: WeakKeyDictionary[Run, Result] = WeakKeyDictionary()

    @wraps(find)
    def of_run(run: Run) -> Result:
        if run not in known:
            known[run] = find(run)
        return known[run]

    return of_run


def cached(
    run: Run, what: str, asked: dict[str, Any], kind: type[Result], compute: Callable[[], Result]
) -> Result:
    """Return a kept result, or compute and keep it.

    Parameters
    ----------
    what : str
        A word for the kind of result.
    asked : dict
        Everything that the result depends on besides the run.
    kind : type
        A dataclass, whose fields are kept.
    compute : callable
        Gives the result.
    """
    found = read_kept(what, *made_of(run, asked))
    if found is not None:
        with suppress(msgspec.MsgspecError):
            return msgspec.msgpack.decode(found, type=kind)
    result = compute()
    values = {field.name: getattr(result, field.name) for field in fields(kind)}  # type: ignore[arg-type]
    keep(msgspec.msgpack.encode(values, enc_hook=plain), what, *made_of(run, asked))
    return result


def is_cached(run: Run, what: str, asked: dict[str, Any]) -> bool:
    """Tell whether a result is kept."""
    return read_kept(what, *made_of(run, asked)) is not None


def made_of(run: Run, asked: dict[str, Any]) -> tuple[str, str, str]:
    """Return everything that a result depends on."""
    return run.checksum, json.dumps(asked, sort_keys=True), source_checksum()
