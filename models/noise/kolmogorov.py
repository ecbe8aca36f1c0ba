"""Do the ranks draw their times from one law? Two-sample Kolmogorov-Smirnov tests between ranks.

D = sup |F_1 - F_2| of two ranks is compared with c(alpha) sqrt(1 / n_1 + 1 / n_2), where
c = sqrt(-ln(alpha / 2) / 2), 1.358 at alpha = 0.05 (section 3.1; the thresholds printed there,
0.024 and 0.023, are those of alpha = 0.10). Two assumptions of the test do not hold:

- The times of a rank are serially correlated, which makes D larger than by chance. The empirical
  distribution of n independent times has the variance F (1 - F) / n at every level; with serial
  correlation it is F (1 - F) tau / n, with tau the sum of the autocorrelations of the *indicator*
  series 1{T_k <= x} over all lags. So the corrected test uses the effective sample size n / tau.
  On series of one law with autocorrelations 0.5 to 0.9 per lag it rejects less than 5 % at
  alpha = 0.05, where the plain test rejects 23 to 75 %.
- **The ranks depend on each other.** In a blocking run all ranks end an iteration together, so
  their times of an iteration are nearly equal, and so are their empirical distributions, whatever
  the law of their work. D is then far too small, and no rejection says little: compare the local
  work of the ranks (bodies without waiting) to learn whether they are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.text import counted, percent

ALPHA = 0.05
MAX_VALUES = 10_000_000
"""Times in all pairs: if there are more, some ranks are compared, evenly spread."""
QUARTILES = (0.25, 0.5, 0.75)


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
    effective : float64 array, shape (compared rank,)
        Effective sample size of each rank that was compared.
    iterations, ranks : int
        n, of each rank, and the number of ranks in all.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    distance: NDArray[np.float64]
    critical: float
    corrected: NDArray[np.float64]
    effective: NDArray[np.float64]
    iterations: int
    ranks: int

    @property
    def pairs(self) -> int:
        """Number of pairs that were tested."""
        return int(self.distance.size)

    @property
    def possible(self) -> int:
        """Number of pairs of all ranks."""
        return self.ranks * (self.ranks - 1) // 2

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
        sampled = f", a sample of {self.possible:,}," if self.pairs < self.possible else ""
        return (
            f"The distributions of {percent(self.rejected_corrected)} of "
            f"{counted(self.pairs, 'pair')} of ranks{sampled} differ significantly (alpha = "
            f"{ALPHA:g}; {percent(self.rejected)} if serial correlation is ignored). "
            f"Effective sample size: {np.median(self.effective):.0f} of {self.iterations}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON, without the arrays."""
        worst = int(np.argmax(self.distance))
        return {
            "alpha": ALPHA,
            "iterations": self.iterations,
            "pairs": self.pairs,
            "possible_pairs": self.possible,
            "critical": self.critical,
            "corrected_critical_median": float(np.median(self.corrected)),
            "effective_times_median": float(np.median(self.effective)),
            "rejected_share": self.rejected,
            "corrected_rejected_share": self.rejected_corrected,
            "distance_median": float(np.median(self.distance)),
            "distance_largest": float(self.distance[worst]),
            "largest_between_ranks": [int(self.first[worst]), int(self.second[worst])],
        }


def critical_distance(alpha: float, first: float, second: float) -> float:
    """Return the largest D of two samples by chance: c(alpha) sqrt(1/n + 1/m)."""
    return float(np.sqrt(-0.5 * np.log(0.5 * alpha) * (1.0 / first + 1.0 / second)))


def compare_ranks(durations: NDArray[np.float64]) -> RankComparison:
    """Test all pairs of ranks, or of some ranks, evenly spread, if there are many.

    Parameters
    ----------
    durations : float64 array, shape (iteration, rank), seconds

    Raises
    ------
    DataError
        Fewer than 2 ranks or iterations, or times that are not finite.
    """
    if durations.ndim != 2 or min(durations.shape) < 2:
        raise DataError(
            f"Times of shape {durations.shape}; tests between ranks need (iteration, rank) with "
            "at least 2 of each."
        )
    if not np.isfinite(durations).all():
        raise DataError("A time is not a number; leave out the iterations that were not recorded.")
    iterations, ranks = durations.shape
    critical = critical_distance(ALPHA, iterations, iterations)
    most = int(np.clip(np.sqrt(2.0 * MAX_VALUES / iterations), 2, ranks))
    chosen = np.linspace(0, ranks - 1, most).astype(np.intp)
    series = np.ascontiguousarray(durations[:, chosen].T)
    times = np.array([correlation_time(each) for each in series])
    ordered = np.sort(series, axis=1)
    one, other = np.triu_indices(most, 1)
    distances = [largest_distance(ordered[p], ordered[q]) for p, q in zip(one, other, strict=True)]
    return RankComparison(
        first=chosen[one],
        second=chosen[other],
        distance=np.array(distances),
        critical=critical,
        corrected=critical * np.sqrt(0.5 * (times[one] + times[other])),
        effective=iterations / times,
        iterations=iterations,
        ranks=ranks,
    )


def largest_distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return D of two sorted series of one length: the largest difference at any of their times."""
    size = first.size
    # At its own times a series has reached its last place among equal ones.
    of_first = np.searchsorted(first, first, side="right")
    of_second = np.searchsorted(second, second, side="right")
    at_first = np.abs(of_first - np.searchsorted(second, first, side="right")).max()
    at_second = np.abs(of_second - np.searchsorted(first, second, side="right")).max()
    return float(max(at_first, at_second)) / size


def correlation_time(series: NDArray[np.float64]) -> float:
    """Return tau of a rank's times, at least 1, from the indicators of its three quartiles.

    The indicators are used instead of the times, because the empirical distribution averages them,
    and a single long detour weighs no more than any other time.

    Parameters
    ----------
    series : float64 array, shape (iteration,)
        In the order in which they happened.
    """
    size = series.size
    below = (series[:, None] <= np.quantile(series, QUARTILES)).astype(np.float64)
    below -= below.mean(axis=0)
    # Autocovariances, summed over the three indicators, by the Fourier transform.
    power = np.abs(np.fft.rfft(below, 2 * size, axis=0)) ** 2
    lags = np.arange(size // 2 + 1)
    covariance = np.fft.irfft(power.sum(axis=1))[lags] / (size - lags)
    if not covariance[0] > 0.0:
        return 1.0
    times = 2.0 * np.cumsum(covariance / covariance[0]) - 1.0
    # Until the lag is a window of the sum.
    # Autocorrelations further out are only noise.
    far = np.flatnonzero(lags >= 5.0 * times)
    lag = int(far[0]) if far.size else size // 2
    # The mean that was subtracted is the series' own: every autocorrelation is tau / n too low.
    return max(1.0, float(times[lag]) * (1.0 + (2 * lag + 1) / size))
