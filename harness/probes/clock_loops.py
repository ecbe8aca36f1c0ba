"""Compiled loops that read the clock themselves; importing this module imports numba.

The clock is the C library's ``clock_gettime``, called from compiled code: some 20 ns per reading,
while Python's ``time.monotonic_ns`` would itself be a detour. Unlike the address from
ctypes, a symbol can be kept in numba's cache.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from hindmost.models.compiled import part

clock_gettime: Any = types.ExternalFunction(
    "clock_gettime", types.int32(types.int32, types.voidptr)
)
MONOTONIC = int(getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC))
"""A clock that the time service does not slew, if the system has one."""


@part
def now(spec: NDArray[np.int64]) -> int:
    """Return the clock in nanoseconds; ``spec`` has room for seconds and nanoseconds."""
    clock_gettime(MONOTONIC, spec.ctypes)
    return spec[0] * 1_000_000_000 + spec[1]  # type: ignore[no-any-return]


@part
def work(units: int, seed: int) -> int:
    """Do units of work that a compiler cannot optimise away (xorshift)."""
    x = np.uint64(seed)
    for _ in range(units):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x  # type: ignore[return-value]  # numba's unsigned integer


def least_gap(spec: NDArray[np.int64], readings: int) -> int:
    """Return the least time between two readings of the clock in a loop, nanoseconds."""
    least = 1_000_000_000
    before = now(spec)
    for _ in range(readings):
        this = now(spec)
        if this - before < least:
            least = this - before
        before = this
    return least


def find_detours(
    spec: NDArray[np.int64],
    threshold: int,
    duration: int,
    start: NDArray[np.int64],
    gap: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Read the clock until ``duration`` has passed and keep every gap above the threshold.

    Parameters
    ----------
    threshold, duration : int
        Nanoseconds.
    start, gap : int64 array, shape (room,), nanoseconds
        Output: time since the start of the loop, and length of the gap.

    Returns
    -------
    (int, int, int)
        Number of gaps, duration of the loop, and clock at its start; the loop ends early if the
        arrays are full.
    """
    found = 0
    begin = now(spec)
    before = begin
    while before - begin < duration and found < start.size:
        this = now(spec)
        if this - before > threshold:
            start[found] = before - begin
            gap[found] = this - before
            found += 1
        before = this
    return found, before - begin, begin


def fixed_work(spec: NDArray[np.int64], units: int, taken: NDArray[np.int64]) -> int:
    """Repeat the same work, and record the time of each repeat in nanoseconds."""
    seed = 88172645463325252
    before = now(spec)
    for quantum in range(taken.size):
        seed = work(units, seed)
        this = now(spec)
        taken[quantum] = this - before
        before = this
    return seed
