"""A later solve predicted from earlier ones, also with more iterations or another restart length.

The work of a body (iteration) depends on its place in the restart cycle: each orthogonalises
against one vector more than the one before (the paper sees it on a quiet machine, section 7). So
the solve is split into the mean time of every place, of restarts, of bodies that only drain a
pipeline (epilogue), and of what comes before and after, and reassembled for the requested length.
Places that were never reached continue the line through the last third of the others. A restart is
an update of the solution, in proportion to the cycle, and a residual, which costs as much as a
first body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.noise.all_ranks import AllRanks
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.text import counted, seconds

QUARTERS = 4
SKEWED = 0.01
"""Share by which the bodies of one rank sum to more than the mean of all, if ranks do not wait for
each other in every body."""
ROUNDING = 1e-3
"""Share by which a solve may miss its own interval without a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveParts:
    """The parts of one solve.

    Attributes
    ----------
    iterations : int
        Of the solver.
    restart : int
        Length of a restart cycle, 0 for solvers that do not restart.
    extra : int
        Bodies of a cycle beyond its iterations; a pipelined solver fills its pipeline (prologue).
    place_s : float64 array, shape (place,), seconds
        Mean time of each place in a cycle, or of each iteration of a solver that does not restart.
    drain_s : float
        Mean time of a body that drains the pipeline (epilogue); 0 if none does.
    restart_s : float
        Mean time between two cycles.
    lead_s : float
        Before the first body and after the last; also between solves, where there are no cycles.
    """

    iterations: int
    restart: int
    extra: int
    place_s: NDArray[np.float64]
    drain_s: float
    restart_s: float
    lead_s: float

    def solve_time_s(self, iterations: int, restart: int) -> float:
        """Return the time of a solve of given length, with restart cycles of given length."""
        if self.restart == 0:
            return self.lead_s + self._without_cycles(iterations)
        cycles, left = divmod(iterations, restart)
        pauses = (cycles + (left > 0) - 1) * self._pause_s(restart)
        bodies = cycles * self._cycle_s(restart) + (self._cycle_s(left) if left else 0.0)
        return self.lead_s + bodies + pauses

    def _without_cycles(self, iterations: int) -> float:
        """Sum bodies; those beyond the recorded ones take the mean of the second half."""
        bodies = iterations + self.place_s.size - self.iterations
        known = float(self.place_s[:bodies].sum())
        beyond = max(bodies - self.place_s.size, 0)
        return known + beyond * float(self.place_s[self.place_s.size // 2 :].mean())

    def _cycle_s(self, iterations: int) -> float:
        """Return the time of a cycle's bodies, as many as it has iterations, and the extra ones."""
        bodies = iterations + self.extra
        drains = 1 if self.drain_s else 0
        return self._places_s(bodies - drains) + self.drain_s

    def _places_s(self, count: int) -> float:
        """Sum the time of the first places, continued in a line where none were recorded."""
        known = self.place_s.size
        recorded = float(self.place_s[:count].sum())
        if count <= known:
            return recorded
        # The last ones say most of what follows: vectors fall out of one cache after the other.
        upper = np.arange(known - max(known // 3, 2), known) if known > 1 else np.arange(known)
        slope, level = (
            np.polyfit(upper, self.place_s[upper], 1) if upper.size > 1 else (0.0, self.place_s[-1])
        )
        # More vectors are never less work: a falling line is noise.
        rising = max(float(slope), 0.0)
        begin = max(float(level + slope * known), 0.0)
        beyond = count - known
        return recorded + beyond * begin + rising * beyond * (beyond - 1) / 2.0

    def _pause_s(self, restart: int) -> float:
        """Return the time of a restart after cycles of another length."""
        if self.restart_s <= 0.0:  # no restart was recorded
            return float(self.place_s[0])
        residual = min(float(self.place_s[0]), self.restart_s)
        return residual + (self.restart_s - residual) * restart / self.restart


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceInCycle:
    """The prediction of a later solve from earlier ones.

    Attributes
    ----------
    solves : tuple of SolveParts
        One a solve.
    solve_times_s : tuple of float
        Measured, one a solve.
    quarters : tuple of SolveParts
        Those of a single solve, whose scatter stands in for that of repeats.
    slowest_alone : bool
        Ranks do not wait for each other in every body, so bodies are of the slowest rank.
    """

    solves: tuple[SolveParts, ...]
    solve_times_s: tuple[float, ...]
    quarters: tuple[SolveParts, ...] = ()
    slowest_alone: bool = False
    name: str = "place-in-cycle"
    kind: ModelKind = ModelKind.PREDICTS

    def predict(self, iterations: int | None = None, restart: int | None = None) -> Prediction:
        """Return the median prediction of the solves, and a 90 % prediction interval.

        Parameters
        ----------
        iterations, restart : int, optional
            Those of the first solve if not given.

        Raises
        ------
        UsageError
            Less than one of either, or a restart length for a solver that does not restart.
        """
        from scipy import special  # not waited for by commands that fit nothing

        first = self.solves[0]
        count = first.iterations if iterations is None else iterations
        length = first.restart if restart is None else restart
        if count < 1 or (first.restart and length < 1):
            raise UsageError(f"{count} iterations in cycles of {length}; both must be at least 1.")
        if length and not first.restart:
            raise UsageError("This solver does not restart, so it has no restart length.")
        said = np.array([solve.solve_time_s(count, length) for solve in self.solves])
        middle = float(np.median(said))
        spread = said if said.size > 1 else self._of_quarters(count, length)
        # The logarithms of solve times are assumed normal: noise only adds, in proportion.
        logs = np.log(spread)
        width = 0.0
        if logs.size > 1:
            # A whole solve scatters less than its quarters, whose mean it is.
            share = 1.0 + 1.0 / logs.size if said.size > 1 else 2.0 / logs.size
            width = float(special.stdtrit(logs.size - 1, 0.95) * logs.std(ddof=1) * share**0.5)
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
            measured / solve.solve_time_s(solve.iterations, solve.restart)
            for measured, solve in zip(self.solve_times_s, self.solves, strict=True)
        ]
        worst = max(ratios, key=lambda ratio: abs(np.log(ratio)))
        if low <= worst <= high:
            return ""
        return (
            f"do not rely on this prediction: a recorded run took {worst:.3g} times what its own "
            "bodies predict, outside the interval"
        )

    def _of_quarters(self, iterations: int, restart: int) -> NDArray[np.float64]:
        return np.array([part.solve_time_s(iterations, restart) for part in self.quarters])

    def explain(self, iterations: int | None = None) -> str:
        """Return what the model assumes of a solve of some length, in a sentence."""
        first = self.solves[0]
        solves = counted(len(self.solves), "run")
        if self.slowest_alone:
            solves += " (slowest rank, as the iterations of the ranks differ in sum by over 1 %)"
        if not first.restart:
            rate = float(np.mean([c.place_s.mean() for c in self.solves]))
            words = f"From {solves}: an iteration takes {seconds(rate)} in the mean"
            if iterations is None or iterations <= first.iterations:
                return f"{words}."
            late = float(np.mean([c.place_s[c.place_s.size // 2 :].mean() for c in self.solves]))
            return f"{words}; further ones {seconds(late)}, as those of the second half."
        begin, end = (float(np.mean([c.place_s[at] for c in self.solves])) for at in (0, -1))
        pause = float(np.mean([c.restart_s for c in self.solves]))
        return (
            f"From {solves}: in a cycle of {first.restart} a body takes {seconds(begin)} at the "
            f"start and {seconds(end)} at the end, a restart {seconds(pause)}."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the parts of every solve."""
        return {
            "solves": [
                {
                    "place_s": solve.place_s.tolist() if solve.restart else None,
                    "drain_s": solve.drain_s,
                    "restart_s": solve.restart_s,
                    "lead_s": solve.lead_s,
                }
                for solve in self.solves
            ]
        }


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
    pairs = list(zip(solves, read, strict=True))
    taken_apart = tuple(parts_of_solve(times, body_s) for times, (body_s, _) in pairs)
    quarters = () if len(solves) > 1 else quarters_of(solves[0], read[0][0])
    return PlaceInCycle(
        solves=taken_apart,
        solve_times_s=tuple(times.solve_time_s for times in solves),
        quarters=quarters,
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

    Raises
    ------
    DataError
        Only some ranks keep their records, the slowest rank not among them.
    """
    if times.all_ranks is not None:
        return body_times_of_all(times, times.all_ranks)
    middle, sums = np.empty(times.iterations), np.zeros(times.ranks)
    for rows in times.blocks():
        block = times.durations_in(rows)
        middle[rows] = block.mean(axis=1)
        sums += block.sum(axis=0)
    if sums.max() <= (1.0 + SKEWED) * sums.mean():
        return middle, False
    slowest = int(np.argmax(sums))
    for rows in times.blocks():
        middle[rows] = times.durations_in(rows)[:, slowest]
    return middle, True


def body_times_of_all(times: SolveTimes, every: AllRanks) -> tuple[NDArray[np.float64], bool]:
    """Return the same where only some ranks have columns."""
    sums = every.total_s
    if sums.max() <= (1.0 + SKEWED) * sums.mean():
        return every.bodies.mean, False
    slowest = int(np.argmax(sums))
    column = int(np.searchsorted(every.kept, slowest))
    if column == every.kept.size or every.kept[column] != slowest:
        raise DataError(
            f"Ranks do not wait for each other in every iteration, so the solve lasts as long as "
            f"rank {slowest}, which has no full records. Run without --keep to predict from it."
        )
    rows = [times.durations_in(rows)[:, column] for rows in times.blocks()]
    return np.concatenate(rows), True


def parts_of_solve(
    times: SolveTimes, body_s: NDArray[np.float64], rows: slice = slice(None)
) -> SolveParts:
    """Split one solve into its parts, with means from all or some of its bodies.

    Parameters
    ----------
    body_s : float64 array, shape (iteration,), seconds
        See `body_times`.
    """
    solver_iterations = times.solver_iterations or times.iterations
    drains = (
        times.drain[rows] if times.drain is not None else np.zeros(times.iterations, bool)[rows]
    )
    position, taken = times.position[rows], body_s[rows]
    if times.restart:
        kept = ~drains
        count = np.bincount(position[kept])
        known = int(np.flatnonzero(np.append(count, 0) == 0)[0])
        place_s = np.bincount(position[kept], weights=taken[kept])[:known] / count[:known]
        cycles = int(np.count_nonzero(times.cycle_begins))
        extra = (times.iterations - solver_iterations) // cycles
    else:
        place_s = taken if rows == slice(None) else np.full(times.iterations, taken.mean())
        extra = 0
    return SolveParts(
        iterations=solver_iterations,
        restart=times.restart,
        extra=extra,
        place_s=place_s,
        drain_s=float(taken[drains].mean()) if times.restart and drains.any() else 0.0,
        restart_s=float(times.restarts.mean()) if times.restarts.size else 0.0,
        lead_s=times.between_s - (float(times.restarts.sum()) if times.restart else 0.0),
    )


def quarters_of(times: SolveTimes, body_s: NDArray[np.float64]) -> tuple[SolveParts, ...]:
    """Split the quarters of a solve into parts, if each has a whole cycle."""
    size = times.iterations // QUARTERS
    cycle = int(times.position.max()) + 1 if times.restart else 1
    if size < 2 * cycle:
        return ()
    return tuple(
        parts_of_solve(times, body_s, slice(first * size, (first + 1) * size))
        for first in range(QUARTERS)
    )
