"""Which rank is last while a program runs: the work of ranks, from their pages.

A rank adds up its time in MPI by phase in its page, and notes when its last call ended; what else
passed until then is its own work. Of other nodes, the processes that follow their ranks write every
second which parts of the time that is. The engine is that of `show`
(`hindmost.models.ranks.culprit`), with windows of about a second, in which the loop has iterated,
in the place of iterations.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import HindmostError
from hindmost.files import read_text, write_atomically
from hindmost.harness.attach.pairs import PairsPage, map_new_pages
from hindmost.harness.attach.place_of_work import PlacesOfWork
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.rank_windows import RankWindows
from hindmost.harness.runfile.time_left import WorkPlace
from hindmost.models.ranks.culprit import Culprit, QuickestWork, find_culprit
from hindmost.models.ranks.lateness import LatenessSum
from hindmost.output import strict_json
from hindmost.parsing import parse_json
from hindmost.records import from_document, to_document

NS = 1e-9
WINDOW_S = 1.0
SUFFIX = ".work"
"""Of the files in a raw folder, beside those of the nodes."""
MAX_WINDOWS, MIN_WINDOWS = 128, 2
"""Beyond the first, neighbours are added together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOfNode:
    """How much the ranks of another node work, as the process that follows them writes it.

    Attributes
    ----------
    ranks : tuple of int
    shares : tuple of tuple of float
        Of each the parts of its time by phase, see `PHASES`, lately.
    core_wait_s : tuple of float
        How long each could run and had no core so far; -1 where that is not known.
    """

    ranks: tuple[int, ...]
    shares: tuple[tuple[float, ...], ...]
    core_wait_s: tuple[float, ...]


