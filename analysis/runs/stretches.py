"""Where in the code work lies: the stretches of an iteration between two calls of MPI.

A stretch is known by the places in the code where the chains of calls at its ends part, so it is
the same on all ranks and in all iterations, whatever call of MPI the functions called there make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.check_bodies import places_of, recurring_of
from hindmost.analysis.runs.efficiency.withheld import why_withheld
from hindmost.analysis.runs.finding import WORTH_SAYING
from hindmost.analysis.runs.read import once_a_run
from hindmost.analysis.runs.tallies import (
    MAX_IN_MEMORY,
    Block,
    clock_uncertainty,
    exchanges_meet_in,
    neighbours_in,
)
from hindmost.harness.loops.code import NOT_THE_PROGRAM
from hindmost.harness.runfile.contexts import CallContexts, CodePlace
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.ranks.culprit import QuickestWork, over_others, quickest_of
from hindmost.models.ranks.growth import WorkGrowth
from hindmost.models.recurring import Recurring, find_recurring
from hindmost.models.simulation.recorded import waits


class CallPlace(NamedTuple):
    """Where a program makes a call of MPI: the place, and the function that it calls there."""

    place: CodePlace
    inner: str = ""

    def __str__(self) -> str:
        """Write it: ``exchange in step (step.c:62)``."""
        return f"{self.inner} in {self.place}" if self.inner else str(self.place)

    @property
    def without_line(self) -> str:
        """What stays the same while other lines are edited."""
        name = self.place.without_line
        return f"{self.inner} in {name}" if self.inner else name


OUTERMOST = ("MPI_Init", "MPI_Finalize")
"""The ends of the first and of the last stretch where the whole program is one iteration."""
Ends = tuple[CallPlace, CallPlace]
"""The calls after which a stretch begins, and before which it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Work between two calls of MPI.

    Attributes
    ----------
    ends : (CallPlace, CallPlace)
        The calls after and before it: where the program made them.
    work_s, wait_s : float64 array, shape (rank,), seconds
        Work, and time in the call at its end; of all iterations.
    waited_for_s : float64 array, shape (rank,), rank-seconds
        Time of the others in that call until this rank came to it, or sent, last of those whom
        they waited for; 0 where the events do not tell.
    beyond_s : float64 array, shape (rank,), seconds
        Work beyond the median of an iteration, of all iterations: noise, or work that is not done
        in each.
    quickest : QuickestWork
        Of its quickest iterations.
    growth : WorkGrowth
    recurring : tuple of Recurring
        Iterations that come back longer in it.
    contexts : tuple of int
        The call contexts after which it begins.
    """

    ends: Ends
    work_s: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    waited_for_s: NDArray[np.float64]
    beyond_s: NDArray[np.float64]
    quickest: QuickestWork
    growth: WorkGrowth
    recurring: tuple[Recurring, ...] = ()
    contexts: tuple[int, ...] = ()

    JSON = (
        "after before work_s wait_s waited_for_s beyond_s quickest_s=quickest.whole_s "
        "begin_s=growth.begin_s end_s=growth.end_s"
    )

    @property
    def times(self) -> NDArray[np.float64]:
        """Work of each rank over the median of the others', as of a `Culprit`: shape (rank,)."""
        unsure = self.quickest.unsure
        return over_others(self.work_s if unsure else self.quickest.typical_s)

    def for_whom(self) -> tuple[int, float] | None:
        """Return for which rank the others wait most, and the share of the time in the call.

        None if they hardly wait for any.
        """
        rank, whole_s = int(self.waited_for_s.argmax()), float(self.wait_s.sum())
        share = float(self.waited_for_s[rank]) / max(whole_s, 1e-300)
        return (rank, share) if share >= WORTH_SAYING else None

    @property
    def after(self) -> str:
        """The call after which it begins."""
        return str(self.ends[0])

    @property
    def before(self) -> str:
        """The call before which it ends."""
        return str(self.ends[1])

    @property
    def without_lines(self) -> str:
        """Its name, which stays the same while other lines of the program are edited."""
        return between(*(end.without_line for end in self.ends))

    def __str__(self) -> str:
        """Write its ends."""
        return between(self.after, self.before)


def between(after: str, before: str) -> str:
    """Write the ends of a stretch; an iteration may have one call."""
    return f"between {after} and {'the next time there' if after == before else before}"


