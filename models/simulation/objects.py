"""Objects on ranks: other maps of blocks to ranks, and what the ranks then compute and exchange.

The strategies are those of Charm++ (L. V. Kale and S. Krishnan, 1993): `greedy_map` knows nothing
of where objects are, `refine_map` moves as few as it can.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Times = NDArray[np.float64]
Map = NDArray[np.int64]
"""The rank of every object: int64, shape (object,)."""

TOLERANCE = 1.02
"""Load imbalance down to which objects are moved: maximum over mean."""


class Strategy(StrEnum):
    """Where objects go."""

    GREEDY = "greedy"
    """The largest object first, each to the rank with the least load so far."""
    REFINE = "refine"
    """Objects leave ranks with too much load, for the ranks with the least."""
    NONE = "none"
    """They stay where they are on the first mesh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """The objects of one mesh.

    Attributes
    ----------
    load : float64 array, shape (object,)
        Work, in cells.
    owner : int64 array, shape (object,)
        Recorded rank.
    source, target : int64 array, shape (edge,)
        Objects that have data, and those that need them.
    bytes : float64 array, shape (edge,)
        Of one exchange.
    """

    load: Times
    owner: Map
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    bytes: Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """The recorded cycles of a run whose ranks meet at the end of each.

    Attributes
    ----------
    mesh : int array, shape (cycle,)
        Index of the objects of each cycle.
    work_s : float64 array, shape (cycle, rank), seconds
        Own work.
    halo_s : float64 array, shape (cycle,), seconds
        What exchanges cost, apart from waiting.
    cycle_s : float64 array, shape (cycle,), seconds
        Of the slowest rank.
    move_s : float or None
        Time of moving a cell; None if not known.
    """

    mesh: NDArray[np.int64]
    work_s: Times
    halo_s: Times
    cycle_s: Times
    move_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """A run with other maps of its objects to ranks.

    Attributes
    ----------
    seconds, low_s, high_s : float
        All cycles. The interval has both scenarios of work and of exchanges.
    slowest : int64 array, shape (rank,)
        In how many cycles the others waited for each rank.
    imbalance, bytes, messages : float
        Maximum over mean of the cells of the ranks; most bytes and messages of a rank, over the
        recorded ones. Means over cycles.
    moved : float
        Cells that change ranks, in all cycles.
    """

    seconds: float
    low_s: float
    high_s: float
    slowest: NDArray[np.int64]
    imbalance: float
    bytes: float
    messages: float
    moved: float


def greedy_map(load: Times, ranks: int) -> Map:
    """Return each object's rank: the largest first, to the rank with the least load so far."""
    owner = np.zeros(load.size, np.int64)
    least = [(0.0, rank) for rank in range(ranks)]
    for each in np.argsort(-load, kind="stable").tolist():
        before, rank = heapq.heappop(least)
        owner[each] = rank
        heapq.heappush(least, (before + float(load[each]), rank))
    return owner


def refine_map(load: Times, owner: Map, ranks: int) -> Map:
    """Return each object's rank, with as few as possible on another rank than now.

    From the rank with the most load, the largest object goes that brings the rank with the least
    nearer to the mean and not above the tolerance, until no such object is left.
    """
    owner = owner.copy()
    total = np.bincount(owner, load, ranks)
    most = TOLERANCE * total.mean()
    stuck = np.zeros(ranks, bool)
    while True:
        over = np.where(stuck, -np.inf, total)
        fullest, emptiest = int(over.argmax()), int(total.argmin())
        if over[fullest] <= most:
            return owner
        mine = np.flatnonzero(owner == fullest)
        fits = mine[(load[mine] > 0.0) & (total[emptiest] + load[mine] <= most)]
        if not fits.size:
            stuck[fullest] = True
            continue
        moves = fits[load[fits].argmax()]
        owner[moves] = emptiest
        total[fullest] -= load[moves]
        total[emptiest] += load[moves]


