"""The efficiencies of one kernel over several numbers of ranks, relative to the fewest.

Efficiencies as tables and parts of a page: POP's metrics, graded, of kernels and of runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hindmost.analysis.runs.configuration import (
    LOOP,
    apart,
    configuration,
    grouped,
    injected_noise,
    part_words,
)
from hindmost.analysis.runs.cores import core_wait, shared_cores
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies, efficiencies_of
from hindmost.analysis.runs.finding import OF_RANKS, Finding, caution_parts
from hindmost.analysis.runs.over_ranks import (
    RESULTS,
    RankSeries,
    series_over_ranks,
    several_ranks,
)
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.page import Heading, Paragraph, Part
from hindmost.analysis.show.table import RIGHT, Column, Graded, Table
from hindmost.harness.runfile.reader import Run
from hindmost.models.inference import repeats_words
from hindmost.models.ranks.efficiencies import (
    NO_CORE,
    OUTSIDE,
    PARTS,
    WORK,
    Computation,
    ComputationScaling,
)
from hindmost.records import to_document
from hindmost.text import as_long_as, counted, factor, percent, plural, seconds

SCALING = {
    "strong": "strong scaling",
    "weak": "weak scaling",
    "by size": "relative to the cells of all cycles",
    "other": "problem sizes that do not compare",
}
MORE_ITERATIONS = "more iterations"
SAID = 0.01
"""Share of the time from which on a cause of lost efficiency is named."""
STAYS = 1.2
"""Factor within which the work of a rank is the same on several numbers of ranks."""
OF_SCHEDULER = "such times are those of the operating system's scheduler, not of the program."


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingColumn:
    """The efficiencies of a kernel on one number of ranks.

    Attributes
    ----------
    of : RunEfficiencies
        Of the run of median solve time.
    times_s : tuple of float
        Solve times of its repeats, in seconds, ascending.
    scaling : ComputationScaling or None
        Relative to the first column; None if the efficiency of either is withheld.
    """

    of: RunEfficiencies
    times_s: tuple[float, ...]
    scaling: ComputationScaling | None

    JSON = (
        "ranks runs file=of.run.path unknowns run_time_s=of.whole.run_time_s withheld=of.withheld? "
        "global=overall parallel=of.shown.parallel load_balance=of.shown.load_balance "
        "communication=of.shown.communication serialisation=of.shown.serialisation "
        "transfer=of.shown.transfer computation=scaling.computation "
        "instructions=scaling.instructions ipc=scaling.ipc frequency=scaling.frequency "
        "counted_share=scaling.counted_share"
    )

    @property
    def runs(self) -> int:
        """Number of repeats."""
        return len(self.times_s)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.of.run.header.ranks

    @property
    def values(self) -> dict[str, Any]:
        """Every metric by name; None if unknown."""
        return dict(to_document(self))

    @property
    def overall(self) -> float | None:
        """The product of parallel efficiency and scaling of the computation."""
        shown, scaling = self.of.shown, self.scaling
        return None if shown is None or scaling is None else shown.parallel * scaling.computation

    @property
    def time_s(self) -> float:
        """Time of the whole solve or loop, in seconds."""
        return self.of.whole_s

    @property
    def crowded(self) -> str:
        """Where more ranks than cores ran; empty if nowhere."""
        return shared_cores(self.of.run)

    @property
    def unknowns(self) -> float | None:
        """Of the system that was solved."""
        unknowns: float | None = self.of.run.header.spec.get("unknowns")
        return unknowns


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEfficiencies:
    """A kernel over numbers of ranks; the first column is the reference.

    Attributes
    ----------
    title, kind : str
    columns : tuple of ScalingColumn
    assumed : tuple of str
        What makes them one kernel, and its kind, in sentences.
    name : str
        What distinguishes it from others on several numbers of ranks; empty for a single one.
    """

    title: str
    kind: str
    columns: tuple[ScalingColumn, ...]
    assumed: tuple[str, ...] = ()
    name: str = ""

    JSON = "title kind name assumed reference_ranks columns"

    @property
    def reference_ranks(self) -> int:
        """Ranks of the first column."""
        return self.columns[0].ranks

    @property
    def is_scaling(self) -> bool:
        """Whether times on several numbers of ranks compare, as in strong or in weak scaling."""
        whole = all(column.of.run.header.complete for column in self.columns)
        return whole and len(self.columns) > 1 and self.kind in ("strong", "weak")

    def ideal(self, column: ScalingColumn) -> float:
        """Return the ideal time of a column, relative to that of the first."""
        return self.reference_ranks / column.ranks if self.kind == "strong" else 1.0

    def efficiency(self, column: ScalingColumn) -> float:
        """Return the ideal time of a column over its time: the efficiency of the scaling."""
        return self.ideal(column) * self.columns[0].time_s / column.time_s

    def speed_up(self, column: ScalingColumn) -> float:
        """Return how much more work is done in a time than in the first column."""
        return self.efficiency(column) * column.ranks / self.reference_ranks

    def efficiency_range(self, column: ScalingColumn) -> tuple[float, float] | None:
        """Return the least and the largest efficiency among repeats; None without repeats."""
        first, times_s = self.columns[0].times_s, column.times_s
        if min(len(first), len(times_s)) < 2:
            return None
        ideal = self.ideal(column)
        return ideal * min(first) / max(times_s), ideal * max(first) / min(times_s)

    def lost_s(self, column: ScalingColumn) -> dict[str, float]:
        """Return what the time of a column exceeds the ideal by, in seconds by cause.

        Negative where it is less; the sum is the time beyond the ideal. What more iterations take
        is a cause of its own: the others are of as many iterations as in the first column. Empty if
        it is unknown where the time goes.
        """
        first, ideal = self.columns[0], self.ideal(column)
        here, there = dict(column.of.parts_s), dict(first.of.parts_s)
        if not (here and there):
            return {}
        outside_s = here.pop(OUTSIDE, 0.0)
        counts = [each.of.run.header.iterations for each in (first, column)]
        same = counts[0] / counts[1] if counts[1] else 1.0
        lost = {MORE_ITERATIONS: (1.0 - same) * sum(here.values())}
        for name in PARTS:
            now_s = outside_s if name == OUTSIDE else same * here.get(name, 0.0)
            lost[name] = now_s - ideal * there.get(name, 0.0)
        return {name: lost_s for name, lost_s in lost.items() if lost_s}

    @property
    def largest(self) -> ScalingColumn:
        """The column on most ranks that had cores of their own; the last one if none did."""
        own = [column for column in self.columns[1:] if not column.crowded]
        return own[-1] if own else self.columns[-1]

    def explain(self) -> list[str]:
        """Return how the program scales, and where efficiency is lost, in sentences."""
        if not self.is_scaling:
            return [*self.assumed]
        column, first = self.largest, self.columns[0]
        before = counted(first.ranks, "rank")
        efficiency, faster = self.efficiency(column), self.speed_up(column)
        header = column.of.run.header
        name = header.workload
        name = name if header.solver == LOOP else f"{header.solver} on {name}"
        name += f" ({self.name})" if self.name else ""
        ends = self.efficiency_range(column)
        spread = f", {percent(ends[0], 0)} to {percent(ends[1], 0)} over repeats" if ends else ""
        if self.kind == "strong":
            how = (
                f"is {factor(faster)} times as fast as on {before}"
                if faster >= 1.0
                else f"takes {as_long_as(1.0 / faster, before)}"
            )
            how += f" (ideal: {column.ranks / first.ranks:.3g} times as fast)"
        else:
            how = (
                f"takes {as_long_as(column.time_s / first.time_s, before)} for "
                f"{column.ranks / first.ranks:.3g} times the work (ideal: the same time)"
            )
        said = [
            f"{name} on {counted(column.ranks, 'rank')} {how}: an efficiency of "
            f"{percent(efficiency, 0)}{spread}.",
            *self.causes(column),
        ]
        why_not = repeats_words(first.times_s, column.times_s)
        if why_not:
            said.append(f"Not shown to exceed the scatter of repeats: {why_not}.")
        if self.repeats_work:
            said.append(
                f"Every rank works as long as {before} did: either each repeats the work, or the "
                "arguments give the size per rank. Then this is weak scaling, with an efficiency "
                f"of {percent(first.time_s / column.time_s, 0)}."
            )
        if column.crowded:
            said.append(f"But {column.crowded}: {OF_SCHEDULER}")
        waits = {each: core_wait(each.of.run) for each in (first, column) if not each.crowded}
        taken = [
            f"{percent(waited.share, 0)} of the time on {counted(each.ranks, 'rank')}"
            for each, waited in waits.items()
            if waited is not None and waited.matters
        ]
        if taken:
            said.append(f"In doubt: ranks waited for a core {' and '.join(taken)}.")
        said += [
            f"{each.crowded[0].upper()}{each.crowded[1:]} (efficiency "
            f"{percent(self.efficiency(each), 0)}): {OF_SCHEDULER}"
            for each in self.columns[1:]
            if each.crowded and each is not column
        ]
        return said

    @property
    def repeats_work(self) -> bool:
        """Whether the work of a rank stays although the size, as far as is known, does."""
        column, first = self.largest, self.columns[0]
        if self.kind != "strong" or column.unknowns is not None or column.scaling is None:
            return False
        grown = self.work_ratio(column) * first.ranks / column.ranks
        return 1.0 / STAYS <= grown <= STAYS

    def causes(self, column: ScalingColumn) -> list[str]:
        """Return where efficiency is lost in a column, in sentences."""
        lost = self.lost_s(column)
        if not lost:
            why = column.of.withheld or self.columns[0].of.withheld
            return [f"Where it is lost is unknown: {why}."] if why else []
        shares = {name: lost_s / column.time_s for name, lost_s in lost.items()}
        main = sorted((name for name in shares if shares[name] >= SAID), key=lambda x: -shares[x])
        words = [f"{percent(shares[name], 0)} {self.cause(name, column)}" for name in main]
        where = f"{f'{self.name}, ' if self.name else ''}{counted(column.ranks, 'rank')}"
        said = [f"Of the time ({where}), lost to: {'; '.join(words)}."] if words else []
        if shares.get(WORK, 0.0) <= -SAID and self.work_ratio(column) < 1.0:
            said.append(
                f"All ranks together work {factor(self.work_ratio(column))} times as long as "
                f"{counted(self.reference_ranks, 'rank')}: less work, caches that hold the parts, "
                "or a machine that was slower then."
            )
        return said

    def cause(self, name: str, column: ScalingColumn) -> str:
        """Name a cause of lost efficiency."""
        first = self.columns[0]
        if name == MORE_ITERATIONS:
            done = [each.of.run.header.iterations for each in (column, first)]
            return f"more iterations ({done[0]:,}, not {done[1]:,})"
        if name == WORK and self.kind == "strong":
            return (
                f"more work (all ranks together work {factor(self.work_ratio(column))} times as "
                f"long as {counted(first.ranks, 'rank')}: parts that every rank repeats, more work "
                "an iteration, or slower cores and memory)"
            )
        if name == WORK:
            return (
                f"more work (a rank works {factor(self.work_ratio(column))} times as long: work "
                "that grows with the ranks, or slower cores and memory)"
            )
        return f"time {name}" if name == OUTSIDE else name

    def work_ratio(self, column: ScalingColumn) -> float:
        """Return the work of all ranks for the same problem, relative to the first column.

        Without the time in which they had no core, as the kernel counts it.
        """
        if not column.scaling:
            return float("nan")
        shares = [
            1.0 - each.of.parts_s.get(NO_CORE, 0.0) / sum(each.of.parts_s.values())
            for each in (column, self.columns[0])
        ]
        return shares[0] / shares[1] / column.scaling.computation


def efficiencies_over_ranks(runs: Iterable[Run]) -> list[KernelEfficiencies]:
    """Group runs of the same program on different numbers of ranks, and compare them.

    A program on one number of ranks is a table of one column.
    """
    return compared(series_over_ranks(runs))


def compared(series: Sequence[RankSeries]) -> list[KernelEfficiencies]:
    """Compare the runs of each series over ranks, and name it by what distinguishes it."""
    several = [each for each in series if several_ranks(each.runs)]
    names = dict(zip(map(id, several), names_of(several), strict=True))
    return [over_ranks(each, names.get(id(each), "")) for each in series]


def names_of(series: Sequence[RankSeries]) -> list[str]:
    """Return what distinguishes each series from others; empty for a single one."""
    if len(series) == 1:
        return [""]
    kinds = [configuration(each.runs[0]) for each in series]
    different = [name for name in apart(kinds) if name not in RESULTS or name == "unknowns"]
    scalings = len({each.kind for each in series}) > 1
    names = [
        ", ".join(
            [
                *(part_words(name, kind.get(name)) for name in different),
                *([each.kind] if scalings or not different else []),
            ]
        )
        for each, kind in zip(series, kinds, strict=True)
    ]
    again = Counter(names)
    return [
        f"{name}, {number}" if again[name] > 1 else name for number, name in enumerate(names, 1)
    ]


def over_ranks(series: RankSeries, name: str = "") -> KernelEfficiencies:
    """Compare the median run of every number of ranks with that of the fewest."""
    by_ranks = list(grouped(series.runs, lambda run: run.header.ranks).values())
    middle = [efficiencies_of(alike[(len(alike) - 1) // 2]) for alike in by_ranks]
    works = [work_of(series.kind, each) for each in middle]
    return KernelEfficiencies(
        title=title_of(series.kind, [each.run for each in middle])
        + (f": {name}" if name not in ("", series.kind) else ""),
        kind=series.kind,
        name=name,
        assumed=series.assumed,
        columns=tuple(
            ScalingColumn(
                of=of,
                times_s=tuple(run.solve_time_s for run in repeats),
                scaling=None
                if of.withheld or middle[0].withheld or series.kind == "other"
                else ComputationScaling.against(work, works[0]),
            )
            for of, work, repeats in zip(middle, works, by_ranks, strict=True)
        ),
    )


def work_of(kind: str, of: RunEfficiencies) -> Computation:
    """Return the work of a run with the size of its problem, in weak scaling that of its ranks."""
    grown = kind == "weak" and not of.run.header.spec.get("unknowns")
    return replace(of.computation, size=of.computation.size * (of.run.header.ranks if grown else 1))


def title_of(kind: str, runs: Sequence[Run]) -> str:
    """Return what the runs of a table have in common."""
    run = runs[0]
    header = run.header
    counts = [run.header.iterations for run in runs]
    iterations = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
    unknowns = header.spec.get("unknowns")
    size = ""
    if unknowns:
        a_rank = unknowns / header.ranks
        size = (
            f"{a_rank:,.0f} unknowns per rank, " if kind == "weak" else f"{unknowns:,} unknowns, "
        )
    restart = f", restart {header.restart}" if header.restart else ""
    noise = injected_noise(run)
    noise = f", injected noise {noise}" if noise else ""
    scaling = "" if kind == "none" else f" ({SCALING[kind]})"
    return (
        f"{header.solver} on {header.workload}: {size}{iterations} "
        f"{plural(max(counts), 'iteration')}{restart}{noise}{scaling}"
    )


GOOD, FAIR = 0.9, 0.8
"""An efficiency is good from the first on; below the second POP looks for the cause."""


SPEED_UP = {"strong": "speed-up", "weak": "speed-up for the larger problem"}
METRICS = {
    "global": "global efficiency",
    "parallel": "  parallel efficiency",
    "load_balance": "    load balance",
    "communication": "    communication efficiency",
    "serialisation": "      serialisation efficiency",
    "transfer": "      transfer efficiency",
    "computation": "  computation scaling",
    "instructions": "    instruction scaling",
    "ipc": "    IPC scaling",
    "frequency": "    frequency scaling",
    "counted_share": "    waiting that was counted",
}
"""Names of metrics in JSON, and what tables call them, indented by their level."""
OF_RUN = ("parallel", "load_balance", "communication", "serialisation", "transfer")
"""Metrics that need no reference run."""
MARKS = (("good", " "), ("fair", "~"), ("poor", "!"))
"""Grades, which are classes of the page's style sheet, and what shows them without colour."""
GRADES = "~ below 90 %, ! below 80 %, where POP looks for the cause."
LEGEND = f"Indented efficiencies multiply to the one above them. {GRADES}"
LEGEND_ACROSS = (
    "parallel = load balance x communication; communication = serialisation x transfer. " + GRADES
)
"""For tables with an efficiency in each column."""
OF_SCALING = (
    "Scaling is relative to the first column, for work of the same size; above 100 % all "
    "ranks together spend less time on the same work."
)


