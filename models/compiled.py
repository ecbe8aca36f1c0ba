"""Compiled loops: kept on disk where a folder can be written, in memory where none can."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


LOOPS: dict[str, Any] = {}
"""What was asked for as compiled so far, by module and name."""


@cache
def compiled(loop: Callable[..., Any], *, division: Literal["python", "numpy"] = "python") -> Any:
    """Compile a loop for one core, once a machine where numba finds a place to keep it.

    The compiled loop releases the interpreter's lock, so that threads may run it side by side.

    Parameters
    ----------
    loop : function
        Of arrays and numbers only.
    division : str
        "python": a division by zero raises ZeroDivisionError. "numpy": it gives an infinity or NaN,
        and without the test loops that divide can use vectors.
    """
    import numba  # half a second, which commands that compile nothing do not wait for

    options: dict[str, Any] = {"nogil": True, "error_model": division}
    try:
        made = numba.njit(cache=True, **options)(loop)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        made = numba.njit(**options)(loop)
    LOOPS[f"{loop.__module__}.{loop.__qualname__}"] = made
    return made


def signatures() -> dict[str, int]:
    """Return for every loop for how many types of arguments it was compiled or fetched."""
    return {name: len(loop.signatures) for name, loop in LOOPS.items()}


def part(function: Function) -> Function:
    """Mark a function that compiled loops call, as a decorator; Python may call it as well."""
    from numba.extending import register_jitable

    marked: Function = register_jitable(function)
    return marked


def inlined(function: Function) -> Function:
    """Mark a function whose text stands in for its calls in compiled loops, as a decorator.

    Its divisions are those of the loop, and a loop that calls it may use vectors.
    """
    from numba.extending import register_jitable

    marked: Function = register_jitable(inline="always")(function)
    return marked
