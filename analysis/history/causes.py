"""The cause of a change in a history of runs: what changed with it, and which part of the run.

What changed from the nights before to those after comes first: iterations, input, machine,
libraries. Where any did, the code is not blamed. Then the parts of an iteration are compared: the
change of the total is that of the parts that changed with it. If all stretches became longer by one
factor on all ranks, no place in the code did that. Work beyond the quickest iterations is a
disturbance, or comes only at times; time in MPI with the work as before is the network's, the
library's, or of neighbours on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.readers.formats.run_history import (
    DISTURBANCES,
    ITERATIONS,
    SOLVE,
)
from hindmost.analysis.readers.history import StretchTimers
from hindmost.harness.runfile.bodies import IN_MPI
from hindmost.models.changepoint import Trend
from hindmost.models.changepoint.changes import Finding
from hindmost.models.inference import difference_interval
from hindmost.text import first_of, percent

BUSIER, BUSY = 2.0, 0.5
"""A host is busier with more than so many times the tasks of before, and so many more a core."""
NIGHTS = 20
"""Nights before a change and after it that are compared, at most."""
MOST = 0.5
"""Share of a change from which on a part is its cause."""
ALIKE = 0.25
"""Deviation of the factors of stretches from their median, of its logarithm, up to which all became
longer by one factor."""
ALIKE_LOG = 0.01
OF_WORK = 0.05
"""Share of the work from which on a stretch counts for that."""
ONE, ALL = 1.5, 0.75
"""Ranks up to which one rank alone has a part, and share of the ranks from which on all have it."""
SAID = 0.1
"""Share of a change from which on a further part is named."""


class CauseKind(StrEnum):
    """What a change comes from, or what changed with it."""

    ITERATIONS = "iterations"
    INPUT = "input"
    MACHINE = "machine"
    SOFTWARE = "software"
    RANK = "rank"
    STRETCH = "stretch"
    WAITING = "waiting"
    DISTURBANCES = "disturbances"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a timer changed, or how a part of an iteration changed with it.

    Attributes
    ----------
    kind : CauseKind
    share : float
        Of the change: what the part of the run explains; NaN if there is none.
    subject : str
        The part of the run that explains it, in words; empty if none does.
    place : str
        The stretch, as the newest run names it; empty if no stretch explains it.
    rank : int or None
        The rank that does more work there; None if all do, or none.
    changed : tuple of str
        What else changed with it: ``host a -> b``.
    own : bool
        Whether what changed is the time of that part alone.
    text : str
        All that as one sentence, without a full stop.
    """

    kind: CauseKind
    share: float = np.nan
    subject: str = ""
    place: str = ""
    rank: int | None = None
    changed: tuple[str, ...] = ()
    own: bool = False
    text: str = ""

    JSON = "kind share subject place rank changed text"


