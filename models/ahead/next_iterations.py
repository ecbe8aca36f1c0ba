"""A bound of the time that the next iterations of a loop take, and whether that much is left.

Nothing is assumed of the program, of the law of its times, or of how many iterations there will be.
Adding up small probabilities of an overrun, each from a fitted tail, stops far too early where
every tenth iteration writes output: one bound for the next k iterations together is shorter and
safer (docs/validation.md).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hindmost.text import seconds

LONGEST_SUM = 32
"""Iterations in a row whose sums are kept; more in a row are bounded piece by piece."""
RESERVE = 1.25
"""What is kept free: the largest of the past, and a quarter more."""
MIN_GAP = 4
"""Fewest iterations from one output to the next; a slower machine has long ones in a row."""


class LargestSums:
    """The largest sum of k iterations in a row so far, for every k; its memory is constant."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=LONGEST_SUM)  # the newest first
        self._largest = np.zeros(LONGEST_SUM)  # [k - 1]: of k in a row

    def observe(self, ratio: float) -> None:
        """Observe an iteration."""
        self._last.appendleft(ratio)
        sums = np.cumsum(self._last)
        np.maximum(self._largest[: sums.size], sums, out=self._largest[: sums.size])

    def of(self, k: int) -> float:
        """Return the largest sum of k in a row; k without any.

        If fewer are kept, it is an upper limit of that sum.
        """
        kept = len(self._last)
        if not kept:
            return float(k)
        whole, rest = divmod(k, kept)
        return float(whole * self._largest[kept - 1] + (self._largest[rest - 1] if rest else 0.0))


class NextIterations:
    """How long the next k iterations take at most: a quarter more than any k in a row so far.

    Long iterations that come periodically (output, regridding, load balancing) are kept apart,
    since otherwise their time is kept free before every iteration. They are periodic if their last
    3 to 5 distances are even, either in iterations or in seconds, as codes write every n-th step or
    every half hour. The next one is expected no sooner than after 0.9 of the shortest distance;
    from then on a quarter more than the longest of the last 20 is kept free for it. With other
    distances, as those of a machine's stalls, long iterations are iterations like all.

    The whole history counts, not a window: what overruns a limit is a coincidence that may have
    come only once before.
    """

    def __init__(self) -> None:
        self._all, self._usual = LargestSums(), LargestSums()
        self._recent: deque[float] = deque(maxlen=11)
        self._excess: deque[float] = deque(maxlen=20)  # of long ones over the level, in levels
        self._gaps: deque[tuple[int, float]] = deque(
            maxlen=5
        )  # (iterations, seconds) between long ones
        self._elapsed_s = 0.0
        self._last_long: tuple[int, float] | None = None  # its number, and when it ended
        self.observed = 0

    @property
    def level(self) -> float:
        """Median of the last iterations, without long ones; 1 before the first."""
        return float(np.median(self._recent)) if self._recent else 1.0

    def observe(self, measured_s: float, expected_s: float = 1.0) -> None:
        """Observe the time of an iteration.

        Parameters
        ----------
        measured_s : float
        expected_s : float
            What a model of the program expected, above 0; without a model the same for all.
        """
        ratio = measured_s / expected_s
        self._all.observe(ratio)
        is_long = len(self._recent) > 2 and ratio > 2.0 * self.level
        if is_long:
            if self._last_long is not None:
                number, ended_s = self._last_long
                # The distance in seconds ends where the long iteration begins.
                self._gaps.append((self.observed + 1 - number, self._elapsed_s - ended_s))
            self._last_long = (self.observed + 1, self._elapsed_s + measured_s)
            self._excess.append(ratio / self.level - 1.0)
        if not is_long or (self._gaps and self._gaps[-1][0] < MIN_GAP):
            self._usual.observe(ratio)
            self._recent.append(ratio)
        self.observed += 1
        self._elapsed_s += measured_s

    def bound_s(self, k: int = 1, expected_s: float = 1.0) -> float:
        """Return the time that the next k iterations take at most, in seconds.

        Before one was observed, this is a quarter more than expected.

        Parameters
        ----------
        k : int
            At least 1: one more than those that still begin after the program was told to stop.
        expected_s : float
            Expected time of one of them.
        """
        if not self._are_periodic():
            return RESERVE * self._all.of(k) * expected_s
        needed = self._usual.of(k)
        if self._may_be_long(k, expected_s):
            needed += max(self._excess) * self.level
        return RESERVE * needed * expected_s

    def _are_periodic(self) -> bool:
        if len(self._gaps) < 3 or min(iterations for iterations, _ in self._gaps) < MIN_GAP:
            return False
        return any(
            max(distances) <= 1.25 * min(distances) for distances in zip(*self._gaps, strict=True)
        )

    def _may_be_long(self, k: int, expected_s: float) -> bool:
        assert self._last_long is not None
        number, ended_s = self._last_long
        iterations, gap_s = (min(distances) for distances in zip(*self._gaps, strict=True))
        soon_s = self._elapsed_s - ended_s + k * self.level * expected_s
        return bool(self.observed - number + k >= 0.9 * iterations and soon_s >= 0.9 * gap_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLeft:
    """Whether the time that is left suffices for another iteration; true in an ``if`` if it does.

    Attributes
    ----------
    start : bool
    left_s : float
        Time until the limit.
    needed_s : float
        Upper bound of the next iteration, and of what precedes and follows it until the end.
    known : bool
        Whether the bound rests on iterations that were observed.
    """

    start: bool
    left_s: float
    needed_s: float
    known: bool

    def __bool__(self) -> bool:
        return self.start

    def explain(self) -> str:
        """Say it in a sentence."""
        begin = f"{'Go on' if self.start else 'Stop'}: {seconds(self.left_s)} left;"
        if not self.known:
            return (
                f"{begin} the time of an iteration is not known yet, so one starts only with more "
                f"than {seconds(self.needed_s)} left."
            )
        return (
            f"{begin} the next iteration, with what follows it, may take {seconds(self.needed_s)}."
        )


def time_left(
    iterations: NextIterations,
    *,
    left_s: float,
    expected_s: float | None = None,
    lag: int = 0,
    reserved_s: float = 0.0,
    unknown_s: float = 0.0,
) -> TimeLeft:
    """Decide whether another iteration may start.

    Parameters
    ----------
    iterations : NextIterations
        What was observed so far.
    left_s : float
        Time until the limit.
    expected_s : float, optional
        What a model expects of the next iteration; NaN if it does not know.
    lag : int
        Iterations that still begin after the program was told to stop.
    reserved_s : float
        Time of what precedes and follows: checkpoints, the end of the program.
    unknown_s : float
        Time that must be left if nothing is known of the next iteration.
    """
    if expected_s is None:
        expected_s = 1.0 if iterations.observed else math.nan
    known = math.isfinite(expected_s)
    next_s = iterations.bound_s(1 + lag, expected_s) if known else unknown_s
    needed_s = reserved_s + next_s
    start = left_s >= needed_s if known else left_s > needed_s
    return TimeLeft(start=start, left_s=left_s, needed_s=needed_s, known=known)


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