class NodeWork:
    """Writes every second how much the ranks of this node work, into the raw folder.

    Parameters
    ----------
    folder : Path
        Of their pages.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._written_s = folder, -np.inf
        self._pages: dict[int, PairsPage] = {}
        self._before = self._shares = np.empty((0, len(PHASES)))

    def poll(self) -> None:
        """Write it now and then."""
        now_s = time.monotonic()
        if now_s < self._written_s + WINDOW_S:
            return
        self._written_s = now_s
        map_new_pages(self._folder, self._pages)
        file = next((page.raw_file for page in self._pages.values()), None)
        sums = _spent_s(self._pages.values())
        if file is None or len(sums) != len(self._before):
            self._before, self._shares = sums, np.zeros(sums.shape)
            return
        spent_s = sums - self._before
        passed_s = spent_s.sum(axis=1, keepdims=True)
        # Of a rank that has been in one call, or out of MPI, since then, the part is as before.
        self._shares = np.where(passed_s > 0.0, spent_s / np.maximum(passed_s, NS), self._shares)
        self._before = sums
        waits_s = np.nan_to_num(_core_waits(self._pages.values()), nan=-1.0)
        note = WorkOfNode(
            ranks=tuple(self._pages),
            shares=tuple(map(tuple, self._shares.tolist())),
            core_wait_s=tuple(waits_s.tolist()),
        )
        with suppress(OSError):  # a folder that is gone, a disk that is full
            write_atomically(file.with_suffix(SUFFIX), strict_json(to_document(note)))


class RankWork:
    """Follows the work of ranks while a loop iterates.

    Parameters
    ----------
    folder : Path
        Of the pages of those of this node.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: dict[int, PairsPage] = {}
        map_new_pages(folder, self._pages)
        self._pages = {rank: self._pages[rank] for rank in sorted(self._pages)}
        self._iterations, self._window_s, self._looked_s = 0, WINDOW_S, -np.inf
        # Of ranks of other nodes: the parts of their time, and how long they had no core.
        self._others: dict[int, tuple[tuple[float, ...], float]] = {}
        self._begin()

    def _begin(self) -> None:
        self._places = PlacesOfWork(self._pages)
        self._before: NDArray[np.float64] | None = None
        self._core_wait_before = self._core_wait_s()
        self._first, self._counts = 0, list[int]()
        self._windows: list[NDArray[np.float64]] = []

    @property
    def ranks(self) -> int:
        """How many ranks are followed."""
        return len(self._pages) + len(self._others)

    def poll(self, iterations: int) -> bool:
        """Begin another window where the loop has gone on for long enough; return whether.

        Parameters
        ----------
        iterations : int
            Of the loop, that the first rank has ended.
        """
        now_s = time.monotonic()
        if iterations == self._iterations or now_s < self._looked_s + self._window_s:
            return False
        self._look_at_others()
        sums = _spent_s(self._pages.values())
        if self._before is not None:
            window_s = sums - self._before
            passed_s = window_s.sum(axis=1).mean()
            far = np.array([parts for parts, _ in self._others.values()]).reshape(-1, len(PHASES))
            self._windows.append(np.concatenate([window_s, far * passed_s]))
            self._counts.append(iterations - self._iterations)
        else:
            self._first = iterations
        self._before, self._iterations, self._looked_s = sums, iterations, now_s
        if len(self._windows) > MAX_WINDOWS:
            pairs = range(0, MAX_WINDOWS, 2)
            self._windows[:MAX_WINDOWS] = [
                self._windows[at] + self._windows[at + 1] for at in pairs
            ]
            self._counts[:MAX_WINDOWS] = [self._counts[at] + self._counts[at + 1] for at in pairs]
            self._window_s *= 2.0
        return True

    def _look_at_others(self) -> None:
        """Read what was written of other nodes; ranks that are new begin with all others."""
        found: dict[int, tuple[tuple[float, ...], float]] = {}
        file = next((page.raw_file for page in self._pages.values()), None)
        for path in file.parent.glob(f"*{SUFFIX}") if file is not None else ():
            with suppress(OSError, ValueError, HindmostError):
                note = from_document(WorkOfNode, parse_json(read_text(path)))
                if any(len(parts) != len(PHASES) for parts in note.shares):
                    continue
                waits = (wait_s if wait_s >= 0.0 else np.nan for wait_s in note.core_wait_s)
                found |= dict(zip(note.ranks, zip(note.shares, waits, strict=True), strict=True))
        before, self._others = self._others, {rank: found[rank] for rank in sorted(found)}
        if list(before) != list(self._others):
            self._begin()

    def culprit(self) -> Culprit | None:
        """Return the rank that the others wait for; None if there is none so far."""
        if len(self._windows) < MIN_WINDOWS or self.ranks < 2:
            return None
        spent_s = np.array(self._windows)  # of shape (window, rank, phase)
        work, passed = spent_s[:, :, PHASES.index("local")], spent_s.sum(axis=2)
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
        return found and _renumbered(found, [*self._pages, *self._others])

    def windows(self) -> RankWindows | None:
        """Return what the ranks spent their time on; None if nothing is known of that."""
        spent_s = np.array(self._windows)
        if not spent_s.any():
            return None
        order = np.argsort([*self._pages, *self._others])
        return RankWindows.of(self._first, np.array(self._counts), spent_s[:, order])

    def place(self, rank: int) -> WorkPlace | None:
        """Return where a rank of this node works more than others; None if that is not known."""
        with suppress(OSError, HindmostError):  # its raw file is gone
            return self._places.of_extra(rank)
        return None

    def _core_wait_s(self) -> NDArray[np.float64]:
        """Return how long each rank could run and had no core; NaN where that is not known."""
        far = [wait_s for _, wait_s in self._others.values()]
        return np.append(_core_waits(self._pages.values()), far)


def _core_waits(pages: Iterable[PairsPage]) -> NDArray[np.float64]:
    """Return how long ranks of this node could run and had no core, in seconds; NaN: unknown."""
    waits_s = []
    for page in pages:
        waits_s.append(np.nan)
        with suppress(OSError, ValueError, IndexError):
            words = Path(f"/proc/{page['pid']}/schedstat").read_text().split()
            waits_s[-1] = int(words[1]) * NS
    return np.array(waits_s)


def _spent_s(pages: Iterable[PairsPage]) -> NDArray[np.float64]:
    """Return the time of ranks so far by phase, own work last, of shape (rank, phase)."""
    rows = []
    for page in pages:
        end_ns, in_calls_ns = page["last_end_ns"], page.phase_ns()
        while (again_ns := page["last_end_ns"]) != end_ns:  # a call has ended in between
            end_ns, in_calls_ns = again_ns, page.phase_ns()
        rows.append([*in_calls_ns, end_ns - sum(in_calls_ns)])
    return np.array(rows, np.float64).reshape(-1, len(PHASES)) * NS


def _renumbered(culprit: Culprit, ranks: list[int]) -> Culprit:
    """Return a culprit by the numbers of its ranks in the program."""
    return replace(
        culprit, rank=ranks[culprit.rank], ranks=tuple(ranks[rank] for rank in culprit.ranks)
    )
