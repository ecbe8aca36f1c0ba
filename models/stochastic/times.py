"""The times of a solve, as the models take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError

IterationTimes = NDArray[np.float64]
"""float64 array, shape (iteration, rank), seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveTimes:
    """The times of one solve on all ranks.

    Attributes
    ----------
    durations : float64 array, shape (iteration, rank), seconds
        Bodies, begin to end, waiting included.
    work : float64 array, shape (iteration, rank), seconds
        Bodies without waiting.
    fill : bool array, shape (iteration,)
        Bodies that only fill a pipeline.
    position : int array, shape (iteration,)
        Place in the restart cycle, from 0.
    between_s : float
        Time outside all bodies: lead-in, restarts and lead-out.
    edge_source, edge_target : int array, shape (edge,)
        Ranks that send halos, and those that receive them.
    synchronisation : str
        ``blocking`` or ``pipelined``.
    lag : int
        Bodies that a rank may begin before it needs the reduction that ended a body.
    solve_time_s : float
        What the models are held against.

    Raises
    ------
    DataError
        Times that are not finite, negative durations, or shapes that do not fit.
    """

    durations: IterationTimes
    work: IterationTimes
    fill: NDArray[np.bool_]
    position: NDArray[np.int32]
    between_s: float
    edge_source: NDArray[np.int32]
    edge_target: NDArray[np.int32]
    synchronisation: Literal["blocking", "pipelined"]
    lag: int
    solve_time_s: float

    def __post_init__(self) -> None:
        """Refuse what no model could use."""
        if self.durations.ndim != 2 or 0 in self.durations.shape:
            raise DataError(
                f"Iteration times of shape {self.durations.shape}; "
                "they must be (iteration, rank), with at least one of each."
            )
        if self.work.shape != self.durations.shape:
            raise DataError(
                f"Work of shape {self.work.shape} beside durations {self.durations.shape}."
            )
        for what, values in (("duration", self.durations), ("work", self.work)):
            if not np.isfinite(values).all():
                raise DataError(f"A {what} is not a number; the run is damaged or incomplete.")
        if self.durations.min() <= 0.0:
            raise DataError(
                f"A body lasts {self.durations.min()} s; every body must last longer than nothing."
            )

    @property
    def iterations(self) -> int:
        """Number of bodies."""
        return int(self.durations.shape[0])

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.durations.shape[1])

    @property
    def pipelined(self) -> bool:
        """Whether reductions overlap with work."""
        return self.synchronisation == "pipelined"

    @property
    def fitted(self) -> IterationTimes:
        """The bodies that laws are fitted to: all, but for those that only fill a pipeline."""
        return self.durations[~self.fill]