class Sides:
    """The nights before and after a change, and the timers of their case."""

    def __init__(self, study: HistoryStudy, judged: JudgedSeries, change: Finding) -> None:
        series, steps = judged.series, judged.detection.changes
        first, last = change.interval
        begin = max((step.index for step in steps if step.index < first), default=0)
        end = min((step.index for step in steps if step.index > last), default=len(series.times))
        # Certainly before, and certainly after.
        out = {at for run in judged.detection.outliers for at in range(run.start, run.stop)}
        out -= set(range(change.index, end)) if change.index in out else set()  # a jump
        before, after = (
            [at for at in range(*span) if at not in out] for span in ((begin, first), (last, end))
        )
        self.before, self.after = before[-NIGHTS:], after[:NIGHTS]
        self.times = series.times
        alike = study.of_case(series.name.place)
        self.timers = {each.series.name.timer: each.series for each in alike}
        known = series.circumstances
        self.old, self.new = (
            [known[at] for at in places] if known else [] for places in (self.before, self.after)
        )
        self.stretches = {
            timer: each for run in (*self.old, *self.new) for timer, each in run.stretches.items()
        }

    def values(self, timer: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a timer on both sides."""
        series = self.timers.get(timer)
        if series is None:
            return np.zeros(0), np.zeros(0)
        old, new = (
            series.values[np.isin(series.times, self.times[places])]
            for places in (self.before, self.after)
        )
        return old, new

    def difference(self, timer: str) -> tuple[float, bool]:
        """Return by how much a timer changed, and whether more than by chance."""
        old, new = self.values(timer)
        if not new.size or old.size < 2:
            return 0.0, False
        low, high = difference_interval(old, new)
        return float(new.mean() - old.mean()), not low <= 0.0 <= high

    def ratio(self, timer: str) -> float:
        """Return how many times as large a timer is; NaN if that is not known."""
        old, new = self.values(timer)
        return float(new.mean() / old.mean()) if old.size and new.size else np.nan


def cause_of(study: HistoryStudy, judged: JudgedSeries, change: Finding) -> Cause | None:
    """Return the cause of a change; None of a drift, and if nothing is known of the runs."""
    if isinstance(change, Trend) or not judged.series.circumstances:
        return None
    sides = Sides(study, judged, change)
    if not sides.old or not sides.new:
        return None
    inputs, machine, software = (
        tuple(changed(*([getattr(each, name) for each in side] for side in (sides.old, sides.new))))
        for name in ("inputs", "machine", "software")
    )
    timer, effect = judged.series.name.timer, change.effect
    whole, stretch = timer == SOLVE, known_stretch(sides.stretches, timer)
    parts = parts_that_changed(sides) if whole else []
    if stretch:
        parts = [stretch_part(sides, stretch, 1.0)]
    counts = iterations(sides, timer) if whole or timer == ITERATIONS else None
    uniform = one_factor(sides) if whole or stretch else None
    leading = parts[0] if parts and parts[0].share >= MOST else None
    words = []
    kind = CauseKind.UNKNOWN
    share = np.nan if leading is None else leading.share
    if counts is not None and abs(counts[2]) >= MOST:
        kind, share = CauseKind.ITERATIONS, counts[2]
        words.append(
            f"{of_effect(share, effect)} is {counts[1]} iterations in place of {counts[0]}"
        )
    for name, what, found in (
        (CauseKind.INPUT, "the input", inputs),
        (CauseKind.MACHINE, "the machine", machine),
        (CauseKind.SOFTWARE, "software", software),
    ):
        if found:
            kind = name if kind == CauseKind.UNKNOWN else kind
            words.append(f"{what} changed with it: {first_of(found, '; ')}")
    busier = load_words(sides)
    if busier and timer != ITERATIONS:
        kind = CauseKind.DISTURBANCES if kind == CauseKind.UNKNOWN else kind
        words.append(busier)
    if kind == CauseKind.ITERATIONS:
        leading = None
    elif uniform is not None:
        leading = None
        large = f"every stretch of {percent(OF_WORK, 0)} of the work or more"
        words.append(f"{large} takes {uniform:.2f} times as long on all ranks")
        if kind == CauseKind.UNKNOWN:
            kind = CauseKind.MACHINE
            words[-1] += (
                ": the machine (clock, power, memory), or how all of it was compiled, and no place "
                "in the code"
            )
    if leading is not None:
        kind = leading.kind if kind == CauseKind.UNKNOWN else kind
        words += [
            f"{of_effect(part.share, effect)} is {part.subject}"
            if whole
            else f"it is {part.subject}"
            for part in parts[:3]
            if part.share >= SAID
        ]
    if not words:
        if not whole:
            return None
        words.append("no part of the run that is recorded explains it")
    return replace(
        leading or Cause(kind=kind),
        kind=kind,
        share=share,
        changed=(*inputs, *machine, *software),
        own=bool(stretch),
        text="; ".join(words),
    )


def known_stretch(stretches: Mapping[str, StretchTimers], timer: str) -> str:
    """Return the timer of the longest work of a stretch, of one of its timers; else nothing."""
    return next((one for one, each in stretches.items() if timer in (one, each.mean)), "")


def of_effect(share: float, effect: float) -> str:
    """Write a part of a change: ``12 of the 14 %``."""
    part, whole = (100.0 * each * abs(effect) for each in (share, 1.0))
    return f"{part:.{0 if part >= 9.95 else 1}f} of the {whole:.{0 if whole >= 9.95 else 1}f} %"


def changed(old: Sequence[Mapping[str, str]], new: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield what had other values on all nights before a change than on all nights after it."""
    for name in dict.fromkeys(key for each in (*old, *new) for key in each):
        values = [list(dict.fromkeys(each.get(name, "") for each in side)) for side in (old, new)]
        if not set(values[0]) & set(values[1]):
            before, after = (" or ".join(each or "not given" for each in side) for side in values)
            yield f"{name} {before} -> {after}"


def load_words(sides: Sides) -> str:
    """Say that the hosts had more to do than before; empty if they had not, or that is unknown."""
    before, after = (
        [each.load for each in side if each.load is not None] for side in (sides.old, sides.new)
    )
    if not before or not after:
        return ""
    old, new = float(np.median(before)), float(np.median(after))
    if new < BUSIER * old + BUSY:
        return ""
    return (
        f"the hosts were busier: {new:.1f} runnable tasks a core before the runs, in place of "
        f"{old:.1f}"
    )


def iterations(sides: Sides, timer: str) -> tuple[int, int, float] | None:
    """Return other numbers of iterations, and the share of the change that they explain.

    None if they did not change.
    """
    counts = [[each.iterations for each in side] for side in (sides.old, sides.new)]
    if not all(counts[0]) or not all(counts[1]) or set(counts[0]) & set(counts[1]):
        return None
    old, new = sides.values(timer)
    whole = float(new.mean() - old.mean())
    before, after = (int(np.median(count)) for count in counts)
    return before, after, float(old.mean() * (after / before - 1.0)) / whole


def stretches(sides: Sides) -> list[str]:
    """Return the timers of the stretches' longest work that are known on both sides."""
    return [timer for timer in sides.stretches if all(side.size for side in sides.values(timer))]


def one_factor(sides: Sides) -> float | None:
    """Return by which factor all stretches became longer; None if they differ, or did not."""
    works = {timer: float(sides.values(timer)[0].mean()) for timer in stretches(sides)}
    logs = np.log(
        [
            sides.ratio(which)
            for timer, work_s in works.items()
            if work_s >= OF_WORK * sum(works.values())
            for which in (timer, sides.stretches[timer].mean)
        ]
    )
    if logs.size < 4 or not np.isfinite(logs).all():
        return None
    middle = float(np.median(logs))
    near = ALIKE * abs(middle) + ALIKE_LOG
    instructions = sides.ratio("instructions")
    more = np.isfinite(instructions) and abs(np.log(instructions)) > MOST * abs(middle)
    if abs(middle) < 2.0 * ALIKE_LOG or np.abs(logs - middle).max() > near or more:
        return None
    return float(np.exp(middle))


def parts_that_changed(sides: Sides) -> list[Cause]:
    """Return the parts of an iteration that changed with the total, the largest share first."""
    counts = [np.array([each.iterations for each in side]) for side in (sides.old, sides.new)]
    old, new = sides.values(SOLVE)
    if not all(count.all() for count in counts) or counts[0].size != old.size:
        return []
    if counts[1].size != new.size:
        return []
    whole_s = float((new / counts[1]).mean() - (old / counts[0]).mean())
    found = []
    for timer in stretches(sides):
        longest_s, sure = sides.difference(timer)
        if sure and longest_s * whole_s > 0.0:
            found.append(stretch_part(sides, timer, longest_s / whole_s))
    for timer in (DISTURBANCES, *IN_MPI):
        part_s, sure = sides.difference(timer)
        if sure and part_s * whole_s > 0.0:
            found.append(other_part(timer, part_s / whole_s))
    if not sides.stretches:
        part_s, sure = sides.difference("local")
        if sure and part_s * whole_s > 0.0:
            words = "time outside MPI; no calls were recorded that tell its place"
            found.append(Cause(kind=CauseKind.STRETCH, subject=words, share=part_s / whole_s))
    # Waiting is what other ranks' work leaves: work explains it where it is the larger part.
    work = [each for each in found if each.kind in (CauseKind.RANK, CauseKind.STRETCH)]
    if sum(each.share for each in work) >= MOST:
        found = work
    return sorted(found, key=lambda each: -each.share)


def stretch_part(sides: Sides, timer: str, share: float) -> Cause:
    """Return the part of a stretch: of one rank, of some, or of all."""
    known, stretch = sides.new[-1], sides.stretches[timer]
    longest_s, mean_s = (sides.difference(each)[0] for each in (timer, stretch.mean))
    ranks = known.ranks * mean_s / longest_s if longest_s else np.inf
    nights = Counter(
        each.stretches[timer].longest if timer in each.stretches else None for each in sides.new
    )
    rank, times = nights.most_common(1)[0]
    kind, alone = CauseKind.STRETCH, None
    if known.ranks < 2:
        whose = ""
    elif ranks >= ALL * known.ranks:
        whose = "of all ranks "
    elif ranks > ONE:
        whose = f"of about {ranks:.0f} of {known.ranks} ranks "
    elif rank is None or times < 0.8 * len(sides.new):
        whose = "of one rank, not always the same, "
    else:
        kind, alone, whose = CauseKind.RANK, rank, f"of rank {rank} "
    subject = f"work {whose}{stretch.place}"
    return Cause(kind=kind, share=share, subject=subject, place=stretch.place, rank=alone)


def other_part(timer: str, share: float) -> Cause:
    """Return the part of time that is no work, or no usual one."""
    if timer == DISTURBANCES:
        words = (
            "work beyond the quickest iterations: disturbances of the machine, or work that comes "
            "only at times"
        )
        return Cause(kind=CauseKind.DISTURBANCES, subject=words, share=share)
    return Cause(
        kind=CauseKind.WAITING,
        subject=f"time in MPI ({timer}): the network, the library, or neighbours on them",
        share=share,
    )
