"""What a kernel tells the grind probe: seconds per cell, and the cells that it ran on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a kernel timed on one rank.

    Attributes
    ----------
    cells : float
        Cells of a rank that it ran on, which need not be what it was asked for.
    phases : mapping of str to float
        Seconds per cell of each phase; see `GrindPoint.phase`.
    events : mapping of str to float
        Seconds of each event; see `EventCost.event`.
    """

    cells: float
    phases: Mapping[str, float]
    events: Mapping[str, float] = field(default_factory=dict)


class Measure(Protocol):
    """A kernel whose phases are timed."""

    def __call__(self, cells: int, communicator: Any) -> Measured | dict[str, float]:
        """Compute on about so many cells a rank and return what that took.

        Seconds per cell of each phase alone will do, where it ran on just the cells that it was
        asked for. Collective over the communicator, which is of one node. Whatever is compiled or
        allocated is so before the time begins.
        """
