"""The test for interference: undisturbed cycles, false alarms in them, and recorded neighbours.

A probe on the same cores shows which cycles were undisturbed, and says nothing about their time: it
is the pulse, a fixed computation right before and right after the cycle on the core of every rank,
and the share of the cycle in which a rank did not have its core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.replays import FIRST
from hindmost.analysis.runs.cycles import DECIDES, AdaptiveRun
from hindmost.models.adaptive.interference import CycleJudge, CycleKind
from hindmost.models.adaptive.offline import OfflineModel

MACHINE = (CycleKind.SLOWER, CycleKind.FASTER)
LATE = 20
"""Cycles after which a verdict does not belong to an onset."""
SETTLED = 3
"""Cycles after an onset by which predictions should have adapted."""
FAST = 0.1
"""Quantile of a rank's pulses that stands for its undisturbed core and memory."""
SLOW_CORE, SLOW_MEMORY = 1.08, 1.5
"""Pulses over that quantile from which on a core, or its memory, is disturbed. Two passes over the
same memory differ by more than two computations do."""
LOST = 0.01
"""Share of a cycle from which on a rank without its core is disturbed."""


def undisturbed_cycles(run: AdaptiveRun) -> NDArray[np.bool_] | None:
    """Return which cycles were undisturbed on every rank.

    The first cycle never counts: there is no pulse before it.

    Returns
    -------
    bool array, shape (cycle,), or None
        None if the run has no pulses.
    """
    pulses = run.pulses_s
    if not pulses.shape[0]:
        return None
    fast = np.quantile(pulses, FAST, axis=0)
    calm = (pulses <= fast * np.array([SLOW_CORE, SLOW_MEMORY])).all(axis=(1, 2))
    calm[FIRST:] &= calm[:-FIRST]
    calm[:FIRST] = False
    found: NDArray[np.bool_] = calm & (run.lost < LOST).all(axis=1)
    return found


def undisturbed_share(runs: Iterable[AdaptiveRun]) -> float | None:
    """Return the share of undisturbed cycles in runs; None if none has pulses."""
    found = [calm for run in runs if (calm := undisturbed_cycles(run)) is not None]
    return float(np.mean(np.concatenate(found))) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAlarms:
    """False alarms on recorded cycles that the probe shows undisturbed.

    Attributes
    ----------
    cycles, of : int
        Undisturbed cycles, and all cycles of these runs.
    false_alarms : int
        Detected changes of the machine among the undisturbed cycles.
    """

    cycles: int
    of: int
    false_alarms: int

    @property
    def per_thousand(self) -> float:
        """False alarms in 1000 undisturbed cycles."""
        return 1000.0 * self.false_alarms / self.cycles


def count_alarms(
    runs: Sequence[AdaptiveRun], models: Sequence[OfflineModel | None] | None = None
) -> RecordedAlarms | None:
    """Judge the undisturbed cycles of each run as if the others had not been.

    What is judged is what the run itself judged; each change that is found is a false alarm.

    Parameters
    ----------
    models : sequence of OfflineModel or None, optional
        The baseline of each run.

    Returns
    -------
    RecordedAlarms or None
        None if the probe shows no undisturbed cycle.
    """
    cycles = of = alarms = 0
    for run, model in zip(runs, models or [None] * len(runs), strict=True):
        calm = undisturbed_cycles(run)
        if calm is None:
            continue
        judge = CycleJudge(model)
        verdicts = [judge.observe(run.spents[k], run.works[k]) for k in np.flatnonzero(calm)]
        alarms += sum(1 for each in verdicts if each.change and each.kind in MACHINE)
        cycles, of = cycles + len(verdicts), of + calm.size
    return RecordedAlarms(cycles=cycles, of=of, false_alarms=alarms) if cycles else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Onset:
    """The onset of a neighbour.

    Attributes
    ----------
    run : AdaptiveRun
    cycle : int
    length : int
        Number of cycles in which it ran.
    factor : float
        Median time of these cycles over that of as many before; the cells may have changed.
    delay : int or None
        Cycles to the verdict "machine slower", counted from 1; None if undetected.
    error_percent : float
        Mean absolute error of the predictor that decides, from the fourth slow cycle on; NaN if
        there are fewer.
    """

    run: AdaptiveRun
    cycle: int
    length: int
    factor: float
    delay: int | None
    error_percent: float


def find_onsets(run: AdaptiveRun) -> list[Onset]:
    """Return the onsets of neighbours in a run."""
    ran = run.neighbour.astype(np.int8)
    begins = np.flatnonzero(np.diff(np.concatenate([[0], ran])) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([ran, [0]])) == -1) + 1
    slower = [each.cycle for each in run.verdicts if each.kind == CycleKind.SLOWER]
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
