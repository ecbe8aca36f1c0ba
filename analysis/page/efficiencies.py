"""The parts of a page on efficiencies: tables whose cells are coloured by how good they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from hindmost.analysis.efficiency.metrics import LEGEND, OF_RUN, OF_SCALING, Grade
from hindmost.analysis.efficiency.of_run import RunEfficiencies
from hindmost.analysis.efficiency.scaling import KernelEfficiencies
from hindmost.analysis.page.parts import Column, Heading, Html, Paragraph, Part, Table
from hindmost.analysis.tables.efficiencies import known_metrics
from hindmost.analysis.tables.terminal import seconds
from hindmost.models.ranks.efficiencies import Efficiencies

MOST_NODES = 64
"""Nodes of a table."""


def graded(value: float | None) -> str:
    """Return a cell: the efficiency in percent, coloured, with a mark that needs no colour."""
    if value is None:
        return ""
    grade = Grade.of(value)
    mark = grade.mark.strip()
    told = f'<span class="mark">{mark}</span>' if mark else ""
    return Html(f'<span class="grade {grade}">{100.0 * value:.1f} %{told}</span>')


def scaling_parts(kernels: Sequence[KernelEfficiencies]) -> list[Part]:
    """Return the section on kernels that ran on several numbers of ranks; nothing if none did."""
    several = [kernel for kernel in kernels if len(kernel.columns) > 1]
    if not several:
        return []
    parts: list[Part] = [Heading("Efficiencies over numbers of ranks")]
    for kernel in several:
        parts += [Paragraph(kernel.title), scaling_table(kernel)]
    return [*parts, Paragraph(f"{LEGEND} {OF_SCALING}", quiet=True)]


def scaling_table(kernel: KernelEfficiencies) -> Table:
    """Return POP's metrics of a kernel against numbers of ranks."""
    times = (seconds(column.of.whole.run_time_s) for column in kernel.columns)
    return Table(
        columns=(
            Column("metric"),
            *(Column(several_ranks(column.ranks), "right") for column in kernel.columns),
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


def several_ranks(count: int) -> str:
    """Write a number of ranks for the head of a column."""
    return "1 rank" if count == 1 else f"{count:,} ranks"


def run_parts(runs: Sequence[RunEfficiencies], middle: RunEfficiencies) -> list[Part]:
    """Return the parts on the runs of a configuration, and on the nodes of the median one."""
    parts: list[Part] = [
        parts_table("efficiencies of run", ((each.run.path.name, each.whole) for each in runs)),
        Paragraph(middle.explain()),
    ]
    if len(middle.nodes) > 1:
        parts += node_parts(middle)
    return [*parts, Paragraph(LEGEND, quiet=True)]


def node_parts(of: RunEfficiencies) -> list[Part]:
    """Return the table of nodes; of many, those that work most, for whom the others wait."""
    nodes = sorted(of.nodes.items(), key=lambda item: -item[1].parallel)
    shown = nodes[:MOST_NODES]
    left = len(nodes) - len(shown)
    return [
        parts_table("node (ranks)", ((f"{name} ({each.ranks})", each) for name, each in shown)),
        Paragraph(
            "Of the ranks on a node, held against the time of the run: a node of high parallel "
            "efficiency has more work than others, who wait for it."
            + (f" {left:,} more nodes have less work." if left else ""),
            quiet=True,
        ),
    ]


def parts_table(head: str, parts: Iterable[tuple[str, Efficiencies]]) -> Table:
    """Return the efficiencies of runs or of their parts, a row each."""
    return Table(
        columns=(
            Column(head),
            Column("run time", "right"),
            *(Column(metric.name.replace("_", " "), "right") for metric in OF_RUN),
        ),
        rows=[
            (
                name,
                seconds(each.run_time_s),
                *(graded(getattr(each, metric.name)) for metric in OF_RUN),
            )
            for name, each in parts
        ],
    )
