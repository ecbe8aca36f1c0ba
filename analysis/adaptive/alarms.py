"""The test for interference on cycles drawn again: false alarms, and how soon it finds a slowdown.

Undisturbed cycles are drawn in blocks, so that neighbours stay neighbours, and put together to runs
of any number of cycles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.replays import FIRST
from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.errors import DataError
from hindmost.models.dynamic.interference import Interference
from hindmost.models.dynamic.offline import OfflineModel
from hindmost.models.dynamic.shape_level import ShapeLevel
from hindmost.models.dynamic.verdict import Kind

BLOCK = 10
LENGTH = 200
"""Cycles of a run that is put together."""
ONSET = 50
MACHINE = (Kind.SLOWER, Kind.FASTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """How the test does.

    Attributes
    ----------
    cycles, false_alarms : int
        Undisturbed cycles that were drawn, and alarms among them: changes of the machine, to the
        worse or back.
    factor : float
        The slowdown that was put on.
    delays : int64 array, shape (run,)
        Cycles from the first slow one, itself counted, to the verdict; 0 where none came.
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
        """Return the share of slowdowns that are found within so many cycles."""
        return float(np.mean((self.delays > 0) & (self.delays <= cycles)))


def simulate_alarms(
    runs: Sequence[AdaptiveRun],
    models: Sequence[OfflineModel | None] | None = None,
    *,
    cycles: int = 20_000,
    factor: float = 2.0,
    seed: int = 0,
) -> Alarms:
    """Draw undisturbed runs from recorded ones, and hold the test against them.

    Each recorded run is drawn from by itself, in turn.

    Parameters
    ----------
    models : sequence of OfflineModel or None, optional
        The baseline of every run; levels of its phases where there is none.
    cycles : int
        Undisturbed cycles in all, at least; as many runs are drawn with a slowdown.
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
        found = (at for at, kind in changes(slow) if at >= ONSET and kind is Kind.SLOWER)
        delays.append(next(found, ONSET - 1) - ONSET + 1)
    return Alarms(
        cycles=count * LENGTH,
        false_alarms=alarms,
        factor=factor,
        delays=np.array(delays, np.int64),
    )


def deviations(run: AdaptiveRun, model: OfflineModel | None = None) -> NDArray[np.float64]:
    """Return log(measured / baseline) of the cycles, float64 array, shape (cycle,).

    The baseline is the offline model with the iterations that were done, or levels of the phases
    that follow the run.
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
    return np.array(found[FIRST:])


def drawn(off: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Return a run of blocks drawn from a run, which is taken to go round."""
    begins = random.integers(0, off.size, -(-LENGTH // BLOCK))
    places = (begins[:, None] + np.arange(BLOCK)).ravel()[:LENGTH]
    chosen: NDArray[np.float64] = off[places % off.size]
    return chosen


def changes(off: NDArray[np.float64]) -> Iterator[tuple[int, Kind]]:
    """Yield the cycles in which the test finds the machine changed."""
    test = Interference()
    for cycle, each in enumerate(off.tolist()):
        verdict = test.observe(math.exp(each), 1.0)
        if verdict.change and verdict.kind in MACHINE:
            yield cycle, verdict.kind
