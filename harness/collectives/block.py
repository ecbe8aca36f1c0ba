"""A block: the calls of one collective at one size on all ranks, recorded one by one."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hindmost.harness.campaign import no_garbage_collection
from hindmost.harness.collectives.alignment import AlignedCall, Alignment
from hindmost.harness.recorder.clock import CommonClock, read_clock
from hindmost.harness.recorder.library import NS
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.bodies import PHASES, BodyKind, RankBodies
from hindmost.harness.runfile.contents import Edges, RankRun

WAIT = PHASES.index("wait")
TRIES = 4
"""So many calls are made for each that is wanted, before late ones are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What was recorded of a block on this rank.

    Attributes
    ----------
    rank : RankRun
    began : datetime
    late : int
        Calls that are recorded although some rank began late, as it was too often so.
    left_out : int
        Calls that were done again, as some rank began late.
    margin_s : float
        From when the last rank came until the call, at the end.
    """

    rank: RankRun
    began: datetime
    late: int
    left_out: int
    margin_s: float


def record_block(
    communicator: Any, aligning: Any, call: Callable[[], object], *, calls: int, warmup: int
) -> Block:
    """Record calls of a collective; collective.

    Parameters
    ----------
    communicator : MPI.Intracomm
        That of the calls.
    aligning : MPI.Intracomm
        Another one, on which the ranks meet between calls.
    call : callable
        Collective.
    calls, warmup : int
        Recorded calls, and those before them.
    """
    load_before = provenance.load_of_host()
    before = read_clock(aligning)
    alignment = Alignment(aligning, before)
    with no_garbage_collection():
        if warmup:
            alignment.calls(call, warmup, warmup)
        aligning.Barrier()
        switches, core_wait_s = -provenance.involuntary_switches(), -provenance.core_wait_s()
        began = datetime.now(UTC)
        begin_ns = time.monotonic_ns()
        made = alignment.calls(call, calls, TRIES * calls)
        end_ns = time.monotonic_ns()
        switches += provenance.involuntary_switches()
        core_wait_s += provenance.core_wait_s()
    clock = CommonClock(
        before=before, after=read_clock(aligning), zero_ns=communicator.bcast(begin_ns)
    )
    none = np.empty(0, np.int32)
    rank = RankRun(
        bodies=bodies_of(made, begin_ns, end_ns, clock),
        residual_norm=np.full(calls, np.nan),
        incoming=Edges(source=none, target=none, bytes=np.empty(0, np.int64)),
        mpi_other_s=0.0,
        context_switches=switches,
        core_wait_s=core_wait_s,
        cpu=provenance.current_cpu(),
        cpuset=provenance.cpuset(),
        host=socket.gethostname(),
        load_before=load_before,
        load_after=provenance.load_of_host(),
        clock_offset_s=clock.offset_s,
        clock_uncertainty_s=clock.uncertainty_s,
    )
    return Block(
        rank=rank,
        began=began,
        late=sum(call.late for call in made),
        left_out=alignment.left_out,
        margin_s=alignment.margin_ns * NS,
    )


def bodies_of(
    made: list[AlignedCall], begin_ns: int, end_ns: int, clock: CommonClock
) -> RankBodies:
    """Return calls as bodies: all of a body is waiting, and what lies between two is a restart.

    In the words of a run file a collective restarts after every body, so that meetings, windows and
    calls that were left out are in no body, and the parts still sum to the whole.
    """
    begin = np.array([call.begin_ns for call in made])
    end = np.maximum([call.end_ns for call in made], begin + 1)
    phases = np.zeros((begin.size, len(PHASES)), np.float32)
    phases[:, WAIT] = (end - begin) * NS
    return RankBodies(
        start=clock.since_zero(begin),
        duration=(end - begin) * NS,
        phase_duration=phases,
        position=np.zeros(begin.size, np.int32),
        kind=np.full(begin.size, BodyKind.REGULAR, np.uint8),
        restart_duration=(begin[1:] - end[:-1]) * NS,
        lead_in_s=float(begin[0] - begin_ns) * NS,
        lead_out_s=float(end_ns - end[-1]) * NS,
        solve_time_s=float(end_ns - begin_ns) * NS,
    )
