"""A later solve predicted from earlier ones, also with more iterations.

The work of a body (iteration) depends on its place in the restart cycle: each orthogonalises
against one vector more than the one before (the paper sees it on a quiet machine, section 7). So
the recorded bodies are put together anew for the requested length, by the rules of a replay
(`hindmost.models.simulation.length`), as those of a single rank that waits for nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.inference import student_reach
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.models.simulation.blocks import EventBlock
from hindmost.models.simulation.length import SolveShape, checked, choose_bodies
from hindmost.text import counted, seconds

QUARTERS = 4
SKEWED = 0.01
"""Share by which the bodies of one rank sum to more than the mean of all, if ranks do not wait for
each other in every body."""
ROUNDING = 1e-3
"""Share by which a solve may miss its own interval without a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSolve:
    """The bodies of one solve, and the time between them.

    Attributes
    ----------
    shape : SolveShape
    block : EventBlock
        The bodies as the work of one rank.
    position : int32 array, shape (iteration,)
        Place in the restart cycle.
    lead_s : float
        Before the first body and after the last; also between solves, where there are no cycles.
    restarts_s : float64 array, shape (restart,), seconds
        Time between two cycles.
    """

    shape: SolveShape
    block: EventBlock
    position: NDArray[np.int32]
    lead_s: float
    restarts_s: NDArray[np.float64]

    def solve_time_s(self, iterations: int) -> float:
        """Return the time of a solve of given length."""
        between = np.concatenate([[self.lead_s], self.restarts_s])[:, None]
        parts, before, counts = choose_bodies(self.block, between, self.shape, iterations)
        cycles = np.array([self.body_s[part].sum() for part in parts])
        return float(cycles @ counts.times + before[:, 0] @ counts.before + counts.more_s)

    @property
    def body_s(self) -> NDArray[np.float64]:
        """Time of every body, shape (iteration,), seconds."""
        return np.asarray(self.block.work[:, 0, 0], np.float64)

    @property
    def place_s(self) -> NDArray[np.float64]:
        """Mean time of each place in a cycle, drains apart: shape (place,), seconds."""
        kept = ~self.shape.drain
        count = np.bincount(self.position[kept])
        known = int(np.flatnonzero(np.append(count, 0) == 0)[0])
        sums = np.bincount(self.position[kept], weights=self.body_s[kept])
        return np.asarray(sums[:known] / count[:known])

    @property
    def restart_s(self) -> float:
        """Mean time between two cycles."""
        return float(self.restarts_s.mean()) if self.restarts_s.size else 0.0

    def quarters(self) -> list[float]:
        """Return how long the bodies of each quarter take, over the mean of their places."""
        whole = int(self.position.max()) + 1 if self.shape.restart else 1
        size = self.body_s.size // QUARTERS
        if size < 2 * whole:
            return []
        if self.shape.restart:
            _, place = np.unique(2 * self.position + self.shape.drain, return_inverse=True)
            usual = (np.bincount(place, self.body_s) / np.bincount(place))[place]
        else:
            usual = np.full(self.body_s.size, self.body_s.mean())
        parts = [slice(first * size, (first + 1) * size) for first in range(QUARTERS)]
        return [float(self.body_s[rows].sum() / usual[rows].sum()) for rows in parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceInCycle:
    """The prediction of a later solve from earlier ones.

    Attributes
    ----------
    solves : tuple of RecordedSolve
    solve_times_s : tuple of float
        Measured, one a solve.
    quarters : tuple of float
        Of a single solve: how long its quarters take, over its mean. Their scatter stands in for
        that of repeats.
    slowest_alone : bool
        Ranks do not wait for each other in every body, so bodies are of the slowest rank.
    """

    solves: tuple[RecordedSolve, ...]
    solve_times_s: tuple[float, ...]
    quarters: tuple[float, ...] = ()
    slowest_alone: bool = False
    name: str = "place-in-cycle"
    kind: ModelKind = ModelKind.PREDICTS

    def predict(self, iterations: int | None = None) -> Prediction:
        """Return the median prediction of the solves, and a 90 % prediction interval.

        Parameters
        ----------
        iterations : int, optional
            Those of the first solve if not given.

        Raises
        ------
        UsageError
            Less than one.
        """
        wanted = checked(self.solves[0].shape, iterations).iterations
        said = np.array([solve.solve_time_s(wanted) for solve in self.solves])
        middle = float(np.median(said))
        spread = said if said.size > 1 else np.array(self.quarters)
        # The logarithms of solve times are assumed normal: noise only adds, in proportion.
        logs = np.log(spread)
        width = 0.0
        if logs.size > 1:
            # A whole solve scatters less than its quarters, whose mean it is.
            width = student_reach(logs, further=said.size > 1)
            width *= 1.0 if said.size > 1 else 2.0**0.5
        return Prediction(
            seconds=middle,
            low_s=float(middle * np.exp(-width)),
            high_s=float(middle * np.exp(width)),
        )

    @property
    def own_width(self) -> float:
        """Half the width of the interval for the recorded length, as a logarithm; 0 for none."""
        own = self.predict()
        return float(np.log(own.high_s / own.seconds))

    @property
    def own_miss(self) -> str:
        """Which measured solve lies outside the interval for its own length; empty if none does."""
        own = self.predict()
        low, high = own.low_s / own.seconds - ROUNDING, own.high_s / own.seconds + ROUNDING
        ratios = [
            measured / solve.solve_time_s(solve.shape.iterations)
            for measured, solve in zip(self.solve_times_s, self.solves, strict=True)
        ]
        worst = max(ratios, key=lambda ratio: abs(np.log(ratio)))
        if low <= worst <= high:
            return ""
        return (
            f"do not rely on this prediction: a recorded run took {worst:.3g} times what its own "
            "iterations predict, outside the interval"
        )

    def explain(self, iterations: int | None = None) -> str:
        """Return what the model assumes of a solve of some length, in a sentence."""
        solves = counted(len(self.solves), "run")
        if self.slowest_alone:
            solves += " (slowest rank, as the iterations of the ranks differ in sum by over 1 %)"
        shape = self.solves[0].shape
        if not shape.restart:
            rate = float(np.mean([solve.body_s.mean() for solve in self.solves]))
            words = f"From {solves}: an iteration takes {seconds(rate)} in the mean"
            if iterations is None or iterations <= shape.iterations:
                return f"{words}."
            halves = [solve.body_s[solve.body_s.size // 2 :].mean() for solve in self.solves]
            late = float(np.mean(halves))
            return f"{words}; further ones {seconds(late)}, as those of the second half."
        begin, end = (float(np.mean([c.place_s[at] for c in self.solves])) for at in (0, -1))
        pause = float(np.mean([c.restart_s for c in self.solves]))
        return (
            f"From {solves}: in a cycle of {shape.restart} an iteration takes {seconds(begin)} at "
            f"the start and {seconds(end)} at the end, a restart {seconds(pause)}."
        )


def fit_places(solves: Sequence[SolveTimes]) -> PlaceInCycle:
    """Split earlier solves of one configuration into their parts.

    Parameters
    ----------
    solves : sequence of SolveTimes
        All of the same solver, restart length and number of iterations.

    Raises
    ------
    DataError
        No solve, or solves that are not alike.
    """
    if not solves:
        raise DataError("There is no earlier solve to predict from.")
    kinds = {(times.restart, times.solver_iterations) for times in solves}
    if len(kinds) > 1:
        raise DataError(
            f"Solves of unlike restart length and iterations: {sorted(kinds)}; predict from alike."
        )
    read = [body_times(times) for times in solves]
    recorded = tuple(
        recorded_solve(times, body_s) for times, (body_s, _) in zip(solves, read, strict=True)
    )
    return PlaceInCycle(
        solves=recorded,
        solve_times_s=tuple(times.solve_time_s for times in solves),
        quarters=() if len(solves) > 1 else tuple(recorded[0].quarters()),
        slowest_alone=any(alone for _, alone in read),
    )


def body_times(times: SolveTimes) -> tuple[NDArray[np.float64], bool]:
    """Return the time of every body: of the mean rank, or of the slowest if ranks do not meet.

    Ranks that wait for each other in every body all take the same time. Otherwise the solve takes
    as long as the rank whose bodies have the largest sum.

    Returns
    -------
    float64 array, shape (iteration,), seconds
    bool
        Whether they are those of the slowest rank.
    """
    every = times.all_ranks
    if every is not None:
        middle, sums = every.digest.middle, every.total_s
    else:
        middle, sums = np.empty(times.iterations), np.zeros(times.ranks)
        for rows in times.blocks():
            block = times.durations_in(rows)
            middle[rows] = block.mean(axis=1)
            sums += block.sum(axis=0)
    if sums.max() <= (1.0 + SKEWED) * sums.mean():
        return middle, False
    slowest = int(np.argmax(sums))
    kept = np.arange(times.ranks) if every is None else every.kept
    if slowest not in kept:
        raise DataError(
            f"Ranks do not wait for each other in every iteration, so the solve lasts as long as "
            f"rank {slowest}, which has no full records. Record those of all ranks."
        )
    column = int(np.searchsorted(kept, slowest))
    return np.concatenate([times.durations_in(rows)[:, column] for rows in times.blocks()]), True


def recorded_solve(times: SolveTimes, body_s: NDArray[np.float64]) -> RecordedSolve:
    """Return the bodies of a solve as those of one rank.

    Parameters
    ----------
    body_s : float64 array, shape (iteration,), seconds
        See `body_times`.
    """
    iterations = times.solver_iterations or times.iterations
    begins = times.cycle_begins if times.restart else np.arange(times.iterations) == 0
    work = np.asarray(body_s, np.float64)[:, None, None]
    return RecordedSolve(
        shape=SolveShape(
            solver="",
            iterations=iterations,
            restart=times.restart,
            drain=np.zeros(times.iterations, bool) if times.drain is None else times.drain,
            extra=(times.iterations - iterations) // int(begins.sum()) if times.restart else 0,
        ),
        block=EventBlock(
            kind=np.zeros((times.iterations, 1), np.uint8),
            work=work,
            duration=np.zeros_like(work),
            rest=np.zeros(work.shape[:2]),
            cycle_begins=begins,
        ),
        position=times.position,
        lead_s=times.between_s - (float(times.restarts.sum()) if times.restart else 0.0),
        restarts_s=times.restarts if times.restart else np.empty(0),
    )
