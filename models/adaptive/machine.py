"""A machine for the models of run time: the measurements of the probes, stored as a JSON file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from hindmost.errors import DataError
from hindmost.models.simulation.network import Amount, Link, Size
from hindmost.records import RecordError, check_version, from_document, to_document

Name = Annotated[str, Meta(min_length=1, description="text that is not empty")]
Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0)]
SCHEMA = "hindmost-machine"
VERSION = 1
ELASTICITY = 0.75
"""Relative change of the time of computation for one of the pulse. Chosen with the number of pulses
of `hindmost.models.adaptive.predictors` on recorded runs of timing-a and timing-b."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllreduceTime:
    """The median time of an allreduce, for ranks and bytes."""

    ranks: Count
    bytes: Size
    seconds: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Messages within a node and between nodes, uni-directional and bi-directional.

    ``across`` is None if only one node was measured.
    """

    within: Link
    within_both_ways: Link
    across: Link | None = None
    across_both_ways: Link | None = None
    allreduce: tuple[AllreduceTime, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GrindPoint:
    """The time per cell of a phase at a number of cells per rank.

    Attributes
    ----------
    phase : str
        ``hydro`` (per cell and step), ``heat`` (per cell and iteration of the heat solver),
        ``heat-solve`` (per cell and solve, in addition to its iterations), ``adaption`` (per cell
        and adaption).
    ranks_per_node : int
        Ranks that computed at the same time on the node.
    cells : float
        Cells per rank.
    seconds_per_cell : float
        Of the slowest rank, the median over repeats.
    """

    phase: Name
    ranks_per_node: Count
    cells: Positive
    seconds_per_cell: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCost:
    """The time of an event that happens once.

    Attributes
    ----------
    event : str
        ``balance`` (a balance check, with the moves of the probe); and calls on a single rank,
        without waiting: ``exchange``, ``reduce``, and ``loop`` (per step, all that belongs to no
        phase).
    ranks_per_node : int
        Ranks that computed at the same time on the node.
    seconds : float
    cells : float or None
        Cells per rank beside which it was timed; None if they do not matter. A call takes several
        times as long where the cells leave it no cache.
    """

    event: Name
    ranks_per_node: Count
    seconds: Amount
    cells: Positive | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedPoint:
    """The time of a fixed computation on a number of ranks of a node at once.

    Attributes
    ----------
    ranks_per_node : int
    seconds : float
        Median over readings, of the slowest rank.
    """

    ranks_per_node: Count
    seconds: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemNoise:
    """System noise: detours of a rank on an idle machine.

    Attributes
    ----------
    detours_per_s : float
    share : float
        Share of the time that detours take, 0 to 1.
    detour_quantiles_s : tuple of float
        Quantiles 0.5, 0.9, 0.99 and 1 of the durations of detours.
    """

    detours_per_s: Amount
    share: Annotated[float, Meta(ge=0, le=1)]
    detour_quantiles_s: tuple[Amount, ...] = ()

    def __post_init__(self) -> None:
        if len(self.detour_quantiles_s) not in (0, 4):
            why = "allowed: a list of 4 numbers: quantiles 0.5, 0.9, 0.99 and 1"
            raise RecordError(why, "detour_quantiles_s", found=self.detour_quantiles_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """All measurements of the probes; None or empty if not probed.

    Attributes
    ----------
    name : str
    ranks_per_node : int
        Cores of a node that ranks can use.
    network : Network or None
    grind : tuple of GrindPoint
    events : tuple of EventCost
    noise : SystemNoise or None
    pulse : tuple of SpeedPoint
        A pulse at the speed to which the grind curves are scaled: one for each number of ranks per
        node, because ranks that share memory slow each other down.
    checkpoint_latency_s, checkpoint_bytes_per_s : float or None
    """

    name: Name
    ranks_per_node: Count
    network: Network | None = None
    grind: tuple[GrindPoint, ...] = ()
    events: tuple[EventCost, ...] = ()
    noise: SystemNoise | None = None
    pulse: tuple[SpeedPoint, ...] = ()
    checkpoint_latency_s: Amount | None = None
    checkpoint_bytes_per_s: Positive | None = None

    def __post_init__(self) -> None:
        ranks = [each.ranks_per_node for each in self.pulse]
        if len(set(ranks)) < len(ranks):
            why = "allowed: one pulse for each number of ranks_per_node"
            raise RecordError(why, "pulse", found=ranks)

    def pulse_of(self, ranks_per_node: int) -> float | None:
        """Return the time of a pulse on these ranks per node; None if not measured."""
        return next(
            (each.seconds for each in self.pulse if each.ranks_per_node == ranks_per_node), None
        )

    def to_json(self) -> dict[str, Any]:
        """Return the content of the machine's file: ``hindmost-machine``, version 1."""
        return {"schema": SCHEMA, "version": VERSION, **to_document(self)}

    @classmethod
    def from_json(cls, content: Any) -> Machine:
        """Return the machine that a file describes; unknown keys are ignored.

        Raises
        ------
        UnknownSchemaError
            Written by a newer version.
        DataError
            Not a description of a machine, or a field that is missing or invalid.
        """
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            found = content.get("schema") if isinstance(content, dict) else type(content).__name__
            raise DataError(
                f"This is not a machine file: its schema is {found!r}, not '{SCHEMA}'. "
                "`hindmost probe` writes machine files."
            )
        try:
            check_version(content.get("version"), VERSION, "The machine file")
            return from_document(cls, content, "machine", ignore_unknown=True)
        except RecordError as error:
            raise DataError(f"In the machine file, {error}") from None


def pace_of(pulse_s: float, then_s: float) -> float:
    """Return the time of the same work now over then, from a pulse now and one then.

    Less than their quotient: a pulse is a sample of a machine that changes, and not all work slows
    down as a pulse does.
    """
    return (pulse_s / then_s) ** ELASTICITY  # type: ignore[no-any-return]
