"""What pipelined solvers gain under injected noise: measured, and predicted from quiet runs.

A sweep has runs of a blocking solver and of its pipelined form, without noise and with injected
laws of several strengths. The gain is the ratio of their solve times. It is predicted from the
quiet runs alone: each is replayed with the law (`hindmost.models.simulation`).

The latency trend: how long recorded solves take as messages get slower, from replays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.configuration import group_runs, injected_noise
from hindmost.analysis.runs.figures.compare_runs import ComparisonFigure, apart, common_title
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.palette import FILLS
from hindmost.analysis.whatif.advice import ends_of, ratio_of_replays
from hindmost.analysis.whatif.options import changes_of
from hindmost.analysis.whatif.study import Outcome, replay_run, replay_s
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.inference import Ratio, ratio_of_samples
from hindmost.models.laws.noise_law import read_noise_law
from hindmost.models.simulation.rerun import REPLICAS
from hindmost.output import announce_work
from hindmost.text import counted, unit_for

Replays = dict[tuple[str, str], list[Outcome]]
"""Replays of all runs of a solver without noise, by solver and law."""

WANTED = (
    "the figure needs runs of a solver and of its pipelined form, such as cg and pipecg, with "
    "--inject and several strengths of one law: hindmost study plan noise-sweep"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """A pair of solvers under one law of noise.

    Attributes
    ----------
    pair : str
        ``cg / pipecg``.
    law : str
        Of the injected noise; empty for none.
    noise_s : float
        Mean injected time of an iteration of a rank.
    measured : Ratio
        The speedup, with the ends of its 90 % interval.
    predicted : Ratio or None
        From quiet runs; None where there are none, or a replay does not apply.
    """

    pair: str
    law: str
    noise_s: float
    measured: Ratio
    predicted: Ratio | None

    @property
    def kind(self) -> str:
        """The kind of the law; empty for none."""
        return kind_of(self.law)


def sweep_points(runs: Sequence[Run], kind: str | None = None) -> list[SweepPoint]:
    """Return every pair of solvers under every law, ordered by pair, kind and strength.

    Parameters
    ----------
    runs : sequence of Run
    kind : str, optional
        Of the laws; by default all.

    Raises
    ------
    UsageError
        No pair was recorded with noise, or the runs are of several workloads.
    """
    alike = {(r.header.workload, r.header.spec.get("unknowns"), r.header.ranks) for r in runs}
    if len(alike) > 1:
        raise UsageError(f"{len(alike)} workloads, sizes or numbers of ranks; name one at a time.")
    asked = [
        (blocking, pipelined, law)
        for blocking, pipelined in pairs_of(runs)
        for law in dict.fromkeys(injected_noise(run) for run in runs)
        if (kind in (None, kind_of(law)) or not law)
        and all(chosen(runs, name, law) for name in (blocking, pipelined))
    ]
    if not any(law for *_, law in asked):
        raise UsageError(f"Nothing to compare under noise: {WANTED}.")
    predicted = replays_of(runs, asked)
    points = [point_of(*each, runs, predicted) for each in asked]
    return sorted(points, key=lambda each: (each.pair, each.kind, each.noise_s))


def pairs_of(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Yield blocking and pipelined solvers whose names belong together: ``cg``, ``pipecg``."""
    kinds = {run.header.solver: run.header.synchronisation for run in runs}
    blocking = [name for name, kind in kinds.items() if kind == "blocking"]
    for name, kind in kinds.items():
        ends = [each for each in blocking if name.endswith(each)]
        if kind == "pipelined" and ends:
            yield max(ends, key=len), name


def chosen(runs: Sequence[Run], solver: str, law: str) -> list[Run]:
    """Return the runs of a solver under a law."""
    return [r for r in runs if r.header.solver == solver and injected_noise(r) == law]


def point_of(
    blocking: str, pipelined: str, law: str, runs: Sequence[Run], replays: Replays
) -> SweepPoint:
    """Return a pair under a law, measured and predicted."""
    times = [
        np.array([run.solve_time_s for run in chosen(runs, name, law)])
        for name in (blocking, pipelined)
    ]
    found = [replays.get((name, law), ()) for name in (blocking, pipelined)]
    return SweepPoint(
        pair=f"{blocking} / {pipelined}",
        law=law,
        noise_s=mean_noise_s(law),
        measured=ratio_of_samples(times[1], times[0]),
        predicted=predicted_gain(*found) if all(found) else None,
    )


