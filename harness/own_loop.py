"""Record a user's loop: ``hindmost.record``.

Every ``iteration()`` is one body of the run file, every ``phase(name)`` inside it a part of that
body. Phases do not nest; time outside all phases is local. Time between two iterations counts to
the first.

MPI time is seen if the recorder was loaded before MPI. It counts as halo, wait or post by the call
that spends it, even inside a phase of another name. Only a phase named ``halo``, ``wait`` or
``post`` counts as a whole, MPI or not.
"""

from __future__ import annotations

import ctypes
import os
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.loops.names import with_places
from hindmost.harness.rank_failures import first_failed, on_root
from hindmost.harness.recorder.arguments import (
    checked_name,
    checked_parameters,
    load_if_possible,
    refuse_different,
)
from hindmost.harness.recorder.bodies import WHOLE, Spans, bodies_of_loop
from hindmost.harness.recorder.call_contexts import NotedContexts
from hindmost.harness.recorder.library import (
    MOST_RECORDS,
    NOTED,
    NS,
    RECORD,
    TOUCHED_RECORDS,
    State,
    refuse_second_recording,
)
from hindmost.harness.recorder.recording import Recording, Stretch, no_records, rank_run
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.attributes import Json
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Edges, Header, RankRun
from hindmost.harness.runfile.contexts import CallContexts, merged_over
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.writer import write_run_as
from hindmost.harness.solo import Solo
from hindmost.output import warn
from hindmost.text import named_ranks


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
        self._title = place if name is None else checked_name("name", name)
        self._parameters = checked_parameters(parameters or {})
        self._notes = LoopNotes()
        self._started = 0
        self._inside = False
        self._open_phase: str | None = None
        self._names: dict[str, None] = dict.fromkeys(PHASES)
        self._library: Any = None
        self._records: LoopRecords | None = None
        self._contexts: NotedContexts | None = None
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
            self._library.hindmost_next_body()
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
        self._stretch = Stretch(self._communicator, common=bool(self._library))
        self._communicator.Barrier()
        if self.mpi_seen and self._library:
            self._state = State(self._library)
            self._records = LoopRecords(self._library, self._state)
            self._contexts = NotedContexts(self._library, MOST_RECORDS)
            self._library.hindmost_count_memory(None, 0)
            self._library.hindmost_activity_memory(None, 0, 0)
            self._library.hindmost_arm(self._communicator.py2f())
        self._stretch.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the run file, unless the loop failed on some rank; collective."""
        self._stretch.end()
        if self.mpi_seen and self._library:
            self._library.hindmost_disarm()
        if self._contexts is not None:
            self._contexts.end()
        failed = first_failed(self._communicator, error)
        if failed is not None:
            if error is None:
                raise UsageError(f"The loop failed on rank {failed}, so no run file is written.")
            return
        self._write()
        if self._with_mpi:
            self._communicator.Free()

    def _write(self) -> None:
        """Write the run file; collective."""
        communicator, notes = self._communicator, self._notes
        agreed = AgreedIterations.of(notes.numbers, notes.raised, self._started, communicator)
        why, kept = agreed.why_missing, agreed.kept
        calls, lost = no_records(), 0
        where = self._where()
        if self._records is not None:
            calls, lost = self._records.calls(where), self._records.lost
        if lost := communicator.allreduce(lost):
            until_ns = 1 << 63 if self._records is None else self._records.until_ns
            whole = notes.numbers[: bisect_right(notes.ends, until_ns)]
            kept = done_by_all(whole, agreed.begun, communicator)
            why = f"{lost:,} records found no room in memory; iterations before that are kept"
        if not kept.size:
            raise UsageError(
                "No iteration was finished on all ranks, so there is nothing to write."
                if all(communicator.allgather(bool(notes.numbers)))
                else "No iteration was recorded on some rank, so there is nothing to write."
            )
        if why and communicator.rank == 0:
            warn(f"{why}; the run is marked incomplete")
        recording = self._stretch.recording(records=calls, mpi_seen=self.mpi_seen, **self._counts())
        # Phases of all ranks, in the order in which they first came.
        every = communicator.allgather(list(self._names))
        names = list(dict.fromkeys(name for own in every for name in own))[len(PHASES) :]
        run = self._rank_run(recording, kept, names, where)
        lacks = {"failure": why} if why else {}
        write_run_as(self._name, self._header(kept.size, lacks, lost), [[run]], communicator)

    def _counts(self) -> dict[str, Any]:
        """Return what the recorder counted in the loop; nothing where it sees no MPI calls."""
        if not self.mpi_seen:
            return {}
        state = self._state
        return {
            "call_classes": state.call_classes,
            "foreign_calls": int(state["foreign_calls"]),
            "foreign_threads": int(state["foreign_threads"]),
            "polls": state.polls(),
            "between_polls_s": float(state["between_polls_ns"]) * NS,
            "world_ranks": () if self._records is None else self._records.world(self._communicator),
            "other_s": dict(zip(state.call_names, (state["other_ns"] * NS).tolist(), strict=True)),
        }

    def _where(self) -> CommonContexts | None:
        """Return where the calls of the loop come from; None if some rank does not know it."""
        known = self._contexts is not None and self._contexts.known
        if not all(self._communicator.allgather(known)) or self._contexts is None:
            return None
        return CommonContexts.of(self._contexts, self._communicator)

    def _rank_run(
        self,
        recording: Recording,
        kept: NDArray[np.intp],
        names: list[str],
        where: CommonContexts | None,
    ) -> RankRun:
        """Return what this rank recorded.

        Parameters
        ----------
        kept : int array, shape (iteration,)
            Iterations that all ranks finished.
        names : list of str
            The program's own phases, those of all ranks.
        where : CommonContexts or None
        """
        notes = self._notes
        regions = np.array(notes.regions, np.int64).reshape(-1, 2)
        spans = Spans.between(notes.borders(kept))
        bodies = bodies_of_loop(spans, regions, notes.called, recording, names)
        sent = None
        if self._records is not None:
            sent = self._records.sent(self._communicator, kept.size)
            if sent is None:
                why_not = "a rank sends to too many others to count them"
                bodies = replace(bodies, events=None, events_left_out=why_not)
        if not self._with_mpi:
            bodies = replace(bodies, events_left_out="")
        more: dict[str, Any] = {}
        if where is not None:
            shared = where.contexts if self._communicator.rank == 0 else None
            more = {"contexts": shared, "polls_by_context": where.polls}
        return rank_run([recording], bodies, incoming=sent, **more)

    def _header(self, iterations: int, lacks: Json, lost: int) -> Header:
        return self._origins.header(
            workload=self._title,
            solver="loop",
            ranks=self._communicator.size,
            iterations=iterations,
            began=self._stretch.began,
            complete=not lacks,
            records_lost=lost,
            spec={
                "mpi_seen": self.mpi_seen,
                "pid": os.getpid(),
                **({"parameters": self._parameters} if self._parameters else {}),
                **lacks,
            },
        )


@dataclass(slots=True, kw_only=True)
class LoopNotes:
    """What one rank notes while its loop runs.

    Attributes
    ----------
    begins, ends : list of int
        Nanoseconds, of every finished iteration.
    numbers : list of int
        Of every finished iteration, counted from 0 among those that began.
    raised : dict of int to str
        Iterations that raised, and the error.
    regions : list of (int, int)
        Nanoseconds at begin and end of the phases of finished iterations.
    called : list of str
        The name of each.
    """

    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    raised: dict[int, str] = field(default_factory=dict)
    regions: list[tuple[int, int]] = field(default_factory=list)
    called: list[str] = field(default_factory=list)

    def borders(self, kept: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return where iterations begin, and where the last one ends.

        The time of any other iteration counts to the one before it; before the first and after the
        last one it lies outside all iterations.

        Parameters
        ----------
        kept : int array, shape (iteration,)
            Iterations that all ranks finished, ascending.

        Returns
        -------
        int64 array, shape (iteration + 1,), nanoseconds
        """
        at = np.searchsorted(self.numbers, kept)
        return np.append(np.array(self.begins)[at], self.ends[at[-1]])


