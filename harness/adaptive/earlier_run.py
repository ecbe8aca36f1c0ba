"""What an earlier run says about a deck: heat iterations, changes of the mesh, growth of cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.application import application_of
from hindmost.harness.adaptive.decks import parse_deck
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.application import Application

LEAST_CYCLES = 2
CHILDREN_MORE = 3
"""Cells that there are more when one divides into four, and fewer when four combine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A deck as an earlier run had it.

    Attributes
    ----------
    deck : str
        As TOML.
    application : Application
        Its counts, with what the run showed: heat iterations, the share of cells that
        moved, and what an adaption adds to the imbalance.
    growth : float
        Cells over base cells, on average over the cycles.
    """

    deck: str
    application: Application
    growth: float


def experience_of(run: Run) -> Experience:
    """Learn from a run file.

    Raises
    ------
    UsageError
        It is not one of the adaptive kernel, or does not hold the counts of its deck.
    DataError
        It kept some ranks only, see `application_from_run`.
    """
    spec = run.header.spec
    if run.header.workload != ADAPTIVE or "deck" not in spec or run.bodies < LEAST_CYCLES:
        raise UsageError(
            f"{run.path} does not contain the counts of a deck and its cycles: give a file of "
            f"`hindmost run adaptive` with {LEAST_CYCLES} cycles or more, or a deck with --deck."
        )
    base = spec["base"]
    return Experience(
        deck=spec["deck"],
        application=application_from_run(run),
        growth=float(run.variable("cells").sum(axis=1).mean() / (base[0] * base[1])),
    )


def application_from_run(run: Run) -> Application:
    """Return the counts of a run's deck, with the shares that the run shows.

    Iterations are means over cycles; shares are cells over cells of the rank that has most; the
    imbalance is what one adaption adds to max / mean - 1 of cells a rank, on average, before cells
    are moved. What one rank alone cannot show, imbalance and moves, stays as usual for the deck.

    Raises
    ------
    DataError
        It kept some ranks only.
    """
    if run.reduced:
        raise DataError(
            f"{run.path} has full records of {run.columns} of {run.header.ranks} ranks (run "
            "adaptive --keep): the distribution of cells needs all of them. Give a run without "
            "--keep, or a deck with --deck."
        )
    spec = run.header.spec
    usual = application_of(parse_deck(spec["deck"], str(run.path)))
    cells = run.variable("cells").astype(np.float64)
    divided, combined, moved = (run.variable(name) for name in ("divided", "combined", "moved"))
    most = cells.max(axis=1).sum()
    learnt = replace(
        usual,
        iterations=float(run.variable("heat_iterations")[:, 0].mean()),
    )
    if cells.shape[1] == 1:
        return learnt
    grown = cells + CHILDREN_MORE * (divided - combined)
    return replace(
        learnt,
        moved_share=float(moved.max(axis=1).sum() / most),
        imbalance=float(max(0.0, (surplus(grown) - surplus(cells)).mean())),
    )


def surplus(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return max / mean - 1 over the ranks.

    Parameters
    ----------
    cells : float64 array, shape (cycle, rank)

    Returns
    -------
    float64 array, shape (cycle,)
    """
    over: NDArray[np.float64] = cells.max(axis=1) / cells.mean(axis=1) - 1.0
    return over
