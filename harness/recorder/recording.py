"""What is recorded of a rank, whoever recorded it, and what the rank brings to a run file.

Solves and loops of this process, those of attached programs, and stretches that are timed in
Python all become a `Recording`; `rank_run` turns one or several of them into a rank of a run file.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.clock import CommonClock
from hindmost.harness.recorder.library import RECORD, CallClass
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.bodies import PHASES, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun


def no_records() -> NDArray[np.void]:
    """Return no records: structured array, shape (0,)."""
    return np.empty(0, RECORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What was noted of one solve, loop or stretch on one rank.

    Attributes
    ----------
    begin_ns, end_ns : int
        After the barrier before the solve, and after the solve.
    begin_utc_ns : int
        The begin since 1970, by the system's calendar.
    switches : int
        Involuntary context switches of the process during the solve.
    core_wait_s : float
        How long the recorded thread was ready to run during the solve and had no core; NaN where
        the kernel does not tell.
    threads : int
        Of the process at the end, those of MPI too; 0 if unknown.
    others_cpu_s : float
        Processor time of all threads but the recorded one; NaN if unknown.
    clock : CommonClock
        Of this rank, for instants that other ranks are to understand.
    records : structured array, shape (record,)
        See `hindmost.harness.recorder.library.RECORD`.
    call_classes : tuple of CallClass
        Classes of MPI calls, by their number in the records.
    counts : int64 array, shape (mark, 2)
        Instructions and cycles at each mark, -1 where they were not counted; empty if never.
    foreign_calls : int
        MPI calls of other threads during the solve, which are in no body.
    foreign_threads : int
        How many such threads made some.
    polls : int
        Calls of a loop that ask whether a message or request is there, without waiting for it.
    between_polls_s : float
        Time from such calls that found nothing to the next one, without other calls between.
    lost : int
        Records for which there was no room.
    iterations : int
        The last that the solver reported to its monitors.
    other_s : dict of str to float
        Seconds in MPI calls of no known kind, by call.
    world_ranks : tuple of int
        Number of each rank in MPI_COMM_WORLD, as records of messages have it; empty: the same.
    mpi_seen : bool
        Whether the recorder intercepts MPI calls; if not, nothing is known of phases.
    activity_names : tuple of str
        Parts of the local work, the last for the rest; empty if not asked for.
    activity_ns : int64 array, shape (mark, activity)
        Their totals at each mark; empty if not asked for.
    injecting : bool
        Whether noise was injected into any rank: then there is a phase for it.
    host, cpuset : str
        Where the rank ran, and the cores that it may use.
    cpu : int
    load_before, load_after : float
        Load of the host, the mean of a minute.
    """

    begin_ns: int
    end_ns: int
    begin_utc_ns: int
    switches: int
    core_wait_s: float
    clock: CommonClock
    records: NDArray[np.void] = field(default_factory=no_records)
    call_classes: tuple[CallClass, ...] = ()
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    threads: int = 0
    others_cpu_s: float = math.nan
    foreign_calls: int = 0
    foreign_threads: int = 0
    polls: int = 0
    between_polls_s: float = 0.0
    lost: int = 0
    iterations: int = 0
    other_s: dict[str, float] = field(default_factory=dict)
    world_ranks: tuple[int, ...] = ()
    mpi_seen: bool = True
    activity_names: tuple[str, ...] = ()
    activity_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 0), np.int64))
    injecting: bool = False
    host: str = field(default_factory=socket.gethostname)
    cpu: int = field(default_factory=provenance.current_cpu)
    cpuset: str = field(default_factory=provenance.cpuset)
    load_before: float = 0.0
    load_after: float = field(default_factory=provenance.load_of_host)

    @property
    def marks(self) -> NDArray[np.void]:
        """The instants among the records: structured array, shape (mark,)."""
        return self.records[self.records["what"] > 0]


def rank_run(
    recordings: Sequence[Recording],
    bodies: RankBodies,
    *,
    incoming: Edges | None = None,
    seen: bool = True,
    **more: Any,
) -> RankRun:
    """Return what a rank brings to a run file.

    Parameters
    ----------
    recordings : sequence of Recording
        In the order of time.
    bodies : RankBodies
        Of all of them.
    incoming : Edges, optional
        The halos that this rank receives, or sends.
    seen : bool
        Whether MPI time is known; if not, all of it may be of any kind.
    more
        See `RankRun`.
    """
    first, last, norms = recordings[0], recordings[-1], bodies.residual_norm
    other_s = sum(sum(recording.other_s.values()) for recording in recordings)
    # Before and after its loop a program may make such calls, too: they are no part of the run.
    unclassified_s = float(bodies.phase_duration[:, PHASES.index("unclassified")].sum())
    between_s = bodies.solve_time_s - float(bodies.duration.sum())
    other_s = min(other_s, unclassified_s + between_s)
    return RankRun(
        bodies=bodies,
        residual_norm=np.full(bodies.duration.size, np.nan) if norms is None else norms,
        incoming=Edges.none() if incoming is None else incoming,
        mpi_other_s=min(other_s, bodies.solve_time_s) if seen else bodies.solve_time_s,
        context_switches=sum(recording.switches for recording in recordings),
        core_wait_s=sum(recording.core_wait_s for recording in recordings),
        threads=max(recording.threads for recording in recordings),
        others_cpu_s=sum(recording.others_cpu_s for recording in recordings),
        foreign_calls=sum(recording.foreign_calls for recording in recordings),
        foreign_threads=max(recording.foreign_threads for recording in recordings),
        polls=sum(recording.polls for recording in recordings),
        between_polls_s=sum(recording.between_polls_s for recording in recordings),
        cpu=first.cpu,
        cpuset=first.cpuset,
        host=first.host,
        load_before=first.load_before,
        load_after=last.load_after,
        clock_offset_s=first.clock.offset_s,
        clock_uncertainty_s=first.clock.uncertainty_s,
        **more,
    )
