"""What a reduced run says of all ranks, as the noise models take it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError
from hindmost.harness.runfile.all_ranks import profiles_of
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.runfile.reader import Run
from hindmost.models.noise.all_ranks import AllRanks, BodyExtremes

OF_BODIES = ("least", "most", "mean", "deviation", "bin_count", "bin_mean", "bin_deviation")


def has_bodies_of_all(run: Run) -> bool:
    """Tell whether models know the bodies of all ranks: older versions did not reduce them."""
    return not run.reduced or run.has("all_mean")


def bodies_s(run: Run) -> NDArray[np.float64]:
    """Return the time of all bodies of every rank: float64, shape (rank,), seconds."""
    if run.reduced:
        return np.asarray(profiles_of(run).sum(axis=(0, 2)))
    between = run.lead_in + run.restart_durations.sum(axis=0) + run.lead_out
    return np.asarray(run.solve_time - between)


def all_ranks_of(run: Run) -> AllRanks:
    """Read the sums and extremes of all ranks of a reduced run.

    Raises
    ------
    DamagedFileError
        Numbers that cannot be of the bodies of all ranks.
    """
    bodies = BodyExtremes(**{name: run.variable(f"all_{name}") for name in OF_BODIES})
    fill = run.kind == BodyKind.FILL
    counted = run.bodies - int(np.count_nonzero(fill)) or run.bodies
    if int(bodies.bin_count.sum()) != counted * run.header.ranks:
        raise DamagedFileError(
            f"{run.path}: 'all_bin_count' counts {int(bodies.bin_count.sum())} iterations; "
            f"{run.header.ranks} ranks have {counted * run.header.ranks}."
        )
    if (np.diff(bodies.bin_mean) < 0.0).any():
        raise DamagedFileError(f"{run.path}: 'all_bin_mean' should ascend.")
    if not (bodies.least <= bodies.most).all() or bodies.least.min() <= 0.0:
        raise DamagedFileError(
            f"{run.path}: 'all_least' should lie above 0 and nowhere above 'all_most'."
        )
    return AllRanks(
        ranks=run.header.ranks,
        kept=run.kept_ranks,
        total_s=bodies_s(run),
        bodies=bodies,
    )


def edges_of_columns(run: Run) -> Edges:
    """Return the halos between the ranks that have columns, by column."""
    edges = run.edges
    if not run.reduced:
        return edges
    column = np.full(run.header.ranks, -1, np.int32)
    column[run.kept_ranks] = np.arange(run.columns, dtype=np.int32)
    source, target = column[edges.source], column[edges.target]
    both = (source >= 0) & (target >= 0)
    return Edges(source=source[both], target=target[both], bytes=edges.bytes[both])
