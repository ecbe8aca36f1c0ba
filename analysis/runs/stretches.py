"""Where in the code work lies: the stretches of an iteration between two calls of MPI.

A stretch is known by the call contexts at its ends, so it is the same on all ranks and in all
iterations, whatever else these call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.contexts import CallContexts
from hindmost.harness.runfile.reader import Run

MOST_CELLS = 1 << 26
"""Events of all ranks up to which stretches are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Work between two calls of MPI.

    Attributes
    ----------
    after, before : str
        The calls at its ends: where the program made them.
    work_s : float64 array, shape (rank,), seconds
        Of all iterations.
    """

    after: str
    before: str
    work_s: NDArray[np.float64]

    def extra_s(self, rank: int) -> float:
        """Return the work of a rank above the mean of the others, in seconds."""
        return float(self.work_s[rank] - np.delete(self.work_s, rank).mean())

    def __str__(self) -> str:
        """Write its ends."""
        return f"between {self.after} and {self.before}"


def stretches_of(run: Run) -> tuple[Stretch, ...]:
    """Return the stretches of a run, that with most work first.

    None if the run does not know where its calls were made.
    """
    if not run.has("event_context") or not run.has("frame_place"):
        return ()
    kinds = run.variable("event_kind")
    if kinds.size * run.columns > MOST_CELLS:
        return ()
    contexts = run.contexts
    found: dict[tuple[int, int], NDArray[np.float64]] = {}
    is_event = kinds.ravel() > 0
    for rank in range(run.columns):
        here = run.variable("event_context")[:, rank].ravel()[is_event].astype(np.int64)
        work = run.variable("event_work")[:, rank].ravel()[is_event].astype(np.float64)
        if here.size < 2 or not here.all():
            continue
        pairs, which = np.unique(here[:-1] * contexts.count + here[1:], return_inverse=True)
        spent = np.bincount(which, work[1:])
        for pair, seconds in zip(pairs.tolist(), spent.tolist(), strict=True):
            key = divmod(pair, contexts.count)
            found.setdefault(key, np.zeros(run.columns))[rank] += seconds
    return tuple(
        Stretch(
            after=call_of(contexts, after, before),
            before=call_of(contexts, before, after),
            work_s=work_s,
        )
        for (after, before), work_s in sorted(found.items(), key=lambda each: -each[1].sum())
    )


def call_of(contexts: CallContexts, context: int, other: int) -> str:
    """Return where the program made a call: the innermost function and its line.

    Parameters
    ----------
    other : int
        The call at the other end: where the innermost function and line are the same, the first
        that differ are named as well.
    """
    own, theirs = (
        [contexts.places[frame] for frame in contexts.chain(each)] for each in (context, other)
    )
    if not own:
        return "a call that is not known"
    if own == theirs or not theirs or own[-1] != theirs[-1]:
        return str(own[-1])
    differ = next(
        (mine for mine, their in zip(own, theirs, strict=False) if mine != their), own[-1]
    )
    return str(own[-1]) if differ == own[-1] else f"{own[-1]} in {differ}"


def where_extra(run: Run, rank: int) -> tuple[Stretch, float, float] | None:
    """Return the stretch with most of a rank's extra work, None if it is not known.

    Returns
    -------
    Stretch
    float
        Its extra work in seconds.
    float
        The extra work of the rank in all stretches, in seconds.
    """
    stretches = stretches_of(run)
    if not stretches or run.columns < 2:
        return None
    most = max(stretches, key=lambda each: each.extra_s(rank))
    whole = sum(each.extra_s(rank) for each in stretches)
    return (most, most.extra_s(rank), whole) if most.extra_s(rank) > 0.0 < whole else None
