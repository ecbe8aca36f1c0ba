"""What recording costs a solve: armed against disarmed in one process, in interleaved pairs.

Run by ``make bench-recorder`` on 1 and 2 ranks. The recorder is loaded and connected to PETSc in
all variants: disarmed it returns at once. A KSP monitor in Python stands beside it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness import petsc
from hindmost.harness.attach.raw import Frame, RawSection
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.recorder.library import record_cost_ns
from hindmost.harness.runfile.time_left import WatchedPart
from hindmost.harness.solves.recorded import RecordedSolver

TARGETS_US = {20: 2000, 100: 1000, 1000: 200}
"""Time of an iteration to aim at, and iterations of a solve at it."""
GOALS = {20: 1.03, 100: 1.01, 1000: 1.005}
PAIRS = 40
RESAMPLES = 2000
SPARE = 100_000


class Bench:
    """One solver on one size, timed in several ways.

    Parameters
    ----------
    unknowns, iterations : int
    """

    def __init__(self, unknowns: int, iterations: int, name: str, parallel: petsc.Parallel) -> None:
        self._parallel = parallel
        self._iterations = iterations
        problem = PROBLEMS["laplacian-1d"]
        world = parallel.PETSc.COMM_WORLD
        self._system = problem.build(SystemRequest(unknowns=unknowns), parallel.PETSc, world)
        self._solver = RecordedSolver(
            SOLVERS[name],
            self._system,
            iterations=iterations,
            preconditioner="jacobi",
            parallel=parallel,
        )
        self._solver.warm_up()
        self.ksp = self._solver.ksp
        self._monitored = [0.0]

    def solve(self) -> float:
        """Solve and return the seconds of the slowest rank an iteration."""
        system, ksp = self._system, self._solver.ksp
        system.solution.set(0.0)
        begin = time.perf_counter()
        ksp.solve(system.right_side, system.solution)
        return time.perf_counter() - begin

    def disarmed(self) -> float:
        """Return the time of an iteration with the recorder disarmed, in microseconds."""
        self._world.Barrier()
        return self._slowest(self.solve())

    def armed(self) -> float:
        """Return the time of an iteration while it is recorded, in microseconds."""
        return self._slowest(self.recorded()[0].facts.seconds)

    def recorded(self, watched: WatchedPart | None = None) -> tuple[RawSection, ...]:
        """Solve once while it is recorded, maybe watched; return what was: one section."""
        part = self._solver.begin(self._solver.records_needed + SPARE, watched=watched)
        self.solve()
        part.end()
        program, _ = part.sections()
        part.remove()
        return program.here[self._world.rank].sections

    def monitored(self) -> float:
        """Return the time of an iteration with a monitor in Python, in microseconds."""
        ksp, stamps = self._solver.ksp, self._monitored

        def monitor(_ksp: object, _iteration: int, _norm: float) -> None:
            stamps[0] = time.perf_counter()

        ksp.setMonitor(monitor)
        self._world.Barrier()
        took = self.solve()
        ksp.cancelMonitor()
        return self._slowest(took)

    def records_an_iteration(self) -> tuple[float, float]:
        """Return marks and MPI intervals of this rank an iteration."""
        records = self.recorded()[0].array(Frame.RECORDS)
        intervals = int(np.count_nonzero(records["what"] < 0))
        return (records.size - intervals) / self._iterations, intervals / self._iterations

    @property
    def _world(self) -> Any:
        return self._parallel.communicator

    def _slowest(self, seconds: float) -> float:
        return float(max(self._world.allgather(seconds)) / self._iterations * 1e6)


def size_for(target_us: float, name: str, parallel: petsc.Parallel) -> int:
    """Find a number of unknowns at which an iteration takes about so long."""
    unknowns = 2000 * parallel.communicator.size
    for _ in range(6):
        took = min(Bench(unknowns, 300, name, parallel).disarmed() for _ in range(2))
        took = float(parallel.communicator.bcast(took))
        if 0.8 < took / target_us < 1.25:
            break
        unknowns = max(100, int(unknowns * np.clip(target_us / took, 0.1, 10.0)))
    return int(unknowns)


def interval(
    statistic: Callable[[NDArray[np.float64]], float], values: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the 90 % interval of a statistic by resampling."""
    random = np.random.default_rng(0)
    drawn = [statistic(random.choice(values, values.size)) for _ in range(RESAMPLES)]
    return float(np.quantile(drawn, 0.05)), float(np.quantile(drawn, 0.95))


def main() -> None:
    """Measure and print one line a size."""
    name = sys.argv[1]
    parallel = petsc.start()
    ranks, first = parallel.communicator.size, parallel.communicator.rank == 0
    mark_ns, interval_ns = record_cost_ns(interval=False), record_cost_ns(interval=True)
    for target, iterations in TARGETS_US.items():
        bench = Bench(size_for(target, name, parallel), iterations, name, parallel)
        rows = []
        for pair in range(PAIRS):
            both = [bench.disarmed, bench.armed]
            times = {each.__name__: each() for each in (both if pair % 2 else both[::-1])}
            times["monitored"] = bench.monitored()
            rows.append((times["disarmed"], times["armed"], times["monitored"]))
        marks, intervals = bench.records_an_iteration()
        off, on, monitor = np.array(rows).T
        ratio = on / off
        low, high = interval(lambda values: float(np.median(values)), ratio)
        counted_ns = marks * mark_ns + intervals * interval_ns
        goal = GOALS[target]
        verdict = "reached" if high <= goal else "missed" if low > goal else "undecided"
        if first:
            cells = (
                f"{name:7}{ranks} ranks {np.median(off):7.1f} us/it",
                f"{marks:3.1f} marks of {mark_ns:.0f} ns, {intervals:3.1f} calls of "
                f"{interval_ns:.0f} ns: {counted_ns:.0f} ns/it, "
                f"{1 + counted_ns * 1e-3 / np.median(off):.4f}",
                f"measured {np.median(ratio):.4f} [{low:.4f}, {high:.4f}], "
                f"of minima {on.min() / off.min():.4f}",
                f"goal {goal}: {verdict}",
                f"Python monitor {np.median(monitor / off):.4f}",
            )
            print(" | ".join(cells), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
