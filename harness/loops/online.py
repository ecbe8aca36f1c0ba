"""The loops of a running program, from the pairs of call contexts that its first rank has counted.

The calls themselves are not needed: how often pairs came says how often each loop iterated, and the
last context says in which loops control is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.loops.code import Functions
from hindmost.harness.loops.names import name_of_loop
from hindmost.harness.loops.tree import LoopKey, loops_of_pairs
from hindmost.harness.runfile.contexts import CallContexts


class OnlineLoops:
    """The loops that are known from the pairs so far; keys stay the same as more pairs come.

    Parameters
    ----------
    contexts : CallContexts
        Those that the rank has noted so far.
    before, after : uint32 array, shape (pair,)
        Contexts of two calls in a row.
    """

    def __init__(
        self, contexts: CallContexts, before: NDArray[np.uint32], after: NDArray[np.uint32]
    ) -> None:
        self._contexts = contexts
        numbers = np.unique(np.concatenate([before, after]))
        known = numbers[(numbers > 0) & (numbers < contexts.count)]
        self._place = {int(number): place for place, number in enumerate(known)}
        chains = [contexts.chain(int(number)).tolist() for number in known]
        # A pair whose contexts are not in the file yet is for the next time.
        self._pairs = np.flatnonzero(np.isin(before, known) & np.isin(after, known))
        pairs = [
            (self._place[int(before[pair])], self._place[int(after[pair])]) for pair in self._pairs
        ]
        self._nests, self._loops = (
            loops_of_pairs(chains, pairs, range(len(chains)), Functions(contexts))
            if chains
            else ([], {})
        )

    def around(self, context: int) -> list[LoopKey]:
        """Return the loops in which the calls of a context are, the outermost first."""
        place = self._place.get(context)
        return [] if place is None else [key for _, key, _ in self._nests[place]]

    def begins(self, key: LoopKey) -> NDArray[np.int64]:
        """Return the pairs that begin an iteration of a loop, those that enter it among them."""
        return self._of(self._loops[key].begins)

    def enters(self, key: LoopKey) -> NDArray[np.int64]:
        """Return the pairs at which control comes into a loop."""
        return self._of(self._loops[key].enters)

    def leaves(self, key: LoopKey) -> NDArray[np.int64]:
        """Return the pairs at which control goes out of a loop."""
        return self._of(self._loops[key].leaves)

    def name(self, key: LoopKey) -> str:
        """Return the function, file and line of a loop."""
        return name_of_loop(self._contexts, key, tuple(self._loops[key].frames))

    def _of(self, numbers: Sequence[int]) -> NDArray[np.int64]:
        return self._pairs[np.array(numbers, np.int64)]
