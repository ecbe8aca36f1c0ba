"""Efficiencies as tables and parts of a page: POP's metrics, graded, of kernels and of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.runs.efficiency.scaling import KernelEfficiencies
from hindmost.analysis.runs.finding import OF_RANKS, Finding, caution_parts
from hindmost.analysis.show.page import Heading, Paragraph, Part
from hindmost.analysis.show.table import RIGHT, Column, Graded, Table
from hindmost.text import percent, seconds

GOOD, FAIR = 0.9, 0.8
"""An efficiency is good from the first on; below the second POP looks for the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric: its name in JSON, its label in tables, and its level in the hierarchy."""

    name: str
    label: str
    level: int

    @property
    def indented(self) -> str:
        """The label, indented by its level."""
        return "  " * self.level + self.label


METRICS = (
    Metric(name="global", label="global efficiency", level=0),
    Metric(name="parallel", label="parallel efficiency", level=1),
    Metric(name="load_balance", label="load balance", level=2),
    Metric(name="communication", label="communication efficiency", level=2),
    Metric(name="serialisation", label="serialisation efficiency", level=3),
    Metric(name="transfer", label="transfer efficiency", level=3),
    Metric(name="computation", label="computation scaling", level=1),
    Metric(name="instructions", label="instruction scaling", level=2),
    Metric(name="ipc", label="IPC scaling", level=2),
    Metric(name="frequency", label="frequency scaling", level=2),
    Metric(name="counted_share", label="waiting that was counted", level=2),
)
OF_RUN = tuple(each for each in METRICS if each.name in {
    "parallel", "load_balance", "communication", "serialisation", "transfer",
})  # fmt: skip
"""Metrics that need no reference run."""


class Grade(StrEnum):
    """How good an efficiency is; the values are classes of the page's style sheet."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"

    @classmethod
    def of(cls, value: float) -> Grade:
        """Return the grade of an efficiency, rounded to tenths of a percent as in tables."""
        value = round(value, 3)
        return cls.GOOD if value >= GOOD else cls.FAIR if value >= FAIR else cls.POOR

    @property
    def mark(self) -> str:
        """A character that shows the grade without colour."""
        return {Grade.GOOD: " ", Grade.FAIR: "~", Grade.POOR: "!"}[self]


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
    """Write an efficiency in percent with its mark; unknown ones are left empty."""
    if value is None:
        return ""
    grade = Grade.of(value)
    return Graded(percent(value), grade, grade.mark)


def known_metrics(kernel: KernelEfficiencies) -> list[Metric]:
    """Return the metrics that at least one column has a value of."""
    return [
        metric
        for metric in METRICS
        if any(column.values[metric.name] is not None for column in kernel.columns)
    ]


def efficiency_table(kernel: KernelEfficiencies) -> Table:
    """Make the table of a kernel: POP's metrics against numbers of ranks."""
    rows = [("run time of the iterations", *times_of(kernel))]
    for metric in known_metrics(kernel):
        cells = (share(column.values[metric.name]) for column in kernel.columns)
        rows.append((metric.indented, *cells))
    heads = (Column(f"{column.ranks}", RIGHT) for column in kernel.columns)
    return Table(title=(kernel.title,), columns=(Column("ranks"), *heads), rows=rows)


def times_of(kernel: KernelEfficiencies) -> list[str]:
    """Write the run time of every column, set so that units stand under percent signs."""
    return [f"{seconds(column.of.whole.run_time_s)} " for column in kernel.columns]


def runs_table(runs: Iterable[RunEfficiencies]) -> Table:
    """Make the table of runs; efficiencies that are withheld are left empty."""
    names = ("run time", *(metric.name.replace("_", " ") for metric in OF_RUN))
    return Table(
        columns=(Column("efficiencies of run"), *(Column(name, RIGHT) for name in names)),
        rows=[
            (
                each.run.path.name,
                seconds(each.whole.run_time_s),
                *(
                    share(None if each.withheld else getattr(each.whole, metric.name))
                    for metric in OF_RUN
                ),
            )
            for each in runs
        ],
    )


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
        parts += [Paragraph(column.of.explain()) for column in kernel.columns if column.of.withheld]
        parts += caution_parts((each for each in findings if each.file in shown), OF_RANKS)
    return [*parts, Paragraph(f"{LEGEND} {OF_SCALING}", quiet=True)]


def run_parts(runs: Sequence[RunEfficiencies], middle: RunEfficiencies) -> list[Part]:
    """Return the parts on the runs of a configuration, of which one is the median."""
    return [
        runs_table(runs),
        Paragraph(middle.explain()),
        Paragraph(LEGEND_ACROSS, quiet=True),
    ]
