"""What ``record`` and ``record_ksp`` check before they record: names, parameters, the recorder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hindmost.errors import HindmostError, UsageError
from hindmost.harness.recorder.library import load
from hindmost.harness.runfile.attributes import check_new_name


def checked_name(what: str, name: str) -> str:
    """Return a name that a run file can keep.

    Raises
    ------
    UsageError
        It is empty, too long, or has control characters.
    """
    try:
        check_new_name(what, name)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    return name


def refuse_different(communicator: Any, name: str, parameters: Mapping[str, Any]) -> None:
    """Raise a UsageError on all ranks if name or parameters differ between ranks; collective."""
    mine = {"name": name, **{f"parameters: {key}": value for key, value in parameters.items()}}
    ranks = communicator.allgather({what: repr(value) for what, value in mine.items()})
    for what in dict.fromkeys(what for given in ranks for what in given):
        values = [given.get(what, "not given") for given in ranks]
        other = next((rank for rank, value in enumerate(values) if value != values[0]), None)
        if other is not None:
            raise UsageError(
                f"{what} is {values[0]} on rank 0 and {values[other]} on rank {other}; give the "
                "same value on all ranks."
            )


def checked_parameters(given: Mapping[Any, Any]) -> dict[str, str | int | float | bool]:
    """Return parameters that a run file can keep.

    Numbers of numpy become Python's.

    Raises
    ------
    UsageError
        A name is not a text, or a value is not a text, finite number or bool.
    """
    found: dict[str, str | int | float | bool] = {}
    for name, value in given.items():
        plain = value.item() if isinstance(value, np.generic) else value
        if not isinstance(name, str) or not name:
            raise UsageError(f"parameters: {name!r} is not a name; use a non-empty text.")
        finite = not isinstance(plain, float) or math.isfinite(plain)
        if not isinstance(plain, str | int | float | bool) or not finite:
            raise UsageError(
                f"parameters: {name} is {value!r}; use a text, a finite number, true or false."
            )
        found[name] = plain
    return found


def load_if_possible() -> tuple[Any, str]:
    """Return the recorder if it can intercept MPI calls, otherwise None and the reason."""
    try:
        return load(), ""
    except HindmostError as error:
        return None, str(error)
