"""Tell ranks where passes of their loop begin, so that they can sum the calls of most of them.

A rank whose records have used a part of its budget asks for it in its page. The process that waits
for the program looks its loops up in the code, as `hindmost.harness.attach.watch` does, and writes
into the page which pairs of contexts begin a pass of the loop, and where loops around it are begun,
entered or left.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.attach.background import Background
from hindmost.harness.attach.pairs import BORDER, BY_PROGRAM, PAIRS, PairsPage, map_new_pages
from hindmost.harness.attach.watch import ContextsSoFar
from hindmost.harness.loops.choice import ENOUGH
from hindmost.harness.loops.online import OnlineLoops
from hindmost.harness.loops.tree import LoopKey

MAX_LOOPS = 255
MIN_GROWTH = 1.2
"""By which factor the passes of a loop grow while the calls double: else it reads a script, most of
whose lines take no time."""
LOOK_EVERY_S = 0.25
PAUSES = 4.0
"""The code is looked at again after so many times the processor time of the last time."""


class RankBorders:
    """Follows the loops of one rank."""

    def __init__(self, page: PairsPage, rank: int) -> None:
        raw_file = page.raw_file
        assert raw_file is not None  # the rank asks for its loop
        self._page, self._contexts = page, ContextsSoFar(raw_file, rank)
        self._loops: OnlineLoops | None = None
        self._pairs_seen, self._is_new = 0, False
        self._look_again_s = 0.0
        self._slots: NDArray[np.int64] = np.empty(0, np.int64)
        self._history: list[tuple[int, NDArray[np.int64]]] = []
        self._numbers: dict[LoopKey, int] = {}
        self._around: dict[LoopKey, tuple[LoopKey, ...]] = {}  # of loops that have borders

    def poll(self) -> None:
        """Look once."""
        is_new = self._look_at_code()
        counts = self._page.pair["count"].copy()
        total = int(counts.sum())
        if not self._history or total >= 1.25 * self._history[-1][0]:
            self._history.append((total, counts))
        half = [each for each in self._history if 2 * each[0] <= total]
        self._is_new |= is_new
        if not half or self._loops is None:
            return
        self._history = [half[-1], *(each for each in self._history if each[0] > half[-1][0])]
        around = tuple(self._loops.around(self._page["context"]))
        chosen = self._chosen(around, counts, half[-1][1])
        if chosen is not None and chosen not in self._around:
            above = around[: around.index(chosen)]
            if any(each in self._around for each in above) or len(self._numbers) == MAX_LOOPS:
                return
            self._around = {key: its for key, its in self._around.items() if chosen not in its} | {
                chosen: above
            }
            self._numbers.setdefault(chosen, BY_PROGRAM + 1 + len(self._numbers))
            self._is_new = True
        if self._is_new and self._around:
            self._write(self._loops)
            self._is_new = False

    def _look_at_code(self) -> bool:
        """Find the loops anew where pairs have come that were not there before."""
        count, now_s = self._page["pairs"], time.monotonic()
        if count == self._pairs_seen or now_s < self._look_again_s:
            return False
        begin_s = time.thread_time()
        contexts = self._contexts.read()
        if not contexts.known:
            return False
        self._slots = np.flatnonzero(self._page.pair["after"])
        pairs = self._page.pair[self._slots]
        self._loops = OnlineLoops(contexts, pairs["before"], pairs["after"])
        self._pairs_seen = count
        self._look_again_s = time.monotonic() + PAUSES * (time.thread_time() - begin_s)
        return True

    def _chosen(
        self, around: tuple[LoopKey, ...], now: NDArray[np.int64], half: NDArray[np.int64]
    ) -> LoopKey | None:
        """Return the outermost of the loops around the last call that iterates often enough."""
        assert self._loops is not None  # it was looked for
        for key in around:
            begins = self._slots[self._loops.begins(key)]
            entries = int(now[self._slots[self._loops.enters(key)]].sum())
            passes = int(now[begins].sum())
            if passes < max(ENOUGH, entries + 1):
                continue
            if passes >= MIN_GROWTH * int(half[begins].sum()):
                return key
        return None

    def _write(self, loops: OnlineLoops) -> None:
        border = np.zeros(PAIRS, np.uint32)
        for chosen, above in self._around.items():
            for key in (*above, chosen):
                for pairs in (loops.begins(key), loops.leaves(key)):  # what enters it begins it
                    border[self._slots[pairs]] |= BORDER
        for chosen in self._around:
            border[self._slots[loops.begins(chosen)]] = BORDER | self._numbers[chosen]
        self._page.pair["border"][:] = border
        self._page["borders"] = self._page["borders"] + 1


class NodeBorders:
    """Follows the loops of the ranks of this node that ask for it.

    Parameters
    ----------
    folder : Path
        Of their pages.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looking: Background[None] | None = None
        self._look_again_s = 0.0
        self._pages: dict[int, PairsPage] = {}
        self._ranks: dict[int, RankBorders] = {}

    def poll(self) -> None:
        """Have a thread look, now and then; it may take long."""
        if self._looking is not None:
            if not self._looking.is_answered:
                return
            self._looking.answer()
            self._looking = None
            self._look_again_s = time.monotonic() + LOOK_EVERY_S
        elif time.monotonic() >= self._look_again_s:
            self._looking = Background(self._look)

    def _look(self) -> None:
        map_new_pages(self._folder, self._pages)
        for rank, page in self._pages.items():
            if not page["asks"]:
                continue
            if rank not in self._ranks:
                self._ranks[rank] = RankBorders(page, rank)
            self._ranks[rank].poll()
