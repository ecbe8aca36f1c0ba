"""The iterations of loops of whose calls some are summed.

A rank that makes more calls than it keeps numbers the passes of the loop that it knows, and sums
the calls of most of them (`hindmost.harness.loops.tree.Folds`). A unit of passes that is summed
begins at one call of the loop and has its number: so the number of every pass is known, and must
agree with those that are seen. Other loops may have iterated in what is summed, and are not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.loops.choice import loops_around
from hindmost.harness.loops.tree import Folds, Loop, LoopKey


def numbered_loops(loops: Mapping[LoopKey, Loop], folds: Folds) -> dict[LoopKey, Loop]:
    """Return the loops of a rank whose passes are all known by their number.

    Parameters
    ----------
    loops : mapping of LoopKey to Loop
        All of them, those around before those in them.
    folds : Folds
    """
    found: dict[LoopKey, Loop] = {}
    blind = folds.at[folds.loop == 0]
    for number in np.unique(folds.loop[folds.loop > 0]).tolist():
        own = (folds.loop == number) & (folds.passes > 0)
        starts = folds.at[own] - 1
        for key, loop in loops.items():
            if starts.size and np.isin(starts, loop.begins).all():
                known = _numbered(loop, starts, folds.first[own], folds.passes[own], blind)
                if known is not None:
                    found[key] = known
                break
    return {
        key: loop
        for key, loop in found.items()
        if not any(above in found for above in loops_around(loop, loops))
    }


def _numbered(
    loop: Loop,
    starts: NDArray[np.int64],
    first: NDArray[np.int64],
    passes: NDArray[np.int64],
    blind: NDArray[np.int64],
) -> Loop | None:
    """Return a loop with the numbers of its passes; None if they do not agree.

    Parameters
    ----------
    starts, first, passes : int64 array, shape (unit,)
        The first call of each unit of passes, the number of its first pass, and how many it has.
    blind : int64 array, shape (gap,)
        The first call behind calls of which is not known how often the loop iterated.
    """
    place = np.searchsorted(loop.begins, starts)
    weights = np.ones(loop.begins.size, np.int64)
    weights[place] = passes
    before = np.cumsum(weights) - weights
    segment = np.searchsorted(blind, loop.begins, side="right")
    # The first pass has the number 1; it has none if it began with the first call of the program.
    offset = {0: int(loop.begins[0] > 0)}
    for at, value in zip(segment[place].tolist(), (first - before[place]).tolist(), strict=True):
        if offset.setdefault(at, value) != value:
            return None
    known = np.array([offset.get(at, -1) for at in segment.tolist()], np.int64)
    if (known < 0).any() or (np.diff(known) < 0).any():
        return None
    number = before + known
    gap = np.flatnonzero(np.diff(segment))
    number = np.append(number, number[-1] + weights[-1])
    edges = np.searchsorted(loop.begins, np.append(loop.enters, np.iinfo(np.int64).max))
    return replace(
        loop,
        number=number,
        trips=np.diff(number[edges]),
        gaps=tuple(zip(number[gap].tolist(), number[gap + 1].tolist(), strict=True)),
    )


def with_plain_numbers(loop: Loop) -> Loop:
    """Return a loop with the numbers of its passes, all of which are seen."""
    if loop.number is not None or not loop.begins.size:
        return loop
    return replace(loop, number=np.arange(loop.begins.size + 1) + int(loop.begins[0] > 0))
