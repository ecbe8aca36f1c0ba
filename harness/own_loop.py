"""Record a user's loop: ``hindmost.record``.

Every ``iteration()`` is one body of the run file, every ``phase(name)`` inside it a part of that
body. Phases do not nest; time outside all phases is local. Time between two iterations counts to
the first, or to none.

MPI time is seen if the recorder was loaded before MPI. It counts as halo, wait or post by the call
that spends it, even inside a phase of another name. Only a phase named ``halo``, ``wait`` or
``post`` counts as a whole, MPI or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.harness.attach.own_iterations import (
    BEGUN,
    BETWEEN,
    FAILED,
    FINISHED,
    FIRST_PHASE,
)
from hindmost.harness.attach.own_marks import MAX_PHASES, MarksInPython, MarksOfRecorder
from hindmost.harness.attach.raw_program import RawProgram
from hindmost.harness.attach.sections import Matched
from hindmost.harness.own_recording import Marks, OwnRecording, checked_name, load_if_possible
from hindmost.harness.recorder.bodies import WHOLE
from hindmost.harness.runfile.bodies import PHASES
from hindmost.output import warn


class LoopRecorder(OwnRecording):
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
    sample, keep, live
        See `OwnRecording`.
    apart : bool
        Whether what lies between two iterations is part of none.
    place : str
        Where the loop is in the source.
    """

    what = "loop"

    def __init__(
        self,
        path: Path,
        communicator: Any,
        name: str | None,
        parameters: Mapping[str, Any] | None = None,
        sample: int | None = None,
        keep: float = 1.0,
        live: int = False,
        *,
        apart: bool = False,
        place: str = "loop",
    ) -> None:
        title = place if name is None else checked_name("name", name)
        super().__init__(path, title, parameters, sample, keep, live)
        self._given, self._named = communicator, name is not None
        self._spec = {BETWEEN: "pauses"} if apart else {}
        self._started = self._finished = 0
        self._inside = False
        self._open_phase: str | None = None
        self._phases: dict[str, int] = {}
        self._library: Any = None
        self.why_not = ""
        if communicator is not None:
            self._library, self.why_not = load_if_possible()
        self.mpi_seen = self._library is not None

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Time one iteration."""
        if self._inside:
            raise UsageError("An iteration begins inside an iteration; end the first one first.")
        self._inside = True
        number = self._started
        self._started += 1
        self._marks.mark(BEGUN, number, 0)
        try:
            yield
        except BaseException as error:  # an iteration that raised is not recorded
            self._marks.mark(FAILED, number, self._marks.error(type(error).__name__))
            self._inside, self._open_phase = False, None
            raise
        self._marks.mark(FINISHED, number, 0)
        self._finished += 1
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
        number = self._phases.get(name)
        if number is None:
            number = self._phases[name] = self._marks.phase(checked_name("phase", name))
        if number < 0:
            raise UsageError(f"The phase '{name}' is one too many; name {MAX_PHASES} at most.")
        self._open_phase = name
        self._marks.mark(FIRST_PHASE + 2 * number, 0, 0)
        try:
            yield
        finally:
            self._open_phase = None
        self._marks.mark(FIRST_PHASE + 2 * number + 1, 0, 0)

    def _meet(self) -> Any:
        """Return a communicator of the recorder: its calls never match the loop's; collective."""
        if self.mpi_seen:
            self._stop_others()
        if self._given is None:
            return None
        communicator = self._given.Dup()
        if not any(communicator.allgather(self._named)):  # places may differ between ranks
            self._title = communicator.bcast(self._title)
        return communicator

    def _prepare(self, communicator: Any) -> tuple[Marks, dict[str, Any]]:
        """Return what marks the iterations; warn on rank 0 if MPI time cannot be seen."""
        everywhere = all(communicator.allgather(self.mpi_seen))
        if self.mpi_seen and not everywhere:
            self.why_not = "the recorder was loaded on some ranks only; call listen() on all."
        self.mpi_seen = everywhere
        if everywhere:
            return MarksOfRecorder(self._library, settings=self._settings), self._spec
        if self._with_mpi and communicator.rank == 0:
            warn(f"hindmost does not see waiting in MPI: {self.why_not}")
        return MarksInPython(self._keep), self._spec

    def _why_nothing(self, program: RawProgram, groups: Sequence[tuple[Matched, ...]]) -> str:
        """Say why there is nothing to write; collective."""
        finished = all(self._communicator.allgather(self._finished))
        how = "finished on all ranks" if finished else "recorded on some rank"
        return f"No iteration was {how}"
