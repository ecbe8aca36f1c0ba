"""The analysis of the ranks of a run or of a table."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from hindmost.analysis.ranks.read import RanksOfRun, analyse_profiles, analyse_ranks
from hindmost.analysis.ranks.read_tables import RankTable
from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.check_bodies import MAX_NAMED
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.read import title_of
from hindmost.analysis.runs.run_facts import unequal_work
from hindmost.analysis.runs.straggler import OF_COSTS, StragglerVerdict, subject, verdict_of
from hindmost.analysis.runs.stretches import Stretch, stretches_of
from hindmost.analysis.show.facts import UnequalWork
from hindmost.analysis.show.table import MAX_LISTED
from hindmost.harness.runfile.all_ranks import hosts_of_all
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.culprit import Culprit, find_culprit
from hindmost.models.ranks.extrema import (
    COSTS,
    MIN_RANKS,
    Extreme,
    extrema_of,
    extreme,
    unlike_the_rest,
)
from hindmost.models.ranks.kmeans import Clustering, cluster_by_silhouette
from hindmost.models.ranks.lateness import Lateness, lateness
from hindmost.models.ranks.selection import exemplars
from hindmost.models.ranks.vectors import RankMetrics
from hindmost.text import capital, counted

MAX_LOOKED_AT = 16
"""Ranks to inspect, with their timelines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A group of ranks that behave alike, and the means of its metrics."""

    size: int
    exemplar: int
    means: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEntry:
    """The culprit, and what every rank and node costs the others; see `Lateness`."""

    waiting_share: float
    withheld: str
    culprit: Culprit | None
    numbers: NDArray[np.int64]
    of: Lateness

    JSON = (
        "waiting_share withheld? difference_share=of.waiting_share culprit by_chance=chance "
        "rank=numbers last=of.last charged_s=of.charged_s lost_s=of.lost_s "
        "transfer_s=of.transfer_s transfer_charged_s=of.transfer_charged_s nodes"
    )

    @property
    def chance(self) -> float | None:
        """Bound on the probability that one of equal ranks costs as much as the culprit."""
        return None if self.culprit is None else self.culprit.chance

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return what every node costs the others."""
        of, lost_s = self.of, self.of.node_lost_s
        return {
            name: {
                "last": of.node_last[at],
                "charged_s": of.node_charged_s[at],
                "lost_s": None if lost_s is None else lost_s[at],
            }
            for at, name in enumerate(of.nodes)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankReport:
    """The ranks of a run or table: stragglers, outliers, groups and profiles.

    Attributes
    ----------
    file : str
    title : str
        Names the run or table.
    remark : str
        What the reader must know beforehand; may be empty.
    numbers : int64 array, shape (rank,)
        Numbers of all ranks, with or without full records.
    hosts : tuple of str, one a rank, or empty
    recorded : frozenset of int
        Indices of the ranks with full records, which have a timeline.
    lateness : Lateness or None
    metrics : RankMetrics
    clustering : Clustering
    extrema : list of Extreme
    run : RanksOfRun or None
    findings : tuple of Finding
        Doubts about the numbers.
    verdict : StragglerVerdict or None
        Of a run.
    culprit : Culprit or None
        Its numbers are places in ``numbers``.
    stretches : tuple of Stretch
        Where in the code work lies; empty if that is not known.
    """

    file: str
    title: str
    remark: str
    numbers: NDArray[np.int64]
    hosts: tuple[str, ...]
    recorded: frozenset[int]
    lateness: Lateness | None
    metrics: RankMetrics
    clustering: Clustering
    extrema: list[Extreme]
    run: RanksOfRun | None
    findings: tuple[Finding, ...] = ()
    verdict: StragglerVerdict | None = None
    culprit: Culprit | None = None
    stretches: tuple[Stretch, ...] = ()

    JSON = (
        "file remark? ranks ranks_with_full_records too_few_to_stand_out=too_few "
        "extrema=numbered clusters stretches=longest findings hindmost **run"
    )

    def metric(self, name: str) -> NDArray[np.float64]:
        """Return a metric of every rank, shape (rank,); zeros where it was not recorded."""
        known = name in self.metrics.names
        return self.metrics.column(name) if known else np.zeros(self.metrics.ranks)

    @property
    def longest(self) -> tuple[Stretch, ...]:
        """The stretches with most work."""
        return self.stretches[:MAX_LISTED]

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.numbers.size)

    @property
    def ranks_with_full_records(self) -> int:
        """Number of ranks that have a timeline."""
        return len(self.recorded)

    @property
    def numbered(self) -> list[Extreme]:
        """The first ranks by every criterion, by their numbers."""
        return [replace(each, ranks=self.numbers[each.ranks]) for each in self.extrema]

    @property
    def clusters(self) -> list[Cluster]:
        """The groups of ranks."""
        groups = zip(self.clustering.sizes, self.exemplars(), self.cluster_means(), strict=True)
        return [
            Cluster(
                size=int(size),
                exemplar=exemplar,
                means=dict(zip(self.metrics.names, means.tolist(), strict=True)),
            )
            for size, exemplar, means in groups
        ]

    @property
    def withheld(self) -> str:
        """Why no rank is blamed for the wait time of others, as a sentence; empty if ranks are."""
        if self.verdict is None or not self.verdict.withheld:
            return ""
        return f"{capital(self.verdict.withheld)}, so no rank is blamed."

    @property
    def name(self) -> str:
        """The culprit: ``rank 1``, ``rank 1 on b``, ``node b``; empty without one."""
        found = self.culprit
        return "" if found is None else subject(found, self.hosts, int(self.numbers[found.rank]))

    @property
    def unequal(self) -> UnequalWork:
        """Who the others wait for, as a fact; of a table only its sums are known."""
        if self.verdict is not None:
            return unequal_work(self.verdict, self.stretches)
        found, late = self.culprit, self.lateness
        return UnequalWork(
            quantity="Unequal work",
            culprit=found,
            subject=self.name,
            ranks=self.ranks,
            iterations=1 if late is None else late.bodies,
            cost_s=0.0 if found is None else found.cost_s,
            share=None if found is None else found.share,
            steady=True,
            basis="sums over the whole run, taken as one iteration",
            files=(self.file,),
        )

    @property
    def hindmost(self) -> CostEntry | UnsetType:
        """What every rank and node costs the others, where that is known."""
        if self.lateness is None:
            return UNSET
        numbered = self.culprit and replace(
            self.culprit,
            rank=int(self.numbers[self.culprit.rank]),
            ranks=tuple(self.numbers[list(self.culprit.ranks)].tolist()),
        )
        return CostEntry(
            waiting_share=self.waiting_share,
            withheld=self.withheld,
            culprit=numbered,
            numbers=self.numbers,
            of=self.lateness,
        )

    @property
    def waiting_share(self) -> float:
        """Upper limit on the share of the time of all ranks that is wait time for the last rank."""
        if self.lateness is None:
            return 0.0
        part = 1.0 if self.run is None else self.run.costs.waited_part
        return part * self.lateness.waiting_share

    @property
    def too_few(self) -> bool:
        """Whether there are too few ranks to find outliers."""
        return self.numbers.size < MIN_RANKS

    @property
    def standing_text(self) -> str:
        """Why no rank is an outlier; empty if some are."""
        if self.too_few:
            return (
                f"{self.numbers.size} ranks are too few to find outliers: at least {MIN_RANKS} "
                "are needed, so that the spread of three others is known."
            )
        if any(each.standing_out for each in self.extrema):
            return ""
        return "No rank is an outlier."

    def exemplars(self) -> list[int]:
        """Return the exemplar of every cluster."""
        return [int(self.numbers[place]) for place in self.exemplar_places()]

    def exemplar_places(self) -> list[int]:
        """Return the indices of the exemplars, cluster by cluster."""
        places = np.flatnonzero(exemplars(self.clustering))
        of = {int(self.clustering.labels[place]): int(place) for place in places}
        return [of[at] for at in range(self.clustering.k)]

    def group_places(self) -> list[str]:
        """Return ``" (all of NODE)"`` of each group that is all the ranks of a node; else empty."""
        hosts, labels = np.array(self.hosts, dtype=object), self.clustering.labels
        found = []
        for group in range(self.clustering.k):
            own = set(hosts[labels == group]) if hosts.size == labels.size else set()
            whole = len(own) == 1 and len(set(hosts)) > 1 and own.isdisjoint(hosts[labels != group])
            found.append(f" (all of {own.pop()})" if whole else "")
        return found

    def worth_a_look(self) -> dict[int, list[str]]:
        """Return the indices of the ranks to inspect, each with its reasons.

        The first rank by every criterion, then the exemplar of every group, then the next ranks by
        each criterion; at most `MAX_LOOKED_AT`.
        """
        return self._reasons_of(range(self.numbers.size))

    def worth_opening(self) -> dict[int, list[str]]:
        """Return those with timelines, and other ranks with timelines if there is room."""
        found = self._reasons_of(self.recorded)
        for place in sorted(self.recorded):
            if len(found) < MAX_LOOKED_AT:
                found.setdefault(place, ["full records"])
        return found

    def _reasons_of(self, allowed: Container[int]) -> dict[int, list[str]]:
        """Return the ranks to inspect among those that are allowed."""
        reasons: dict[int, list[str]] = {}
        if self.culprit is not None and self.culprit.rank in allowed:
            reasons[self.culprit.rank] = ["the culprit"]
        groups = [(place, "typical of a group") for place in self.exemplar_places()]
        # Of two ranks, the second by a criterion is the other end of it.
        for turn in range(min(MAX_NAMED, max(self.numbers.size // 2, 1))):
            of_turn = [(each.ranks[turn : turn + 1], each.criterion) for each in self.extrema]
            chosen = [(int(rank), criterion) for ranks, criterion in of_turn for rank in ranks]
            for place, reason in [*chosen, *(groups if turn == 0 else [])]:
                if place in allowed and (place in reasons or len(reasons) < MAX_LOOKED_AT):
                    reasons.setdefault(place, []).append(reason)
        return reasons

    def cluster_means(self) -> NDArray[np.float64]:
        """Return the means of the metrics of every cluster: (cluster, metric)."""
        labels = self.clustering.labels
        return np.stack(
            [self.metrics.values[labels == at].mean(axis=0) for at in range(self.clustering.k)]
        )


def report_run(run: Run) -> RankReport:
    """Analyse the ranks of a run file."""
    found = analyse_profiles(run) if run.reduced else analyse_ranks(run)
    clustering = cluster_by_silhouette(found.metrics.normalised())
    stretches = stretches_of(run)
    run.results[OF_COSTS] = found.costs
    verdict = verdict_of(run)
    extrema = extrema_of_run(found, clustering)
    return RankReport(
        file=str(run.path),
        title=title_of(run),
        remark=remark_of(run, found),
        numbers=np.arange(run.header.ranks, dtype=np.int64),
        hosts=tuple(hosts_of_all(run)),
        recorded=frozenset(run.kept_ranks.tolist()),
        lateness=found.lateness,
        metrics=found.metrics,
        clustering=clustering,
        extrema=without_blame(extrema) if verdict.withheld else extrema,
        run=found,
        verdict=verdict,
        culprit=verdict.culprit,
        stretches=stretches,
        findings=tuple(findings_of(group_runs([run]))),
    )


def report_table(file: str, table: RankTable) -> RankReport:
    """Analyse a table of metrics per rank."""
    clustering = cluster_by_silhouette(table.metrics.normalised())
    work = table.work_s
    hosts = table.hosts or tuple("" for _ in table.numbers)
    late = None if work is None else lateness(work[None, :], list(hosts))
    extrema = [unlike_the_rest(clustering, MAX_NAMED)]
    if work is not None:
        matters = COSTS * float(work.mean())
        extrema.insert(0, extreme("most own time", work, MAX_NAMED, matters=matters))
    about = "No column has a unit of time ('solve [s]', for example), so no rank is named last."
    if late is not None:
        about = (
            "A table has only sums: it is treated as one long iteration in which all ranks meet."
        )
    elif table.inclusive:
        about = "The times contain one another and waits, so no rank is named last."
    return RankReport(
        file=file,
        title=f"{Path(file).name}, {counted(table.numbers.size, 'rank')}",
        remark=" ".join([*table.remarks, about]),
        numbers=table.numbers,
        hosts=table.hosts,
        recorded=frozenset(),
        lateness=late,
        metrics=table.metrics,
        clustering=clustering,
        extrema=extrema,
        run=None,
        culprit=None if late is None or work is None else find_culprit(late, work, late.total_s),
    )


def without_blame(extrema: list[Extreme]) -> list[Extreme]:
    """Drop outliers by cost to others."""
    blames = ("most often last", "costs the others most")
    return [replace(each, standing_out=0) if each.criterion in blames else each for each in extrema]


def extrema_of_run(found: RanksOfRun, clustering: Clustering) -> list[Extreme]:
    """Return the first ranks by every criterion that the run allows."""
    matters = COSTS * float(found.time_s.mean())
    waiting = extreme("least waiting", found.waiting_s, MAX_NAMED, least=True, matters=matters)
    extrema = [
        waiting if each.criterion == "least waiting" else each
        for each in extrema_of(found.lateness, clustering, MAX_NAMED)
    ]
    if found.costs.transfers and found.lateness.transfer_s.any():
        slow = extreme(
            "slowest transfers",
            found.lateness.transfer_s,
            MAX_NAMED,
            matters=matters,
            skewed=True,
        )
        extrema.insert(2, slow)
    return extrema


def remark_of(run: Run, found: RanksOfRun) -> str:
    """Say what the reader must know about a run beforehand."""
    said = []
    if run.reduced:
        said.append(
            f"{run.columns} of {run.header.ranks} ranks kept full records and have timelines. All "
            f"other results are for all {run.header.ranks} ranks, from their profiles."
        )
    if run.header.synchronisation == "pipelined" or found.costs.overlaps:
        said.append(
            "Collectives overlap with work: a rank that is last in an iteration may catch up, so "
            "its costs are upper limits."
        )
    return " ".join(said)
