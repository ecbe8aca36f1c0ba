"""Orders of ranks in maps: by node and by group, where neighbours have something in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.show.heat_map import HeatMap, RankOrder, slowest_first
from hindmost.harness.runfile.reader import Run

MOST_SECTIONS = 200
"""Nodes or groups up to which a map has lines between them."""


def with_orders(heat_map: HeatMap, run: Run, report: RankReport) -> HeatMap:
    """Return a map of the ranks of a run with the orders in which they can be shown."""
    groups = [f"like rank {rank}" for rank in report.exemplars()]
    labels = report.clustering.labels[run.kept_ranks]
    orders = (by_node(run.hosts), by_group(labels, groups), slowest_first(heat_map))
    return replace(heat_map, orders=tuple(each for each in orders if each is not None))


def by_node(hosts: Sequence[str]) -> RankOrder | None:
    """Return the order by node, in the order in which nodes come first; None of one node."""
    nodes = list(dict.fromkeys(hosts))
    if len(nodes) < 2:
        return None
    place = {node: at for at, node in enumerate(nodes)}
    of = np.array([place[host] for host in hosts], np.int64)
    return together("node", "node", of, nodes)


def by_group(labels: NDArray[np.int64], names: Sequence[str]) -> RankOrder | None:
    """Return the order by group, those that spend their time alike; None of one group."""
    if np.unique(labels).size < 2:
        return None
    return together("group", "group of similar ranks", labels, names)


def together(key: str, label: str, of: NDArray[np.int64], names: Sequence[str]) -> RankOrder:
    """Return the order in which ranks of the same node or group are neighbours.

    Parameters
    ----------
    of : int array, shape (rank,)
        Which node or group a rank is in: its index in ``names``.
    """
    places = np.argsort(of, kind="stable")
    sorted_of = of[places]
    begins = [0, *(np.flatnonzero(np.diff(sorted_of)) + 1).tolist()]
    sections = tuple((begin, names[int(sorted_of[begin])]) for begin in begins)
    if len(sections) > MOST_SECTIONS:
        sections = ()
    return RankOrder(key=key, label=label, places=places, sections=sections)
