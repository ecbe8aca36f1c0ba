"""Efficiencies as tables and parts of a page: POP's metrics, graded, of kernels and of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.runs.efficiency.scaling import KernelEfficiencies
from hindmost.analysis.runs.finding import OF_RANKS, Finding, caution_parts
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.page import Heading, Paragraph, Part
from hindmost.analysis.show.table import RIGHT, Column, Graded, Table
from hindmost.text import counted, percent, seconds

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
        marks={},
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
