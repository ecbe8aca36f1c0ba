"""Whether detours come by a clock, from the times at which they came.

At the frequency of a clock the phases of its detours agree (Rayleigh's test). Detours that come
close to each other count once: a burst is no clock. Where a clock drives only some of the detours,
as the tick of a system does, the share that follows it is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import slabs

FloatArray = NDArray[np.float64]

MIN_PERIODIC = 8
"""Detours from which on their times are tested."""
MIN_SHARE = 0.3
"""Of the detours, that must follow a clock to speak of one."""
SLOWEST, FASTEST = 0.12, 1.9
"""Frequencies that are tried, over the mean rate of detours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What the times of detours say on a clock.

    Attributes
    ----------
    period_s : float or None
        Of the clock that they follow; None if there is none, or if this is not known.
    share : float
        Of the detours, that follow it: 1 for all, 0 without one.
    known : bool
        Whether there is an answer: there are enough detours, and the iterations do not come by the
        same clock themselves, as where a rank gets its core in turn with another process.
    """

    period_s: float | None
    share: float
    known: bool


UNKNOWN = Timing(period_s=None, share=0.0, known=False)
RANDOM = replace(UNKNOWN, known=True)


def timing_of(times_s: FloatArray, every_s: FloatArray) -> Timing:
    """Return whether detours follow a clock.

    Parameters
    ----------
    times_s : float64 array, shape (detour,), seconds
        Ascending.
    every_s : float64 array, shape (iteration,), seconds
        Times of all iterations, ascending.
    """
    times_s = times_s[:2000]
    span = float(times_s[-1] - times_s[0]) if times_s.size else 0.0
    if times_s.size < MIN_PERIODIC or not span > 0.0:
        return UNKNOWN
    rate = (times_s.size - 1) / span
    slowest = max(SLOWEST * rate, 0.5 * MIN_PERIODIC / span)
    fastest = FASTEST * rate
    steps = max(int(6.0 * (fastest - slowest) * span), 12)
    frequency = np.linspace(slowest, fastest, steps)
    strength = alignments(times_s, frequency)
    # The lowest of those that align about as well: the others are its multiples.
    # A multiple of a clock's frequency aligns nearly as well as the best.
    rises = np.flatnonzero(strength >= 0.8 * strength.max())
    end = rises[0]
    while end + 1 < steps and strength[end + 1] > strength[end]:
        end += 1
    step = frequency[1] - frequency[0]
    fine = frequency[end] + np.linspace(-1.0, 1.0, 101) * step
    fine_strength = alignments(times_s, fine)
    best = float(fine[int(np.argmax(fine_strength))])
    share = float(fine_strength.max())
    tried = max(steps / 6.0, 1.0)
    # Of so many, a clock would have been found.
    without = RANDOM if times_s.size >= 30 else UNKNOWN
    if share < MIN_SHARE or chance(times_s, best) * tried > 1e-5:
        return without
    halves = np.array_split(times_s, 2)
    if any(aligned_in(half, best) < 0.6 * share for half in halves if half.size >= MIN_PERIODIC):
        return without
    there = every_s[(every_s >= times_s[0]) & (every_s <= times_s[-1])]
    if aligned_in(there, best) > 0.5 * share:
        return UNKNOWN
    return Timing(period_s=1.0 / best, share=share, known=True)


def alignments(times_s: FloatArray, frequency: FloatArray) -> FloatArray:
    """Return the length of the mean phase at frequencies, 1 if all agree: shape (frequency,)."""
    parts = []
    for some in slabs(frequency.size, times_s.size):
        turns = np.multiply.outer(frequency[some], times_s)
        parts.append(np.abs(np.exp(2j * np.pi * turns).mean(axis=1)))
    return np.concatenate(parts)


def aligned_in(times_s: FloatArray, frequency: float) -> float:
    """Return the alignment of some of the detours at a frequency."""
    return float(alignments(times_s, np.array([frequency]))[0])


def chance(times_s: FloatArray, frequency: float) -> float:
    """Return how probably random detours align at a frequency as these do.

    Of n random phases, n R^2 exceeds z with a probability of about exp(-z); all of them lie in an
    arc of the circle, of length w, with probability n w^(n-1). The detours of one turn count once.
    """
    turns = times_s * frequency
    turn = np.floor(turns - np.angle(np.exp(2j * np.pi * turns).mean()) / (2 * np.pi) + 0.5)
    first = np.concatenate(([True], np.diff(turn) > 0))
    phases = turns[first] % 1.0
    count = phases.size
    if count < MIN_PERIODIC:
        return 1.0
    mean = float(np.abs(np.exp(2j * np.pi * phases).mean()))
    ordered = np.sort(phases)
    gaps = np.diff(np.append(ordered, ordered[0] + 1.0))
    arc = 1.0 - float(gaps.max())
    in_arc = count * arc ** (count - 1)
    return float(min(2.0 * min(math.exp(-count * mean**2), in_arc), 1.0))
