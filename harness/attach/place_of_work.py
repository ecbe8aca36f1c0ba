"""Where a rank works more than others while a program runs: between which calls, from its page.

The recorder adds up the work between any two calls that follow each other. Ranks number the places
of their calls by themselves, so those of several ranks are compared by their chains of calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.attach.pairs import PairsPage
from hindmost.harness.attach.watch import NS, ContextsSoFar
from hindmost.harness.loops.code import NOT_THE_PROGRAM
from hindmost.harness.loops.names import places_of
from hindmost.harness.runfile.contexts import CallContexts
from hindmost.harness.runfile.time_left import WorkPlace

MAX_OTHERS = 8
"""Ranks with which one is compared."""
Chain = tuple[tuple[str, int], ...]
"""A chain of calls: modules and places in them."""


class PlacesOfWork:
    """Where the ranks of this node work, from now on.

    Parameters
    ----------
    pages : mapping of int to PairsPage
        By rank.
    """

    def __init__(self, pages: Mapping[int, PairsPage]) -> None:
        self._pages = pages
        self._before = {rank: page.pair["work_ns"].copy() for rank, page in pages.items()}
        self._contexts: dict[int, ContextsSoFar] = {}

    def of_extra(self, rank: int) -> WorkPlace | None:
        """Return where most of the extra work of a rank lies; None if that is not known."""
        others = [other for other in self._pages if other != rank][:MAX_OTHERS]
        if rank not in self._pages or not others:
            return None
        table = self._table(rank)
        own, numbers = self._work(rank, table)
        theirs = [self._work(other, self._table(other))[0] for other in others]
        if not own:
            return None
        extra = {
            stretch: work_s - float(np.median([work.get(stretch, 0.0) for work in theirs]))
            for stretch, work_s in own.items()
        }
        most = max(extra, key=extra.__getitem__)
        whole_s = sum(extra.values())
        if not extra[most] > 0.0 < whole_s:
            return None
        after, before = (named_chain(table, number) for number in numbers[most])
        return WorkPlace(after=after, before=before, share=min(extra[most] / whole_s, 1.0))

    def _table(self, rank: int) -> CallContexts:
        file = self._pages[rank].raw_file
        assert file is not None  # of a loop that iterates
        return self._contexts.setdefault(rank, ContextsSoFar(file, rank)).read()

    def _work(
        self, rank: int, table: CallContexts
    ) -> tuple[dict[tuple[Chain, Chain], float], dict[tuple[Chain, Chain], tuple[int, int]]]:
        """Return the work in each stretch, and the contexts of the calls at its ends."""
        pair = self._pages[rank].pair
        work_ns: NDArray[np.int64] = pair["work_ns"] - self._before[rank]
        spent: dict[tuple[Chain, Chain], float] = defaultdict(float)
        numbers: dict[tuple[Chain, Chain], tuple[int, int]] = {}
        here = (pair["before"] > 0) & (pair["after"] > 0) & (work_ns > 0)
        here &= (pair["before"] < table.count) & (pair["after"] < table.count)
        for slot in np.flatnonzero(here).tolist():
            ends = int(pair["before"][slot]), int(pair["after"][slot])
            stretch = chain_of(table, ends[0]), chain_of(table, ends[1])
            spent[stretch] += float(work_ns[slot]) * NS
            numbers[stretch] = ends
        return spent, numbers


def chain_of(table: CallContexts, number: int) -> Chain:
    """Return the chain of calls of a context, the same on all ranks."""
    return tuple(
        (
            table.modules[module].path if (module := int(table.module[frame])) >= 0 else "",
            int(table.offset[frame]),
        )
        for frame in table.chain(number).tolist()
    )


def named_chain(table: CallContexts, number: int) -> tuple[str, ...]:
    """Return the places of a chain of calls, the outermost first, without those inside of MPI."""
    chain = table.chain(number).tolist()
    own = [
        frame
        for frame in chain
        if (module := int(table.module[frame])) < 0
        or not NOT_THE_PROGRAM.search(table.modules[module].path)
    ]
    places = places_of(table, own or chain)
    return tuple(str(places[frame]) for frame in own or chain)
