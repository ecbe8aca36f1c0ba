"""A block: the calls of one collective at one size on all ranks, recorded one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from hindmost.harness.campaign import no_garbage_collection
from hindmost.harness.collectives.alignment import AlignedCall, Alignment
from hindmost.harness.recorder.library import NS
from hindmost.harness.recorder.recording import Recording, Stretch, rank_run
from hindmost.harness.runfile.bodies import PHASES, BodyKind, RankBodies
from hindmost.harness.runfile.contents import RankRun

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
    stretch = Stretch(aligning)
    assert stretch.clock is not None
    alignment = Alignment(aligning, stretch.clock)
    with no_garbage_collection():
        if warmup:
            alignment.calls(call, warmup, warmup)
        aligning.Barrier()
        stretch.begin()
        made = alignment.calls(call, calls, TRIES * calls)
        stretch.end()
    recording = stretch.recording()
    return Block(
        rank=rank_run([recording], bodies_of(made, recording)),
        began=stretch.began,
        late=sum(call.late for call in made),
        left_out=alignment.left_out,
        margin_s=alignment.margin_ns * NS,
    )


def bodies_of(made: list[AlignedCall], recording: Recording) -> RankBodies:
    """Return calls as bodies: all of a body is waiting, and what lies between two is a restart.

    In the words of a run file a collective restarts after every body, so that meetings, windows and
    calls that were left out are in no body, and the parts still sum to the whole.
    """
    begin = np.array([call.begin_ns for call in made])
    end = np.maximum([call.end_ns for call in made], begin + 1)
    phases = np.zeros((begin.size, len(PHASES)), np.float32)
    phases[:, WAIT] = (end - begin) * NS
    return RankBodies(
        start=recording.clock.since_zero(begin),
        duration=(end - begin) * NS,
        phase_duration=phases,
        position=np.zeros(begin.size, np.int32),
        kind=np.full(begin.size, BodyKind.REGULAR, np.uint8),
        restart_duration=(begin[1:] - end[:-1]) * NS,
        lead_in_s=float(begin[0] - recording.begin_ns) * NS,
        lead_out_s=float(recording.end_ns - end[-1]) * NS,
        solve_time_s=float(recording.end_ns - recording.begin_ns) * NS,
    )
