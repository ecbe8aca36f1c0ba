"""All there is to say of the ranks of a run or of a table, and which of them stand out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.units import several
from hindmost.analysis.ranks.run import RanksOfRun, bodies_of, look_at_run
from hindmost.analysis.ranks.tables import RankTable
from hindmost.analysis.runs import title_of
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.choosing_k import cluster_by_silhouette
from hindmost.models.ranks.exemplars import exemplars
from hindmost.models.ranks.extrema import Extreme, extrema_of, extreme
from hindmost.models.ranks.keeping import keep
from hindmost.models.ranks.kmeans import Clustering, cluster
from hindmost.models.ranks.lateness import Lateness, lateness
from hindmost.models.ranks.selection import ranks_to_keep, select_plain
from hindmost.models.ranks.vectors import RankMetrics

MOST_NAMED = 5
"""Ranks that a person is told by any criterion."""
MOST_LOOKED_AT = 16
"""Ranks whose timelines are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankReport:
    """What there is to say of the ranks of a run or table.

    Attributes
    ----------
    file : str
    title : str
        What the ranks are of, in few words.
    remark : str
        What the reader must know first; may be empty.
    numbers : int64 array, shape (rank,)
    hosts : tuple of str, one a rank, or empty
    lateness : Lateness or None
    metrics : RankMetrics
    clustering : Clustering
    extrema : list of Extreme
    run : RanksOfRun or None
    kept : dict of str to list of int, or None
        Ranks that a choice keeps, by reason.
    """

    file: str
    title: str
    remark: str
    numbers: NDArray[np.int64]
    hosts: tuple[str, ...]
    lateness: Lateness | None
    metrics: RankMetrics
    clustering: Clustering
    extrema: list[Extreme]
    run: RanksOfRun | None
    kept: dict[str, list[int]] | None

    def to_json(self) -> dict[str, Any]:
        """Return everything, by name, with units in the names."""
        found: dict[str, Any] = {
            "file": self.file,
            "remark": self.remark or None,
            "ranks": int(self.numbers.size),
            "extrema": [
                {
                    "criterion": each.criterion,
                    "unit": each.unit,
                    "typical": each.typical,
                    "ranks": self.numbers[each.ranks].tolist(),
                    "values": each.values.tolist(),
                }
                for each in self.extrema
            ],
            "clusters": [
                {
                    "size": int(size),
                    "exemplar": exemplar,
                    "means": dict(zip(self.metrics.names, means.tolist(), strict=True)),
                }
                for size, exemplar, means in zip(
                    self.clustering.sizes, self.exemplars(), self.cluster_means(), strict=True
                )
            ],
            "kept": self.kept,
        }
        late = self.lateness
        if late is not None:
            found["hindmost"] = {
                "waiting_share": late.waiting_share,
                "by_chance": late.chance,
                "rank": self.numbers.tolist(),
                "last": late.last.tolist(),
                "charged_s": late.charged_s.tolist(),
                "lost_s": late.lost_s.tolist(),
                "nodes": {
                    name: {
                        "last": int(late.node_last[at]),
                        "charged_s": float(late.node_charged_s[at]),
                        "lost_s": float(late.node_lost_s[at]),
                    }
                    for at, name in enumerate(late.nodes)
                },
            }
        if self.run is not None:
            slopes, path = self.run.slopes, self.run.path
            found["profile"] = {
                "edges_s": self.run.of_run.edges.tolist(),
                "utilisation": self.run.of_run.utilisation.tolist(),
                "body_edges_share": self.run.of_body.edges.tolist(),
                "body_utilisation": self.run.of_body.utilisation.tolist(),
                "downward_per_s": slopes.downward,
                "upward_per_s": slopes.upward,
                "fall_share": slopes.fall_share,
                "rise_share": slopes.rise_share,
                "early_end_share": slopes.early_end_share,
                "late_begin_share": slopes.late_begin_share,
                "text": slopes.explain(),
            }
            found["critical_path_s"] = path.seconds.tolist()
            histogram = self.run.histogram
            found["histogram"] = {
                "edges_s": histogram.edges.tolist(),
                "counts": histogram.counts.tolist(),
                "below": histogram.below,
                "above": histogram.above,
            }
        return found

    def exemplars(self) -> list[int]:
        """Return the exemplar of every cluster."""
        return [int(self.numbers[place]) for place in self.exemplar_places()]

    def exemplar_places(self) -> list[int]:
        """Return the places of the exemplars among the ranks, cluster by cluster."""
        places = np.flatnonzero(exemplars(self.clustering))
        of = {int(self.clustering.labels[place]): int(place) for place in places}
        return [of[at] for at in range(self.clustering.k)]

    def worth_a_look(self) -> dict[int, list[str]]:
        """Return places of the ranks that a person should look at, each with the reasons.

        The first by every criterion, then the exemplar of every group, then who comes next by each
        criterion; at most `MOST_LOOKED_AT`.
        """
        found: dict[int, list[str]] = {}
        groups = [(place, "typical of a group") for place in self.exemplar_places()]
        for turn in range(MOST_NAMED):
            of_turn = [(each.ranks[turn : turn + 1], each.criterion) for each in self.extrema]
            chosen = [(int(rank), criterion) for ranks, criterion in of_turn for rank in ranks]
            for place, reason in [*chosen, *(groups if turn == 0 else [])]:
                if place in found or len(found) < MOST_LOOKED_AT:
                    found.setdefault(place, []).append(reason)
        return found

    def cluster_means(self) -> NDArray[np.float64]:
        """Return the means of the metrics of every cluster: (cluster, metric)."""
        labels = self.clustering.labels
        return np.stack(
            [self.metrics.values[labels == at].mean(axis=0) for at in range(self.clustering.k)]
        )