@once_a_run
def stretches_of(run: Run) -> tuple[Stretch, ...]:
    """Return the stretches of a run, that with most work first.

    Where the calls of some iterations are not known one by one, those of the others stand for all.
    None if the run does not know where its calls were made, or where no efficiency is given: what
    is not in a known call is then no work.
    """
    if why_withheld(run) or not run.has("frame_place"):
        return ()
    if run.has("stretch_rank"):
        return stretches_of_sums(run)
    if not run.has("event_context") or run.bodies * run.columns > MAX_IN_MEMORY:
        return ()
    kinds = run.variable("event_kind")
    contexts = run.contexts
    is_whole = run.header.spec.get("attached", {}).get("no_loop")
    ends = ends_of_contexts(contexts, outermost=bool(is_whole))
    found: dict[Ends, NDArray[np.float64]] = {}
    waited_for = times_waited_for(run, ends)
    varying: dict[tuple[Ends, int], NDArray[np.float64]] = {}
    begins: dict[Ends, set[int]] = {}
    known = np.flatnonzero(kinds[:, 0] != EventKind.UNKNOWN)
    if not known.size:
        return ()
    of_all = run.bodies / known.size
    # Of iterations that are several passes, the passes of the first ones tell what comes back.
    first = int(np.argmax(np.append(known, -1) != np.arange(known.size + 1)))
    unit = passes_in(run) // run.bodies if of_all > 1.0 else 1
    quantiles = len(quickest_of(np.zeros(known.size)))
    values = 3 + len(fields(WorkGrowth)) + quantiles
    is_event = (kinds > 0) & (kinds[:, :1] != EventKind.UNKNOWN)
    body_of = np.repeat(np.arange(known.size), np.count_nonzero(is_event[known], axis=1))
    is_event = is_event.ravel()
    for rank in range(run.columns):
        here, work, wait = (
            run.variable(name)[:, rank].ravel()[is_event]
            for name in ("event_context", "event_work", "event_duration")
        )
        made = np.flatnonzero(here)  # the rank makes no call at some events of others
        if made.size < (1 if is_whole else 2):
            continue
        # What it works before such an event is before its own next call, too.
        until_last = work[: made[-1] + 1]
        work = np.add.reduceat(until_last, np.append(0, made[:-1] + 1))
        here, wait, bodies = here[made].astype(np.int64), wait[made], body_of[made][1:]
        if is_whole:
            last_s = max(0.0, float(run.work[0, rank]) - float(until_last.sum()))
            here = np.concatenate([[contexts.count], here, [contexts.count + 1]])
            work, wait = np.concatenate([[0.0], work, [last_s]]), np.pad(wait, 1)
            bodies = np.zeros(here.size - 1, np.int64)
        pairs, of_pair = np.unique(here[:-1] * len(ends) + here[1:], return_inverse=True)
        names: dict[Ends, int] = {}
        parted = [parting(*(ends[each] for each in divmod(pair, len(ends)))) for pair in pairs]
        which = np.array([names.setdefault(each, len(names)) for each in parted])[of_pair]
        for pair, name in zip(pairs.tolist(), parted, strict=True):
            after = pair // len(ends)
            begins.setdefault(name, set()).update([after] if after < contexts.count else [])
        work_s, wait_s = (np.bincount(which, each[1:]) for each in (work, wait))
        order = np.argsort(which, kind="stable")
        places = np.split(order, np.cumsum(np.bincount(which))[:-1])
        for (name, number), at in zip(names.items(), places, strict=True):
            row = found.setdefault(name, np.zeros((values, run.columns)))[:, rank]
            row[:2] = of_all * work_s[number], of_all * wait_s[number]
            if work_s[number] >= WORTH_SAYING * work_s.sum():
                own = np.bincount(bodies[at], work[1:][at], known.size).astype(np.float64)
                row[2] = of_all * float(np.maximum(own - np.median(own), 0.0).sum())
                growth = WorkGrowth.of(own[:, None], known)
                row[3:-quantiles] = [getattr(growth, field.name)[0] for field in fields(growth)]
                row[-quantiles:] = quickest_of(own)
                if of_all > 1.0:
                    own = work[1:][at][bodies[at] < first]
                    missing = first * unit - own.size  # before its first call nothing is known
                    if not (own.size and 0 <= missing <= 1):
                        continue
                    own = np.concatenate([own[:missing], own]).astype(np.float64)
                    beyond = np.maximum(own - np.median(own), 0.0)
                    row[2] = float(beyond.mean()) * passes_in(run)
                if row[2] >= WORTH_SAYING * work_s.sum():
                    varying[name, rank] = own
    recurring = recurring_in(run, varying, passes_in(run))
    return tuple(
        Stretch(
            ends=name,
            work_s=each[0],
            wait_s=each[1],
            waited_for_s=of_all * waited_for.get(name, np.zeros(run.columns)),
            beyond_s=each[2],
            quickest=QuickestWork.of_quantiles(each[-quantiles:]).with_recurring(
                recurring.get(name, ()), run.bodies
            ),
            growth=WorkGrowth(
                begin_s=each[3],
                end_s=each[4],
                grows=each[5].astype(np.int64),
                more_s=each[6],
                since=each[7].astype(np.int64),
            ),
            recurring=recurring.get(name, ()),
            contexts=tuple(sorted(begins[name])),
        )
        for name, each in sorted(found.items(), key=lambda each: -each[1][0].sum())
    )


