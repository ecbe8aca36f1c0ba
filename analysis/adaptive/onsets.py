"""Where a neighbour came: how soon a run noticed, and how right it then predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.analysis.adaptive.limits import DECIDES
from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.models.dynamic.verdict import Kind

LATE = 20
"""Cycles after which a verdict is not taken to be of an onset."""
SETTLED = 3
"""Cycles after an onset from which on predictions should be right again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Onset:
    """A cycle from which on a neighbour ran.

    Attributes
    ----------
    run : AdaptiveRun
    cycle : int
    length : int
        Cycles for which it ran.
    factor : float
        Median time of these cycles over that of as many before; the cells may have changed.
    delay : int or None
        Cycles to the verdict "machine slower", the first slow one counted; None where none came.
    error_percent : float
        Mean absolute error of the predictor that decides, from the fourth slow cycle on; NaN for
        stretches that are too short.
    """

    run: AdaptiveRun
    cycle: int
    length: int
    factor: float
    delay: int | None
    error_percent: float


def find_onsets(run: AdaptiveRun) -> list[Onset]:
    """Return every onset in a run; none where no neighbour was made to run."""
    ran = run.neighbour.astype(np.int8)
    begins = np.flatnonzero(np.diff(np.concatenate([[0], ran])) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([ran, [0]])) == -1) + 1
    slower = [each["cycle"] for each in run.verdicts if each["kind"] == Kind.SLOWER]
    found = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        cycle = begin + run.first_cycle
        last = cycle + min(LATE, end - begin)
        delay = next((int(at) - cycle + 1 for at in slower if cycle <= at < last), None)
        before = run.seconds[max(0, 2 * begin - end) : begin]
        usual = np.median(before) if before.size else np.nan
        found.append(
            Onset(
                run=run,
                cycle=cycle,
                length=end - begin,
                factor=float(np.median(run.seconds[begin:end]) / usual),
                delay=delay,
                error_percent=error_between(run, begin + SETTLED, end),
            )
        )
    return found


def error_between(run: AdaptiveRun, begin: int, end: int) -> float:
    """Return the mean absolute error of the predictor that decides, over some cycles."""
    if begin >= end or DECIDES not in run.predictors:
        return float("nan")
    said, took = run.prediction(DECIDES)[begin:end], run.seconds[begin:end]
    return float(100.0 * np.nanmean(np.abs(said - took) / took))
