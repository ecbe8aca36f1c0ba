"""The test for interference: false alarms, slowdowns it finds, and neighbours in recorded runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.replays import FIRST
from hindmost.analysis.adaptive.undisturbed import undisturbed_cycles
from hindmost.analysis.runs.cycles import DECIDES, AdaptiveRun
from hindmost.errors import DataError
from hindmost.models.adaptive.cycle_judge import CycleJudge
from hindmost.models.adaptive.cycle_verdict import CycleKind
from hindmost.models.adaptive.interference import Interference
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.shape_level import ShapeLevel

BLOCK = 10
LENGTH = 200
"""Cycles of a drawn run."""
ONSET = 50
MACHINE = (CycleKind.SLOWER, CycleKind.FASTER)
LATE = 20
"""Cycles after which a verdict does not belong to an onset."""
SETTLED = 3
"""Cycles after an onset by which predictions should have adapted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """How well the test for interference works.

    Attributes
    ----------
    cycles, false_alarms : int
        Undisturbed cycles that were drawn, and alarms among them: detected changes of the machine.
    factor : float
        The slowdown of the slow cycles.
    delays : int64 array, shape (run,)
        Cycles from the first slow one, counted from 1, to its detection; 0 if undetected.
    """

    cycles: int
    false_alarms: int
    factor: float
    delays: NDArray[np.int64]

    @property
    def per_thousand(self) -> float:
        """False alarms in 1000 cycles."""
        return 1000.0 * self.false_alarms / self.cycles

    def found_within(self, cycles: int) -> float:
        """Return the share of slowdowns that are detected within a number of cycles."""
        return float(np.mean((self.delays > 0) & (self.delays <= cycles)))


def simulate_alarms(
    runs: Sequence[AdaptiveRun],
    models: Sequence[OfflineModel | None] | None = None,
    *,
    cycles: int = 20_000,
    factor: float = 2.0,
    seed: int = 0,
) -> Alarms:
    """Draw undisturbed runs from recorded ones, and apply the test to them.

    Each drawn run comes from one recorded run; the recorded runs take turns. Cycles that the probe
    shows disturbed are not drawn.

    Parameters
    ----------
    models : sequence of OfflineModel or None, optional
        The baseline of each run; without one, levels of its phases.
    cycles : int
        Minimum number of undisturbed cycles; as many runs are drawn with a slowdown.
    factor : float
        Slowdown from cycle 50 of a drawn run on.

    Raises
    ------
    DataError
        There is no run with enough cycles.
    """
    offs = [
        deviations(run, model)
        for run, model in zip(runs, models or [None] * len(runs), strict=True)
        if run.seconds.size > FIRST + BLOCK
    ]
    offs = [each for each in offs if each.size >= BLOCK]
    if not offs:
        raise DataError(f"No undisturbed run has more than {FIRST + BLOCK} cycles to draw from.")
    random = np.random.default_rng(seed)
    count = math.ceil(cycles / LENGTH)
    alarms, delays = 0, []
    for number in range(count):
        off = offs[number % len(offs)]
        alarms += sum(1 for _ in changes(drawn(off, random)))
        slow = drawn(off, random)
        slow[ONSET:] += math.log(factor)
        found = (at for at, kind in changes(slow) if at >= ONSET and kind is CycleKind.SLOWER)
        delays.append(next(found, ONSET - 1) - ONSET + 1)
    return Alarms(
        cycles=count * LENGTH,
        false_alarms=alarms,
        factor=factor,
        delays=np.array(delays, np.int64),
    )


def deviations(run: AdaptiveRun, model: OfflineModel | None = None) -> NDArray[np.float64]:
    """Return log(measured / baseline) of the cycles, float64 array, shape (cycle,).

    The baseline is the offline model with the actual iterations, or levels of the phases that
    follow the run.
    """
    levels = ShapeLevel(name="baseline")
    found = []
    for work, spent in zip(run.works, run.spents, strict=True):
        iterations = spent.iterations or work.iterations
        parts = (
            levels.expected_phases_s(work, iterations)
            if model is None
            else model.phases_s(work, iterations)
        )
        found.append(math.log(spent.seconds / (sum(parts) or spent.seconds)))
        if model is None:
            levels.observe(spent, work)
    calm = undisturbed_cycles(run)
    kept = slice(FIRST, None) if calm is None else calm
    return np.array(found)[kept]


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


def drawn(off: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Return blocks drawn from a run; a block that reaches its end goes on at its begin."""
    begins = random.integers(0, off.size, -(-LENGTH // BLOCK))
    places = (begins[:, None] + np.arange(BLOCK)).ravel()[:LENGTH]
    chosen: NDArray[np.float64] = off[places % off.size]
    return chosen


def changes(off: NDArray[np.float64]) -> Iterator[tuple[int, CycleKind]]:
    """Yield the cycles in which the test detects a change of the machine."""
    test = Interference()
    for cycle, each in enumerate(off.tolist()):
        verdict = test.observe(math.exp(each), 1.0)
        if verdict.change and verdict.kind in MACHINE:
            yield cycle, verdict.kind


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
