"""Do the ranks draw their times from one law? Two-sample Kolmogorov-Smirnov tests between ranks.

D = sup |F_1 - F_2| of two ranks is compared with c(alpha) sqrt(2 / n), where
c = sqrt(-ln(alpha / 2) / 2), 1.358 at alpha = 0.05 (section 3.1; the thresholds printed there,
0.024 and 0.023, are those of alpha = 0.10). Two assumptions of the test do not hold:

- The times of a rank are serially correlated, which makes D larger than by chance. The corrected
  test uses the effective sample size n / tau instead of n, and the limit for such series (see
  `serial_correlation`). On series of one law with autocorrelations 0.5 to 0.9 per lag it rejects
  2.6 to 4.3 % at alpha = 0.05 (3000 pairs of 2000 and of 5000 iterations), where the plain test
  rejects 23 to 75 %.
- **The ranks depend on each other.** In a blocking run all ranks end an iteration together, so
  their times of an iteration are nearly equal, and so are their empirical distributions, whatever
  the law of their work. D is then far too small, and no rejection says little: compare the local
  work of the ranks (bodies without waiting) to learn whether they are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.compiled import declared
from hindmost.models.noise.serial_correlation import correlation_times, limit_factor
from hindmost.text import percent

BLOCK = 64
"""Ranks that a thread takes at once: their columns are read from whole cache lines."""
LIMIT_RANKS = 16
"""Ranks, evenly spaced, that the limit of correlated series is taken from."""
THREADS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RankComparison:
    """Tests of pairs of ranks.

    Attributes
    ----------
    first, second : int array, shape (pair,)
        The ranks of each pair.
    distance : float64 array, shape (pair,)
        D.
    critical : float
        Largest D by chance, if times are independent.
    corrected : float64 array, shape (pair,)
        The same with the serial correlation of both ranks.
    effective : float64 array, shape (rank,)
        Effective sample size of each rank; NaN for ranks in no pair.
    alpha : float
        Significance level.
    iterations : int
        n, of each rank.
    possible : int
        Number of pairs in all; more than were tested if they were sampled.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    distance: NDArray[np.float64]
    critical: float
    corrected: NDArray[np.float64]
    effective: NDArray[np.float64]
    alpha: float
    iterations: int
    possible: int

    @property
    def pairs(self) -> int:
        """Number of pairs that were tested."""
        return int(self.distance.size)

    @property
    def rejected(self) -> float:
        """Share of the pairs that the plain test rejects."""
        return float(np.mean(self.distance > self.critical))

    @property
    def rejected_corrected(self) -> float:
        """Share of the pairs that the test with serial correlation rejects."""
        return float(np.mean(self.distance > self.corrected))

    def explain(self) -> str:
        """Return the result in sentences."""
        size = f"Effective sample size: {np.nanmedian(self.effective):.0f} of {self.iterations}."
        if self.pairs == 1:
            differ, plainly = self.rejected_corrected > 0, self.rejected > 0
            but = "" if differ == plainly else "; they do if serial correlation is ignored"
            return (
                f"The ranks' distributions {'' if differ else 'do not '}differ significantly "
                f"(alpha = {self.alpha:g}{but}). {size}"
            )
        sampled = f", a sample of {self.possible}," if self.pairs < self.possible else ""
        if not self.rejected:
            return (
                f"The distributions do not differ significantly in any of {self.pairs} pairs of "
                f"ranks{sampled.rstrip(',')} (alpha = {self.alpha:g}). {size}"
            )
        return (
            f"The distributions of {percent(self.rejected_corrected)} of {self.pairs} pairs of "
            f"ranks{sampled} differ significantly (alpha = {self.alpha:g}; "
            f"{percent(self.rejected)} if serial correlation is ignored). {size}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON, without the arrays."""
        worst = int(np.argmax(self.distance))
        return {
            "alpha": self.alpha,
            "iterations": self.iterations,
            "pairs": self.pairs,
            "possible_pairs": self.possible,
            "critical": self.critical,
            "corrected_critical_median": float(np.median(self.corrected)),
            "effective_times_median": float(np.nanmedian(self.effective)),
            "rejected_share": self.rejected,
            "corrected_rejected_share": self.rejected_corrected,
            "distance_median": float(np.median(self.distance)),
            "distance_largest": float(self.distance[worst]),
            "largest_between_ranks": [int(self.first[worst]), int(self.second[worst])],
        }


def critical_distance(alpha: float, first: float, second: float) -> float:
    """Return the largest D of two samples by chance: c(alpha) sqrt(1/n + 1/m).

    Raises
    ------
    UsageError
        alpha not between 0 and 1.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(
            f"alpha is {alpha}; a significance level lies between 0 and 1, such as 0.05."
        )
    return float(np.sqrt(-0.5 * np.log(0.5 * alpha) * (1.0 / first + 1.0 / second)))


def compare_with_reference(
    durations: NDArray[np.float64], *, reference: int = 0, alpha: float = 0.05
) -> RankComparison:
    """Test one rank against all others.

    The tests share a rank, so they are correlated: for ranks of one law, a share alpha is rejected
    on average over references, but far more or less with any single one. `compare_all` is better.

    Parameters
    ----------
    durations : float64 array, shape (iteration, rank), seconds
    reference : int
        The rank that the others are compared with.
    alpha : float
        Significance level.

    Raises
    ------
    DataError
        Fewer than 2 ranks or iterations, or times that are not finite.
    UsageError
        No such rank, or alpha not between 0 and 1.
    """
    ranks = refuse_untestable(durations)
    if not 0 <= reference < ranks:
        raise UsageError(f"Rank {reference} does not exist; choose one of 0 to {ranks - 1}.")
    others = np.delete(np.arange(ranks), reference)
    first = np.full(ranks - 1, reference)
    return compare(durations, first, others, alpha=alpha, possible=ranks - 1)


def compare_all(
    durations: NDArray[np.float64],
    *,
    alpha: float = 0.05,
    most_pairs: int = 20_000,
    seed: int = 0,
) -> RankComparison:
    """Test all pairs of ranks, or a sample of them.

    Parameters
    ----------
    durations : float64 array, shape (iteration, rank), seconds
    alpha : float
        Significance level.
    most_pairs : int
        If there are more pairs, this many different ones are drawn.
    seed : int
        Of that draw.

    Raises
    ------
    DataError
        Fewer than 2 ranks or iterations, or times that are not finite.
    UsageError
        alpha not between 0 and 1, or fewer than one pair.
    """
    ranks = refuse_untestable(durations)
    if most_pairs < 1:
        raise UsageError(f"At most {most_pairs} pairs; ask for at least 1.")
    possible = ranks * (ranks - 1) // 2
    if possible <= most_pairs:
        first, second = np.triu_indices(ranks, 1)
    else:
        # Pairs in the order (0, 1), (0, 2), (1, 2), ...: pair n belongs to the second rank whose
        # triangular number is the last not above n.
        random = np.random.default_rng(seed)
        drawn = np.sort(random.choice(possible, most_pairs, replace=False, shuffle=False))
        triangular = np.arange(ranks) * (np.arange(ranks) - 1) // 2
        second = np.searchsorted(triangular, drawn, side="right") - 1
        first = drawn - triangular[second]
    return compare(durations, first, second, alpha=alpha, possible=possible)


def refuse_untestable(durations: NDArray[np.float64]) -> int:
    """Return the number of ranks of a matrix that can be tested."""
    if durations.ndim != 2 or min(durations.shape) < 2:
        raise DataError(
            f"Times of shape {durations.shape}; tests between ranks need (iteration, rank) with "
            "at least 2 of each."
        )
    if not np.isfinite(durations).all():
        raise DataError("A time is not a number; leave out the iterations that were not recorded.")
    return int(durations.shape[1])


def compare(
    durations: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    *,
    alpha: float,
    possible: int,
) -> RankComparison:
    """Test these pairs; every rank in them is sorted once."""
    iterations, ranks = durations.shape
    critical = critical_distance(alpha, iterations, iterations)
    used = np.unique(np.concatenate((first, second)))
    ordered = np.empty((used.size, iterations))
    times = np.empty(used.size)

    def order(part: slice) -> None:
        series = np.ascontiguousarray(durations[:, used[part]].T)
        times[part] = correlation_times(series)
        ordered[part] = np.sort(series, axis=1)

    in_threads(order, parts(used.size, BLOCK))
    distance = np.empty(first.size)
    row, other = np.searchsorted(used, first), np.searchsorted(used, second)

    def measure(part: slice) -> None:
        distance[part] = largest_distances(ordered, row[part], other[part])

    in_threads(measure, parts(first.size, BLOCK))
    some = used[:: max(1, used.size // LIMIT_RANKS)][:LIMIT_RANKS]
    factor = limit_factor(durations[:, some].T, float(np.median(times)), alpha)
    effective = np.full(ranks, np.nan)
    effective[used] = iterations / times
    inverse = 0.5 * (times[row] + times[other])
    return RankComparison(
        first=first,
        second=second,
        distance=distance,
        critical=critical,
        corrected=factor * critical * np.sqrt(inverse),
        effective=effective,
        alpha=alpha,
        iterations=iterations,
        possible=possible,
    )


def parts(size: int, most: int) -> Iterable[slice]:
    """Divide a range into parts of a largest size."""
    return [slice(begin, begin + most) for begin in range(0, size, most)]


def in_threads(work: Callable[[slice], None], slices: Iterable[slice]) -> None:
    """Run the parts in threads; sorting and compiled loops release the interpreter's lock."""
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(work, slices):
            pass


@declared("(f8[:,::1], i8[::1], i8[::1])")
def largest_distances(
    ordered: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Merge the sorted times of the two ranks of each pair, and track the largest D.

    At a time that both contain, both step on, and then the one that contains it more often alone. D
    lies between its values before and after that time, so the maximum is never overstated.
    """
    size = ordered.shape[1]
    distance = np.empty(len(first))
    for pair in range(len(first)):
        one = ordered[first[pair]]
        other = ordered[second[pair]]
        i = 0
        j = 0
        largest = 0
        # i and j count the times of each rank up to the current one: D = |i - j| / n there.
        while i < size and j < size:
            x = one[i]
            y = other[j]
            i += x <= y
            j += y <= x
            largest = max(largest, abs(i - j))
        distance[pair] = largest / size
    return distance
