"""How the time of a job was used: iterations, what they might have taken, checkpoints, the stop.

Figures of samples: the flame of the straggler's extra work, and the threads of an iteration.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.read import title_of
from hindmost.analysis.runs.sampled import RunSamples, contexts_in, stretch_of_extra
from hindmost.analysis.runs.straggler import verdict_of
from hindmost.analysis.runs.stretches import stretches_of
from hindmost.analysis.show.boxes import LESS, MORE, SAME, Boxes, tone
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.palette import FILLS
from hindmost.errors import UsageError
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import SampleKind
from hindmost.harness.runfile.time_left import time_use_of
from hindmost.models.ranks.attribution import INTERVAL, Sampled, attribute, shares
from hindmost.text import seconds, unit_for

MAX_POINTS = 1000
"""Iterations that are drawn; of more, the longest of each stretch."""


def make_time_left(run: Run, choice: FigureChoice) -> Chart:
    """Make the chart of a run whose time was limited.

    Raises
    ------
    UsageError
        It was not, or no loop was known.
    """
    use = time_use_of(run.header.spec.get("attached") or {})
    if use is None or use.limit_s is None or not use.band:
        raise UsageError(
            f"{run.path} does not say how its iterations went on until a limit: record the program "
            "with 'hindmost attach --stop-before'."
        )
    begin_s = datetime.fromisoformat(run.header.t0_utc).timestamp() - use.began_utc_s
    rank = int(run.durations.sum(axis=0).argmax())
    times = run.durations[:, rank]
    ends = begin_s + run.starts[:, rank] + times
    places = longest_of_each(times)
    band = {
        name: np.array([getattr(point, name) for point in use.band])
        for name in ("at_s", "level_s", "bound_s")
    }
    unit = unit_for(times)
    scale = unit.per_second
    highest_s = max(float(times.max()), float(band["bound_s"].max()))
    series = [
        Series(
            name="what the next iteration may take",
            look="band",
            x=band["at_s"],
            y=band["bound_s"] * scale,
            base=band["level_s"] * scale,
        ),
        Series(name="iterations", look="points", x=ends[places], y=times[places] * scale),
    ]
    if use.checkpoints:
        extra_s = np.array([write.extra_s for write in use.checkpoints])
        at_s = np.array([write.at_s for write in use.checkpoints])
        name = "what a checkpoint took"
        series.append(Series(name=name, look="points", x=at_s, y=extra_s * scale))
        highest_s = max(highest_s, float(extra_s.max()))
    top = 1.5 * highest_s * scale
    moments = {} if use.stop is None else {"told to stop": use.stop.at_s}
    series += [
        Series(name=name, look="line", x=np.array([at_s, at_s]), y=np.array([0.0, top]))
        for name, at_s in {**moments, "limit": use.limit_s}.items()
    ]
    return Chart(
        title=title_of(run),
        x=Quantity("time since the program was started", "s"),
        y=Quantity("time of an iteration", unit.sign),
        series=tuple(series),
        y_limits=(0.0, top),
    )


def longest_of_each(times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of the longest iterations of equal stretches, ascending."""
    if times.size <= MAX_POINTS:
        return np.arange(times.size)
    edges = np.linspace(0, times.size, MAX_POINTS + 1).astype(np.int64)
    return np.array(
        [begin + int(times[begin:end].argmax()) for begin, end in pairwise(edges.tolist())]
    )


NARROW = 0.004
"""Part of the figure's width below which a function has no box."""


@dataclass(slots=True)
class Call:
    """A function, with those that it calls and their samples.

    Attributes
    ----------
    own, others : int
        Samples in it and in what it calls.
    calls : dict of str to Call
    lines : Counter
        Its innermost places, by the rank's samples.
    """

    own: int = 0
    others: int = 0
    calls: dict[tuple[str, str], Call] = field(default_factory=dict)
    lines: Counter[CodePlace] = field(default_factory=Counter)


def samples_of(run: Run) -> RunSamples:
    """Return the samples of a run.

    Raises
    ------
    UsageError
        It has none.
    """
    samples = RunSamples.of(run)
    if samples is None or not samples.count.any():
        raise UsageError(f"{run.path} has no samples; record it with 'hindmost attach --sample'.")
    return samples


