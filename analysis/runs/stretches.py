"""Where in the code work lies: the stretches of an iteration between two calls of MPI.

A stretch is known by the places in the code where the chains of calls at its ends part, so it is
the same on all ranks and in all iterations, whatever call of MPI the functions called there make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.efficiency.withheld import why_withheld
from hindmost.harness.runfile.contexts import CallContexts
from hindmost.harness.runfile.reader import Run
from hindmost.text import percent, seconds

MOST_CELLS = 1 << 26
"""Events of all ranks up to which stretches are looked at."""
FOLLOWED = 0.01
"""Share of a rank's work from which on a stretch is followed from iteration to iteration."""
USUAL = 0.9
"""Quantile of the first third of the iterations above which the median of the last has grown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Work between two calls of MPI.

    Attributes
    ----------
    after, before : str
        The calls at its ends: where the program made them.
    work_s, wait_s : float64 array, shape (rank,), seconds
        Work, and time in the call at its end; of all iterations.
    beyond_s : float64 array, shape (rank,), seconds
        Work beyond the median of an iteration, of all iterations: noise, or work that is not done
        in each.
    begin_s, end_s : float64 array, shape (rank,), seconds
        Median work of an iteration, of the first and of the last third of the iterations.
    grows : bool array, shape (rank,)
        Whether the last is above what nine in ten of the first iterations take.
    """

    after: str
    before: str
    work_s: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    beyond_s: NDArray[np.float64]
    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    grows: NDArray[np.bool_]

    JSON = "after before work_s wait_s beyond_s begin_s end_s"

    def extra_s(self, rank: int) -> float:
        """Return the work of a rank above the mean of the others, in seconds."""
        return float(self.work_s[rank] - np.delete(self.work_s, rank).mean())

    def __str__(self) -> str:
        """Write its ends; an iteration may have one call."""
        if self.after == self.before:
            return f"between {self.after} and the next time there"
        return f"between {self.after} and {self.before}"


def stretches_of(run: Run) -> tuple[Stretch, ...]:
    """Return the stretches of a run, that with most work first.

    None if the run does not know where its calls were made, or where no efficiency is given: what
    is not in a known call is then no work.
    """
    if why_withheld(run) or not run.has("event_context") or not run.has("frame_place"):
        return ()
    kinds = run.variable("event_kind")
    if kinds.size * run.columns > MOST_CELLS:
        return ()
    contexts = run.contexts
    ends = [named_chain(contexts, each) for each in range(contexts.count)]
    found: dict[tuple[str, str], NDArray[np.float64]] = {}
    is_event = kinds.ravel() > 0
    bodies = np.repeat(np.arange(run.bodies), kinds.shape[1])[is_event][1:]
    for rank in range(run.columns):
        here, work, wait = (
            run.variable(name)[:, rank].ravel()[is_event]
            for name in ("event_context", "event_work", "event_duration")
        )
        if here.size < 2 or not here.all():
            continue
        here = here.astype(np.int64)
        pairs, of_pair = np.unique(here[:-1] * contexts.count + here[1:], return_inverse=True)
        names: dict[tuple[str, str], int] = {}
        parted = (parting(*(ends[each] for each in divmod(pair, contexts.count))) for pair in pairs)
        which = np.array([names.setdefault(each, len(names)) for each in parted])[of_pair]
        work_s, wait_s = (np.bincount(which, each[1:]) for each in (work, wait))
        order = np.argsort(which, kind="stable")
        places = np.split(order, np.cumsum(np.bincount(which))[:-1])
        for (name, number), at in zip(names.items(), places, strict=True):
            row = found.setdefault(name, np.zeros((6, run.columns)))[:, rank]
            row[:2] = work_s[number], wait_s[number]
            if work_s[number] >= FOLLOWED * work_s.sum():
                row[2:] = course(
                    np.bincount(bodies[at], work[1:][at], run.bodies).astype(np.float64)
                )
    return tuple(
        Stretch(
            after=after,
            before=before,
            work_s=each[0],
            wait_s=each[1],
            beyond_s=each[2],
            begin_s=each[3],
            end_s=each[4],
            grows=each[5] > 0,
        )
        for (after, before), each in sorted(found.items(), key=lambda each: -each[1][0].sum())
    )