def stretches_of_sums(run: Run) -> tuple[Stretch, ...]:
    """Return the stretches of a whole program whose calls are known by sums only."""
    contexts = run.contexts
    ends, begin = ends_of_contexts(contexts, outermost=True), contexts.count
    names = ("rank", "after", "before", "calls", "work", "mpi")
    rank, after, before, calls, work, wait = (run.variable(f"stretch_{name}") for name in names)
    after = np.where(after, after, begin).astype(np.int64)
    # What was come to once more than was gone on from is the last call.
    come = np.zeros((run.columns, begin + 2), np.int64)
    np.add.at(come, (rank, before.astype(np.int64)), calls)
    np.add.at(come, (rank, after), -calls)
    last = come.argmax(axis=1)
    left_s = run.work[0] - np.bincount(rank, work, run.columns)
    found: dict[Ends, NDArray[np.float64]] = {}
    begins: dict[Ends, set[int]] = {}
    for column, at, to, work_s, wait_s in zip(
        np.append(rank, np.arange(run.columns)).tolist(),
        np.append(after, last).tolist(),
        np.append(before, np.full(run.columns, begin + 1)).tolist(),
        np.append(work, np.maximum(left_s, 0.0)).tolist(),
        np.append(wait, np.zeros(run.columns)).tolist(),
        strict=True,
    ):
        name = parting(ends[at], ends[to])
        found.setdefault(name, np.zeros((2, run.columns)))[:, column] += work_s, wait_s
        begins.setdefault(name, set()).update([at] if at < begin else [])
    none = np.zeros(run.columns)
    return tuple(
        Stretch(
            ends=name,
            work_s=sums[0],
            wait_s=sums[1],
            waited_for_s=none,
            beyond_s=none,
            quickest=QuickestWork.of_quantiles(
                np.transpose([quickest_of(own) for own in sums[0][:, None]])
            ),
            growth=WorkGrowth.of(sums[0][None], np.zeros(1, np.int64)),
            contexts=tuple(sorted(begins[name])),
        )
        for name, sums in sorted(found.items(), key=lambda each: -each[1][0].sum())
    )


def ends_of_contexts(contexts: CallContexts, *, outermost: bool) -> list[list[CodePlace]]:
    """Return the chain of each context, and behind them `OUTERMOST` if they are wanted."""
    ends = [named_chain(contexts, number) for number in range(contexts.count)]
    return ends + [[CodePlace(name)] for name in OUTERMOST] if outermost else ends


def passes_in(run: Run) -> int:
    """Return the passes of a run's loop: several an iteration where these are summed together."""
    unit = (run.header.spec.get("attached") or {}).get("summed", {}).get("unit", 1)
    return run.bodies * int(unit)


def recurring_in(
    run: Run, varying: Mapping[tuple[Ends, int], NDArray[np.float64]], passes: int
) -> dict[Ends, tuple[Recurring, ...]]:
    """Return by stretch the iterations that come back longer, by the same rules in all of them.

    The iterations of a stretch show some that noise elsewhere hides.

    Parameters
    ----------
    varying : mapping of (stretch, rank) to float64 array, shape (iteration,), seconds
        Work that varies; of the first passes where iterations are several.
    passes : int
        In all.
    """
    found: dict[Ends, tuple[Recurring, ...]] = {}
    if not varying:
        return found
    columns = list(varying)
    work = np.column_stack(list(varying.values()))
    if len(work) == run.bodies:
        back = find_recurring(work, places_of(run), [each.rule for each in recurring_of(run)])
    else:
        back = find_recurring(work, np.zeros(len(work), np.int64))
        back = tuple(replace(each, count=each.rule.rows(passes).size) for each in back)
    for name in dict.fromkeys(name for name, _ in columns):
        here = [at for at, each in enumerate(columns) if each[0] == name]
        found[name] = tuple(
            replace(
                each,
                columns=tuple(columns[at][1] for at in own),
                longer_s=tuple(each.longer_s[each.columns.index(at)] for at in own),
            )
            for each in back
            if (own := [at for at in here if at in each.columns])
        )
    return found


