"""Facts on ranks: which of them the others wait for, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.ranks.tables import who_costs_most
from hindmost.analysis.runs.check_bodies import MIN_BODIES
from hindmost.analysis.runs.finding import OF_RANKS, Topic
from hindmost.analysis.runs.first_screen import (
    doubted,
    headline_of,
    judge_data,
    worth_saying,
)
from hindmost.analysis.show.facts import Fact, Link
from hindmost.analysis.show.overview import overview_widget
from hindmost.analysis.show.page import Widget
from hindmost.analysis.show.table import LEADING
from hindmost.text import capital, percent, seconds


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
    found = [rank for report, anchor in looked for rank in on_ranks(report, anchor, several)]
    findings = [finding for report, _ in looked for finding in report.findings]
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


def on_ranks(report: RankReport, anchor: str, several: bool) -> Iterator[Fact]:
    """Yield what the culprit costs, if it has more work without a doubt."""
    late, culprit = report.lateness, report.culprit
    if late is None or culprit is None or not culprit.sure:
        return
    next_one = "node" if culprit.node else "rank"
    topics = (*OF_RANKS, Topic.MODELS) if late.bodies < MIN_BODIES else OF_RANKS
    fact = replace(
        report.unequal,
        quantity=f"Waiting for {report.name}",
        cost_s=culprit.cost_s,
        share=culprit.share,
        remedy=f"If it were as fast as the next {next_one}: {seconds(culprit.saved_s)} less.",
        run_name=report.title if several else "",
        topics=topics,
        links=(Link(anchor=anchor, text="Ranks"),),
    )
    yield doubted(fact, report.findings)


def straggler(ranks: RankReport) -> str:
    """Say which rank the others wait for most, or that none stands out."""
    late, found = ranks.lateness, ranks.culprit
    if late is None or ranks.numbers.size < 2:
        return ""
    if ranks.withheld:
        return ranks.withheld
    if found is None:
        return "No single rank stands out."
    if not found.sure:
        return who_costs_most(ranks)
    whole = max(float(late.charged_s.sum()), 1e-300)
    if found.node:
        share = percent(float(late.node_charged_s[late.nodes.index(found.node)]) / whole, 0)
        return f"{capital(ranks.name)} causes {share} of the waiting for slower ranks."
    blamed = list(found.ranks[:LEADING])
    why = ""
    if late.transfer_charged_s[blamed].sum() > 0.5 * late.charged_s[blamed].sum():
        why = ", mostly by slow messages"
    names = [f"{ranks.numbers[rank]}{host_of(ranks, rank)}" for rank in blamed]
    shares = [percent(float(late.charged_s[rank]) / whole, 0) for rank in blamed]
    said = f"Ranks {listed(names)} cause" if len(blamed) > 1 else f"Rank {names[0]} causes"
    return f"{said} {listed(shares)} of the waiting for slower ranks{why}."


def slow_ranks(ranks: RankReport) -> list[int]:
    """Return the places of the ranks that the others wait for, which a map points at."""
    return [] if ranks.culprit is None or not ranks.culprit.sure else list(ranks.culprit.ranks)


def listed(words: Sequence[str]) -> str:
    """Write words as a list: ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def host_of(ranks: RankReport, place: int) -> str:
    """Name the host of a rank, where there are several."""
    return f" on {ranks.hosts[place]}" if len(set(ranks.hosts)) > 1 else ""
