"""What ``hindmost show --ranks`` prints: wait time, stragglers, outliers and groups of ranks."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.ranks.read import RanksOfRun
from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.runs.check_bodies import MAX_NAMED
from hindmost.analysis.runs.finding import OF_RANKS, WORTH_SAYING, cautions
from hindmost.analysis.runs.straggler import node_words
from hindmost.analysis.runs.stretches import Stretch
from hindmost.analysis.show.phrases import factor, folded, text
from hindmost.analysis.show.table import LEADING
from hindmost.models.ranks.extrema import Extreme
from hindmost.models.ranks.lateness import Lateness
from hindmost.text import counted, percent, quantity, seconds

LAST = (
    'The "last" rank has the most own work and slow transfers in an iteration, whatever it '
    "waited for before."
)
ONE_RANK = "There is only one rank, so there is nothing to compare."


def summary_lines(report: RankReport) -> list[str]:
    """Return the summary of the ranks of a run or table."""
    count = report.numbers.size
    lines = [f"{report.file}: {counted(count, 'rank')}"]
    if report.remark:
        lines.append(f"  note: {report.remark}")
    if count == 1:
        return [*lines, f"  {ONE_RANK}"]
    if report.run is not None:
        lines += ["recorded wait time", f"  {recorded_wait_time(report.run)}"]
    late = report.lateness
    if late is not None and late.ranks > 1 and late.bodies:
        lines += ["stragglers", *straggler_lines(report, late)]
    if report.stretches:
        lines += ["where in the code, in an iteration", *code_lines(report)]
    lines += ["outliers among the ranks (value; median of all ranks)", *outlier_lines(report)]
    lines += group_lines(report)
    return [*lines, *folded(cautions(report.findings, OF_RANKS), indent="  ")]


def straggler_lines(report: RankReport, late: Lateness) -> list[str]:
    """Return who the culprit is, and which ranks and which node cost the others most."""
    whole, found = max(float(late.charged_s.sum()), 1e-300), report.culprit
    lines = [f"  {straggler_wait_time(report, late)}"]
    if report.withheld:
        return lines
    lines += folded([who_costs_most(report)], indent="  ")
    lines.append(f"  {LAST}")
    order = np.argsort(-late.charged_s, kind="stable")[:LEADING].tolist()
    if found is not None and not found.node:
        order = list(dict.fromkeys((found.rank, *order)))[:LEADING]
    first = [at for at in order if late.last[at]]
    if late.bodies > 1 and not first:
        lines.append("  In no iteration is a single rank last.")
    for at in first:
        host = f" on {report.hosts[at]}" if report.hosts and report.hosts[at] else ""
        lines.append(
            f"  rank {report.numbers[at]}{host}: last in {late.last[at]} of "
            f"{counted(late.bodies, 'iteration')}; causes {percent(late.charged_s[at] / whole, 0)} "
            f"of the wait time{transfer_share(late, int(at))}; {seconds(float(late.lost_s[at]))} "
            "saved if it were as fast as the next rank"
        )
    if len(late.nodes) > 1:
        at = int(np.argmax(late.node_charged_s))
        lost = late.node_lost_s
        saved = (
            ""
            if lost is None
            else f"; {seconds(float(lost[at]))} saved if it were as fast as the next node"
        )
        node = (
            f"  {node_words(late.nodes[at])}: last in {late.node_last[at]} of "
            f"{counted(late.bodies, 'iteration')}; causes "
            f"{percent(late.node_charged_s[at] / whole, 0)} of the wait time{saved}"
        )
        of_many = late.node_charged_s[at] > 2.0 * late.charged_s.max()  # it is no rank's alone
        lines.insert(2 if of_many else len(lines), node)
    return lines


def who_costs_most(report: RankReport) -> str:
    """Say who the culprit is."""
    if report.culprit is None:
        return "No rank works clearly more than the others, at a cost."
    return text(report.unequal)


def main_stretches(report: RankReport) -> list[Stretch]:
    """Return the stretches in which the ranks work and wait longest, if that is not negligible."""
    by_time = sorted(report.stretches, key=lambda each: -each.work_s.sum() - each.wait_s.sum())
    whole_s = sum(float(each.work_s.sum() + each.wait_s.sum()) for each in by_time)
    return [
        each
        for each in by_time[:MAX_NAMED]
        if each.work_s.sum() + each.wait_s.sum() >= WORTH_SAYING * whole_s
    ]


def code_lines(report: RankReport) -> list[str]:
    """Return between which calls the ranks work, and how long and for whom they wait at the end."""
    lines = []
    for stretch in main_stretches(report):
        words = (stretch_work(report, stretch), stretch_wait(report, stretch))
        lines.append(f"{stretch}: {', '.join(said for said in words if said)}")
    return folded(lines, indent="  ")


def stretch_work(report: RankReport, stretch: Stretch) -> str:
    """Say how long the ranks work in a stretch in an iteration; empty if that is negligible."""
    work_s, most = float(stretch.work_s.mean()), int(stretch.work_s.argmax())
    if work_s < WORTH_SAYING * (work_s + float(stretch.wait_s.mean())):
        return ""
    times = factor(float(stretch.times[most]))
    beyond = percent(float(stretch.beyond_s.sum() / stretch.work_s.sum()), 0)
    return (
        f"{seconds(work_s / bodies_of(report))} of work (rank {report.numbers[most]}: {times} "
        f"times the others'; {beyond} is beyond the median iteration)"
    )


def stretch_wait(report: RankReport, stretch: Stretch) -> str:
    """Say how long the ranks are in the call at the end of a stretch, and whom they wait for."""
    wait_s, most = float(stretch.wait_s.mean()), int(stretch.wait_s.argmax())
    if wait_s < WORTH_SAYING * (wait_s + float(stretch.work_s.mean())):
        return ""
    bodies, whom = bodies_of(report), stretch.for_whom()
    until = f"; most for rank {report.numbers[whom[0]]}: {percent(whom[1], 0)}" if whom else ""
    return (
        f"{seconds(wait_s / bodies)} in the call at the end (most on rank {report.numbers[most]}: "
        f"{seconds(float(stretch.wait_s[most]) / bodies)}{until})"
    )


def bodies_of(report: RankReport) -> int:
    """Return the number of iterations, at least one."""
    return max(report.lateness.bodies if report.lateness is not None else 1, 1)


def outlier_lines(report: RankReport) -> list[str]:
    """Return which ranks are outliers by which criterion, or that none is."""
    if report.standing_text:
        return [f"  {report.standing_text}"]
    return [
        f"  {each.criterion + ':':<24}{outliers_by(report, each)}; "
        f"{metric_text(each.typical, each.unit)}"
        for each in report.extrema
        if each.standing_out
    ]


def outliers_by(report: RankReport, extreme: Extreme) -> str:
    """List the outliers by one criterion with their values."""
    shown = min(extreme.standing_out, LEADING)
    return ", ".join(
        f"{report.numbers[rank]} ({metric_text(value, extreme.unit)})"
        for rank, value in zip(extreme.ranks[:shown], extreme.values[:shown], strict=True)
    )


def group_lines(report: RankReport) -> list[str]:
    """Return the groups of ranks, each with the metrics that differ most between groups."""
    groups, metrics = report.clustering, report.metrics
    if groups.k == 1:
        return [one_group(report)]
    apart = f" (silhouette {groups.silhouette:.2f})"
    lines = [f"{counted(groups.k, 'group')} of ranks{apart}; means of the ranks in each:"]
    most = np.argsort(-metrics.normalised().std(axis=0), kind="stable")[:LEADING]
    for size, where, exemplar, means in zip(
        groups.sizes, report.group_places(), report.exemplars(), report.cluster_means(), strict=True
    ):
        values = ", ".join(
            f"{metrics.names[at]} {metric_text(means[at], metrics.units[at])}"
            for at in sorted(most)
        )
        lines.append(f"  {counted(int(size), 'rank')} like rank {exemplar}{where}: {values}")
    return lines


def recorded_wait_time(run: RanksOfRun) -> str:
    """Say how much of the time was recorded as waiting, and what is known of its cause."""
    share, halo = run.waiting_recorded_share, run.halo_share
    said = f"{percent(share)} of the time of all ranks; {percent(halo)} is in halo exchanges"
    if halo < WORTH_SAYING:
        return f"{said}."
    if run.costs.transfers:
        slow = run.recorded_share(run.lateness.transfer_s)
        return f"{said}, and {percent(slow)} in slow transfers of halos that were sent in time."
    return (
        f"{said}. Without the events of all ranks the cause is unknown: a late neighbour or a "
        "slow link."
    )


def straggler_wait_time(report: RankReport, late: Lateness) -> str:
    """Say how much time all ranks lose to the last one."""
    differences, waited = late.waiting_share, report.waiting_share
    if not report.withheld:
        more = (
            f" Own work differs by {percent(differences)}, but ranks did not wait for all of that."
            if differences - waited > WORTH_SAYING
            else ""
        )
        return (
            f"{percent(waited)} of the time of all ranks is wait time for the last rank of an "
            f"iteration.{more}"
        )
    return (
        f"Own work differs between ranks by {percent(differences)} of the time; at most "
        f"{percent(waited)} was spent waiting for that. {report.withheld}"
    )


def transfer_share(late: Lateness, at: int) -> str:
    """Say how much of the wait time that a rank causes is due to its link, unless negligible."""
    slow = float(late.transfer_charged_s[at])
    if slow < WORTH_SAYING * late.total_s * late.ranks:
        return ""
    share = slow / max(float(late.charged_s[at]), 1e-300)
    return (
        f" ({percent(share, 0)} of that by slow transfers of halos that were sent in time: the "
        "link, MPI progress or a lost core)"
    )


def metric_text(value: float, unit: str) -> str:
    """Write the value of a metric; the unit 1 is not written."""
    if unit == "bodies":
        return (
            counted(round(float(value)), "iteration")
            if value == round(value)
            else quantity(value, unit)
        )
    return quantity(float(value), "" if unit == "1" else unit)


def one_group(report: RankReport) -> str:
    """Say that ranks form one group, or that they are too few for more."""
    if report.too_few:
        return f"{report.numbers.size} ranks are too few to form groups."
    return "One group of ranks: none differs from the others enough to form a second."
