"""The first screen on runs: what ran, where the time goes, and what costs most of it."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.report.comparison import solver_conclusions
from hindmost.analysis.report.run_conclusions import PIPELINING, LookedAt, conclusions_on
from hindmost.analysis.report.time_balance import PARTS
from hindmost.analysis.runs.conclusion import worth_saying
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.first_screen import (
    capital,
    headline_of,
    judge_data,
    statements_of,
)
from hindmost.analysis.show.overview import Bar, Overview, overview_widget
from hindmost.analysis.show.page import Part
from hindmost.text import counted


def overview_of(
    looked: Sequence[LookedAt],
    compared: Sequence[Sequence[FittedGroup]],
    findings: Sequence[Finding],
    files: int,
) -> list[Part]:
    """Return the first screen; nothing for adaptive runs alone.

    Parameters
    ----------
    looked : sequence of LookedAt
        Every configuration.
    compared : sequence of sequences of FittedGroup
        Those that differ in their solver only.
    findings : sequence of Finding
        On all files.
    files : int
    """
    if not looked:
        return []
    piped = {id(fitted) for members in compared if has_pipelined(members) for fitted in members}
    found = [
        each
        for one in looked
        for each in conclusions_on(one)
        if each.title != PIPELINING or id(one.fitted) not in piped  # that is measured
    ]
    for place, members in enumerate(compared):
        found += solver_conclusions(members, f"solvers-{place}")
    said = worth_saying(found)
    balances = {one.of: one.balance for one in looked}
    balance = balances[next((each.of for each in said if each.of in balances), looked[0].of)]
    data = judge_data(findings, files)
    work_share = balance.work_share if balance.parts_s else None
    return [
        overview_widget(
            Overview(
                headline=capital(headline_of(said, work_share, data.grade == "poor")),
                ran=what_ran(looked),
                data=data,
                parts=PARTS,
                bars=[bar_of(one) for one in looked],
                statements=statements_of(found),
                nothing="No loss above 1 % of the time, and no change.",
            )
        )
    ]


def has_pipelined(members: Sequence[FittedGroup]) -> bool:
    """Tell whether any of some solvers is pipelined."""
    return any(each.runs[0].run.header.synchronisation == "pipelined" for each in members)


def what_ran(looked: Sequence[LookedAt]) -> list[str]:
    """Say what ran, a line for every workload."""
    lines: dict[str, list[LookedAt]] = {}
    for one in looked:
        lines.setdefault(one.run.header.workload, []).append(one)
    said = []
    for workload, members in lines.items():
        solvers = ", ".join(dict.fromkeys(each.run.header.solver for each in members))
        ranks = sorted({each.run.header.ranks for each in members})
        hosts = max(len(set(each.ranks.hosts)) for each in members) or 1
        runs = sum(len(each.fitted.runs) for each in members)
        said.append(
            f"{solvers} on {workload}, {', '.join(map(str, ranks))} "
            f"{'rank' if ranks == [1] else 'ranks'} on {counted(hosts, 'host')}, "
            f"{counted(runs, 'run')}"
        )
    return said


def bar_of(looked: LookedAt) -> Bar:
    """Return where the time of a configuration goes, as a bar."""
    balance = looked.balance
    return Bar(
        name=looked.of or looked.fitted.group.title,
        whole_s=balance.whole_s,
        shares={name: balance.share(name) for name in balance.parts_s},
        anchor=looked.anchors["section"],
        instead=f"No division of the time: {balance.why_not}." if balance.why_not else "",
    )
