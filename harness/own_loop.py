"""Record a user's loop: ``hindmost.record``.

Every ``iteration()`` is one body of the run file, every ``phase(name)`` inside it a part of that
body. Phases do not nest; time outside all phases is local. Time between two iterations counts to
the first.

MPI time is seen if the recorder was loaded before MPI. It counts as halo, wait or post by the call
that spends it, even inside a phase of another name. Only a phase named ``halo``, ``wait`` or
``post`` counts as a whole, MPI or not.

The ranks write what an attached program writes, to a folder beside the run file, which becomes the
run file when the loop has ended. If the program is killed before, ``hindmost attach --convert``
makes a run file of the folder.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from hindmost.errors import DataError, HindmostError, UsageError
from hindmost.files import reason
from hindmost.harness.attach.own_iterations import BEGUN, FAILED, FINISHED, FIRST_PHASE
from hindmost.harness.attach.own_marks import MAX_PHASES, MarksInPython, MarksOfRecorder
from hindmost.harness.attach.raw import SUFFIX
from hindmost.harness.attach.raw_program import read_program
from hindmost.harness.attach.section_group import JOURNAL, Conversion, Journal
from hindmost.harness.attach.sections import sections_of
from hindmost.harness.rank_failures import first_failed, on_root
from hindmost.harness.recorder.arguments import (
    checked_name,
    checked_parameters,
    load_if_possible,
    refuse_different,
)
from hindmost.harness.recorder.bodies import WHOLE
from hindmost.harness.recorder.library import refuse_second_recording
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.solo import Solo
from hindmost.output import ProgressLine, strict_json, warn
from hindmost.printable import shell_word

MEMORY_BYTES = 256 << 20
"""For records of a rank until they are written to its file."""


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
        self._started = self._finished = 0
        self._inside = False
        self._open_phase: str | None = None
        self._phases: dict[str, int] = {}
        self._library: Any = None
        self._stem = path.absolute().with_suffix("")  # of the folder, wherever the program goes
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
        self._marks.mark(BEGUN, number)
        try:
            yield
        except BaseException as error:  # an iteration that raised is not recorded
            self._marks.mark(FAILED, number, self._marks.error(type(error).__name__))
            self._inside, self._open_phase = False, None
            raise
        self._marks.mark(FINISHED, number)
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
        self._marks.mark(FIRST_PHASE + 2 * number, 0)
        try:
            yield
        finally:
            self._open_phase = None
        self._marks.mark(FIRST_PHASE + 2 * number + 1, 0)

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
        self._folder = on_root(self._communicator, self._make_folder)
        self._begin()
        return self

    def _make_folder(self) -> Path:
        """Make a folder for what the ranks write; one that was left keeps its name."""
        for number in itertools.count():
            folder = Path(f"{self._stem}{-number or ''}{SUFFIX}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            except OSError as error:
                raise DataError(f"{folder} cannot be made: {reason(error)}.") from error
            return folder
        raise AssertionError

    def _begin(self) -> None:
        """Begin to write; collective."""
        about = {"name": self._title, "parameters": self._parameters, "mpi_seen": self.mpi_seen}
        about |= {"with_mpi": self._with_mpi}
        said = strict_json(about), strict_json(asdict(self._origins))
        self._marks: MarksOfRecorder | MarksInPython
        try:
            if self.mpi_seen:
                self._marks = MarksOfRecorder(self._library, MEMORY_BYTES)
            else:
                self._marks = MarksInPython()
            self._marks.begin(self._communicator, self._folder, *said)
        except BaseException:
            self._remove()
            raise

    def _remove(self) -> None:
        """Remove what the ranks wrote; collective."""
        self._communicator.Barrier()
        if self._communicator.rank == 0:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the run file, unless the loop failed on some rank; collective."""
        self._marks.stop()
        failed = first_failed(self._communicator, error)
        self._marks.end(keeps=failed is None)
        if failed is not None:  # other ranks may be in the loop still
            shutil.rmtree(self._folder, ignore_errors=True)
            if error is None:
                raise UsageError(f"The loop failed on rank {failed}, so no run file is written.")
            return
        self._write()
        self._remove()
        if self._with_mpi:
            self._communicator.Free()

    def _write(self) -> None:
        """Write the run file; collective."""
        communicator, folder = self._communicator, self._folder
        finished = communicator.allgather(self._finished)
        if not all(finished):
            self._refuse_nothing("No iteration was recorded on some rank")
        try:
            program = read_program(folder, None, communicator)
            groups, _, _ = sections_of(program)
            conversion = Conversion(
                program=program,
                out=self._name.folder,
                origins=self._origins,
                journal=Journal(folder / JOURNAL, self._name.folder),
                report=warn if communicator.rank == 0 else lambda _: None,
                iterate_at=None,
                line=ProgressLine(folder.name, seen=False),
                name=self._name,
            )
            written = groups and conversion.write(0, groups[0])
        except HindmostError as error:
            raise type(error)(
                f"{error} The records are in {folder}: hindmost attach --convert "
                f"{shell_word(folder)} makes a run file of them."
            ) from error
        if not written:
            self._refuse_nothing("No iteration was finished on all ranks")

    def _refuse_nothing(self, why: str) -> NoReturn:
        """Raise a UsageError that there is nothing to write; collective."""
        self._remove()
        raise UsageError(f"{why}, so there is nothing to write.")