def kind_of(law: str) -> str:
    """Return the kind of a law: ``exponential``; empty for none."""
    return read_noise_law(law, "--inject").kind if law else ""


def mean_noise_s(law: str) -> float:
    """Return the mean injected time of an iteration, in seconds."""
    if not law:
        return 0.0
    detours = changes_of(noise=law)[0].change.detours
    assert detours is not None  # a law that can be injected is one that can be added, or an error
    return detours.mean_s


def replays_of(runs: Sequence[Run], asked: Sequence[tuple[str, str, str]]) -> Replays:
    """Replay every run without noise with the laws that are asked for; none if that fails.

    Parameters
    ----------
    runs : sequence of Run
        With and without noise.
    asked : sequence of (str, str, str)
        Blocking solver, pipelined solver, and law.
    """
    laws = {
        name: list(dict.fromkeys(law for *both, law in asked if law and name in both))
        for *pair, _ in asked
        for name in pair
    }
    quiet = {name: chosen(runs, name, "") for name in laws}
    announce_work(
        f"Replaying {counted(sum(map(len, quiet.values())), 'run')} without noise with each "
        f"injected law, {REPLICAS} times each",
        sum(len(laws[name]) * replay_s(run, REPLICAS) for name in laws for run in quiet[name]),
    )
    replays: Replays = {}
    for name in laws:
        changes = [changes_of(noise=law)[0] for law in laws[name]]
        try:
            replayed = [replay_run(run, changes, None) for run in quiet[name]]
        except (DataError, UsageError):
            continue
        for law, results in zip(laws[name], zip(*replayed, strict=True), strict=False):
            replays[name, law] = list(results)
    return replays


def predicted_gain(blocking: Sequence[Outcome], pipelined: Sequence[Outcome]) -> Ratio | None:
    """Return the gain that replays of runs without noise with a law have; None if not known."""
    ratio = ratio_of_replays(blocking, pipelined)
    if not np.isfinite(ratio.value):
        return None
    # The ratio is that of iterations.
    ours, theirs = (
        float(np.median([each.run.header.iterations for each in side]))
        for side in (blocking, pipelined)
    )
    low, high = ends_of(ratio)
    value, first, last = (ours / theirs / each for each in (ratio.value, high, low))
    return Ratio(value=value, interval=(first, last))


# How it is shown.


def gain_chart(points: Sequence[SweepPoint], kind: str, title: str) -> Chart:
    """Return gains over the strength of one kind of noise, with their intervals."""
    bands: list[Series] = []
    whiskers: list[Series] = []
    curves: list[Series] = []
    width = 0.004 * max(point.noise_s for point in points if point.kind == kind) * 1e6
    for pair in dict.fromkeys(point.pair for point in points if point.kind == kind):
        every = [point for point in points if point.pair == pair and point.kind in (kind, "")]
        x = np.array([each.noise_s * 1e6 for each in every])
        low, value, high = curve([each.measured for each in every])
        # A bar at every point; between them the band has no height.
        ends = [np.column_stack((value, each, each, value)).ravel() for each in (low, high)]
        at = np.column_stack((x - width, x - width, x + width, x + width)).ravel()
        whiskers.append(
            Series(name=f"{pair}: measured, 90 %", look="band", x=at, y=ends[1], base=ends[0])
        )
        curves.append(Series(name=f"{pair}: measured", look="points", x=x, y=value))
        known = [(each.noise_s * 1e6, each.predicted) for each in every if each.predicted]
        if known:
            at = np.array([noise for noise, _ in known])
            low, value, high = curve([gain for _, gain in known])
            curves.append(Series(name=f"{pair}: predicted", look="line", x=at, y=value))
            bands.append(
                Series(name=f"{pair}: predicted, 90 %", look="band", x=at, y=high, base=low)
            )
    series = (*bands, *whiskers, *curves)
    highest = max(float(each.y.max()) for each in series)
    lowest = min(float((each.y if each.base is None else each.base).min()) for each in series)
    room = 0.05 * (max(highest, 1.0) - min(lowest, 1.0)) + 0.02
    return Chart(
        title=title,
        x=Quantity(f"injected noise per iteration, {kind}", "µs"),
        y=Quantity("speedup"),
        series=series,
        y_limits=(min(lowest, 1.0) - room, max(highest, 1.0) + room),
        legend_below=True,
    )