MAX_NAMED = 5
"""Iterations that raised which are named with the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedIterations:
    """Which iterations are in the file.

    Ranks tell each other sums over ranks, a number for each iteration: none gets what each of the
    others did.

    Attributes
    ----------
    kept : int array, shape (iteration,)
        Those that all ranks finished, counted from 0 among those that began.
    begun : int
        The most that any rank began.
    why_missing : str
        Which are not in the file, and why; empty if all are.
    """

    kept: NDArray[np.intp]
    begun: int
    why_missing: str

    @classmethod
    def of(
        cls, finished: Sequence[int], raised: Mapping[int, str], begun: int, communicator: Any
    ) -> AgreedIterations:
        """Agree on the iterations of all ranks; collective.

        Parameters
        ----------
        finished : sequence of int
            Those that this rank finished.
        raised : mapping of int to str
            Those that raised on this rank, and the errors.
        begun : int
            How many it began.
        """
        counts = communicator.allgather(begun)
        most = max(counts)
        failed = np.flatnonzero(counted_on_ranks(list(raised), most, communicator))
        named = failed[:MAX_NAMED].tolist()
        errors_on = communicator.allgather({at: raised[at] for at in named if at in raised})
        clauses = []
        for number in named:
            ranks = [rank for rank, errors in enumerate(errors_on) if number in errors]
            errors = ", ".join(sorted({errors_on[rank][number] for rank in ranks}))
            clauses.append(
                f"iteration {number} raised {errors} on {named_ranks(ranks, len(counts))}"
            )
        if failed.size > MAX_NAMED:
            clauses.append(f"{failed.size - MAX_NAMED} further iterations raised")
        if min(counts) < most:
            clauses.append(f"the ranks began {min(counts)} to {most} iterations")
        if clauses:
            clauses.append("iterations that all ranks finished are kept")
        kept = done_by_all(finished, most, communicator)
        return cls(kept=kept, begun=most, why_missing="; ".join(clauses))


def counted_on_ranks(
    iterations: Sequence[int], begun: int, communicator: Any
) -> NDArray[np.integer[Any]]:
    """Return on how many ranks iterations are among some, shape (begun,); collective."""
    mine = np.zeros(begun, np.int32)
    mine[list(iterations)] = 1
    return np.asarray(communicator.allreduce(mine))


def done_by_all(iterations: Sequence[int], begun: int, communicator: Any) -> NDArray[np.intp]:
    """Return the iterations that are among those of all ranks; collective."""
    return np.flatnonzero(counted_on_ranks(iterations, begun, communicator) == communicator.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonContexts:
    """Where the calls of a loop come from, the same on all ranks.

    Attributes
    ----------
    contexts : CallContexts
        Of all ranks.
    own : uint32 array, shape (record,)
        Context of each record of this rank, by its own number; as many as there is room for.
    numbers : uint32 array, shape (context,)
        The number of each of these in `contexts`.
    functions : int array, shape (context,)
        The number of the function that makes their calls.
    polls : int64 array, shape (context,)
        Of `contexts`: calls of this rank that found nothing.
    """

    contexts: CallContexts
    own: NDArray[np.uint32]
    numbers: NDArray[np.uint32]
    functions: NDArray[np.intp]
    polls: NDArray[np.int64]

    @classmethod
    def of(cls, noted: NotedContexts, communicator: Any) -> CommonContexts:
        """Return those of all ranks, from what each has noted; collective."""
        mine = noted.contexts()
        table, (numbers,) = merged_over(communicator, [mine])
        contexts = on_root(communicator, lambda: with_places(table))
        polls = np.bincount(numbers, noted.polls(), contexts.count).astype(np.int64)
        return cls(
            contexts=contexts,
            own=noted.numbers,
            numbers=numbers,
            functions=np.unique(mine.callers, return_inverse=True)[1],
            polls=polls,
        )

    def noted(self, records: NDArray[np.void]) -> NDArray[np.void]:
        """Return the first records with their contexts: shape (record,), of type `NOTED`."""
        found = np.empty(records.size, NOTED)
        for name in RECORD.names or ():
            found[name] = records[name]
        own = self.own[: records.size]
        found["context"], found["function"] = self.numbers[own], self.functions[own]
        return found


class LoopRecords:
    """Collects what the recorder notes of a loop, from arming to disarming."""

    def __init__(self, library: Any, state: State) -> None:
        self._library, self._state = library, state
        self._memory = np.empty(MOST_RECORDS, RECORD)
        touched = min(TOUCHED_RECORDS, MOST_RECORDS)
        library.hindmost_memory_for(self._memory.ctypes.data, MOST_RECORDS, touched)

    @property
    def lost(self) -> int:
        """Records for which there was no room: iterations after that are not kept."""
        return max(int(self._state["seen"]) - self._memory.size, 0)

    @property
    def until_ns(self) -> int:
        """When the last record before these ended."""
        return int(self._memory["end_ns"][-1]) if self.lost else (1 << 63) - 1

    def calls(self, where: CommonContexts | None) -> NDArray[np.void]:
        """Return the MPI calls of the loop, after it: structured array, shape (call,)."""
        records = self._memory[: int(self._state["seen"])]
        if where is not None:
            records = where.noted(records)
        calls: NDArray[np.void] = records[records["what"] < 0]  # a solve in it may leave marks
        return calls

    def world(self, communicator: Any) -> tuple[int, ...]:
        """Return the number of each rank in MPI_COMM_WORLD, as records of messages have it."""
        ranks = np.empty(communicator.size, np.int32)
        self._library.hindmost_world_ranks(communicator.py2f(), ranks.size, ranks.ctypes.data)
        return tuple(ranks.tolist())

    def sent(self, communicator: Any, bodies: int) -> Edges | None:
        """Return the ranks to which this rank sent in the loop, None if there were too many.

        Parameters
        ----------
        bodies : int
            Divides the number of messages.
        """
        room = communicator.size
        ranks = np.empty(room, np.int32)
        messages, sizes = np.empty(room, np.int64), np.empty(room, np.int64)
        arrays = [ctypes.c_void_p(array.ctypes.data) for array in (ranks, messages, sizes)]
        count = self._library.hindmost_peers(communicator.py2f(), room, *arrays)
        if count < 0:
            return None
        return Edges.sent(communicator.rank, ranks[:count], messages[:count], sizes[:count], bodies)
