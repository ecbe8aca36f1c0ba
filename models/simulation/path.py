"""The longest path through a walk: back from its end, by the ranks that were waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from hindmost.models.compiled import declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Who waited for whom in some bodies.

    A place is an event of a body, or its end: body b of E events has places b (E + 1) up to
    b (E + 1) + E, of which the last is its end.

    Attributes
    ----------
    own : float64 array, shape (place, rank), seconds
        Own work that leads to a place.
    waited : int32 array, shape (place, rank)
        The rank that was waited for, which may be the rank itself; -1 where nobody was.
    since : int64 array, shape (place, rank)
        The place at which that rank released it.
    met : bool array, shape (place, rank)
        Whether that rank released it by coming to this place itself, as in exchanges that meet.
    cost : float64 array, shape (place, rank), seconds
        What an event cost a rank once it was released, L; not how long else it stayed.
    """

    own: NDArray[np.float64]
    waited: NDArray[np.int32]
    since: NDArray[np.int64]
    met: NDArray[np.bool_]
    cost: NDArray[np.float64]

    @classmethod
    def of_places(cls, places: int, ranks: int) -> Waits:
        """Return room for as many places; none for a walk that does not note who waited."""
        return cls(
            own=np.zeros((places, ranks)),
            waited=np.full((places, ranks), -1, np.int32),
            since=np.zeros((places, ranks), np.int64),
            met=np.zeros((places, ranks), np.bool_),
            cost=np.zeros((places, ranks)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOnPath:
    """A rank on the critical path; of an adaptive run only in how many cycles the others wait."""

    rank: int
    work_s: float | UnsetType = UNSET
    network_s: float | UnsetType = UNSET
    other_mpi_s: float | UnsetType = UNSET
    visits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTimes:
    """What is on a longest path, by rank.

    Attributes
    ----------
    work, cost, stay : float64 array, shape (rank,), seconds
        Own work; what events cost the rank that stood in them; how long else they kept it. Their
        sum is the length of the path.
    visits : int64 array, shape (rank,)
        How often the path enters a rank.
    """

    work: NDArray[np.float64]
    cost: NDArray[np.float64]
    stay: NDArray[np.float64]
    visits: NDArray[np.int64]

    @classmethod
    def none(cls, ranks: int) -> PathTimes:
        """Return an empty path, to which walks are added."""
        work, cost, stay = np.zeros((3, ranks))
        return cls(work=work, cost=cost, stay=stay, visits=np.zeros(ranks, np.int64))

    @property
    def by_rank(self) -> NDArray[np.float64]:
        """The time of every rank on the path: float64, shape (rank,), seconds."""
        return np.asarray(self.work + self.cost + self.stay)

    def largest(self) -> list[RankOnPath]:
        """Return the ranks on the path, those that hold most of it first."""
        return [
            RankOnPath(
                rank=int(rank),
                work_s=float(self.work[rank]),
                network_s=float(self.cost[rank]),
                other_mpi_s=float(self.stay[rank]),
                visits=int(self.visits[rank]),
            )
            for rank in np.argsort(-self.by_rank, kind="stable")
            if self.visits[rank]
        ]

    def add(self, other: PathTimes, times: float) -> None:
        """Add a path that is passed a number of times."""
        for ours, theirs in (
            (self.work, other.work),
            (self.cost, other.cost),
            (self.stay, other.stay),
        ):
            ours += times * theirs
        self.visits[:] += np.rint(times * other.visits).astype(np.int64)


@declared(
    "(f8[:,::1], i4[:,::1], i8[:,::1], b1[:,::1], f8[:,::1], f8[:,:,::1], i8, f8[::1], f8[::1], "
    "f8[::1], i8[::1], i4[::1])"
)
def follow(
    own: NDArray[np.float64],
    waited: NDArray[np.int32],
    since: NDArray[np.int64],
    met: NDArray[np.bool_],
    cost: NDArray[np.float64],
    stay: NDArray[np.float64],
    rank: int,
    work: NDArray[np.float64],
    costs: NDArray[np.float64],
    stays: NDArray[np.float64],
    visits: NDArray[np.int64],
    passed: NDArray[np.int32],
) -> None:
    """Follow the largest term of the maximum at each place, from the last one back; see `Waits`.

    Parameters
    ----------
    stay : float64 array, shape (iteration, rank, event), or empty, seconds
        As it was walked with.
    rank : int
        The one that ends last.
    work, costs, stays, visits
        Of `PathTimes`; what is passed is added to them.
    passed : int32 array, shape (place,), or empty
        Is filled with the rank whose work leads to a place on the path; what the path skips, as
        it is in a message or a pending reduction then, stays as it is.
    """
    visits[rank] += 1
    place = own.shape[0] - 1
    while place >= 0:
        # The event kept the rank after it was released, so that comes first on the way back.
        costs[rank] += cost[place, rank]
        if stay.size:
            body, event = divmod(place, stay.shape[2] + 1)
            if event < stay.shape[2]:
                stays[rank] += stay[body, rank, event]
        # The path leaves the rank that waited, for the one that released it.
        other = waited[place, rank]
        if other >= 0:
            if other != rank:
                visits[other] += 1
            if not met[place, rank]:
                place = since[place, rank]
            rank = other
        work[rank] += own[place, rank]
        if passed.size:
            passed[place] = rank
        place -= 1
