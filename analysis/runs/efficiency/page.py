"""The parts of a page on efficiencies: tables whose cells are coloured by grade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hindmost.analysis.runs.efficiency.metrics import LEGEND, OF_RUN, OF_SCALING, Grade
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.runs.efficiency.scaling import KernelEfficiencies
from hindmost.analysis.runs.efficiency.tables import known_metrics
from hindmost.analysis.runs.finding import OF_RANKS, Finding, caution_parts
from hindmost.analysis.show.page import Heading, Html, Paragraph, Part
from hindmost.analysis.show.table import Column, Table
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.printable import escape
from hindmost.text import counted, percent, seconds

MOST_NODES = 64
"""Nodes in a table."""


def graded(value: float | None) -> str:
    """Return a cell: the efficiency in percent, coloured, with a mark that needs no colour."""
    if value is None:
        return ""
    grade = Grade.of(value)
    mark = grade.mark.strip()
    told = f'<span class="mark">{mark}</span>' if mark else ""
    return Html(f'<span class="grade {grade}">{percent(value)}{told}</span>')


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
        parts += [Paragraph(kernel.title), scaling_table(kernel)]
        parts += [Paragraph(column.of.explain()) for column in kernel.columns if column.of.withheld]
        parts += caution_parts((each for each in findings if each.file in shown), OF_RANKS)
    return [*parts, Paragraph(f"{LEGEND} {OF_SCALING}", quiet=True)]


def scaling_table(kernel: KernelEfficiencies) -> Table:
    """Return POP's metrics of a kernel by number of ranks."""
    times = (seconds(column.of.whole.run_time_s) for column in kernel.columns)
    return Table(
        columns=(
            Column("metric"),
            *(Column(counted(column.ranks, "rank"), "right") for column in kernel.columns),
        ),
        rows=[
            ("run time of the bodies", *times),
            *(
                (
                    Html(f'<span class="level-{metric.level}">{escape(metric.label)}</span>'),
                    *(graded(column.values[metric.name]) for column in kernel.columns),
                )
                for metric in known_metrics(kernel)
            ),
        ],
    )


def run_parts(runs: Sequence[RunEfficiencies], middle: RunEfficiencies) -> list[Part]:
    """Return the parts on the runs of a configuration, and on the nodes of the median one."""
    parts: list[Part] = [
        shares_table(
            "efficiencies of run",
            ((each.run.path.name, each.whole.run_time_s, each.shares) for each in runs),
        ),
        Paragraph(middle.explain()),
    ]
    if len(middle.nodes) > 1 and not middle.withheld:
        parts += node_parts(middle)
    return [*parts, Paragraph(LEGEND, quiet=True)]


def node_parts(of: RunEfficiencies) -> list[Part]:
    """Return the table of nodes; of many, those with most work, for which the others wait."""
    nodes = sorted(of.nodes.items(), key=lambda item: -item[1].parallel)
    shown = nodes[:MOST_NODES]
    left = len(nodes) - len(shown)
    return [
        parts_table("node (ranks)", ((f"{name} ({each.ranks})", each) for name, each in shown)),
        Paragraph(
            "Ranks of each node, relative to the run time: a node with high parallel efficiency "
            "spends more time on work than the others."
            + (f" {left:,} more nodes have less work." if left else ""),
            quiet=True,
        ),
    ]


def parts_table(head: str, parts: Iterable[tuple[str, Efficiencies]]) -> Table:
    """Return the efficiencies of the parts of a run, a row each."""
    return shares_table(
        head,
        (
            (
                name,
                each.run_time_s,
                {metric.name: getattr(each, metric.name) for metric in OF_RUN},
            )
            for name, each in parts
        ),
    )


def shares_table(
    head: str, parts: Iterable[tuple[str, float, Mapping[str, float | None]]]
) -> Table:
    """Return a table of names, run times in seconds and efficiencies by name."""
    return Table(
        columns=(
            Column(head),
            Column("run time", "right"),
            *(Column(metric.name.replace("_", " "), "right") for metric in OF_RUN),
        ),
        rows=[
            (
                name,
                seconds(run_time_s),
                *(graded(shares[metric.name]) for metric in OF_RUN),
            )
            for name, run_time_s, shares in parts
        ],
    )
