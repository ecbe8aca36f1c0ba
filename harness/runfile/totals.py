"""Totals of a run, computed while it is written, so that readers need not read all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError

DECADES = (-10.0, 6.0)
BINS = 1 << 18
"""Bins of the histogram of log10(seconds): quantiles are exact to 0.01 %."""
QUANTILES = {"median": 0.5, "quantile_99": 0.99}


class RunTotals:
    """Sums and quantiles of bodies and phases over blocks of a run.

    Parameters
    ----------
    ranks : int
    phases : sequence of str
    """

    def __init__(self, ranks: int, phases: tuple[str, ...]) -> None:
        self._phases = phases
        self._phase_s = np.zeros(len(phases))
        self._rank_s = np.zeros(ranks)
        self._histogram = np.zeros(BINS, np.int64)
        self._least, self._most = np.inf, 0.0
        self.counted = {"instructions": 0.0, "cycles": 0.0}

    def add_durations(self, block: NDArray[np.float64]) -> None:
        """Add bodies, shape (iteration, rank), seconds; raise a DataError unless positive."""
        if not (np.isfinite(block).all() and (block > 0.0).all()):
            raise DataError(
                "The time of an iteration is not above 0, so the run cannot be written; the clock "
                "or the recorder is faulty."
            )
        self._rank_s += block.sum(axis=0)
        self._least = min(self._least, float(block.min()))
        self._most = max(self._most, float(block.max()))
        first, last = DECADES
        place = (np.log10(block.ravel()) - first) * (BINS / (last - first))
        index = np.clip(place.astype(np.int64), 0, BINS - 1)
        self._histogram += np.bincount(index, minlength=BINS)

    def add_phases(self, block: NDArray[np.float32]) -> None:
        """Add phases, shape (iteration, rank, phase), seconds."""
        self._phase_s += block.sum(axis=(0, 1), dtype=np.float64)

    def add_counts(self, name: str, block: NDArray[np.float64]) -> None:
        """Add instructions or cycles, shape (iteration, rank); NaN if not counted."""
        self.counted[name] += float(np.nansum(block))

    def result(
        self, between_s: NDArray[np.float64], solve_time_s: NDArray[np.float64]
    ) -> dict[str, Any]:
        """Return the sums.

        Parameters
        ----------
        between_s, solve_time_s : float64 array, shape (rank,), seconds
            Time outside bodies, and of the whole solve.

        Returns
        -------
        dict
            ``body_s``: minimum, median, quantile_99 and maximum; ``phase_s``: by name, all ranks
            together; ``counted``: instructions and cycles, 0 if they were not counted;
            ``balance_s``: largest difference of a solve's time and the sum of its parts.
        """
        cumulative = np.cumsum(self._histogram)
        first, last = DECADES
        body = {"minimum": self._least, "maximum": self._most}
        for name, share in QUANTILES.items():
            place = int(np.searchsorted(cumulative, share * cumulative[-1]))
            middle = 10.0 ** (first + (place + 0.5) * (last - first) / BINS)
            body[name] = min(max(middle, self._least), self._most)
        missed = np.abs(self._rank_s + between_s - solve_time_s)
        return {
            "body_s": body,
            "phase_s": dict(zip(self._phases, self._phase_s.tolist(), strict=True)),
            "counted": self.counted,
            "balance_s": float(missed.max()),
        }
