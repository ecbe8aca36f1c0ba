"""What an earlier run teaches of a deck: heat iterations, what adaption changes, how cells grow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.dynamic.application import Application

WORKLOAD = "adaptive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A deck as an earlier run had it.

    Attributes
    ----------
    deck : str
        As TOML.
    application : Application
        Its counts, with what the run showed: heat iterations, shares of cells that were divided,
        combined and moved, and what an adaption adds to the imbalance.
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
    """
    spec = run.header.spec
    if run.header.workload != WORKLOAD or "application" not in spec or run.bodies < 2:
        raise UsageError(
            f"{run.path} does not hold the counts of a deck and its cycles: give a file of "
            "`hindmost run adaptive` with two cycles or more, or a deck with --deck."
        )
    cells = run.variable("cells")
    most, mean, total = cells.max(axis=1), cells.mean(axis=1), cells.sum(axis=1)
    over = most / mean - 1.0
    shares = {
        name: float(run.variable(name).max(axis=1).sum() / most.sum())
        for name in ("divided", "combined", "moved")
    }
    kept = run.variable("moved").sum(axis=1)[:-1] == 0
    added = np.diff(over)[kept]
    base = spec["base"]
    return Experience(
        deck=spec["deck"],
        application=replace(
            Application.from_json(spec["application"]),
            iterations=float(run.variable("heat_iterations")[:, 0].mean()),
            divided_share=shares["divided"],
            combined_share=shares["combined"],
            moved_share=shares["moved"],
            imbalance=float(max(0.0, added.mean())) if added.size else 0.0,
        ),
        growth=float(total.mean() / (base[0] * base[1])),
    )
