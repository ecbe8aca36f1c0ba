"""The balance threshold and the cells per rank for a time budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.errors import UsageError
from hindmost.models.adaptive.application import Application
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import OfflineModel, PhaseTimes
from hindmost.text import percent

THRESHOLDS = (0.02, 0.05, 0.1, 0.2, 0.5)
CELLS = (1000, 2000, 4000, 8000, 16_000, 40_000, 80_000, 160_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A configuration and its predicted time.

    Attributes
    ----------
    threshold : float
        The mesh is rebalanced if max / mean - 1 of the cells per rank exceeds it.
    cells : float
        Cells per rank, on average over the run.
    seconds : float
        Time of the whole run.
    cycle : PhaseTimes
        An average cycle.
    fits : bool
        Whether the time is within the budget.
    """

    threshold: float
    cells: float
    seconds: float
    cycle: PhaseTimes
    fits: bool

    def explain(self) -> str:
        """Say it in a sentence."""
        return (
            f"Balanced above {percent(self.threshold, None)}, "
            f"{self.cells:,.0f} cells per rank: {self.seconds:,.1f} s, "
            f"{'within' if self.fits else 'beyond'} the budget."
        )


def choose(
    machine: Machine,
    application: Application,
    budget_s: float,
    *,
    ranks: int,
    cycles: int,
    thresholds: Sequence[float] = THRESHOLDS,
    cells: Sequence[float] = CELLS,
) -> tuple[Choice, ...]:
    """Rank all choices by the offline model.

    Choices within the budget come first, by most cells and then least time; the others follow by
    least time.

    Parameters
    ----------
    budget_s : float
        Time of the whole run.
    ranks, cycles : int
    thresholds, cells : sequences of float
        Values to choose from.

    Raises
    ------
    UsageError
        An invalid budget or number.
    """
    if not (math.isfinite(budget_s) and budget_s > 0.0) or cycles < 1:
        raise UsageError(
            f"A budget of {budget_s:g} s for {cycles} cycles; both must be finite and above 0."
        )
    if any(value < 0 for value in thresholds) or any(value <= 0 for value in cells):
        raise UsageError("Balance thresholds must be at least 0, and cells per rank above 0.")
    model = OfflineModel(
        machine=machine,
        application=application,
        ranks=ranks,
    )
    found = []
    for threshold in thresholds:
        for count in cells:
            times = mean_cycle(model, float(count), threshold)
            seconds = cycles * times.seconds
            found.append(
                Choice(
                    threshold=threshold,
                    cells=float(count),
                    seconds=seconds,
                    cycle=times,
                    fits=seconds <= budget_s,
                )
            )
    return tuple(
        sorted(
            found,
            key=lambda one: (not one.fits, -one.cells if one.fits else one.seconds, one.seconds),
        )
    )


def mean_cycle(model: OfflineModel, cells: float, threshold: float) -> PhaseTimes:
    """Return an average cycle, with the imbalance that a threshold permits.

    Each adaption adds the application's imbalance g. After n = floor(threshold / g) + 1 adaptions
    the threshold is exceeded, and moving the surplus restores balance. Until then the slowest rank
    has a surplus of g (n - 1) / 2 on average, and all others wait for it.
    """
    application, ranks = model.application, model.ranks
    every = application.adapts_every
    growth = application.imbalance if ranks > 1 and every > 0 else 0.0
    looks = math.floor(threshold / growth + 1e-9) + 1 if growth > 0.0 else 1
    surplus = growth * (looks - 1) / 2.0
    most = cells * (1.0 + surplus)
    if every == 0:
        return model.phase_times(application.work(most, ranks))
    adapting = application.work(most, ranks, cycle=every - 1)
    moved = 0.0 if growth == 0.0 else growth * looks * cells
    once = model.phase_times(adapting, moved=moved)
    others = model.phase_times(adapting, moved=0.0)
    share = 1.0 / every
    balance = share * (once.balance + (looks - 1) * others.balance) / looks
    return PhaseTimes(
        hydro=once.hydro,
        halo=once.halo,
        heat=once.heat,
        reduction=once.reduction,
        adaption=share * once.adaption,
        balance=balance,
    )