def make_flame(run: Run, choice: FigureChoice) -> Boxes:
    """Make the flame of the stretch with most extra work of the straggler.

    Raises
    ------
    UsageError
        There are no samples, or there is no straggler.
    """
    samples, stretches = samples_of(run), stretches_of(run)
    culprit = verdict_of(run).culprit if run.header.ranks > 1 else None
    stretch = None
    if culprit is not None:
        stretch, _ = stretch_of_extra(samples, stretches, culprit)
    if culprit is None or stretch is None:
        raise UsageError(f"{run.path} has no straggler whose functions could be compared.")
    here = samples.in_stretch(culprit.rank, stretch.contexts, contexts_in(stretches))
    own_s, others_s = here.own_s, here.others_s
    if not np.isfinite(own_s + others_s):
        own_s = samples.period_s * float(here.own.sum())
        others_s = samples.period_s * float(here.others.sum()) / max(here.ranks, 1)
    answer = attribute(here)
    named = samples.places[answer.place] if answer.sure and not answer.is_alike else None
    return flame(
        samples,
        here,
        (own_s, others_s),
        named,
        title=f"{title_of(run)}: rank {culprit.rank}, {stretch}",
        rank=culprit.rank,
    )


def flame(
    samples: RunSamples,
    here: Sampled,
    whole_s: tuple[float, float],
    named: CodePlace | None,
    *,
    title: str,
    rank: int,
) -> Boxes:
    """Make the flame of samples of a rank and of the others.

    Parameters
    ----------
    whole_s : (float, float)
        Processor time of the rank, and of one of the others.
    named : CodePlace or None
        Where the extra time is.
    """
    root = Call()
    begin = np.append(0, here.end)
    for stack in np.flatnonzero(here.own + here.others):
        call, counts = root, (int(here.own[stack]), int(here.others[stack]))
        for place in here.place[begin[stack] : here.end[stack]][::-1]:
            code = samples.places[place]
            call = call.calls.setdefault((code.function, code.file), Call())
            call.own += counts[0]
            call.others += counts[1]
        if call is not root:
            call.lines[code] += counts[0]
    only = root
    while len(only.calls) == 1:  # callers of callers of all of it say nothing
        root, (only,) = only, only.calls.values()
    scale_s = [
        time_s / max(int(counts.sum()), 1)
        for time_s, counts in zip(whole_s, (here.own, here.others), strict=True)
    ]
    drawn: list[tuple[int, float, float, tuple[str, str], Call]] = []

    def width(call: Call) -> float:
        inner = sum(width(inner) for inner in call.calls.values())
        return max(call.own * scale_s[0], call.others * scale_s[1], inner)

    def put(calls: dict[tuple[str, str], Call], row: int, left: float) -> None:
        for name, call in sorted(calls.items(), key=lambda pair: -width(pair[1])):
            drawn.append((row, left, width(call), name, call))
            put(call.calls, row + 1, left)
            left += width(call)

    put(root.calls, 0, 0.0)
    end = max((left + wide for _, left, wide, _, _ in drawn), default=0.0)
    drawn = [box for box in drawn if box[2] >= NARROW * end]
    if not drawn:
        raise UsageError(f"{title}: no function is known.")
    calls = [call for *_, call in drawn]
    mine, theirs = (
        np.array(counts, np.float64)
        for counts in zip(*((c.own, c.others) for c in calls), strict=True)
    )
    share, deviation = shares(here, mine, theirs)
    most = max(float(np.abs(share).max()), 1e-300)
    differs = np.abs(share) >= INTERVAL * deviation
    inner_s = np.array([sum(width(inner) for inner in call.calls.values()) for call in calls])
    wide = np.array([box[2] for box in drawn])
    text, detail = [], []
    for (_, _, _, (function, file), _), own, others in zip(drawn, mine, theirs, strict=True):
        is_named = named is not None and (function, file) == (named.function, named.file)
        text.append(str(named) if is_named else function)
        line = f" ({file})" if file else ""
        detail.append(
            f"{function}{line}: {seconds(own * scale_s[0])} on rank {rank}, "
            f"{seconds(others * scale_s[1])} on the others"
        )
    return Boxes(
        title=title,
        x=Quantity("processor time", "s"),
        row=np.array([box[0] for box in drawn]),
        begin=np.array([box[1] for box in drawn]),
        width=wide,
        text=tuple(text),
        detail=tuple(detail),
        colour=tuple(
            tone(part if sure else 0.0) for part, sure in zip(share / most, differs, strict=True)
        ),
        large=inner_s < 0.5 * wide,
        legend=(
            (MORE, f"more on rank {rank}"),
            (SAME, "no difference beyond chance"),
            (LESS, "less"),
        ),
    )


