"""The timelines of a few ranks: their bodies in the order of time, read block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.all_ranks import blocks_of, columns_of
from hindmost.harness.runfile.reader import Run

MOST_STEPS = 240
"""Of a timeline; bodies are pooled beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timelines:
    """The bodies of some ranks, neighbours pooled.

    Attributes
    ----------
    numbers : int64 array, shape (rank,)
        Of the ranks.
    edges : float64 array, shape (step + 1,)
        Numbers of the bodies between which the steps lie.
    mean : dict of str to float64 array, shape (rank, step), seconds
        Time of every phase, the mean over the bodies of a step.
    longest : float64 array, shape (rank, step), seconds
        The longest body of a step.
    """

    numbers: NDArray[np.int64]
    edges: NDArray[np.float64]
    mean: dict[str, NDArray[np.float64]]
    longest: NDArray[np.float64]

    @property
    def bodies_a_step(self) -> int:
        """Number of bodies in a step; the last step may have fewer."""
        return round(float(self.edges[1] - self.edges[0]))


def timelines_of(run: Run, places: Sequence[int]) -> Timelines:
    """Read the timelines of ranks.

    Parameters
    ----------
    run : Run
    places : sequence of int
        Columns of the file.
    """
    columns = np.asarray(places, np.int64)
    together = -(-run.bodies // MOST_STEPS)
    starts = np.arange(0, run.bodies, together)
    sums = np.zeros((starts.size, columns.size, len(run.phases)))
    longest = np.zeros((starts.size, columns.size))
    for rows in blocks_of(run, columns.size):
        step = np.arange(rows.start, rows.stop) // together
        np.add.at(sums, step, columns_of(run, "phase_duration", columns, rows))
        np.maximum.at(longest, step, columns_of(run, "duration", columns, rows))
    counts = np.diff(np.append(starts, run.bodies))
    mean = (sums / counts[:, None, None]).transpose(2, 1, 0)
    return Timelines(
        numbers=run.kept_ranks[columns],
        edges=np.append(starts, run.bodies) - 0.5,
        mean={name: mean[at] for at, name in enumerate(run.phases)},
        longest=longest.T,
    )
