"""Tables of efficiencies: over numbers of ranks, and over the parts of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hindmost.analysis.runs.efficiency.metrics import METRICS, OF_RUN, Metric, share
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.runs.efficiency.scaling import KernelEfficiencies
from hindmost.analysis.show.table import RIGHT, Column, Table
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.text import seconds


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


def parts_table(head: str, parts: Iterable[tuple[str, Efficiencies]], *title: str) -> Table:
    """Make the table of the parts of a run: windows, nodes or places."""
    rows = (
        (name, each.run_time_s, {metric.name: getattr(each, metric.name) for metric in OF_RUN})
        for name, each in parts
    )
    return shares_table(head, rows, *title)


def shares_table(
    head: str, rows: Iterable[tuple[str, float, Mapping[str, float | None]]], *title: str
) -> Table:
    """Make a table of names, run times in seconds and efficiencies by name."""
    names = ("run time", *(metric.name.replace("_", " ") for metric in OF_RUN))
    return Table(
        title=title,
        columns=(Column(head), *(Column(name, RIGHT) for name in names)),
        rows=[
            (name, seconds(run_time_s), *(share(shares[metric.name]) for metric in OF_RUN))
            for name, run_time_s, shares in rows
        ],
    )


def part_tables(of: RunEfficiencies, *, windows: bool, places: bool) -> list[Table]:
    """Make the tables of the parts of a run that were asked for; nodes where there are several."""
    name, tables = of.run.path.name, list[Table]()
    if of.withheld:
        return tables
    if len(of.nodes) > 1:
        parts = [(f"{node} ({each.ranks})", each) for node, each in of.nodes.items()]
        tables.append(parts_table("node (ranks)", parts, f"{name} by node"))
    if windows:
        parts = [(f"{each.first} to {each.last - 1}", each.efficiencies) for each in of.windows]
        tables.append(parts_table("bodies", parts, f"{name} over time"))
    if places and of.places:
        parts = [(str(place), each) for place, each in of.places.items()]
        tables.append(parts_table("place", parts, f"{name} through the restart cycle"))
    return tables