def make_threads(run: Run, choice: FigureChoice) -> Boxes:
    """Make the lanes of the threads of a rank in the mean iteration.

    Raises
    ------
    UsageError
        There are no samples, or no other threads in them.
    """
    samples = samples_of(run)
    rank = next(iter(choice.ranks), 0)
    if not choice.ranks and run.header.ranks > 1:
        culprit = verdict_of(run).culprit
        rank = rank if culprit is None else culprit.rank
    mine = (samples.rank == rank) & np.isin(samples.kind, (SampleKind.WORK, SampleKind.OPENMP))
    threads = np.unique(samples.thread[mine])
    if threads.size < 2:
        raise UsageError(f"{run.path}: no other thread of rank {rank} has samples.")
    before, work_s, call_s = mean_iteration(run, rank)
    begin_s = np.append(0.0, np.cumsum(work_s + call_s))[:-1]
    kinds = {
        SampleKind.WORK: (FILLS[2], "work"),
        SampleKind.OPENMP: (FILLS[5], "waits for threads"),
    }
    boxes: list[tuple[int, float, float, str, str]] = []
    for lane, thread in enumerate(threads):
        for context in np.unique(before):
            at = np.flatnonzero(before == context)
            part = work_s[at] / max(float(work_s[at].sum()), 1e-300)
            left = begin_s[at].copy()
            for kind, (colour, words) in kinds.items():
                chosen = mine & (samples.thread == thread) & (samples.kind == kind)
                counts = samples.count[chosen & (samples.context == context)].sum()
                spent = np.minimum(
                    counts * samples.period_s / run.bodies * part, begin_s[at] + work_s[at] - left
                )
                boxes += [
                    (lane, float(first), float(wide), colour, words)
                    for first, wide in zip(left, spent, strict=True)
                    if wide > 0.0
                ]
                left += np.maximum(spent, 0.0)
        if thread == 0:
            boxes += [
                (lane, float(first + work), float(wide), FILLS[3], "in MPI")
                for first, work, wide in zip(begin_s, work_s, call_s, strict=True)
                if wide > 0.0
            ]
    end_s = float((work_s + call_s).sum())
    boxes = [box for box in boxes if box[2] >= 0.5 * NARROW * end_s]
    legend = [*kinds.values(), (FILLS[3], "in MPI")]
    return Boxes(
        title=f"{title_of(run)}: rank {rank}",
        x=Quantity("time in the mean iteration", "ms"),
        row=np.array([box[0] for box in boxes]),
        begin=1e3 * np.array([box[1] for box in boxes]),
        width=1e3 * np.array([box[2] for box in boxes]),
        text=("",) * len(boxes),
        detail=tuple(f"{words}: {seconds(wide)}" for _, _, wide, _, words in boxes),
        colour=tuple(box[3] for box in boxes),
        large=np.zeros(len(boxes), bool),
        rows=tuple(f"thread {thread}" for thread in threads),
        legend=tuple(legend),
    )


def mean_iteration(
    run: Run, rank: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the calls of the mean iteration of a rank.

    Returns
    -------
    int64 array, shape (event,)
        The context of the call before each.
    float64 array, shape (event,), seconds
        Work before each.
    float64 array, shape (event,), seconds
        Time in it.
    """
    contexts, work, spent = (
        run.variable(name)[:, rank].astype(np.float64)
        for name in ("event_context", "event_work", "event_duration")
    )
    usual = np.median(contexts, axis=0).astype(np.int64)
    made = usual > 0
    return np.roll(usual[made], 1), work[:, made].mean(axis=0), spent[:, made].mean(axis=0)
