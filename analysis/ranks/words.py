"""What a person is told of ranks: a few lines."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.ranks.report import RankReport
from hindmost.analysis.tables.terminal import seconds
from hindmost.models.ranks.lateness import Lateness

BY_CHANCE = 0.01
LEAST_FOR_SLOPES = 8
"""Ranks whose sum is a curve and no staircase."""


def words(report: RankReport) -> str:
    """Say it in a few lines."""
    count = report.numbers.size
    lines = [f"{report.file}: {count} rank{'s' if count > 1 else ''}"]
    if report.remark:
        lines.append(f"  note: {report.remark}")
    if count == 1:
        return "\n".join([*lines, "  one rank has nobody to be compared with"])
    late = report.lateness
    if late is not None and late.ranks > 1 and late.bodies:
        lines += ["who is hindmost", *hindmost_lines(report, late)]
    lines.append("ranks that stand out (value; typical of all)")
    for each in report.extrema:
        named = ", ".join(
            f"{report.numbers[rank]} ({written(value, each.unit)})"
            for rank, value in zip(each.ranks[:3], each.values[:3], strict=True)
        )
        lines.append(f"  {each.criterion + ':':<24}{named}; {written(each.typical, each.unit)}")
    groups = report.clustering
    title = f"{groups.k} groups of ranks" if groups.k > 1 else "one group of ranks"
    lines.append(f"{title} (silhouette {groups.silhouette:.2f})")
    for size, exemplar, means in zip(
        groups.sizes, report.exemplars(), report.cluster_means(), strict=True
    ):
        most = np.argsort(-report.metrics.normalised().std(axis=0), kind="stable")[:3]
        told = ", ".join(
            f"{report.metrics.names[at]} {written(means[at], report.metrics.units[at])}"
            for at in sorted(most)
        )
        lines.append(f"  {size} like rank {exemplar}: {told}")
    if report.run is not None and count >= LEAST_FOR_SLOPES:
        lines += ["time profile of a body", f"  {report.run.slopes.explain()}"]
    if report.kept is not None:
        total = sum(len(each) for each in report.kept.values())
        lines.append(f"{total} ranks to keep")
        for name, ranks in report.kept.items():
            if ranks:
                more = f" and {len(ranks) - 12} more" if len(ranks) > 12 else ""
                lines.append(f"  {name + ':':<24}{', '.join(map(str, ranks[:12]))}{more}")
    return "\n".join(lines)


def hindmost_lines(report: RankReport, late: Lateness) -> list[str]:
    """Say which ranks and nodes come last, how often, and what that costs."""
    whole = max(float(late.charged_s.sum()), 1e-300)
    lines = [
        f"  {100 * late.waiting_share:.1f} % of the time of all ranks is waiting for the last one"
    ]
    if late.bodies > 1 and late.chance > BY_CHANCE:
        lines.append("  no rank comes last more often than chance would have it; the first three:")
    for at in np.argsort(-late.charged_s, kind="stable")[:3]:
        if late.last[at]:
            host = f" on {report.hosts[at]}" if report.hosts and report.hosts[at] else ""
            lines.append(
                f"  rank {report.numbers[at]}{host}: last in {late.last[at]} of {late.bodies} "
                f"bod{'ies' if late.bodies > 1 else 'y'}; {100 * late.charged_s[at] / whole:.0f} % "
                f"of the waiting; {seconds(float(late.lost_s[at]))} saved if it were as quick as "
                "the next"
            )
    if len(late.nodes) > 1:
        at = int(np.argmax(late.node_charged_s))
        lines.append(
            f"  node {late.nodes[at]}: last in {late.node_last[at]} of {late.bodies} bodies; "
            f"{100 * late.node_charged_s[at] / whole:.0f} % of the waiting; "
            f"{seconds(float(late.node_lost_s[at]))} saved if it were as quick as the next node"
        )
    return lines


def written(value: float, unit: str) -> str:
    """Write a value with its unit."""
    if unit == "s":
        return seconds(float(value))
    return f"{value:.4g}" if unit == "1" else f"{value:.4g} {unit}"
