"""A later solve predicted from earlier ones, also of more iterations or another restart length.

The work of a body depends on its place in the restart cycle: each orthogonalises against one vector
more than the one before (the paper sees it on a quiet machine, section 7). So the solve is taken
apart into the mean time of every place, of restarts, of bodies that only drain a pipeline and of
what comes before and after, and put together again for what is asked. Places that were never
reached continue the line through the last third of those that were. A restart is an update of the
solution, as long as the cycle was, and a residual, which costs as much as a first body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.errors import DataError, UsageError
from hindmost.models.results import Kind, Prediction
from hindmost.models.stochastic.digest import Digest
from hindmost.models.stochastic.times import SolveTimes

QUARTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The parts of one solve.

    Attributes
    ----------
    iterations : int
        Of the solver.
    restart : int
        Length of a restart cycle, 0 for solvers that do not restart.
    extra : int
        Bodies of a cycle beyond its iterations; those of a pipelined solver fill its pipeline.
    place_s : float64 array, shape (place,), seconds
        Mean time of each place in a cycle, or of each iteration of a solver that does not restart.
    drain_s : float
        Mean time of a body that drains the pipeline; 0 where none does.
    restart_s : float
        Mean time between two cycles.
    lead_s : float
        Before the first body and after the last.
    """

    iterations: int
    restart: int
    extra: int
    place_s: NDArray[np.float64]
    drain_s: float
    restart_s: float
    lead_s: float

    def solve_time_s(self, iterations: int, restart: int) -> float:
        """Return the time of a solve of so many iterations with cycles of such a length."""
        if self.restart == 0:
            return self.lead_s + self._without_cycles(iterations)
        cycles, left = divmod(iterations, restart)
        pauses = (cycles + (left > 0) - 1) * self._pause_s(restart)
        bodies = cycles * self._cycle_s(restart) + (self._cycle_s(left) if left else 0.0)
        return self.lead_s + bodies + pauses

    def _without_cycles(self, iterations: int) -> float:
        """Sum bodies; those beyond the recorded ones take what the second half takes."""
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
    """What earlier solves say of a later one.

    Attributes
    ----------
    courses : tuple of Course
        One a solve.
    parts : tuple of Course
        The quarters of a single solve, whose scatter stands in for that of repeats.
    """

    courses: tuple[Course, ...]
    parts: tuple[Course, ...] = ()
    name: str = "place-in-cycle"
    kind: Kind = Kind.PREDICTS

    def predict(self, iterations: int | None = None, restart: int | None = None) -> Prediction:
        """Return the median of what the solves say, and where 90 % of later ones would lie.

        Parameters
        ----------
        iterations, restart : int, optional
            As in the first solve, if not given.

        Raises
        ------
        UsageError
            Less than one of either, or a restart length for a solver that does not restart.
        """
        first = self.courses[0]
        count = first.iterations if iterations is None else iterations
        length = first.restart if restart is None else restart
        if count < 1 or (first.restart and length < 1):
            raise UsageError(f"{count} iterations in cycles of {length}; both must be at least 1.")
        if length and not first.restart:
            raise UsageError("This solver does not restart, so it has no restart length.")
        said = np.array([course.solve_time_s(count, length) for course in self.courses])
        middle = float(np.median(said))
        spread = said if said.size > 1 else self._of_quarters(count, length)
        # The logarithms of solve times are taken to be normal: noise only adds, in proportion.
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

    def _of_quarters(self, iterations: int, restart: int) -> NDArray[np.float64]:
        return np.array([part.solve_time_s(iterations, restart) for part in self.parts])

    def explain(self) -> str:
        """Say it in a sentence."""
        first = self.courses[0]
        solves = f"{len(self.courses)} solves" if len(self.courses) > 1 else "one solve"
        if not first.restart:
            rate = float(np.mean([c.place_s[c.place_s.size // 2 :].mean() for c in self.courses]))
            return f"From {solves}: an iteration takes {rate * 1e6:.1f} us."
        begin, end = (float(np.mean([c.place_s[at] for c in self.courses])) for at in (0, -1))
        pause = float(np.mean([c.restart_s for c in self.courses]))
        return (
            f"From {solves}: in a cycle of {first.restart} a body takes {begin * 1e6:.1f} us at "
            f"first and {end * 1e6:.1f} us at last, a restart {pause * 1e6:.1f} us."
        )

    def parameters(self) -> dict[str, Any]:
        """Return the parts of every solve."""
        return {
            "solves": [
                {
                    "place_s": course.place_s.tolist() if course.restart else None,
                    "drain_s": course.drain_s,
                    "restart_s": course.restart_s,
                    "lead_s": course.lead_s,
                }
                for course in self.courses
            ]
        }


def fit_places(solves: Sequence[SolveTimes]) -> PlaceInCycle:
    """Take earlier solves of one configuration apart.

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
        raise DataError("No earlier solve, so nothing can be said of a later one.")
    kinds = {(times.restart, times.solver_iterations) for times in solves}
    if len(kinds) > 1:
        raise DataError(
            f"Solves of unlike restart length and iterations: {sorted(kinds)}; predict from alike."
        )
    courses = tuple(course_of(times) for times in solves)
    parts = () if len(courses) > 1 else quarters_of(solves[0])
    return PlaceInCycle(courses=courses, parts=parts)


def course_of(times: SolveTimes, rows: slice = slice(None)) -> Course:
    """Take one solve apart, or means from some of its bodies."""
    solver_iterations = times.solver_iterations or times.iterations
    body_s = Digest.of(times, keep_fill=True).middle
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
    return Course(
        iterations=solver_iterations,
        restart=times.restart,
        extra=extra,
        place_s=place_s,
        drain_s=float(taken[drains].mean()) if times.restart and drains.any() else 0.0,
        restart_s=float(times.restarts.mean()) if times.restarts.size else 0.0,
        lead_s=times.between_s - float(times.restarts.sum()),
    )


def quarters_of(times: SolveTimes) -> tuple[Course, ...]:
    """Take the quarters of a solve apart, where each has a whole cycle."""
    size = times.iterations // QUARTERS
    cycle = int(times.position.max()) + 1 if times.restart else 1
    if size < 2 * cycle:
        return ()
    return tuple(
        course_of(times, slice(first * size, (first + 1) * size)) for first in range(QUARTERS)
    )
