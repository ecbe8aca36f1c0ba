"""Counts, predictions and blocks of an adaptive run, as a run file has them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

ADAPTIVE = "adaptive"
"""The workload whose iterations are cycles of an adaptive mesh."""
COUNTS = (
    "cells",
    "faces",
    "ghosts",
    "messages",
    "bytes",
    "divided",
    "combined",
    "moved",
    "heat_iterations",
    "switches",
)
"""The counts of every rank in every cycle."""
PULSE = "pulse_core"
"""A reading of the speed of a rank's core after every cycle, in seconds."""


def arrays_of(parts: Any, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a dataclass that are known, by the names that they have in the file."""
    found = {f"{prefix}{field.name}": getattr(parts, field.name) for field in fields(parts)}
    return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """The predictions of each cycle before it ran; only on rank 0.

    Attributes
    ----------
    names : tuple of str
    predicted : float64 array, shape (iteration, predictor), seconds
        NaN if a predictor had no data yet.
    """

    names: tuple[str, ...]
    predicted: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEdges:
    """Who exchanges how much with whom, in one exchange of ghosts, for every mesh of the run.

    Attributes
    ----------
    source, target : int64 array, shape (block_edge,)
        Places of the block that has the cells, and of that which needs them.
    bytes : int64 array, shape (block_edge,)
    epoch : int32 array, shape (block_edge,)
        Number of the mesh of the row.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    bytes: NDArray[np.int64]
    epoch: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Load and owner of the blocks of the mesh, for every mesh of the run.

    Attributes
    ----------
    place : int64 array, shape (block,)
        Row by row over the domain, in base cells.
    load : float64 array, shape (block,)
        Cells in the block.
    owner : int32 array, shape (block,)
        Rank of the block's first cell.
    epoch : int32 array, shape (block,)
        Number of the mesh of the row.
    edges : BlockEdges or None
    """

    place: NDArray[np.int64]
    load: NDArray[np.float64]
    owner: NDArray[np.int32]
    epoch: NDArray[np.int32]
    edges: BlockEdges | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCycles:
    """The cycles of one rank.

    Attributes
    ----------
    counts : dict of str to int64 array, shape (iteration,)
        All of `COUNTS`.
    phase_cpu : float32 array, shape (iteration, phase), seconds
        Processor time of the phases.
    pulses : dict of str to float32 array, shape (iteration,), seconds
        `PULSE`; empty if none were read.
    epoch : int32 array, shape (iteration,)
        Number of the mesh of a cycle; it increases when the mesh changes.
    predictions : Predictions
        Those of rank 0 are written.
    blocks : Blocks or None
        Those of rank 0 are written.
    """

    counts: dict[str, NDArray[np.int64]]
    phase_cpu: NDArray[np.float32]
    epoch: NDArray[np.int32]
    predictions: Predictions
    pulses: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    blocks: Blocks | None = None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the variables of the file that have a column for every rank."""
        return {**self.counts, **self.pulses, "phase_cpu": self.phase_cpu}

    def whole(self) -> dict[str, Any]:
        """Return the variables of the file that are equal on all ranks, or are those of rank 0."""
        values: dict[str, Any] = {"epoch": self.epoch, "predicted": self.predictions.predicted}
        if self.blocks is not None:
            values |= arrays_of(self.blocks, "block_")
            if self.blocks.edges is not None:
                values |= arrays_of(self.blocks.edges, "block_edge_")
        return values
