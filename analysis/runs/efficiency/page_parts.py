"""The parts of a page on efficiencies."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.analysis.runs.efficiency.metrics import LEGEND, LEGEND_ACROSS, OF_SCALING
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.runs.efficiency.scaling import KernelEfficiencies
from hindmost.analysis.runs.efficiency.tables import efficiency_table, parts_table, shares_table
from hindmost.analysis.runs.finding import OF_RANKS, Finding, caution_parts
from hindmost.analysis.show.page import Heading, Paragraph, Part

MOST_NODES = 64
"""Nodes in a table."""


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
    return [*parts, Paragraph(LEGEND_ACROSS, quiet=True)]


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
