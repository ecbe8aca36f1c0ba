"""A machine as the models of run time see it: what the probes measured, as one file of JSON."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Messages from a size on: latency and time per byte.

    Attributes
    ----------
    from_bytes : int
    latency_s, per_byte_s : float
    """

    from_bytes: int
    latency_s: float
    per_byte_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """How long a message takes: pieces in the order of their sizes, the first from 0.

    Attributes
    ----------
    pieces : tuple of Piece
    """

    pieces: tuple[Piece, ...]

    def time_s(self, bytes: float) -> float:
        """Return what a message of so many bytes takes: T_comm(m) = L(m) + m B(m), section 3."""
        piece = self.pieces[
            max(0, bisect_right(self.pieces, bytes, key=lambda piece: piece.from_bytes) - 1)
        ]
        return piece.latency_s + bytes * piece.per_byte_s


@dataclass(frozen=True, slots=True, kw_only=True)
class AllreduceTime:
    """An allreduce: ranks, bytes and the median of its time."""

    ranks: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Messages within a node and across nodes, one way and both ways at once.

    ``across`` is None where only one node was measured.
    """

    within: Link
    within_both_ways: Link
    across: Link | None = None
    across_both_ways: Link | None = None
    allreduce: tuple[AllreduceTime, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GrindPoint:
    """The time per cell of a phase at a number of cells a rank.

    Attributes
    ----------
    phase : str
        ``hydro`` (per cell and step), ``heat`` (per cell and iteration of the heat solver),
        ``heat-solve`` (per cell and solve, beside its iterations), ``adaption`` (per cell and look
        at the mesh), ``connection`` (per cell, beside the look, where the mesh changed).
    ranks_per_node : int
        How many ranks computed at once on the node.
    cells : float
        Cells a rank: those that were computed on.
    seconds_per_cell : float
        Median over repeats.
    """

    phase: str
    ranks_per_node: int
    cells: float
    seconds_per_cell: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCost:
    """The time of something that happens to few cells, or once.

    Attributes
    ----------
    event : str
        ``divide`` and ``combine`` (per cell, beside what every cell of a changed mesh takes),
        ``move`` (per cell that goes to another rank of the node), ``balance`` (a look at the
        balance); and what calls take on one rank, with nobody to wait for: ``exchange``,
        ``reduce``, and ``loop`` (per step, all that is in no phase).
    ranks_per_node : int
        How many ranks computed at once on the node.
    seconds : float
    """

    event: str
    ranks_per_node: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedPoint:
    """What the reference kernel takes on so many ranks of a node at once.

    Attributes
    ----------
    ranks_per_node : int
    seconds : float
        Median over readings, of the slowest rank.
    """

    ranks_per_node: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What a rank loses to others on an idle machine.

    Attributes
    ----------
    detours_per_s : float
    share : float
        Of the time that is lost, 0 to 1.
    detour_quantiles_s : tuple of float
        Durations of detours: quantiles 0.5, 0.9, 0.99 and 1.
    """

    detours_per_s: float
    share: float
    detour_quantiles_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """All that the probes measured; what was not probed is None or empty.

    Attributes
    ----------
    name : str
    ranks_per_node : int
        Cores of a node that ranks may use.
    network : Network or None
    grind : tuple of GrindPoint
    events : tuple of EventCost
    noise : Noise or None
    speed : tuple of SpeedPoint
        What the reference kernel takes in the state in which grind was measured: a reading for
        every number of ranks a node, since ranks that share memory slow each other down.
    checkpoint_latency_s, checkpoint_bytes_per_s : float or None
    """

    name: str
    ranks_per_node: int
    network: Network | None = None
    grind: tuple[GrindPoint, ...] = ()
    events: tuple[EventCost, ...] = ()
    noise: Noise | None = None
    speed: tuple[SpeedPoint, ...] = ()
    checkpoint_latency_s: float | None = None
    checkpoint_bytes_per_s: float | None = None

    @property
    def speed_s(self) -> float | None:
        """What the reference kernel takes on one rank alone, None where that was not read."""
        return self.speed_of(1)

    def speed_of(self, ranks_per_node: int) -> float | None:
        """Return what the reference kernel takes on so many ranks a node, None if not read."""
        for point in self.speed:
            if point.ranks_per_node == ranks_per_node:
                return point.seconds
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the content of the machine's file: ``hindmost-machine``, version 1."""
        from hindmost.models.dynamic.description import describe

        return describe(self)

    @classmethod
    def from_json(cls, content: Any) -> Machine:
        """Return the machine that a file describes; keys of its own beside ours are left alone.

        Raises
        ------
        UnknownSchemaError
            Written by a newer version.
        DataError
            Not a description of a machine, or a field that is missing or not what is allowed.
        """
        from hindmost.models.dynamic.description import read

        return read(content)