def share(value: float | None) -> str:
    """Write an efficiency in percent, graded as rounded there; unknown ones are left empty."""
    if value is None:
        return ""
    tenths = round(value, 3)
    return Graded(percent(value), *MARKS[(tenths < GOOD) + (tenths < FAIR)])


def efficiency_table(kernel: KernelEfficiencies) -> Table:
    """Make the table of a kernel: POP's metrics against numbers of ranks."""
    # Times are set so that units stand under percent signs.
    times = (f"{seconds(column.of.whole.run_time_s)} " for column in kernel.columns)
    rows = [("run time of the iterations", *times)]
    if kernel.is_scaling:
        faster = (f"{kernel.speed_up(column):.3g}  " for column in kernel.columns)
        rows.append((SPEED_UP[kernel.kind], *faster))
    counts = [column.of.run.header.iterations for column in kernel.columns]
    if len(set(counts)) > 1:
        rows.append(("iterations", *(f"{count:,}  " for count in counts)))
    for name, label in METRICS.items():
        values = [column.values[name] for column in kernel.columns]
        if any(value is not None for value in values):
            rows.append((label, *map(share, values)))
    heads = (Column(f"{column.ranks}", RIGHT) for column in kernel.columns)
    return Table(title=(kernel.title,), columns=(Column("ranks"), *heads), rows=rows)


