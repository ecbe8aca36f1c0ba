"""What an earlier run teaches of a deck: heat iterations, what adaption changes, how cells grow."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.errors import UsageError
from hindmost.harness.adaptive.from_run import WORKLOAD, application_from_run
from hindmost.harness.runfile.reader import Run
from hindmost.models.dynamic.application import Application


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
    if run.header.workload != WORKLOAD or "deck" not in spec or run.bodies < 2:
        raise UsageError(
            f"{run.path} does not hold the counts of a deck and its cycles: give a file of "
            "`hindmost run adaptive` with two cycles or more, or a deck with --deck."
        )
    base = spec["base"]
    return Experience(
        deck=spec["deck"],
        application=application_from_run(run),
        growth=float(run.variable("cells").sum(axis=1).mean() / (base[0] * base[1])),
    )
