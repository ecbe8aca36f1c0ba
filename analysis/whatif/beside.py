"""What stands beside a prediction: the naive answer, and the paper's simulation before the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.errors import DataError
from hindmost.models.noise.redraw import fit_redrawn_uniform
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import Prediction
from hindmost.models.simulation.change import Change
from hindmost.text import seconds

NAIVE, PAPER = "naive", "redrawn-uniform"
NO_LAW = "the paper's simulation: its laws cannot be fitted to these iterations"
NOTHING = Prediction(seconds=float("nan"), low_s=float("nan"), high_s=float("nan"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A prediction by another model.

    Attributes
    ----------
    name : str
    what : str
        What the model is, in a few words, or why it says nothing.
    prediction : Prediction
        NaN if it says nothing.
    """

    name: str
    what: str
    prediction: Prediction = NOTHING

    def row(self) -> tuple[str, str, str, str]:
        """Return the row of a table: name, time, interval, what it is."""
        low_s, high_s = self.prediction.low_s, self.prediction.high_s
        ends = f"{seconds(low_s)} to {seconds(high_s)}"
        if not np.isfinite(high_s):
            ends = f"at least {seconds(low_s)}"
        elif low_s <= 0.0:
            ends = f"at most {seconds(high_s)}"
        return (
            self.name,
            seconds(self.prediction.seconds) if self.prediction.known else "-",
            ends if low_s < high_s else "-",
            self.what,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the entry of JSON; null where the model says nothing."""
        found = self.prediction
        return {
            "name": self.name,
            "what": self.what,
            "predicted_s": found.seconds if found.known else None,
            "interval_s": [found.low_s, found.high_s] if found.low_s < found.high_s else None,
        }


def comparison(own: Beside, others: Sequence[Beside]) -> Table:
    """Return the table of a prediction and what others say."""
    return Table(
        columns=(
            Column("model", LEFT),
            Column("predicted", RIGHT),
            Column("interval", RIGHT),
            Column("", LEFT),
        ),
        rows=[each.row() for each in (own, *others)],
    )


def beside(times: Sequence[SolveTimes], change: Change, unknowns: int = 0) -> Iterator[Beside]:
    """Yield what others predict of a later solve.

    Parameters
    ----------
    times : sequence of SolveTimes
        Of the earlier solves.
    change : Change
    unknowns : int
        Of the earlier solves; 0 if not known.
    """
    first = times[0]
    iterations = first.solver_iterations or first.iterations
    share = (change.iterations or iterations) / iterations
    if change.unknowns is not None and unknowns:
        share *= change.unknowns / unknowns
    measured_s = float(np.median([each.solve_time_s for each in times])) * share
    yield Beside(
        name=NAIVE,
        what="the recorded time, in proportion to iterations and unknowns",
        prediction=Prediction(seconds=measured_s, low_s=measured_s, high_s=measured_s),
    )
    yield of_paper(times, change, share)


def of_paper(times: Sequence[SolveTimes], change: Change, share: float) -> Beside:
    """Return the simulation of section 6: uniform laws drawn anew, for more bodies or fewer.

    It has no restart cycles and no time between bodies, and knows no other machine or noise. Of the
    partner of a solver it knows that ranks wait for the slowest, or do not, with the same laws.
    """
    name = PAPER
    plain = Change(iterations=change.iterations, restart=change.restart, solver=change.solver)
    if change != plain:
        return Beside(name=name, what="the paper's simulation says nothing of this change")
    try:
        models = [fit_redrawn_uniform(each) for each in times]
    except DataError:
        return Beside(name=name, what=NO_LAW)
    if change.solver is not None:  # whether a body waits for the slowest rank, or for none
        models = [replace(each, blocking=not each.blocking) for each in models]
    said = [
        replace(
            each, bodies=max(round(each.bodies * share), 1), fill_s=each.fill_s * share
        ).predict()
        for each in models
    ]
    middle = [
        float(np.median([getattr(each, end) for each in said]))
        for end in ("seconds", "low_s", "high_s")
    ]
    return Beside(
        name=name,
        what="the paper's simulation (section 6)",
        prediction=Prediction(seconds=middle[0], low_s=middle[1], high_s=middle[2]),
    )