def runs_table(runs: Iterable[RunEfficiencies]) -> Table:
    """Make the table of runs; efficiencies that are withheld are left empty."""
    names = ("run time", *(name.replace("_", " ") for name in OF_RUN))
    return Table(
        columns=(Column("efficiencies of run"), *(Column(name, RIGHT) for name in names)),
        rows=[
            (
                run.run.path.name,
                seconds(run.whole.run_time_s),
                *(share(None if run.withheld else getattr(run.whole, name)) for name in OF_RUN),
            )
            for run in runs
        ],
    )


def scaling_charts(kernels: Sequence[KernelEfficiencies]) -> list[tuple[Chart, str]]:
    """Return speed-up and efficiency over ranks with the ideal, and captions; none without any."""
    several = [kernel for kernel in kernels if kernel.is_scaling]
    if not several:
        return []
    names = [kernel.name or "measured" for kernel in several]
    ranks = np.unique([column.ranks for kernel in several for column in kernel.columns])
    x, first = ranks.astype(np.float64), min(kernel.reference_ranks for kernel in several)
    ideal = Series(name="ideal", look="line", x=x, y=x / first)
    faster, share = list[Series](), list[Series]()
    for name, kernel in zip(names, several, strict=True):
        places = np.array([column.ranks for column in kernel.columns], np.float64)
        speed_up = np.array([kernel.speed_up(column) for column in kernel.columns])
        efficiency = np.array([100.0 * kernel.efficiency(column) for column in kernel.columns])
        speed_up *= kernel.reference_ranks / first
        crowded = np.array([bool(column.crowded) for column in kernel.columns])
        for found, y in ((faster, speed_up), (share, efficiency)):
            found.append(Series(name=name, look="line", x=places, y=y))
            found.append(Series(name=name, look="points", x=places[~crowded], y=y[~crowded]))
            if crowded.any():
                name_there = f"{name}: more ranks than cores"
                found.append(
                    Series(name=name_there, look="points", x=places[crowded], y=y[crowded])
                )
    faster.append(ideal)
    share.append(replace(ideal, y=np.full(x.size, 100.0)))
    low = min(float(each.y.min()) for each in faster)
    high = max(float(each.y.max()) for each in faster)
    more = any(kernel.kind == "weak" for kernel in several)
    repeats = any(column.runs > 1 for kernel in several for column in kernel.columns)
    faster_chart = Chart(
        title="Speed-up over ranks",
        x=Quantity("ranks"),
        y=Quantity(f"speed-up over {counted(first, 'rank')}"),
        series=tuple(faster),
        y_limits=(0.8 * low, 1.2 * high),
        x_ticks=tuple(x.tolist()),
        logarithmic=(True, True),
    )
    share_chart = replace(
        faster_chart,
        title="Efficiency over ranks",
        y=Quantity("efficiency of the scaling", "%"),
        series=tuple(share),
        y_limits=(0.0, 1.1 * max(float(each.y.max()) for each in share)),
        logarithmic=(True, False),
    )
    return [
        (
            faster_chart,
            f"The time of the whole solve or loop on {counted(first, 'rank')} over that on more"
            + (", in weak scaling times the growth of the work" if more else "")
            + f".{' Of repeats, the median.' if repeats else ''}",
        ),
        (share_chart, "The speed-up over the ideal one, which grows in proportion to the ranks."),
    ]


def scaling_parts(
    kernels: Sequence[KernelEfficiencies], findings: Sequence[Finding] = ()
) -> list[Part]:
    """Return the section on kernels on several numbers of ranks; empty without any."""
    several = [kernel for kernel in kernels if len(kernel.columns) > 1]
    if not several:
        return []
    parts: list[Part] = [Heading("Efficiencies over numbers of ranks")]
    for kernel in several:
        shown = {str(column.of.run.path) for column in kernel.columns}
        parts.append(efficiency_table(kernel))
        parts += map(Paragraph, dict.fromkeys((*kernel.explain(), *kernel.assumed)))
        parts += [Paragraph(column.of.explain()) for column in kernel.columns if column.of.withheld]
        parts += caution_parts((finding for finding in findings if finding.file in shown), OF_RANKS)
    return [*parts, Paragraph(f"{LEGEND} {OF_SCALING}", quiet=True)]


def run_parts(runs: Sequence[RunEfficiencies], middle: RunEfficiencies) -> list[Part]:
    """Return the parts on the runs of a configuration, of which one is the median."""
    return [
        runs_table(runs),
        Paragraph(middle.explain()),
        Paragraph(LEGEND_ACROSS, quiet=True),
    ]