def times_waited_for(
    run: Run, ends: Sequence[Sequence[CodePlace]]
) -> dict[Ends, NDArray[np.float64]]:
    """Return, by stretch, how long others wait at its end for each rank: (rank,), rank-seconds.

    Waits that the clocks do not tell from none are left out; all are in a reduced file, in which
    ranks are missing that others waited for.

    Parameters
    ----------
    ends : sequence of sequence of CodePlace
        The chain of calls of each context.
    """
    found: dict[Ends, NDArray[np.float64]] = {}
    if run.reduced:
        return found
    neighbours, meet, clock_s = neighbours_in(run), exchanges_meet_in(run), clock_uncertainty(run)
    ranks, contexts = run.columns, len(ends)
    # The context of each rank's last call in the rows before; or the end of MPI_Init.
    before = np.full(ranks, run.contexts.count if contexts > run.contexts.count else 0)
    for rows in run.blocks():
        block = Block(run, rows)
        events = block.events
        by, wait_s = waits(block.start, events, neighbours, exchanges_meet=meet)
        here = block.variable("event_context").transpose(0, 2, 1)[events.recorded]
        here = here.astype(np.int64)
        by, wait_s = by[events.recorded], wait_s[events.recorded]
        if not len(here):
            continue
        rows_until = np.concatenate([before[None], here])  # 0 where a rank makes no call
        latest = np.where(rows_until > 0, np.arange(len(rows_until))[:, None], 0)
        rows_until = np.take_along_axis(rows_until, np.maximum.accumulate(latest), axis=0)
        pair = rows_until[:-1] * contexts + here
        before = rows_until[-1]
        told = (by >= 0) & (by != np.arange(ranks)) & (wait_s > clock_s)
        told &= (pair >= contexts) & (here > 0)
        pairs, which = np.unique(pair[told], return_inverse=True)
        sums = np.bincount(which * ranks + by[told], wait_s[told], pairs.size * ranks)
        for each, for_s in zip(pairs.tolist(), sums.reshape(-1, ranks), strict=True):
            own, theirs = divmod(each, contexts)
            name = parting(ends[own], ends[theirs])
            found[name] = found.get(name, np.zeros(ranks)) + for_s
    return found


def named_chain(contexts: CallContexts, context: int) -> list[CodePlace]:
    """Return the places of a chain of calls, the outermost first, without those inside of MPI."""
    chain = contexts.chain(context).tolist()
    inside = {
        number
        for number, module in enumerate(contexts.modules)
        if NOT_THE_PROGRAM.search(module.path)
    }
    own = [frame for frame in chain if contexts.module[frame] not in inside]
    return [CodePlace.read(contexts.places[frame]) for frame in own or chain]


def parting(own: Sequence[CodePlace], theirs: Sequence[CodePlace]) -> Ends:
    """Return where two chains of calls part: the places, each with the function called there."""
    if [CodePlace(OUTERMOST[0])] == own or [CodePlace(OUTERMOST[1])] == theirs:
        return place_at(own, len(own) - 1), place_at(theirs, len(theirs) - 1)
    alike = (mine == their for mine, their in zip(own, theirs, strict=False))
    at = min(next((at for at, same in enumerate(alike) if not same), len(own)), len(own) - 1)
    return place_at(own, at), place_at(theirs, min(at, len(theirs) - 1))


def place_at(chain: Sequence[CodePlace], at: int) -> CallPlace:
    """Return a place of a chain of calls, with the function that is called there.

    In code without lines it is the line that calls this code, or else the function.
    """
    with_line = [place for place, one in enumerate(chain[: at + 1]) if one.line]
    with_name = [place for place, one in enumerate(chain[: at + 1]) if not one.is_address]
    at = (with_line or with_name or [at])[-1]
    if not with_line:
        return CallPlace(chain[at])
    inner = next((one.function for one in chain[at + 1 :] if not one.is_address), "")
    return CallPlace(chain[at], inner)