def report_run(run: Run, *, share: float | None = None, k: int | None = None) -> RankReport:
    """Look at the ranks of a run file.

    Parameters
    ----------
    share : float, optional
        Say as well which ranks would be kept at this share.
    k : int, optional
        Groups of ranks; by their silhouette if not given.
    """
    found = look_at_run(run)
    clustering = clustered(found.metrics, k)
    kept = None
    if share is not None:
        chosen, _ = keep(bodies_of(run), share, k=k)
        kept = {
            name: np.flatnonzero(chosen.reasons == at).tolist()
            for at, name in enumerate(chosen.names)
        }
    extrema = extrema_of(found.lateness, clustering, MOST_NAMED)
    path = extreme("critical path", found.path.seconds, MOST_NAMED)
    waiting = extreme("least waiting", found.waiting_s, MOST_NAMED, least=True)
    extrema = [waiting if each.criterion == "least waiting" else each for each in extrema]
    return RankReport(
        file=str(run.path),
        title=title_of(run),
        remark=remark_of(run),
        numbers=found.numbers,
        hosts=tuple(run.hosts),
        lateness=found.lateness,
        metrics=found.metrics,
        clustering=clustering,
        extrema=[*extrema, path],
        run=found,
        kept=kept,
    )


def report_table(
    file: str, table: RankTable, *, share: float | None = None, k: int | None = None
) -> RankReport:
    """Look at a table of metrics per rank."""
    clustering = clustered(table.metrics, k)
    work = table.work_s
    hosts = table.hosts or tuple("" for _ in table.numbers)
    late = None if work is None else lateness(work[None, :], list(hosts))
    extrema = [extreme("most unlike the rest", clustering.distances, MOST_NAMED, unit="1")]
    if work is not None:
        extrema.insert(0, extreme("most own time", work, MOST_NAMED))
    kept = None
    if share is not None:
        chosen = select_plain(clustering, ranks_to_keep(share, table.numbers.size))
        kept = {
            name: table.numbers[chosen.reasons == at].tolist()
            for at, name in enumerate(chosen.names)
        }
    return RankReport(
        file=file,
        title=f"{Path(file).name}, {several(table.numbers.size, 'rank')}",
        remark="A table has sums only: it is taken as one long body in which all ranks meet."
        if late is not None
        else "No metric is a time, so nobody is last.",
        numbers=table.numbers,
        hosts=table.hosts,
        lateness=late,
        metrics=table.metrics,
        clustering=clustering,
        extrema=extrema,
        run=None,
        kept=kept,
    )


def clustered(metrics: RankMetrics, k: int | None) -> Clustering:
    """Put ranks into groups, as many as are asked for or as stand apart."""
    vectors = metrics.normalised()
    return cluster_by_silhouette(vectors) if k is None else cluster(vectors, k)


def remark_of(run: Run) -> str:
    """Say what the reader must know first of a run."""
    said = []
    if run.reduced:
        said.append(
            f"Full records of {run.columns} of {run.header.ranks} ranks were kept: all below is of "
            f"these. Of all ranks, {hindmost_of_all(run)}."
        )
    if run.header.synchronisation == "pipelined":
        said.append(
            "Reductions overlap with work: a rank that is last in a body may catch up, so costs "
            "are upper limits."
        )
    return " ".join(said)


def hindmost_of_all(run: Run) -> str:
    """Say who was last most often in a run whose records were not all kept."""
    last = run.variable("every_last")
    rank = int(last.argmax())
    kept = "kept" if rank in run.kept_ranks else "not kept"
    return f"rank {rank} ({kept}) had the most work most often, in {last[rank]} bodies"
