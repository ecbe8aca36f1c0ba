"""The balance threshold and the cells per rank for a time budget, by the offline model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hindmost.errors import UsageError
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.work import PHASES, Work
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
    cycle_s : dict of str to float
        An average cycle, by phase; ``loop`` is the time outside all phases.
    fits : bool
        Whether the time is within the budget.
    """

    threshold: float
    cells: float
    seconds: float
    cycle_s: dict[str, float]
    fits: bool

    def explain(self) -> str:
        """Say it in a sentence."""
        return (
            f"Balanced above {percent(self.threshold, None)}, "
            f"{self.cells:,.0f} cells per rank: {self.seconds:,.1f} s, "
            f"{'within' if self.fits else 'beyond'} the budget."
        )


def choose(
    model: OfflineModel,
    work: Work,
    budget_s: float,
    *,
    cycles: int,
    thresholds: Sequence[float] = THRESHOLDS,
    cells: Sequence[float] = CELLS,
) -> tuple[Choice, ...]:
    """Rank all choices by the offline model.

    Choices within the budget come first, by most cells and then least time; the others follow by
    least time.

    Parameters
    ----------
    work : Work
        A cycle of the deck, whatever its cells.
    budget_s : float
        Time of the whole run.
    thresholds, cells : sequences of float
        Values to choose from.

    Raises
    ------
    UsageError
        An invalid budget or number.
    """
    if not 0.0 < budget_s < math.inf or cycles < 1:
        raise UsageError(
            f"A budget of {budget_s:g} s for {cycles} cycles; both must be finite and above 0."
        )
    found = []
    for threshold in thresholds:
        for count in cells:
            cycle_s = mean_cycle_s(model, work, count, threshold)
            seconds = cycles * sum(cycle_s.values())
            found.append(
                Choice(
                    threshold=threshold,
                    cells=float(count),
                    seconds=seconds,
                    cycle_s=cycle_s,
                    fits=seconds <= budget_s,
                )
            )
    return tuple(
        sorted(
            found,
            key=lambda one: (not one.fits, -one.cells if one.fits else one.seconds, one.seconds),
        )
    )


def mean_cycle_s(
    model: OfflineModel, work: Work, cells: float, threshold: float
) -> dict[str, float]:
    """Return an average cycle by phase, with the imbalance that a threshold permits.

    Each adaption adds the application's imbalance g. After n = floor(threshold / g) + 1 adaptions
    the threshold is exceeded, and moving the surplus restores balance. Until then the slowest rank
    has a surplus of g (n - 1) / 2 on average, and all others wait for it.
    """
    growth = model.application.imbalance if model.ranks > 1 and work.adapts else 0.0
    looks = math.floor(threshold / growth + 1e-9) + 1 if growth > 0.0 else 1
    most = cells * (1.0 + growth * (looks - 1) / 2.0)
    cycle = replace(work, cells=most, total=cells * model.ranks)
    phases_s = model.phases_s(cycle, work.iterations)
    times = dict(zip(PHASES, phases_s, strict=True))
    times["loop"] = model.cycle_s(cycle, work.iterations) - sum(phases_s)
    if work.adapts:
        look_s, move_s = model.balance_s(0.0), model.balance_s(growth * looks * cells)
        times["balance"] = look_s + (move_s - look_s) / looks
    return times
