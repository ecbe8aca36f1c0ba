"""Record a loop of one's own: ``hindmost.record``.

Every ``iteration()`` is a body, every ``phase(name)`` inside it a part of that body; phases lie
side by side, and what is in none is local. Time in MPI is seen if the recorder was loaded before
MPI: blocking reductions, barriers and completions count as waiting, wherever they are called, but
for those in a phase named ``halo``, ``wait`` or ``post``, which takes all that is in it.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from hindmost.errors import HindmostError, UsageError
from hindmost.harness.recorder.clock import CommonClock, own_clock, read_clock
from hindmost.harness.recorder.library import load
from hindmost.harness.recorder.state import PHASES as MPI_PHASES
from hindmost.harness.recorder.state import State
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.bodies import PHASES, BodyKind, RankBodies
from hindmost.harness.runfile.contents import Edges, Header, RankRun
from hindmost.harness.runfile.naming import RunName
from hindmost.harness.runfile.writer import write_run_as
from hindmost.harness.solo import Solo
from hindmost.harness.together import on_root

NS = 1e-9
WAIT, POST, LOCAL = (PHASES.index(name) for name in ("wait", "post", "local"))


class LoopRecorder:
    """Records the iterations of a loop on this rank; use it as a context.

    Parameters
    ----------
    path : Path
        The run file; must not exist.
    communicator : MPI.Intracomm or None
        None without MPI.
    name : str
        What the loop is called, as workload and solver.
    """

    def __init__(self, path: Path, communicator: Any, name: str) -> None:
        if path.suffix != ".h5":
            raise UsageError(f"{path}: a run file's name ends in .h5.")
        self._name = RunName(path.parent, path.stem, numbered=False)
        self._communicator: Any = communicator if communicator is not None else Solo()
        self._title = name
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._names = list(PHASES)
        self._phases: list[list[int]] = []
        self._now: list[int] | None = None
        self._open_phase: str | None = None
        self._library: Any = None
        self.why_not = ""
        if communicator is not None:
            self._library, self.why_not = load_if_possible()
        self.mpi_seen = self._library is not None

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Time one body."""
        if self._now is not None:
            raise UsageError("An iteration begins inside an iteration; end the first one first.")
        self._now = [0] * len(self._names)
        before = self._mpi_ns()
        begin = time.monotonic_ns()
        try:
            yield
        except BaseException:  # a body that was not finished is none
            self._now = self._open_phase = None
            raise
        end = time.monotonic_ns()
        after = self._mpi_ns()
        spent = self._now
        for phase in (WAIT, POST):
            spent[phase] += after[phase] - before[phase]
        spent[LOCAL] = max(end - begin - sum(spent), 0)
        self._begins.append(begin)
        self._ends.append(end)
        self._phases.append(spent)
        self._now = None
        if self.mpi_seen:
            self._state.set_iteration(len(self._begins))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a part of a body: ``halo``, ``wait``, ``post``, or any name of one's own.

        Waiting in MPI that is seen inside a phase of another name counts as waiting.
        """
        if not name or name == PHASES[LOCAL]:
            raise UsageError(
                f"A phase cannot be called '{name}': 'local' is what no phase takes. Choose halo, "
                "wait, post or a name of your own."
            )
        if self._now is None or self._open_phase is not None:
            where = "outside an iteration" if self._now is None else f"inside '{self._open_phase}'"
            raise UsageError(f"The phase '{name}' begins {where}; phases lie side by side in one.")
        self._open_phase = name
        before = self._mpi_ns()
        begin = time.monotonic_ns()
        try:
            yield
        except BaseException:
            self._open_phase = None
            raise
        spent = time.monotonic_ns() - begin
        after = self._mpi_ns()
        for phase in (WAIT, POST):
            seen = after[phase] - before[phase]
            if name in PHASES:  # what MPI itself saw in here must not be counted again
                self._now[phase] -= seen
            else:
                spent -= seen
        self._now[self._place(name)] += spent
        self._open_phase = None

    def _place(self, name: str) -> int:
        """Return the place of a phase among those of the open body, a new one if it is new."""
        if name not in self._names:
            self._names.append(name)
        place = self._names.index(name)
        if self._now is not None:
            self._now += [0] * (place + 1 - len(self._now))
        return place

    def _mpi_ns(self) -> list[int]:
        """Return MPI's running totals by phase of a body."""
        if not self.mpi_seen:
            return [0] * len(PHASES)
        totals = dict(zip(MPI_PHASES, self._state["phase_ns"].tolist(), strict=True))
        return [totals.get(name, 0) for name in PHASES]

    def __enter__(self) -> LoopRecorder:
        """Meet the other ranks and begin; says on rank 0 if waiting in MPI cannot be seen."""
        self._origins = provenance.origins("", self._communicator.size, Path.cwd())
        on_root(self._communicator, self._name.refuse_taken)
        everywhere = all(self._communicator.allgather(self.mpi_seen))
        if self.mpi_seen and not everywhere:
            self.why_not = "the recorder was loaded on some ranks only; call listen() on all."
        if not everywhere:
            self._library, self.mpi_seen = None, False
        with_mpi = not isinstance(self._communicator, Solo)
        if with_mpi and not self.mpi_seen and self._communicator.rank == 0:
            sys.stderr.write(f"hindmost: waiting in MPI is not seen: {self.why_not}\n")
        self._before = read_clock(self._communicator) if self._library else None
        self._communicator.Barrier()
        if self.mpi_seen and self._library:
            self._state = State(self._library)
            self._library.hindmost_memory(None, 0)
            self._library.hindmost_count_memory(None, 0)
            self._library.hindmost_arm(self._communicator.py2f())
        self._load_before = provenance.load_of_host()
        self._switches = -provenance.involuntary_switches()
        self._began = datetime.now(UTC)
        self._begin_ns = time.monotonic_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the run file, unless the loop failed; collective."""
        end_ns = time.monotonic_ns()
        self._switches += provenance.involuntary_switches()
        if self.mpi_seen and self._library:
            self._library.hindmost_disarm()
        if error is not None:
            return
        if not all(self._communicator.allgather(len(self._begins))):
            raise UsageError(
                "No iteration was recorded on some rank, so there is nothing to write."
            )
        clock = own_clock(self._begin_ns)
        if self._before is not None:
            zero = self._communicator.bcast(self._begin_ns)
            after = read_clock(self._communicator)
            clock = CommonClock(before=self._before, after=after, zero_ns=zero)
        write_run_as(self._name, self._header(), self._rank_run(end_ns, clock), self._communicator)

    def _rank_run(self, end_ns: int, clock: CommonClock) -> RankRun:
        begin, end = np.array(self._begins), np.array(self._ends)
        # Between two iterations a loop may do what it likes: the gap counts as local work of the
        # body before it, so that the parts sum to the whole.
        gaps = np.append(begin[1:] - end[:-1], 0)
        names = self._names_of_all_ranks()
        count = begin.size
        phases = np.zeros((count, len(names)))
        order = [names.index(name) for name in self._names]
        for body, spent in enumerate(self._phases):
            phases[body, order[: len(spent)]] = spent
        phases[:, LOCAL] += gaps
        none = np.empty(0, np.int32)
        bodies = RankBodies(
            start=clock.since_zero(begin),
            duration=(end + gaps - begin) * NS,
            phase_duration=(phases * NS).astype(np.float32),
            phases=tuple(names),
            position=np.arange(count, dtype=np.int32),
            kind=np.full(count, BodyKind.REGULAR, np.uint8),
            restart_duration=np.empty(0),
            lead_in_s=float(begin[0] - self._begin_ns) * NS,
            lead_out_s=float(end_ns - end[-1]) * NS,
            solve_time_s=float(end_ns - self._begin_ns) * NS,
        )
        other_ns = int(self._state["phase_ns"][MPI_PHASES.index("other")]) if self.mpi_seen else 0
        return RankRun(
            bodies=bodies,
            residual_norm=np.full(count, np.nan),
            incoming=Edges(source=none, target=none, bytes=np.empty(0, np.int64)),
            mpi_other_s=other_ns * NS,
            context_switches=self._switches,
            cpu=provenance.current_cpu(),
            cpuset=provenance.cpuset(),
            load_before=self._load_before,
            load_after=provenance.load_of_host(),
            host=socket.gethostname(),
            clock_offset_s=clock.offset_s,
            clock_uncertainty_s=clock.uncertainty_s,
        )

    def _names_of_all_ranks(self) -> list[str]:
        """Return the phases of all ranks, in the order in which they came; collective."""
        ranks = self._communicator.allgather(self._names)
        return list(dict.fromkeys(name for names in ranks for name in names))

    def _header(self) -> Header:
        return Header(
            workload=self._title,
            solver="loop",
            ranks=self._communicator.size,
            iterations=len(self._begins),
            restart=0,
            synchronisation="blocking",
            lag=0,
            complete=True,
            records_lost=0,
            origin="measured",
            t0_utc=self._began.isoformat(timespec="microseconds"),
            mpi_library=provenance.mpi_library(),
            spec={"mpi_seen": self.mpi_seen, "pid": os.getpid()},
            environment=self._origins.environment,
            petsc_options={},
            scheduler=self._origins.scheduler,
            git=self._origins.git,
        )


def load_if_possible() -> tuple[Any, str]:
    """Return the recorder if it stands before MPI, else None and why not."""
    try:
        return load(), ""
    except HindmostError as error:
        return None, str(error)
