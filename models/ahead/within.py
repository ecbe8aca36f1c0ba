"""How many iterations fit into a job, drawn from those of recorded runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ahead.next_iterations import NextIterations

STRETCH = 40
"""Iterations in a row that are drawn together, since neighbours are alike."""
DRAWS = 1000
MAX_STRETCHES = 50_000
"""Stretches of a draw; where more fit, they are longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationsWithin:
    """How many iterations fit into a time.

    Attributes
    ----------
    counts : int64 array, shape (draw,)
        That fit, ascending.
    mean_s : float
        Of an iteration.
    bound_s : float
        What two iterations may take, by the bound with which a running program is told to stop.
    """

    counts: NDArray[np.int64]
    mean_s: float
    bound_s: float

    def at_risk(self, risk: float) -> int:
        """Return how many fit but for this share of the draws."""
        return int(self.counts[int(risk * self.counts.size)])


def iterations_within(
    runs: Sequence[NDArray[np.float64]], free_s: float, random: np.random.Generator
) -> IterationsWithin:
    """Draw how many iterations fit.

    Each draw is a job like one of the runs: stretches of its iterations, in random order, until the
    time is used.

    Parameters
    ----------
    runs : sequence of float64 array, shape (iteration,), seconds
        The iterations of each run, at least one.
    free_s : float
        Time for iterations.
    random : Generator
    """
    counts = np.empty(DRAWS, np.int64)
    prefixes = [np.concatenate([[0.0], np.cumsum(times)]) for times in runs]
    for draw in range(DRAWS):
        counts[draw] = count_within(prefixes[random.integers(len(runs))], free_s, random)
    observed = NextIterations()
    for time_s in islice(np.concatenate(runs), 20_000):
        observed.observe(float(time_s))
    return IterationsWithin(
        counts=np.sort(counts),
        mean_s=float(np.concatenate(runs).mean()),
        bound_s=observed.bound_s(2),
    )


def count_within(prefix: NDArray[np.float64], free_s: float, random: np.random.Generator) -> int:
    """Return how many iterations of a run fit, in stretches drawn at random.

    Parameters
    ----------
    prefix : float64 array, shape (iteration + 1,), seconds
        When each iteration begins, and when the last one ends.
    """
    size = prefix.size - 1
    if free_s <= 0.0:
        return 0
    expected = free_s * size / prefix[-1]
    length = min(size, max(STRETCH, int(expected / MAX_STRETCHES)))
    count, left_s = 0, free_s
    while True:
        draws = max(1, int(1.1 * left_s * size / prefix[-1] / length))
        begins = random.integers(0, size - length + 1, min(draws, MAX_STRETCHES))
        ends_s = np.cumsum(prefix[begins + length] - prefix[begins])
        whole = int(np.searchsorted(ends_s, left_s, side="right"))
        count += whole * length
        if whole < begins.size:  # part of this one fits
            left_s -= ends_s[whole - 1] if whole else 0.0
            times_s = prefix[begins[whole] : begins[whole] + length + 1] - prefix[begins[whole]]
            return count + int(np.searchsorted(times_s, left_s, side="right")) - 1
        left_s -= float(ends_s[-1])
