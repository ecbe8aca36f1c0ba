"""The baselines of a prediction: the naive answer, and the paper's simulation before the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.errors import DataError
from hindmost.models.noise.stationary import RedrawnUniform, fit_redrawn_uniform
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import Prediction
from hindmost.models.simulation.change import Change
from hindmost.text import seconds

NAIVE, PAPER = "naive", "redrawn-uniform"
NOTHING = Prediction(seconds=float("nan"), low_s=float("nan"), high_s=float("nan"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
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

    JSON = "name what predicted_s=prediction.seconds interval_s"

    def row(self) -> tuple[str, str, str, str]:
        """Return the row of a table: name, time, interval, what it is."""
        low_s, high_s = self.prediction.low_s, self.prediction.high_s
        ends = f"{seconds(low_s)} to {seconds(high_s)}"
        if not np.isfinite(high_s):
            ends = "no upper end"
        elif low_s <= 0.0:
            ends = f"at most {seconds(high_s)}"
        return (
            self.name,
            seconds(self.prediction.seconds) if self.prediction.known else "-",
            ends if low_s < high_s else "-",
            self.what,
        )

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The interval in seconds; None if there is none."""
        low_s, high_s = self.prediction.low_s, self.prediction.high_s
        return (low_s, high_s) if low_s < high_s else None


def baseline_table(rows: Sequence[Baseline]) -> Table:
    """Return the table of a prediction and its baselines."""
    return Table(
        columns=(
            Column("model", LEFT),
            Column("predicted", RIGHT),
            Column("interval", RIGHT),
            Column("", LEFT),
        ),
        rows=[row.row() for row in rows],
    )


def baselines(
    times: Sequence[SolveTimes],
    change: Change,
    *,
    ranks: int | None = None,
    work: float = 1.0,
) -> Iterator[Baseline]:
    """Yield what others predict of a later solve.

    Parameters
    ----------
    times : sequence of SolveTimes
        Of the earlier solves.
    change : Change
    ranks : int, optional
        Of the later solve; by default as recorded.
    work : float
        Share of the recorded work that each of these ranks has.
    """
    first = times[0]
    iterations = first.solver_iterations or first.iterations
    longer = (change.iterations or iterations) / iterations
    naive_s = float(np.median([each.solve_time_s for each in times])) * longer * work
    how = "in proportion to iterations"
    if ranks is not None:
        how = "as it is" if work == 1.0 else "divided by the ranks"
    yield Baseline(
        name=NAIVE,
        what=f"the recorded time, {how}",
        prediction=Prediction(seconds=naive_s, low_s=naive_s, high_s=naive_s),
    )
    yield of_paper(times, change, longer, ranks, work)


def of_paper(
    times: Sequence[SolveTimes], change: Change, longer: float, ranks: int | None, work: float
) -> Baseline:
    """Return the simulation of sections 6 and 7.1: laws drawn anew, for more bodies or ranks.

    It has no restart cycles and no time between bodies, and knows no other machine or noise. Of the
    partner of a solver it knows that ranks wait for the slowest, or do not, with the same laws.
    """
    if not known_to_paper(change):
        return Baseline(name=PAPER, what="the paper's simulation says nothing of this change")
    try:
        models = [fit_redrawn_uniform(each) for each in times]
    except DataError:
        why = "the paper's simulation: its laws cannot be fitted to these iterations"
        return Baseline(name=PAPER, what=why)
    if change.solver is not None:  # whether a body waits for the slowest rank, or for none
        models = [replace(model, blocking=not model.blocking) for model in models]
    said = []
    for model in models:
        there = model if ranks is None else on_ranks(model, ranks, work)
        bodies = max(round(there.bodies * longer), 1)
        said.append(replace(there, bodies=bodies, fill_s=there.fill_s * longer).predict())
    middle = [
        float(np.median([getattr(each, end) for each in said]))
        for end in ("seconds", "low_s", "high_s")
    ]
    sections = "section 6" if ranks is None else "sections 6 and 7.1"
    return Baseline(
        name=PAPER,
        what=f"the paper's simulation ({sections})",
        prediction=Prediction(seconds=middle[0], low_s=middle[1], high_s=middle[2]),
    )


def known_to_paper(change: Change) -> bool:
    """Tell whether the paper's simulation says anything of a change."""
    return change == Change(iterations=change.iterations, solver=change.solver)


def on_ranks(model: RedrawnUniform, ranks: int, work: float) -> RedrawnUniform:
    """Return the paper's simulation on another number of ranks.

    With strong scaling the law of the fastest rank shifts with its work, and that of the span stays
    about as it is (Figure 8).
    """
    law = model.least
    least = replace(law, loc=work * law.loc, scale=work * law.scale)
    return replace(model, ranks=ranks, least=least, fill_s=work * model.fill_s)
