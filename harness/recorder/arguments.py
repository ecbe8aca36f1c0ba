"""What ``record`` and ``record_ksp`` check before they record: names, parameters, the recorder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hindmost.errors import HindmostError, UsageError
from hindmost.harness.recorder.library import load
from hindmost.harness.runfile.attributes import NewName
from hindmost.records import RecordError, from_document

Scalar = str | int | float | bool


def checked_name(what: str, name: str) -> str:
    """Return a name that a run file can keep.

    Raises
    ------
    UsageError
        It is empty, or has control characters.
    """
    found: str = checked(NewName, name, what)
    return found


def checked(kind: Any, value: Any, what: str) -> Any:
    """Return a value of an argument, or raise a UsageError that says what is allowed."""
    try:
        return from_document(kind, value, what)
    except RecordError as error:
        raise UsageError(str(error)) from None


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


def checked_parameters(given: Mapping[Any, Any]) -> dict[str, Scalar]:
    """Return parameters that a run file can keep.

    Numbers of numpy become Python's.

    Raises
    ------
    UsageError
        A value is not a text, finite number or bool.
    """
    plain = {
        str(name): value.item() if isinstance(value, np.generic) else value
        for name, value in given.items()
    }
    found: dict[str, Scalar] = checked(dict[str, Scalar], plain, "parameters")
    return found


def load_if_possible() -> tuple[Any, str]:
    """Return the recorder if it can intercept MPI calls, otherwise None and the reason."""
    try:
        return load(), ""
    except HindmostError as error:
        return None, str(error)
