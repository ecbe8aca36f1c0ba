"""What a reduced run says of all ranks, as the noise models take it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError
from hindmost.harness.runfile.all_ranks import profiles_of
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.runfile.reader import Run
from hindmost.models.laws.sample import Sample
from hindmost.models.noise.times import AllRanks, Digest


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
    least, most, mean = (run.variable(f"all_{name}") for name in ("least", "most", "mean"))
    count, point, deviation = (
        run.variable(f"all_bin_{name}") for name in ("count", "mean", "deviation")
    )
    fill = run.kind == BodyKind.FILL
    counted = ~fill if not fill.all() else np.ones(run.bodies, np.bool_)
    bodies = int(np.count_nonzero(counted)) * run.header.ranks
    if int(count.sum()) != bodies:
        raise DamagedFileError(
            f"{run.path}: 'all_bin_count' counts {int(count.sum())} iterations; "
            f"{run.header.ranks} ranks have {bodies}."
        )
    if (np.diff(point) < 0.0).any():
        raise DamagedFileError(f"{run.path}: 'all_bin_mean' should ascend.")
    if not (least <= most).all() or least.min() <= 0.0:
        raise DamagedFileError(
            f"{run.path}: 'all_least' should lie above 0 and nowhere above 'all_most'."
        )
    sample = Sample(
        point=point,
        count=count.astype(np.float64),
        variance=np.square(deviation, dtype=np.float64),
        smallest=float(least[counted].min()),
        largest=float(most[counted].max()),
    )
    return AllRanks(
        ranks=run.header.ranks,
        kept=run.kept_ranks,
        total_s=bodies_s(run),
        digest=Digest(fastest=least, slowest=most, middle=mean, sample=sample),
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
