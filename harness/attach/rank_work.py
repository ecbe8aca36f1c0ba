"""Which rank is last while a program runs: the work of the ranks of this node, from their pages.

A rank adds up its time in MPI in its page, and notes when its last call ended; what else passed
until then is its own work. The engine is that of `show` (`hindmost.models.ranks.culprit`), with
windows of about a second, in which the loop has iterated, in the place of iterations.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.attach.pairs import PairsPage, map_new_pages
from hindmost.models.ranks.culprit import Culprit, QuickestWork, find_culprit
from hindmost.models.ranks.lateness import LatenessSum

NS = 1e-9
WINDOW_S = 1.0
MAX_WINDOWS, MIN_WINDOWS = 128, 2
"""Beyond the first, neighbours are added together."""


class RankWork:
    """Follows the work of the ranks of this node while a loop iterates.

    Parameters
    ----------
    folder : Path
        Of their pages.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: dict[int, PairsPage] = {}
        map_new_pages(folder, self._pages)
        self._pages = {rank: self._pages[rank] for rank in sorted(self._pages)}
        self._iterations, self._window_s, self._looked_s = 0, WINDOW_S, -np.inf
        self._before: NDArray[np.float64] | None = None
        self._core_wait_before = self._core_wait_s()
        self._counts: list[int] = []
        self._windows: list[NDArray[np.float64]] = []

    @property
    def ranks(self) -> int:
        """How many ranks are followed."""
        return len(self._pages)

    def poll(self, iterations: int) -> None:
        """Begin another window where the loop has gone on for long enough.

        Parameters
        ----------
        iterations : int
            Of the loop, that the first rank has ended.
        """
        now_s = time.monotonic()
        if iterations == self._iterations or now_s < self._looked_s + self._window_s:
            return
        sums = np.array([_times_of(page) for page in self._pages.values()])
        if self._before is not None:
            self._windows.append(sums - self._before)
            self._counts.append(iterations - self._iterations)
        self._before, self._iterations, self._looked_s = sums, iterations, now_s
        if len(self._windows) > MAX_WINDOWS:
            pairs = range(0, MAX_WINDOWS, 2)
            self._windows[:MAX_WINDOWS] = [
                self._windows[at] + self._windows[at + 1] for at in pairs
            ]
            self._counts[:MAX_WINDOWS] = [self._counts[at] + self._counts[at + 1] for at in pairs]
            self._window_s *= 2.0

    def culprit(self) -> Culprit | None:
        """Return the rank that the others wait for; None if there is none so far."""
        if len(self._windows) < MIN_WINDOWS or self.ranks < 2:
            return None
        work, passed = np.array(self._windows).transpose(2, 0, 1)  # of shape (window, rank)
        late = LatenessSum([""] * self.ranks, len(work))
        late.add(work)
        alike = np.mean(self._counts) / np.array(self._counts)  # windows of as many iterations
        found = find_culprit(
            late.result(),
            work.sum(axis=0),
            float(passed.sum(axis=0).mean()),
            QuickestWork.of(work * alike[:, None]),
            self._core_wait_s() - self._core_wait_before,
        )
        return found and _renumbered(found, list(self._pages))

    def _core_wait_s(self) -> NDArray[np.float64]:
        """Return how long each rank could run and had no core; NaN where that is not known."""
        waits = np.full(len(self._pages), np.nan)
        for at, page in enumerate(self._pages.values()):
            with suppress(OSError, ValueError, IndexError):
                words = Path(f"/proc/{page['pid']}/schedstat").read_text().split()
                waits[at] = int(words[1]) * NS
        return waits


def _times_of(page: PairsPage) -> tuple[float, float]:
    """Return a rank's own work so far, and the time of that, in seconds."""
    end_ns, in_mpi_ns = page["last_end_ns"], page["in_mpi_ns"]
    while (again_ns := page["last_end_ns"]) != end_ns:  # a call has ended in between
        end_ns, in_mpi_ns = again_ns, page["in_mpi_ns"]
    return (end_ns - in_mpi_ns) * NS, end_ns * NS


def _renumbered(culprit: Culprit, ranks: list[int]) -> Culprit:
    """Return a culprit by the numbers of its ranks in the program."""
    return replace(
        culprit, rank=ranks[culprit.rank], ranks=tuple(ranks[rank] for rank in culprit.ranks)
    )
