"""The detours that a law of injected noise takes, drawn anew from its stream."""

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.injection import Law, RankInjection, draws


def planned_ns(injection: RankInjection, iterations: int) -> NDArray[np.int64]:
    """Return the lengths of the detours of the first iterations, 0 for none.

    A recorded detour is never shorter; it is longer by what a clock, a sleep or another process
    adds. Detours on a clock depend on how long iterations take, so they are not planned.

    Returns
    -------
    int64 array, shape (iteration,), nanoseconds
        Exact but for rounding to a nanosecond.
    """
    number = np.arange(iterations, dtype=np.int64)
    if injection.law is Law.NONE:
        return np.zeros(iterations, np.int64)
    taken = draws(injection.stream, 2 * number) < injection.probability
    length = np.full(iterations, float(injection.length_ns))
    if injection.law is Law.EXPONENTIAL:
        length *= -np.log1p(-draws(injection.stream, 2 * number + 1))
    return np.where(taken | (injection.probability >= 1.0), length, 0.0).astype(np.int64)
