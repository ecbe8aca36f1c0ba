"""Synthetic nightly series with known changes.

Lognormal times of 60 to 365 nights with a coefficient of variation of 1 to 10 %, up to 4 shifts of
3 to 50 %, and 2 to 5 % of nights that take 1.3 to 3 times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.text import choose

NIGHTS = (60, 365)
VARIATION = (0.01, 0.10)
MAX_SHIFTS = 4
SHIFT = (0.03, 0.50)
OUTLIERS = (0.02, 0.05)
FACTOR = (1.3, 3.0)
DRIFT = (0.05, 0.50)
MODES = (0.05, 0.50)
DWELL = (5.0, 30.0)
SHORTEST = 3
"""Nights in a segment, at least."""
SHORT = (3, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNights:
    """A series whose changes are known.

    Attributes
    ----------
    kind : str
    values : float64 array, shape (night,), seconds
    changes : int64 array, shape (change,)
        The first night of each new level.
    effects : float64 array, shape (change,)
        Relative: 0.1 for 10 % more than before.
    outliers : bool array, shape (night,)
    """

    kind: str
    values: NDArray[np.float64]
    changes: NDArray[np.int64]
    effects: NDArray[np.float64]
    outliers: NDArray[np.bool_]


def draw_nightly(kind: str, seed: int) -> SimulatedNights:
    """Draw a series of one of the `KINDS`.

    Raises
    ------
    UsageError
        There is no such kind.
    """
    if kind not in KINDS:
        raise UsageError(f"There is no kind {kind!r} of series; {choose(KINDS)}.")
    return KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind)]))


def with_shifts(random: np.random.Generator) -> SimulatedNights:
    """Draw up to 4 shifts, 3 nights apart or more, among single outliers."""
    nights = draw_length(random)
    changes = spaced(random, nights, int(random.integers(0, MAX_SHIFTS, endpoint=True)))
    return assemble("shifts", random, nights, changes)


def with_small_shifts(random: np.random.Generator) -> SimulatedNights:
    """Draw shifts as in "shifts" whose sizes are uniform in the logarithm: half are below 12 %."""
    nights = draw_length(random)
    changes = spaced(random, nights, int(random.integers(0, MAX_SHIFTS, endpoint=True)))
    return assemble("small shifts", random, nights, changes, small=True)


def with_short_segments(random: np.random.Generator) -> SimulatedNights:
    """Draw 2 to 4 shifts, each 3 to 10 nights after the one before."""
    nights = draw_length(random)
    count = int(random.integers(2, MAX_SHIFTS, endpoint=True))
    gaps = random.integers(*SHORT, size=count - 1, endpoint=True)
    first = int(random.integers(SHORT[1], nights - int(gaps.sum()) - SHORT[1]))
    return assemble("short segments", random, nights, first + np.append(0, np.cumsum(gaps)))


def with_double_outliers(random: np.random.Generator) -> SimulatedNights:
    """Draw shifts as in "shifts", with outliers that come two nights in a row."""
    nights = draw_length(random)
    changes = spaced(random, nights, int(random.integers(0, MAX_SHIFTS, endpoint=True)))
    return assemble("double outliers", random, nights, changes, in_a_row=2)


def without_change(random: np.random.Generator) -> SimulatedNights:
    """Draw noise and outliers alone."""
    return assemble("noise", random, draw_length(random), np.zeros(0, np.int64))


def with_drift(random: np.random.Generator) -> SimulatedNights:
    """Draw a straight line in the logarithm, 5 to 50 % up or down from end to end; no shift."""
    nights = draw_length(random)
    rise = float(random.choice((-1.0, 1.0)) * np.log1p(random.uniform(*DRIFT)))
    return assemble("drift", random, nights, np.zeros(0, np.int64), rise=rise)


def with_two_modes(random: np.random.Generator) -> SimulatedNights:
    """Draw noise and outliers on a machine that switches between two modes; no shift.

    They are 5 to 50 % apart, and one lasts 5 to 30 nights in the mean.
    """
    series = assemble("two modes", random, draw_length(random), np.zeros(0, np.int64))
    switches = random.random(series.values.size) < 1.0 / random.uniform(*DWELL)
    height = 1.0 + random.uniform(*MODES)
    modes = np.where(np.cumsum(switches) % 2 == 1, height, 1.0)
    return replace(series, values=series.values * modes)


def draw_length(random: np.random.Generator) -> int:
    """Return a number of nights."""
    return int(random.integers(*NIGHTS, endpoint=True))


def spaced(random: np.random.Generator, nights: int, count: int) -> NDArray[np.int64]:
    """Return places of changes, uniform among those that leave `SHORTEST` nights to a segment.

    Returns
    -------
    int64 array, shape (change,)
    """
    free = nights - SHORTEST * (count + 1)
    if free < 0:
        raise UsageError(f"{nights} nights cannot hold {count} changes {SHORTEST} nights apart.")
    offsets = np.sort(random.integers(0, free, size=count, endpoint=True))
    places: NDArray[np.int64] = (offsets + SHORTEST * np.arange(1, count + 1)).astype(np.int64)
    return places


def assemble(
    kind: str,
    random: np.random.Generator,
    nights: int,
    changes: NDArray[np.int64],
    *,
    in_a_row: int = 1,
    rise: float = 0.0,
    small: bool = False,
) -> SimulatedNights:
    """Draw noise, shifts and outliers, and put them together.

    Parameters
    ----------
    kind : str
    random : numpy.random.Generator
    nights : int
    changes : int64 array, shape (change,)
    in_a_row : int
        Nights that an outlier lasts; the share of nights stays what it is.
    rise : float
        Of the logarithm, from the first to the last night.
    small : bool
        Whether the sizes of shifts are uniform in the logarithm, so that most are small.
    """
    variation = random.uniform(*VARIATION)
    sigma = np.sqrt(np.log1p(variation**2))
    logs = np.log(random.uniform(1.0, 500.0)) + sigma * random.standard_normal(nights)
    logs += rise * np.linspace(0.0, 1.0, nights)
    effects = draw_effects(random, changes.size, small=small)
    for change, effect in zip(changes, effects, strict=True):
        logs[change:] += np.log1p(effect)
    begins = random.random(nights) < random.uniform(*OUTLIERS) / in_a_row
    outliers = np.convolve(begins, np.ones(in_a_row))[:nights] > 0
    logs[outliers] += np.log(random.uniform(*FACTOR, int(outliers.sum())))
    return SimulatedNights(
        kind=kind, values=np.exp(logs), changes=changes, effects=effects, outliers=outliers
    )


def draw_effects(random: np.random.Generator, count: int, *, small: bool) -> NDArray[np.float64]:
    """Return relative effects: slower by s or, as often, faster by the factor 1 + s."""
    low, high = np.log(SHIFT).tolist() if small else SHIFT
    size = random.uniform(low, high, count)
    if small:
        size = np.exp(size)
    return np.where(random.random(count) < 0.5, size, 1.0 / (1.0 + size) - 1.0)


KINDS: dict[str, Callable[[np.random.Generator], SimulatedNights]] = {
    "shifts": with_shifts,
    "short segments": with_short_segments,
    "double outliers": with_double_outliers,
    "noise": without_change,
    "drift": with_drift,
    "small shifts": with_small_shifts,
    "two modes": with_two_modes,
}
"""By the name that `draw_nightly` takes."""