def curve(
    gains: Sequence[Ratio],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return lower ends, values and upper ends: float64 arrays, shape (point,)."""
    low, high, value = np.array([(*ends_of(gain), gain.value) for gain in gains]).T
    return low, value, high


def make_gain(runs: Sequence[Run], kind: str) -> Chart:
    """Make the chart of the gain under one kind of noise."""
    kinds = sorted({kind_of(injected_noise(run)) for run in runs} - {""})
    if kinds and kind not in kinds:
        raise UsageError(f"No run has injected noise of the law {kind}; {', '.join(kinds)} has.")
    return gain_chart(sweep_points(runs, kind), kind, common_title(runs))


def gain_figure(kind: str) -> ComparisonFigure:
    """Return the figure of one kind of noise."""
    return ComparisonFigure(
        name=f"gain-{kind}",
        summary=f"speedup of pipelined solvers under {kind} noise, with predictions",
        caption="Solve time of the blocking solver over that of the pipelined one, against the "
        "mean injected noise of an iteration. The prediction replays the runs without noise with "
        "the law; it has not seen the runs with noise.",
        make=partial(make_gain, kind=kind),
    )


NOISE_SWEEP = (gain_figure("exponential"), gain_figure("fixed"))


STEPS = (0.0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Added latencies, as shares of the median body."""
ROOM = 1.08


def make_latency(runs: Sequence[Run]) -> Chart:
    """Make the chart of the solve time against the latency that is added to every message.

    Of each configuration, the run with the median solve time is replayed.

    Raises
    ------
    UsageError
        No run can be replayed, or more configurations than one figure can distinguish.
    """
    groups = group_runs(runs)
    if len(groups) > len(FILLS):
        raise UsageError(
            f"{len(groups)} configurations in one figure are too many; choose up to {len(FILLS)}."
        )
    names = apart(groups) if len(groups) > 1 else ["replayed"]
    chosen = [
        sorted(group.runs, key=lambda run: run.solve_time_s)[len(group.runs) // 2]
        for group in groups
    ]
    shared = max(float(run.summary["body_s"]["median"]) for run in chosen)
    more_us = 1e6 * shared * np.array(STEPS)
    changes = changes_of(latency=",".join(f"+{each:.4g}us" if each else "x1" for each in more_us))
    times_s: dict[str, NDArray[np.float64]] = {}  # low, predicted, high, of each latency
    why = ""
    for name, run in zip(names, chosen, strict=True):
        try:
            replayed = replay_run(run, changes, None)
        except (DataError, UsageError) as error:
            why = why or str(error)
            continue
        ends = [each.interval or (None, None) for each in replayed]
        rows = [
            (low, each.predicted_s, high) for each, (low, high) in zip(replayed, ends, strict=True)
        ]
        times_s[name] = np.array(rows, np.float64).T
    if not times_s:
        raise UsageError(f"No run can be replayed with another latency. {why}")
    every_s = np.concatenate([each[1:].ravel() for each in times_s.values()])
    unit = unit_for(every_s[np.isfinite(every_s)])
    drawn = {name: unit.per_second * each for name, each in times_s.items()}
    series = (
        *(
            Series(name=f"{name}: interval", look="band", x=more_us, y=each[2], base=each[0])
            for name, each in drawn.items()
        ),
        *(Series(name=name, look="line", x=more_us, y=each[1]) for name, each in drawn.items()),
    )
    return Chart(
        title=common_title(runs),
        x=Quantity("latency added to every message", "µs"),
        y=Quantity("time of the solve", unit.sign),
        series=series,
        y_limits=(0.0, ROOM * unit.per_second * float(np.nanmax(every_s))),
        legend_below=True,
    )


LATENCY_TREND = (
    ComparisonFigure(
        name="latency",
        summary="time of the solves against added latency, from replays",
        caption="Recorded solves, replayed with latency added to every message, up to half a "
        "median iteration. A pipelined solver stays flat until a reduction takes longer than the "
        "iteration that hides it.",
        make=make_latency,
    ),
)
