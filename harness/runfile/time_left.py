"""How the time of a program was used that was watched while it ran: facts, and their words.

The process that watches an attached program writes them into its raw folder, again and again while
it runs; `hindmost watch` reads them there. A run file has what they were in the end.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from hindmost.errors import DataError
from hindmost.files import read_text
from hindmost.models.ranks.culprit import Culprit
from hindmost.parsing import parse_json
from hindmost.records import from_document
from hindmost.text import counted, duration, percent, seconds

KEY = "time_left"
"""Its key in what a header says of an attached program."""
NOTE = "time-left.json"
"""The file in a raw folder."""
Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BandPoint:
    """What was known at the end of an iteration.

    Attributes
    ----------
    iteration : int
        How many had ended.
    at_s : float
        Since the watch began.
    level_s, bound_s : float
        Median of the last iterations, and what the next one may take.
    """

    iteration: Count
    at_s: Amount
    level_s: Positive
    bound_s: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointWritten:
    """An iteration that wrote a checkpoint.

    Attributes
    ----------
    at_s : float
        When it ended, since the watch began.
    written_bytes : int
    extra_s : float
        How much longer it was than those like it.
    """

    at_s: Amount
    written_bytes: Count
    extra_s: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPlace:
    """Between which calls a rank has most of its extra work.

    Attributes
    ----------
    after, before : tuple of str
        The chains of calls that end there, the outermost first.
    share : float
        Of its extra work, what is there.
    """

    after: tuple[str, ...]
    before: tuple[str, ...]
    share: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPart:
    """What is known before of the part of a program that it records itself.

    Attributes
    ----------
    title : str
        What the program calls it; empty of a program that `hindmost attach` records.
    total : int
        Iterations of the loop that it marks; 0 if that is not known.
    run, runs : int
        Which one it is of how many.
    """

    title: str = ""
    total: Count = 0
    run: Count = 1
    runs: Count = 1


WHOLE = WatchedPart()
"""A whole program."""


class StopReason(StrEnum):
    """Why a program was told to stop."""

    NEXT = "next"
    """Another iteration might not have fit."""
    RUNNING = "running"
    """The iteration that ran left no time for another."""
    PLAIN = "plain"
    """No loop was known, and most of the time was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDecision:
    """When and why a program was told to stop.

    Attributes
    ----------
    reason : StopReason
    at_s, left_s : float
        Since the watch began, and until the limit.
    iteration : int
        The one that ran, from 1; 0 if no loop was known.
    count : int
        Iterations that had to fit: those that begin after the program is told, and the next.
    next_s, checkpoint_s, end_s : float
        Upper bounds of these iterations, a checkpoint and the end of the program.
    by : tuple of str
        How it was told.
    """

    reason: StopReason
    at_s: Amount
    left_s: float
    iteration: Count
    count: Count
    next_s: Amount
    checkpoint_s: Amount
    end_s: Amount
    by: tuple[str, ...] = ()

    def explain(self) -> str:
        """Say why in a part of a sentence."""
        if self.reason is StopReason.PLAIN:
            share = self.at_s / (self.at_s + self.left_s)
            return f"no loop is known, and {percent(share)} of the time is used"
        why = "" if self.reason is StopReason.NEXT else "the iteration that runs is long, and "
        checkpoint = seconds(self.checkpoint_s) if self.checkpoint_s else "nothing (none was seen)"
        return (
            f"{why}{seconds(self.left_s)} are left; {counted(self.count, 'iteration')} may take "
            f"{seconds(self.next_s)}; kept for a checkpoint: {checkpoint}, for the end: "
            f"{seconds(self.end_s)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeUse:
    """How the time of a watched program was used so far.

    Attributes
    ----------
    began_utc_s : float
        When the watch began, by the system's clock.
    at_s : float
        Time since then.
    limit_s : float or None
        Since then; None without a limit.
    limit_by : str
        Who set it.
    loop : str
        The loop whose iterations are meant; empty if none is known.
    iterations : int
        That have ended.
    total : int
        How many there will be, if that is known; else 0.
    level_s, bound_s : float or None
        Median of the last iterations, and what the next one may take.
    lag : int
        Iterations that begin after the program is told.
    end_s : float
        What is kept free for its end.
    lag_by, end_by : str
        Where these two are from.
    culprit : Culprit or None
        The rank that the others wait for so far.
    place : WorkPlace or None
        Where it works more than others; None if that is not known.
    ranks : int
        Ranks among which it is: those of nodes on which a process follows them.
    checkpoint_s : float
        What the next checkpoint may take; 0 if none was seen.
    checkpoints : tuple of CheckpointWritten
        The last ones.
    band : tuple of BandPoint
    stop : StopDecision or None
        None if the program was not told to stop.
    status : int or None
        How the program ended, see `hindmost.processes.how_ended`; None while it runs.
    run, runs : int
        Which run of the program this is, of how many that are recorded one after the other.
    lost : bool
        Whether its process is gone, and nobody knows how it ended.
    lag_seen : int or None
        Iterations that began after it was told.
    end_seen_s : float or None
        Time from the end of the last iteration to that of the program, without a checkpoint.
    written_after_s : float or None
        Time from the end of the program until its records were read and its run file was begun;
        None if that was no part of the job.
    """

    began_utc_s: float
    at_s: Amount
    limit_s: Positive | None = None
    limit_by: str = ""
    loop: str = ""
    iterations: Count = 0
    total: Count = 0
    level_s: Positive | None = None
    bound_s: Amount | None = None
    lag: Count = 0
    end_s: Amount = 0.0
    lag_by: str = ""
    end_by: str = ""
    culprit: Culprit | None = None
    place: WorkPlace | None = None
    ranks: Count = 0
    checkpoint_s: Amount = 0.0
    checkpoints: tuple[CheckpointWritten, ...] = ()
    band: tuple[BandPoint, ...] = ()
    stop: StopDecision | None = None
    status: int | None = None
    run: Count = 1
    runs: Count = 1
    lost: bool = False
    lag_seen: Count | None = None
    end_seen_s: Amount | None = None
    written_after_s: Amount | None = None

    @property
    def left_s(self) -> float:
        """Time until the limit; infinite without one."""
        return math.inf if self.limit_s is None else self.limit_s - self.at_s

    @property
    def more(self) -> int | None:
        """How many iterations still fit, if they go on as the last ones; None if unknown."""
        if self.level_s is None or self.limit_s is None:
            return None
        free_s = self.left_s - self.end_s - self.checkpoint_s
        return max(0, math.floor(free_s / self.level_s))

    @property
    def _halves(self) -> tuple[BandPoint, ...]:
        """The first moment that is kept, the first of the second half, and the last one."""
        later = [point for point in self.band if 2 * point.iteration >= self.band[-1].iteration]
        points = (*self.band[:1], *later[:1], *later[-1:])
        return points if all(b.iteration > a.iteration for a, b in pairwise(points)) else ()

    @property
    def mean_s(self) -> float | None:
        """Mean time of the second half of the iterations; None if unknown."""
        return mean_between(*self._halves[1:]) if self._halves else self.level_s

    @property
    def loop_left_s(self) -> float | None:
        """What the iterations that are left will take, if they go on so; None if unknown."""
        if not self.total or self.mean_s is None:
            return None
        return max(0, self.total - self.iterations) * self.mean_s

    @property
    def trend(self) -> float | None:
        """Mean time of the second half of the iterations over that of the first; None: unknown."""
        if not self._halves:
            return None
        first, half, last = self._halves
        return mean_between(half, last) / max(mean_between(first, half), 1e-300)

    @property
    def checkpoint_interval_s(self) -> float | None:
        """Median time from one checkpoint to the next; None with fewer than two."""
        ends = [checkpoint.at_s for checkpoint in self.checkpoints]
        gaps = [later - earlier for earlier, later in pairwise(ends)]
        return statistics.median(gaps) if gaps else None

    def watching(self) -> str:
        """Say which loop is watched, how fast it is, and how many iterations still fit."""
        return f"Watching {self.loop}: {self.rate()}; {self.outlook()}. {self.kept()}."

    def rate(self) -> str:
        """Say how long an iteration takes."""
        mean_s = self.mean_s or 0.0
        if 0.0 < mean_s < 1.0:
            return f"{1.0 / mean_s:,.3g} iterations a second"
        return f"{seconds(mean_s)} an iteration"

    def outlook(self) -> str:
        """Say how much time is left, and for how many iterations."""
        return f"{duration(max(0.0, self.left_s))} left: about {self.more or 0:,} more"

    def kept(self) -> str:
        """Say what is kept free of the limit."""
        return (
            f"Kept free for the end of the program: {seconds(self.end_s)} ({self.end_by}), and "
            f"{counted(self.lag, 'iteration')} until it reacts ({self.lag_by})"
        )

    def progress(self) -> str:
        """Say how far the program is."""
        run = f"run {self.run} of {self.runs}: " if self.runs > 1 else ""
        if not self.loop:
            return f"{run}{duration(self.at_s)}: no loop is known yet"
        done = counted(self.iterations, "iteration")
        if self.total:
            share = percent(self.iterations / self.total, 0)
            done = f"{self.iterations:,} of {counted(self.total, 'iteration')} ({share})"
        parts = [f"{run}{done} of {self.loop}", self.rate()]
        if self.trend is not None and abs(self.trend - 1.0) >= 0.02:
            change = percent(abs(self.trend - 1.0), 0)
            longer = "longer" if self.trend > 1.0 else "shorter"
            parts.append(f"{change} {longer} than in the first half")
        if self.loop_left_s is not None:
            parts.append(f"about {duration(self.loop_left_s)} left")
        if self.bound_s is not None:
            parts.append(f"the next may take {seconds(self.bound_s)}")
        if self.limit_s is not None:
            parts.append(self.outlook())
        if self.stop is not None:
            parts.append(f"told to stop {seconds(self.at_s - self.stop.at_s)} ago")
        return ", ".join(parts)

    def ending(self) -> str:
        """Say how the time was used, and why the program was told to stop."""
        assert self.limit_s is not None
        used = f"{duration(self.at_s)} of {duration(self.limit_s)} ({self.limit_by})"
        if self.left_s < 0.0:
            used = f"{used}: OVER the limit by {seconds(-self.left_s)}"
        else:
            used = f"{used}: {percent(self.left_s / self.limit_s)} unused"
        count = (
            f" {counted(self.iterations, 'iteration')} of {self.loop} seen." if self.loop else ""
        )
        return f"Used {used}.{count} {self.told()}"

    def told(self) -> str:
        """Say when and why the program was told to stop."""
        stop = self.stop
        if stop is None:
            return "The program was not told to stop."
        where = f" in iteration {stop.iteration:,}" if stop.iteration else ""
        return (
            f"It was told to stop{where}, {seconds(self.at_s - stop.at_s)} before its end: "
            f"{stop.explain()}."
        )


def mean_between(first: BandPoint, last: BandPoint) -> float:
    """Return the mean time of the iterations between two moments."""
    return (last.at_s - first.at_s) / (last.iteration - first.iteration)


def read_time_use(folder: Path) -> TimeUse | None:
    """Read the note in a raw folder; None if there is none."""
    try:
        return time_use_of({KEY: parse_json(read_text(folder / NOTE))})
    except (OSError, ValueError, DataError):
        return None


def time_use_to_keep(folder: Path) -> TimeUse | None:
    """Read the note of a program that has ended, for its run file; None if there is none."""
    use = read_time_use(folder)
    if use is None:
        return None
    # The run file says who that is, and where, of all ranks.
    use = replace(use, culprit=None, place=None, ranks=0)
    if use.status is None:
        return use
    after_s = time.time() - use.began_utc_s - use.at_s
    # Records that are read later are read by another command.
    is_in_job = 0.0 <= after_s <= 600.0
    return replace(use, written_after_s=after_s if is_in_job else None)


def time_use_of(attached: Mapping[str, Any]) -> TimeUse | None:
    """Return it from what a header says of an attached program; None if it does not say."""
    try:
        return from_document(TimeUse, attached[KEY], ignore_unknown=True)
    except (KeyError, ValueError, DataError):
        return None
