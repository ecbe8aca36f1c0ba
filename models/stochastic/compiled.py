"""Loops that are compiled when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba


@cache
def compiled(loop: Callable[..., Any]) -> Any:
    """Compile a loop, once a machine where numba finds a place to keep what it compiles.

    Parameters
    ----------
    loop : callable
        Of arrays and numbers; calls no other Python function.

    Returns
    -------
    callable
        With the same arguments. It runs beside other threads: the interpreter's lock is free.
    """
    try:
        return numba.njit(cache=True, nogil=True)(loop)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return numba.njit(nogil=True)(loop)
