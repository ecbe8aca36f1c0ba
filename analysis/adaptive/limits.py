"""Time limits, simulated on recorded cycles: overruns, and time left unused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.cycles import DECIDES, AdaptiveRun
from hindmost.errors import DataError
from hindmost.models.adaptive.limits import Ratios, TimeLimit

EARLIEST = 0.1
"""Share of a run that lies before the earliest limit."""
RISK = 0.01
"""Accepted probability that a run overruns its limit, as usual for `--risk`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedLimits:
    """The outcome of simulated time limits.

    Attributes
    ----------
    limits : int
    risk : float
        Stated risk that a run overruns.
    overruns : int
    unused_cycles : float64 array, shape (run,)
        Predicted cycles that would have fitted into the remaining time; 0 after an overrun.
    """

    limits: int
    risk: float
    overruns: int
    unused_cycles: NDArray[np.float64]

    @property
    def mean_unused(self) -> float:
        """Mean over the runs."""
        return float(self.unused_cycles.mean())


def simulate_limits(
    runs: Sequence[AdaptiveRun],
    *,
    limits: int = 200,
    checkpoint_s: float | None = None,
) -> SimulatedLimits:
    """Stop recorded runs at limits drawn evenly over their duration.

    The decisions use the predictions that the run made before each cycle.

    Parameters
    ----------
    limits : int
        Number of limits, distributed over the runs.
    checkpoint_s : float, optional
        Time of the checkpoint that must end before the limit; by default the median of the run's
        own, or 0.

    Raises
    ------
    DataError
        There is no run.
    """
    if not runs:
        raise DataError(
            "There is no run to set limits to; record some with `hindmost run adaptive`."
        )
    random = np.random.default_rng(0)
    over, unused = 0, []
    shares = [limits // len(runs) + (k < limits % len(runs)) for k in range(len(runs))]
    for run, share in zip(runs, shares, strict=True):
        cost = checkpoint_s
        if cost is None:
            cost = float(np.median([each.seconds for each in run.checkpoints] or [0.0]))
        total = float(run.seconds.sum())
        drawn = random.uniform(EARLIEST * total, total, share)
        ends, next_s = stop_at(run, drawn, RISK, cost)
        over += int(np.count_nonzero(ends > drawn))
        unused += np.maximum(0.0, (drawn - ends) / next_s).tolist()
    return SimulatedLimits(limits=limits, risk=RISK, overruns=over, unused_cycles=np.array(unused))


def stop_at(
    run: AdaptiveRun, limits_s: NDArray[np.float64], risk: float, checkpoint_s: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when a run ends for each limit, its checkpoint included, and the next cycle predicted.

    One pass serves all limits: what the predictors learn does not depend on them.

    Returns
    -------
    ends, next : float64 arrays, shape (limit,), seconds
    """
    predicted = run.prediction(DECIDES)
    rules = [TimeLimit(float(limit), risk=risk) for limit in limits_s]
    ends = np.full(limits_s.size, np.nan)
    following = np.full(limits_s.size, float(run.seconds[-1]))
    going = list(range(limits_s.size))
    ratios, elapsed = Ratios(), 0.0
    for seconds, expected in zip(run.seconds.tolist(), predicted.tolist(), strict=True):
        on = []
        for each in going:
            if rules[each].decide(
                elapsed_s=elapsed, predicted_s=expected, ratios=ratios, checkpoint_s=checkpoint_s
            ):
                on.append(each)
            else:
                ends[each], following[each] = elapsed + checkpoint_s, expected
        going = on
        elapsed += seconds
        if np.isfinite(expected):
            ratios.observe(seconds / expected)
    ends[going] = elapsed + checkpoint_s
    return ends, following
