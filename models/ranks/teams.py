"""How the threads of a rank share the work of parallel regions, by samples of each.

Between the forks of a team its threads wait for the one with most work. With w the samples of work
in a region of n threads, the region lasts as long as its maximum: the efficiency of the threads is
sum w / (n sum max w), over regions. What the first thread does outside of any is serial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.attribution import SURE

FALSE = 1e-3
"""Probability with which some thread of a run is named where all of a team work alike."""
OF_A_TEAM = 0.01
"""Share of a rank's work in regions from which on a thread is one of its team."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamWork:
    """Samples of work of a rank's threads.

    Attributes
    ----------
    threads : int64 array, shape (thread,)
        Numbers of those that work in regions, the first one of the rank before the others.
    work : int64 array, shape (thread, region)
        Samples of work of each thread in each region.
    serial : int
        Samples of work of the first thread outside of regions.
    """

    threads: NDArray[np.int64]
    work: NDArray[np.int64]
    serial: int

    @classmethod
    def of(
        cls, thread: NDArray[np.int64], region: NDArray[np.int64], count: NDArray[np.int64]
    ) -> TeamWork:
        """Count the work of a rank.

        Parameters
        ----------
        thread, region, count : int64 array, shape (sample,)
            Of samples of work that are equal: the thread, its region or -1, and how many there are.
        """
        inside = region >= 0
        total = np.bincount(thread[inside], count[inside])
        threads = np.flatnonzero(total > OF_A_TEAM * max(float(total.sum()), 1.0))
        place = np.full(max(int(thread.max(initial=0)), int(threads.max(initial=0))) + 1, -1)
        place[threads] = np.arange(threads.size)
        work = np.zeros((threads.size, int(region.max(initial=-1)) + 1), np.int64)
        chosen = inside & (place[thread] >= 0)
        np.add.at(work, (place[thread[chosen]], region[chosen]), count[chosen])
        return cls(threads=threads, work=work, serial=int(count[(thread == 0) & ~inside].sum()))

    @property
    def efficiency(self) -> float:
        """Of the threads in regions: 1 if all work as long; 1 without a team."""
        longest = int(self.work.max(axis=0, initial=0).sum())
        return float(self.work.sum()) / (longest * self.threads.size) if longest else 1.0

    @property
    def serial_share(self) -> float:
        """Share of the rank's work in which one thread works."""
        longest = int(self.work.max(axis=0, initial=0).sum())
        return self.serial / max(self.serial + longest, 1)

    def imbalance(self, sure: float = SURE, comparisons: int = 1) -> TeamImbalance | None:
        """Return the region whose threads lose most time; None if chance explains that.

        Parameters
        ----------
        sure : float
            Standard deviations that a thread must be above the others of its team.
        comparisons : int
            Threads of all regions and ranks that are looked at: one of many is so by chance.
        """
        count = self.threads.size
        if count < 2:
            return None
        most = self.work.max(axis=0)
        rest = (self.work.sum(axis=0) - most) / (count - 1)
        lost = most - self.work.mean(axis=0)
        from scipy import special  # not on the ranks

        deviation = np.sqrt(most + rest / (count - 1) + 1.0)
        sure = max(sure, float(-special.ndtri(FALSE / max(comparisons, self.work.size))))
        clear = most - rest > sure * deviation
        if not clear.any():
            return None
        region = int(np.where(clear, lost, -1.0).argmax())
        return TeamImbalance(
            region=region,
            thread=int(self.work[:, region].argmax()),
            times=float(most[region]) / max(float(rest[region]), 1.0),
            lost=float(lost[region]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamImbalance:
    """A region in which one thread has more work than the others of its team.

    Attributes
    ----------
    region : int
    thread : int
        Its place in the team, from 0.
    times : float
        Its work over the mean of the others'.
    lost : float
        Samples of each thread, on average, that the team waits for it.
    """

    region: int
    thread: int
    times: float
    lost: float
