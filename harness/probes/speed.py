"""The current speed of a rank: a reference kernel of fixed work.

Time per cell depends on the state of the machine (frequency, shared caches); two readings of this
kernel show whether it changed while grind was measured. Its work resembles a finite-volume code:
fluxes over the faces of 5,000 cells, which fit into a core's private cache, and one pass over
arrays that do not.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import compiled

CELLS = (100, 50)
STREAM = 2**20
"""Doubles in each of two arrays: 16 MiB together."""
SWEEPS = 20
"""Passes over all faces in one reading."""
READINGS = 25
CAP_S = 0.25
"""No reading begins after this time."""


def sweep_and_stream(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    state: NDArray[np.float64],
    change: NDArray[np.float64],
    sweeps: int,
    source: NDArray[np.float64],
    target: NDArray[np.float64],
) -> None:
    """Add up Rusanov fluxes of an ideal gas over all faces, repeatedly; then traverse arrays.

    Parameters
    ----------
    left, right : int32 array, shape (face,)
        The cells of a face.
    state, change : float64 array, shape (cell, 4)
        Density, momenta and energy; the sum of the fluxes.
    source, target : float64 array, shape (any,)
    """
    for _ in range(sweeps):
        for face in range(left.size):
            a, b = left[face], right[face]
            ra, rb = state[a, 0], state[b, 0]
            ua, ub = state[a, 1] / ra, state[b, 1] / rb
            va, vb = state[a, 2] / ra, state[b, 2] / rb
            pa = 0.4 * (state[a, 3] - 0.5 * ra * (ua * ua + va * va))
            pb = 0.4 * (state[b, 3] - 0.5 * rb * (ub * ub + vb * vb))
            fastest = max(abs(ua) + np.sqrt(1.4 * pa / ra), abs(ub) + np.sqrt(1.4 * pb / rb))
            f0 = 0.5 * (ra * ua + rb * ub - fastest * (rb - ra))
            f1 = 0.5 * (ra * ua * ua + pa + rb * ub * ub + pb - fastest * (rb * ub - ra * ua))
            f2 = 0.5 * (ra * ua * va + rb * ub * vb - fastest * (rb * vb - ra * va))
            f3 = 0.5 * (
                ua * (state[a, 3] + pa)
                + ub * (state[b, 3] + pb)
                - fastest * (state[b, 3] - state[a, 3])
            )
            change[a, 0] -= f0
            change[a, 1] -= f1
            change[a, 2] -= f2
            change[a, 3] -= f3
            change[b, 0] += f0
            change[b, 1] += f1
            change[b, 2] += f2
            change[b, 3] += f3
    for k in range(source.size):
        target[k] = source[k] + 0.5 * target[k]


@cache
def arrays() -> tuple[Any, ...]:
    """Return the kernel's data, the same on every machine; made once per process."""
    return (*box(CELLS), SWEEPS, np.ones(STREAM), np.ones(STREAM))


def box(shape: tuple[int, int]) -> tuple[NDArray[Any], ...]:
    """Return a box of gas: the cells on both sides of its faces, its state, room for fluxes.

    Parameters
    ----------
    shape : (int, int)
        Columns and rows of cells.
    """
    columns, rows = shape
    cell = np.arange(columns * rows, dtype=np.int32).reshape(rows, columns)
    left = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    right = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    order = np.argsort(left, kind="stable")  # in the order of cells, as in a real code
    random = np.random.default_rng(1)
    state = np.column_stack(
        [random.uniform(0.9, 1.1, cell.size) for _ in range(3)] + [np.full(cell.size, 4.0)]
    )
    return left[order], right[order], state, np.zeros_like(state)


def warm_up() -> None:
    """Compile the kernel and touch its arrays; once per process."""
    compiled(sweep_and_stream)(*arrays())


def readings() -> tuple[float, ...]:
    """Return repeated times of the kernel on this rank, in seconds; takes at most 0.3 s."""
    kernel, with_what = compiled(sweep_and_stream), arrays()
    warm_up()
    found: list[float] = []
    end = time.perf_counter() + CAP_S
    while len(found) < READINGS and (not found or time.perf_counter() < end):
        with_what[3][:] = 0
        begin = time.perf_counter()
        kernel(*with_what)
        found.append(time.perf_counter() - begin)
    return tuple(found)