def maps_of(strategy: Strategy, meshes: list[Objects], ranks: int) -> list[Map]:
    """Return the map of each mesh."""
    if strategy is Strategy.NONE:
        return [meshes[0].owner] * len(meshes)
    if strategy is Strategy.GREEDY:
        return [greedy_map(mesh.load, ranks) for mesh in meshes]
    maps, now = [], meshes[0].owner
    for each in meshes:
        now = refine_map(each.load, now, ranks)
        maps.append(now)
    return maps


def exchanged(objects: Objects, owner: Map, ranks: int) -> Times:
    """Return the most bytes and messages that a rank sends in one exchange: float64, shape (2,).

    One message to each neighbour.
    """
    sender, receiver = owner[objects.source], owner[objects.target]
    across = sender != receiver
    sent = np.bincount(sender[across], objects.bytes[across], ranks)
    pairs = np.unique(sender[across] * ranks + receiver[across])
    messages = np.bincount(pairs // ranks, minlength=ranks)
    return np.array([sent.max(), messages.max()], np.float64)


def rebalanced(cycles: Cycles, meshes: list[Objects], maps: list[Map]) -> Balance:
    """Compute the cycles of a run anew, with other maps of its objects to ranks.

    A cycle takes as long as the work of its slowest rank, what exchanges cost, and the rest of the
    recorded cycle. The work of a rank is that of its cells, at its own recorded time per cell, or
    at that of the ranks that had them; exchanges take as much longer as the most bytes of a rank,
    or the most messages, are more.
    """
    ranks = cycles.work_s.shape[1]
    before = np.array([exchanged(mesh, mesh.owner, ranks) for mesh in meshes])
    after = np.array([exchanged(each, its, ranks) for each, its in zip(meshes, maps, strict=True)])
    # 1 where nothing was exchanged before: then nothing is known of its cost.
    grown = np.divide(after, before, out=np.ones_like(after), where=before > 0.0)
    by_bytes, by_messages = grown.T
    cells = np.array([np.bincount(mesh.owner, mesh.load, ranks) for mesh in meshes])
    now = np.array(
        [np.bincount(owner, each.load, ranks) for each, owner in zip(meshes, maps, strict=True)]
    )
    rate = cycles.work_s / np.maximum(cells[cycles.mesh], 1.0)
    of_rank = rate * now[cycles.mesh]
    of_object = np.empty_like(of_rank)
    for number, (each, owner) in enumerate(zip(meshes, maps, strict=True)):
        # Cells by the rank that has them now, and the one that had them.
        flow = sparse.coo_array((each.load, (owner, each.owner)), (ranks, ranks)).tocsr()
        rows = cycles.mesh == number
        of_object[rows] = (flow @ rate[rows].T).T
    rest_s = cycles.cycle_s - cycles.work_s.max(axis=1) - cycles.halo_s
    moved = moved_cells(meshes, maps)
    more = moved - moved_cells(meshes, [mesh.owner for mesh in meshes])
    moving_s = more * (cycles.move_s or 0.0)
    totals = [
        float((work.max(axis=1) + rest_s + factor[cycles.mesh] * cycles.halo_s).sum()) + moving_s
        for work in (of_rank, of_object)
        for factor in (by_bytes, by_messages)
    ]
    slowest = np.bincount(of_rank.argmax(axis=1), minlength=ranks)
    return Balance(
        seconds=float(np.mean(totals)),
        low_s=min(totals),
        high_s=max(totals),
        slowest=slowest,
        imbalance=float((now.max(axis=1) / now.mean(axis=1))[cycles.mesh].mean()),
        bytes=float(by_bytes[cycles.mesh].mean()),
        messages=float(by_messages[cycles.mesh].mean()),
        moved=moved,
    )


def moved_cells(meshes: list[Objects], maps: list[Map]) -> float:
    """Return the cells that change ranks at the begin of meshes; the first map is free."""
    later = zip(meshes[1:], maps[1:], maps[:-1], strict=True)
    return float(sum(each.load[now != was].sum() for each, now, was in later))
