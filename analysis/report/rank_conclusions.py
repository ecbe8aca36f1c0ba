"""Conclusions on ranks: which of them the others wait for, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.ranks.tables import node_words
from hindmost.analysis.runs.check_bodies import LEAST_BODIES
from hindmost.analysis.runs.cores import work_or_core
from hindmost.analysis.runs.finding import OF_RANKS, Topic
from hindmost.analysis.runs.first_screen import (
    capital,
    doubted,
    headline_of,
    judge_data,
    worth_saying,
)
from hindmost.analysis.show.conclusion import Certainty, Conclusion, Link
from hindmost.analysis.show.overview import overview_widget
from hindmost.analysis.show.page import Widget
from hindmost.analysis.show.table import LEADING
from hindmost.models.ranks.extrema import MATTERS, SURE, tells_alone
from hindmost.models.ranks.lateness import Lateness
from hindmost.text import counted, percent, seconds

NEARLY = 0.8
"""Part of what the first rank costs from which on the next ones are named with it."""
OF_WAITING = "time that the other ranks wait, mean of all ranks"


def ranks_overview(looked: Sequence[tuple[RankReport, str]], pictures: Sequence[Widget]) -> Widget:
    """Return the first screen of a page on ranks.

    Parameters
    ----------
    looked : sequence of (RankReport, str)
        The ranks of every file, and the anchor of its section.
    pictures : sequence of Widget
        What shows the finding.
    """
    several = len(looked) > 1
    found = [each for report, anchor in looked for each in on_ranks(report, anchor, several)]
    findings = [each for report, _ in looked for each in report.findings]
    said, withheld = worth_saying(found), dict.fromkeys(report.withheld for report, _ in looked)
    nothing = "No rank can be blamed." if any(withheld) else "No single rank holds up the others."
    return overview_widget(
        capital(headline_of(said, None, findings)) if said else nothing,
        ran=[report.title for report, _ in looked],
        data=[judge_data(findings, len(looked))],
        pictures=pictures,
        statements={"": said},
        nothing=" ".join(withheld).strip(),
    )


def on_ranks(report: RankReport, anchor: str, several: bool) -> Iterator[Conclusion]:
    """Yield what the slowest rank costs."""
    late = report.lateness
    if late is None or report.withheld or report.numbers.size < 2 or not late.total_s > 0.0:
        return
    loss = on_node(report, late) or on_rank(report, late)
    if loss is not None:
        loss = replace(
            loss,
            share=loss.cost_s / late.total_s,
            of=report.title if several else "",
            links=(Link(anchor=anchor, text="Ranks"),),
            files=(report.file,),
        )
        yield doubted(loss, report.findings)


def on_rank(report: RankReport, late: Lateness) -> Conclusion | None:
    """Return what the slowest rank costs; None if none stands out."""
    rank = int(late.charged_s.argmax())
    if not stands_out(late, rank):
        return None
    name = report.numbers[rank]
    often = how_often(int(late.last[rank]), late.bodies)
    who = "It" if len(stragglers(late)) < 2 else f"Rank {name}"
    return Conclusion(
        title=f"Waiting for rank {name}{host_of(report, rank)}",
        text=f"{straggler(report)} {who} is the slowest in {often}."
        f"{work_or_core(late.work_s, counted=report.counts_work)}",
        brief=f"it is the slowest in {often}",
        remedy=f"If it were as fast as the next rank: {seconds(float(late.lost_s[rank]))} less.",
        cost_s=float(late.charged_s[rank]) / late.ranks,
        certainty=Certainty.MEASURED,
        basis=OF_WAITING
        if report.run is not None
        else "sums over the whole run, taken as one iteration",
        topics=(*OF_RANKS, Topic.MODELS) if late.bodies < LEAST_BODIES else OF_RANKS,
    )


def slow_node(report: RankReport) -> int | None:
    """Return the node whose ranks together hold the others up, which none of them does alone."""
    late = report.lateness
    if late is None or late.node_lost_s is None or len(late.nodes) < 2:
        return None
    node = int(late.node_lost_s.argmax())
    lost_s, own = float(late.node_lost_s[node]), late.node_of == node
    alone_s = float(late.lost_s[own].max())
    if own.sum() < 2 or lost_s < MATTERS * late.total_s or 2.0 * alone_s > lost_s:
        return None
    return node


def on_node(report: RankReport, late: Lateness) -> Conclusion | None:
    """Return what a slow node costs; None if there is none."""
    node = slow_node(report)
    if node is None or late.node_lost_s is None:
        return None
    own = late.node_of == node
    times = float(np.median(late.work_s[own]) / np.median(late.work_s[~own]))
    brief = f"its {own.sum()} ranks work {times:.2f} times as long as those of other nodes"
    often = how_often(int(late.node_last[node]), late.bodies)
    last = f", and one of them is the last in {often}" if late.bodies > 1 else ""
    return Conclusion(
        title=f"Waiting for {node_words(late.nodes[node])}",
        text=f"{capital(brief)} (medians){last}."
        f"{work_or_core(late.work_s, counted=report.counts_work)}",
        brief=brief,
        remedy=f"If it were as fast as the next node: {seconds(float(late.node_lost_s[node]))} "
        "less.",
        cost_s=float(late.node_charged_s[node]) / late.ranks,
        certainty=Certainty.MEASURED,
        basis=OF_WAITING,
        topics=OF_RANKS,
    )


def straggler(ranks: RankReport) -> str:
    """Say which rank the others wait for most, or that none stands out."""
    late = ranks.lateness
    if late is None or ranks.numbers.size < 2:
        return ""
    if ranks.withheld:
        return ranks.withheld
    whole, blamed = float(late.charged_s.sum()), stragglers(late)
    if (node := slow_node(ranks)) is not None:
        share = percent(float(late.node_charged_s[node]) / whole, 0)
        return f"Node {late.nodes[node]} causes {share} of the waiting for slower ranks."
    if not blamed or whole <= 0.0:
        return "No single rank stands out."
    why = ""
    if late.transfer_charged_s[blamed].sum() > 0.5 * late.charged_s[blamed].sum():
        why = ", mostly by slow messages"
    names = [f"{ranks.numbers[rank]}{host_of(ranks, rank)}" for rank in blamed]
    shares = [percent(float(late.charged_s[rank]) / whole, 0) for rank in blamed]
    said = f"Ranks {listed(names)} cause" if len(blamed) > 1 else f"Rank {names[0]} causes"
    return f"{said} {listed(shares)} of the waiting for slower ranks{why}."


def slow_ranks(ranks: RankReport) -> list[int]:
    """Return the places of the ranks that the others wait for, which a map points at."""
    late = ranks.lateness
    blameless = late is None or ranks.withheld or ranks.numbers.size < 2
    if blameless or late is None:
        return []
    if (node := slow_node(ranks)) is not None:
        return [int(place) for place in np.flatnonzero(late.node_of == node)]
    found = stragglers(late)
    return found if len(found) < ranks.numbers.size else []


def listed(words: Sequence[str]) -> str:
    """Write words as a list: ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def how_often(times: int, of: int) -> str:
    """Write in how many of some iterations; in percent only if that is not rounded to all."""
    share = times / max(of, 1)
    if times < of and percent(share, 0) == percent(1.0, 0):
        return f"{times:,} of {counted(of, 'iteration')}"
    return f"{percent(share, 0)} of {'the iterations' if of != 1 else counted(of, 'iteration')}"


def stragglers(late: Lateness) -> list[int]:
    """Return the places of the ranks that cost nearly as much as the first, which stands out."""
    order = np.argsort(-late.charged_s, kind="stable")[:LEADING].tolist()
    if not stands_out(late, order[0]):
        return []
    least = NEARLY * float(late.charged_s[order[0]])
    return [rank for rank in order if late.charged_s[rank] >= least]


def stands_out(late: Lateness, rank: int) -> bool:
    """Tell whether a rank makes a difference, more often than by chance."""
    often = late.bodies < 2 or late.chance <= SURE
    return bool(tells_alone(late)[rank]) and often


def host_of(ranks: RankReport, place: int) -> str:
    """Name the host of a rank, where there are several."""
    return f" on {ranks.hosts[place]}" if len(set(ranks.hosts)) > 1 else ""