def named_chain(contexts: CallContexts, context: int) -> list[str]:
    """Return the places of a chain of calls, the outermost first."""
    return [contexts.places[frame] for frame in contexts.chain(context)]


def parting(own: Sequence[str], theirs: Sequence[str]) -> tuple[str, str]:
    """Return where two chains of calls part: the places, each with the function called there."""
    alike = (mine == their for mine, their in zip(own, theirs, strict=False))
    at = min(next((at for at, same in enumerate(alike) if not same), len(own)), len(own) - 1)
    return place_at(own, at), place_at(theirs, min(at, len(theirs) - 1))


def place_at(chain: Sequence[str], at: int) -> str:
    """Write a place of a chain of calls: ``exchange in step (step.c:62)``."""
    inner = chain[at + 1].rpartition(" (")[0] if at + 1 < len(chain) else ""
    return f"{inner} in {chain[at]}" if inner else chain[at]


def course(work: NDArray[np.float64]) -> tuple[float, float, float, bool]:
    """Return how the work of a stretch varies and grows; see `Stretch`.

    Parameters
    ----------
    work : float64 array, shape (iteration,), seconds

    Returns
    -------
    float, float, float
        ``beyond_s``, ``begin_s`` and ``end_s``.
    bool
        ``grows``.
    """
    beyond_s = float(np.maximum(work - np.median(work), 0.0).sum())
    third = work.size // 3
    if not third:
        return beyond_s, 0.0, 0.0, False
    first, end_s = work[:third], float(np.median(work[-third:]))
    begin_s = float(np.median(first))  # none: the program went another way at first
    return beyond_s, begin_s, end_s, 0.0 < begin_s < float(np.quantile(first, USUAL)) < end_s


MOST_OF_EXTRA = 0.6
"""Share of a rank's extra work from which on one stretch is where it lies."""


def extra_words(stretches: Sequence[Stretch], rank: int) -> str:
    """Say between which calls the extra work of a rank lies; empty if that is not known.

    Parameters
    ----------
    rank : int
        A column of the run.
    """
    if not stretches or stretches[0].work_s.size < 2:
        return ""
    most = max(stretches, key=lambda each: each.extra_s(rank))
    extra_s, whole_s = most.extra_s(rank), sum(each.extra_s(rank) for each in stretches)
    if not extra_s > 0.0 < whole_s:
        return ""
    share = extra_s / whole_s
    if share < MOST_OF_EXTRA:
        return (
            f" Its extra work lies in several places; most, {seconds(extra_s)} or "
            f"{percent(share, 0)} of it, {most}."
        )
    return f" {percent(min(share, 1.0), 0)} of its extra work lies {most}."


def growth_words(run: Run, stretches: Sequence[Stretch], least_s: float) -> str:
    """Say on which rank and between which calls work grows most; empty if nowhere.

    Parameters
    ----------
    least_s : float
        What it must add in the last third of the iterations.
    """
    growing = [each for each in stretches if each.grows.any()]
    if not growing:
        return ""
    grown = np.array([np.where(each.grows, each.end_s - each.begin_s, 0.0) for each in growing])
    at, rank = (int(each) for each in np.unravel_index(int(grown.argmax()), grown.shape))
    if grown[at, rank] * (run.bodies // 3) < least_s:
        return ""
    begin_s, end_s = (each[rank] for each in (growing[at].begin_s, growing[at].end_s))
    return (
        f"Work of rank {run.kept_ranks[rank]} {growing[at]} grows from {seconds(begin_s)} to "
        f"{seconds(end_s)} an iteration (medians of the first and the last third)."
    )
