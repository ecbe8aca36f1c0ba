"""Where the time of a cycle goes: wall and processor time of each phase, exclusive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from time import monotonic_ns, thread_time_ns
from typing import Any

from numpy.typing import NDArray

from hindmost.harness.runfile.bodies import PHASES as BODY_PHASES


class Phase(IntEnum):
    """Phases of a cycle; the values are places in the run file's ``phase``."""

    HALO = BODY_PHASES.index("halo")
    REDUCTION = BODY_PHASES.index("wait")
    POST = BODY_PHASES.index("post")
    REST = BODY_PHASES.index("local")
    UNCLASSIFIED = BODY_PHASES.index("unclassified")
    HYDRO = 5
    HEAT = 6
    ADAPTION = 7
    BALANCE = 8
    CHECKPOINT = 9
    MEETING = 10
    """Between cycles: in a run file a wait, and no reduction of the kernel."""


NAMES = (*BODY_PHASES, *(phase.name.lower() for phase in list(Phase)[len(BODY_PHASES) : -1]))
"""As they stand in run files: a reduction is a wait, what is in no phase is local."""


def by_name(spent: Sequence[int]) -> list[int]:
    """Return times of each of `Phase` as those of `NAMES`."""
    *named, meeting = spent
    named[Phase.REDUCTION] += meeting
    return named


class PhaseClock:
    """Puts every instant into one phase; a switch costs two readings of clocks, about a us."""

    def __init__(self) -> None:
        self._wall = [0] * len(Phase)
        self._cpu = [0] * len(Phase)
        self._now = Phase.REST
        self._wall_at, self._cpu_at = monotonic_ns(), thread_time_ns()

    def switch(self, phase: Phase) -> Phase:
        """Go over to a phase and return the one before."""
        wall, cpu, before = monotonic_ns(), thread_time_ns(), self._now
        self._wall[before] += wall - self._wall_at
        self._cpu[before] += cpu - self._cpu_at
        self._wall_at, self._cpu_at, self._now = wall, cpu, phase
        return before

    def take(
        self, at_ns: int | None = None, from_ns: int | None = None
    ) -> tuple[list[int], list[int]]:
        """Return wall and processor time by phase since the last take, in nanoseconds.

        Parameters
        ----------
        at_ns : int, optional
            Until when it counts; by default now.
        from_ns : int, optional
            From when the time counts that the next take returns; by default from there on.
        """
        self.switch(self._now)
        if at_ns is not None and from_ns is not None:
            self._wall[self._now] += at_ns - self._wall_at
            self._wall_at = from_ns
        taken = self._wall, self._cpu
        self._wall, self._cpu = [0] * len(Phase), [0] * len(Phase)
        return taken


def timed_reduction(communicator: Any, operation: Any, clock: PhaseClock) -> Callable[[Any], Any]:
    """Return an all-reduction in place whose time is reduction, in whatever phase it is called."""
    import mpi4py.MPI as MPI

    in_place = MPI.IN_PLACE

    def reduce(values: NDArray[Any]) -> NDArray[Any]:
        before = clock.switch(Phase.REDUCTION)
        communicator.Allreduce(in_place, values, operation)
        clock.switch(before)
        return values

    return reduce
