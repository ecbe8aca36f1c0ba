"""Record a user's loop: ``hindmost.record``.

Every ``iteration()`` is one body of the run file, every ``phase(name)`` inside it a part of that
body. Phases do not nest; time outside all phases is local. Time between two iterations counts to
the first.

MPI time is seen if the recorder was loaded before MPI. It counts as halo, wait or post by the call
that spends it, even inside a phase of another name. Only a phase named ``halo``, ``wait`` or
``post`` counts as a whole, MPI or not.
"""

from __future__ import annotations

import os
import socket
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.rank_failures import first_failed, on_root
from hindmost.harness.recorder.arguments import (
    checked_name,
    checked_parameters,
    load_if_possible,
    refuse_different,
)
from hindmost.harness.recorder.bodies import Recording
from hindmost.harness.recorder.clock import CommonClock, own_clock, read_clock
from hindmost.harness.recorder.library import NS, RECORD, State, refuse_second_recording
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.recorder.loop_bodies import WHOLE, bodies_of_loop
from hindmost.harness.recorder.loop_notes import LoopNotes, missing_iterations
from hindmost.harness.recorder.loop_records import LoopRecords
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.attributes import MOST_NAME, Json
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Edges, Header, RankRun
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.writer import write_run_as
from hindmost.harness.solo import Solo
from hindmost.output import warn


class LoopRecorder:
    """Records the iterations of a loop on this rank; use it as a context.

    Parameters
    ----------
    path : Path
        The run file; must not exist.
    communicator : MPI.Intracomm or None
        None without MPI.
    name : str or None
        The loop's name: the workload of the file. None for `place` on rank 0.
    parameters : dict of str to str, int, float or bool, optional
        What was varied: runs with other values are not repeats of this one.
    place : str
        Where the loop is in the source.
    """

    def __init__(
        self,
        path: Path,
        communicator: Any,
        name: str | None,
        parameters: Mapping[str, Any] | None = None,
        *,
        place: str = "loop",
    ) -> None:
        if path.suffix != ".h5":
            raise UsageError(f"{path}: the name of a run file must end in .h5.")
        self._name = RunName(path.parent, path.stem, numbered=False)
        self._communicator: Any = communicator if communicator is not None else Solo()
        self._with_mpi = communicator is not None
        self._named = name is not None
        self._title = place[-MOST_NAME:] if name is None else checked_name("name", name)
        self._parameters = checked_parameters(parameters or {})
        self._notes = LoopNotes()
        self._started = 0
        self._inside = False
        self._open_phase: str | None = None
        self._names: dict[str, None] = dict.fromkeys(PHASES)
        self._library: Any = None
        self._records: LoopRecords | None = None
        self.why_not = ""
        if communicator is not None:
            self._library, self.why_not = load_if_possible()
        self.mpi_seen = self._library is not None

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Time one iteration."""
        if self._inside:
            raise UsageError("An iteration begins inside an iteration; end the first one first.")
        notes = self._notes
        self._inside = True
        if self._records is not None:
            self._records.next_body()
        number = self._started
        self._started += 1
        phases = len(notes.regions)
        begin = time.monotonic_ns()
        try:
            yield
        except BaseException as error:  # an iteration that raised is not recorded
            notes.raised[number] = type(error).__name__
            self._inside, self._open_phase = False, None
            del notes.regions[phases:], notes.called[phases:]
            raise
        notes.ends.append(time.monotonic_ns())
        notes.begins.append(begin)
        notes.numbers.append(number)
        self._inside = False

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a part of an iteration: ``halo``, ``wait``, ``post``, or a name of your choice.

        These three count as a whole. A phase of another name counts without its MPI time, which
        counts as halo, wait or post by the call.
        """
        if not name or (name in PHASES and name not in WHOLE):
            raise UsageError(
                f"A phase cannot be called '{name}': 'local' is the time outside all phases, "
                "'unclassified' MPI time of no known kind. Choose halo, wait, post or a name of "
                "your own."
            )
        if not self._inside or self._open_phase is not None:
            where = "outside an iteration" if not self._inside else f"inside '{self._open_phase}'"
            raise UsageError(
                f"The phase '{name}' begins {where}; begin it inside an iteration, after the phase "
                "before it has ended."
            )
        if name not in self._names:
            self._names[checked_name("phase", name)] = None
        self._open_phase = name
        begin = time.monotonic_ns()
        try:
            yield
        finally:
            self._open_phase = None
        self._notes.regions.append((begin, time.monotonic_ns()))
        self._notes.called.append(name)

    def __enter__(self) -> LoopRecorder:
        """Meet the other ranks and begin; warn on rank 0 if MPI time cannot be seen.

        Raises
        ------
        UsageError
            The file exists, or this process is recording something else.
        """
        if self.mpi_seen:
            refuse_second_recording()
        if self._with_mpi:  # the recorder's own, so that its calls never match the loop's
            self._communicator = self._communicator.Dup()
        self._origins = provenance.origins("", self._communicator.size, Path.cwd())
        if not any(self._communicator.allgather(self._named)):  # places may differ between ranks
            self._title = self._communicator.bcast(self._title)
        refuse_different(self._communicator, self._title, self._parameters)
        on_root(self._communicator, self._name.refuse_taken)
        everywhere = all(self._communicator.allgather(self.mpi_seen))
        if self.mpi_seen and not everywhere:
            self.why_not = "the recorder was loaded on some ranks only; call listen() on all."
        if not everywhere:
            self._library, self.mpi_seen = None, False
        if self._with_mpi and not self.mpi_seen and self._communicator.rank == 0:
            warn(f"hindmost does not see waiting in MPI: {self.why_not}")
        self._before = read_clock(self._communicator) if self._library else None
        self._communicator.Barrier()
        if self.mpi_seen and self._library:
            self._state = State(self._library)
            self._records = LoopRecords(self._library, self._state)
            self._library.hindmost_count_memory(None, 0)
            self._library.hindmost_activity_memory(None, 0, 0)
            self._library.hindmost_arm(self._communicator.py2f())
        self._load_before = provenance.load_of_host()
        self._switches = -provenance.involuntary_switches()
        self._core_wait_s = -provenance.core_wait_s()
        self._began = datetime.now(UTC)
        self._begin_ns = time.monotonic_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the run file, unless the loop failed on some rank; collective."""
        end_ns = time.monotonic_ns()
        self._switches += provenance.involuntary_switches()
        self._core_wait_s += provenance.core_wait_s()
        if self.mpi_seen and self._library:
            self._library.hindmost_disarm()
        failed = first_failed(self._communicator, error)
        if failed is not None:
            if error is None:
                raise UsageError(f"The loop failed on rank {failed}, so no run file is written.")
            return
        self._write(end_ns)
        if self._with_mpi:
            self._communicator.Free()

    def _write(self, end_ns: int) -> None:
        """Write the run file; collective."""
        communicator, notes = self._communicator, self._notes
        finished = communicator.allgather(notes.numbers)
        raised, why = missing_iterations(finished, communicator.allgather(notes.raised))
        calls, whole, lost = np.empty(0, RECORD), notes.numbers, 0
        if self._records is not None:
            calls, lost = self._records.calls(), self._records.lost
            whole = notes.numbers[: bisect_right(notes.ends, self._records.until_ns)]
        lost = communicator.allreduce(lost)
        if lost:
            finished = communicator.allgather(whole)
            why = f"{lost:,} records found no room in memory; iterations before that are kept"
        kept = sorted(set(finished[0]).intersection(*finished[1:]))
        if not kept:
            raise UsageError(
                "No iteration was finished on all ranks, so there is nothing to write."
                if all(finished)
                else "No iteration was recorded on some rank, so there is nothing to write."
            )
        if why and communicator.rank == 0:
            warn(f"{why}; the run is marked incomplete")
        clock = own_clock(self._begin_ns)
        if self._before is not None:
            zero = communicator.bcast(self._begin_ns)
            clock = CommonClock(before=self._before, after=read_clock(communicator), zero_ns=zero)
        # Phases of all ranks, in the order in which they first came.
        every = communicator.allgather(list(self._names))
        names = list(dict.fromkeys(name for own in every for name in own))[len(PHASES) :]
        run = self._rank_run(end_ns, clock, kept, names, calls)
        lacks = {"failure": why, "raised": raised} if why else {}
        write_run_as(self._name, self._header(len(kept), lacks, lost), [[run]], communicator)

    def _rank_run(
        self,
        end_ns: int,
        clock: CommonClock,
        kept: list[int],
        names: list[str],
        calls: NDArray[np.void],
    ) -> RankRun:
        """Return what this rank recorded.

        Parameters
        ----------
        end_ns : int
            When the loop ended, by this rank's clock.
        kept : list of int
            Iterations that all ranks finished.
        names : list of str
            The program's own phases, those of all ranks.
        calls : structured array, shape (call,)
        """
        notes, border = self._notes, self._notes.borders(kept)
        recording = Recording(
            records=calls,
            counts=np.empty((0, 2), np.int64),
            call_classes=self._state.call_classes if self.mpi_seen else (),
            begin_ns=self._begin_ns,
            end_ns=end_ns,
            begin_utc_ns=round(self._began.timestamp() * 1e9),
            switches=self._switches,
            core_wait_s=self._core_wait_s,
            foreign_calls=int(self._state["foreign_calls"]) if self.mpi_seen else 0,
            lost=0,
            iterations=len(kept),
            other_s={},
            clock=clock,
            mpi_seen=self.mpi_seen,
            sources=() if self._records is None else self._records.sources(self._communicator),
        )
        regions = np.array(notes.regions, np.int64).reshape(-1, 2)
        bodies = bodies_of_loop(border, regions, notes.called, recording, names)
        sent = None
        if self._records is not None:
            sent = self._records.sent(self._communicator, len(kept))
            if sent is None:
                why_not = "a rank sends to too many others to count them"
                bodies = replace(bodies, events=None, events_left_out=why_not)
        bodies = replace(
            bodies,
            lead_in_s=float(border[0] - self._begin_ns) * NS,
            lead_out_s=float(end_ns - border[-1]) * NS,
            solve_time_s=float(end_ns - self._begin_ns) * NS,
            events_left_out=bodies.events_left_out if self._with_mpi else "",
        )
        other_ns = (
            int(self._state["phase_ns"][MPI_PHASES.index("unclassified")]) if self.mpi_seen else 0
        )
        return RankRun(
            bodies=bodies,
            residual_norm=np.full(len(kept), np.nan),
            incoming=sent if sent is not None else Edges.none(),
            mpi_other_s=other_ns * NS,
            context_switches=self._switches,
            core_wait_s=self._core_wait_s,
            foreign_calls=recording.foreign_calls,
            polls=self._state.polls() if self.mpi_seen else 0,
            cpu=provenance.current_cpu(),
            cpuset=provenance.cpuset(),
            load_before=self._load_before,
            load_after=provenance.load_of_host(),
            host=socket.gethostname(),
            clock_offset_s=clock.offset_s,
            clock_uncertainty_s=clock.uncertainty_s,
        )

    def _header(self, iterations: int, lacks: Json, lost: int) -> Header:
        return self._origins.header(
            workload=self._title,
            solver="loop",
            ranks=self._communicator.size,
            iterations=iterations,
            began=self._began,
            complete=not lacks,
            records_lost=lost,
            spec={
                "mpi_seen": self.mpi_seen,
                "pid": os.getpid(),
                **({"parameters": self._parameters} if self._parameters else {}),
                **lacks,
            },
        )
