"""What ``record`` and ``record_ksp`` have in common: a part of a program becomes a run file.

The ranks write what an attached program writes, to a folder beside the run file, which becomes the
run file when the part has ended. If the program is killed before, or the run file cannot be
written, ``hindmost attach --convert`` makes a run file of the folder.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from hindmost.errors import DataError, HindmostError, UsageError
from hindmost.files import reason
from hindmost.harness.attach.beside import Beside, follow_node
from hindmost.harness.attach.own_marks import MarksInPython, MarksOfRecorder
from hindmost.harness.attach.raw import SUFFIX
from hindmost.harness.attach.raw_program import RawProgram, handed_over, read_program
from hindmost.harness.attach.section_group import JOURNAL, Conversion, Journal, SectionGroup
from hindmost.harness.attach.sections import Matched, sections_of
from hindmost.harness.attach.settings import keep_lines, sample_lines
from hindmost.harness.rank_failures import first_failed, on_root
from hindmost.harness.recorder.library import load, loaded, refuse_second_recording
from hindmost.harness.runfile import provenance
from hindmost.harness.runfile.attributes import Json, NewName
from hindmost.harness.runfile.contents import Header, RankRun
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.time_left import NOTE, WatchedPart
from hindmost.harness.solo import Solo
from hindmost.output import ProgressLine, strict_json, warn
from hindmost.printable import shell_word
from hindmost.records import RecordError, from_document
from hindmost.text import named_ranks

MAX_ITERATIONS = 1 << 53
Marks = MarksOfRecorder | MarksInPython
Scalar = str | int | float | bool


class PartRecording:
    """What the ranks of a communicator record of a part of their program; collective.

    Each writes what an attached program writes, into a folder of their own, which stays if the
    program is killed: ``hindmost attach --convert`` reads it.

    Parameters
    ----------
    communicator : MPI.Intracomm or Solo
        Nothing else uses it.
    marks : MarksOfRecorder or MarksInPython
    stem : Path
        Of the name of the folder.
    about : dict
        What its files say of the part.
    origins : Origins
        Where the program runs.
    watched : WatchedPart or None
        What ``hindmost watch`` follows; None if nothing.
    """

    def __init__(
        self,
        communicator: Any,
        marks: Marks,
        stem: Path,
        about: Json,
        origins: Origins,
        watched: WatchedPart | None = None,
    ) -> None:
        self._beside: Beside | None = None
        self._communicator, self._marks, self._origins = communicator, marks, origins
        said = strict_json(about), strict_json(asdict(origins))
        self.folder = on_root(communicator, lambda: new_folder(stem))
        try:
            pages = "" if watched is None else self._pages(watched)
            marks.begin(communicator, self.folder, *said, pages)
        except BaseException:
            self._watch_no_more()
            self.remove()
            raise

    def _pages(self, watched: WatchedPart) -> str:
        """Have processes follow the ranks of every node; return the folder of pages; collective.

        Empty where nobody follows.
        """
        pages: str = on_root(self._communicator, lambda: self._watch(watched))
        if pages and self._communicator.rank:
            self._beside = follow_node(Path(pages))  # on other nodes
        self._communicator.Barrier()
        return pages

    def _watch(self, watched: WatchedPart) -> str:
        pages = tempfile.mkdtemp(prefix="hindmost-")
        try:
            self._beside = Beside(Path(pages), watched)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            warn(f"'hindmost watch' cannot follow {self.folder.stem}: {error}")
            shutil.rmtree(pages, ignore_errors=True)
            return ""
        return pages

    def _watch_no_more(self) -> None:
        if self._beside is not None:
            self._beside.end()
            self._beside = None
            (self.folder / NOTE).unlink(missing_ok=True)

    def end(self) -> str:
        """End; say which ranks could not write all records, empty if all could."""
        self._watch_no_more()
        failures = self._communicator.allgather(self._marks.end(keeps=True))
        ranks = [rank for rank, failure in enumerate(failures) if failure]
        if not ranks:
            return ""
        return (
            f"not all records of {named_ranks(ranks, len(failures))} could be written to "
            f"{self.folder}: {os.strerror(failures[ranks[0]])}"
        )

    def give_up(self) -> None:
        """End where other ranks may not; not collective."""
        self._marks.stop()
        self._watch_no_more()
        self._marks.end(keeps=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def remove(self) -> None:
        """Remove what the ranks wrote."""
        self._communicator.Barrier()
        if self._communicator.rank == 0:
            shutil.rmtree(self.folder, ignore_errors=True)

    def sections(self) -> tuple[RawProgram, list[tuple[Matched, ...]]]:
        """Return the program as its files say, and what it has recorded."""
        program = read_program(self.folder, None, self._communicator)
        return program, sections_of(program)[0]

    def run_of(self, program: RawProgram, section: Matched) -> tuple[RankRun, Header]:
        """Return what this rank brings to the run of a section, and the header.

        Raises
        ------
        DataError
            Nothing is left of the section.
        """
        communicator = self._communicator
        conversion = self.conversion(program, RunName(self.folder.parent, self.folder.stem))
        raws = handed_over(program.here, section.ranks, communicator)
        group = SectionGroup(conversion, 0, (section,), raws, communicator)
        (agreed,) = group.agreed_on(section)
        if not agreed.phases:
            raise DataError(f"Nothing is left of what was recorded: {agreed.why_none}.")
        run = group.assembled([(section, agreed)])
        rank = run.rank(communicator.rank)
        return rank, on_root(communicator, lambda: group.header_of(run, 0))

    def conversion(self, program: RawProgram, name: RunName) -> Conversion:
        """Return what the run files of this part have in common."""
        return Conversion(
            program=program,
            out=name.folder,
            origins=self._origins,
            journal=Journal(self.folder / JOURNAL, name.folder),
            report=warn if self._communicator.rank == 0 else lambda _: None,
            iterate_at=None,
            line=ProgressLine(self.folder.name, seen=False),
            name=name,
        )


def new_folder(stem: Path) -> Path:
    """Make a folder for what the ranks write; one that was left keeps its name."""
    for number in itertools.count():
        folder = Path(f"{stem}{-number or ''}{SUFFIX}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise DataError(f"{folder} cannot be made: {reason(error)}.") from error
        return folder
    raise AssertionError


class OwnRecording(ABC):
    """A part of a program that its ranks record; use it as a context on all of them.

    Parameters
    ----------
    path : Path
        The run file; must not exist.
    name : str
        The workload.
    parameters : dict of str to str, int, float or bool
        What was varied: runs with other values are not repeats of this one.
    sample : int, bool or None
        Samples a second of where the ranks spend processor time; True for as many as cost little.
    keep : float
        Share of the ranks whose full records the run file keeps.
    live : bool or int
        Whether ``hindmost watch`` can follow the part; a number of iterations if that is known.
    """

    what: str
    """As errors name it."""

    def __init__(
        self,
        path: Path,
        name: str,
        parameters: Mapping[str, Any] | None,
        sample: int | None = None,
        keep: float = 1.0,
        live: int = False,
    ) -> None:
        if path.suffix != ".h5":
            raise UsageError(f"{path}: the name of a run file must end in .h5.")
        self._name = RunName(path.parent, path.stem, numbered=False)
        self._stem = path.absolute().with_suffix("")  # wherever the program goes meanwhile
        self._title = name
        self._parameters = checked_parameters(parameters or {})
        self._samples = sample_lines(sample, f"sample={sample!r}", "True")
        if not 0 <= live <= MAX_ITERATIONS:
            raise UsageError(
                f"live={live!r}: give True, or how many iterations there will be (1 to "
                f"{MAX_ITERATIONS:,})."
            )
        total = 0 if live is True else live
        self._watched = WatchedPart(title=name, total=total) if live else None
        self._keep = keep
        self._settings = [*self._samples, *keep_lines(keep, f"keep={keep!r}")]
        self._petsc_version = ""
        self._stops_others = False
        self.mpi_seen = False

    @abstractmethod
    def _meet(self) -> Any:
        """Return a communicator that nothing else uses, None without MPI; collective."""

    @abstractmethod
    def _prepare(self, communicator: Any) -> tuple[Marks, dict[str, Any]]:
        """Return what marks the part, and what else the file says of it; collective."""

    @abstractmethod
    def _why_nothing(self, program: RawProgram, groups: Sequence[tuple[Matched, ...]]) -> str:
        """Say why there is nothing to write; collective."""

    def __enter__(self) -> Self:
        """Meet the other ranks and begin; warn on rank 0 if MPI time cannot be seen.

        Raises
        ------
        UsageError
            The file exists, or this process is recording something else.
        """
        own = self._meet()
        self._with_mpi = own is not None
        communicator: Any = own if self._with_mpi else Solo()
        self._communicator = communicator
        try:
            refuse_different(communicator, self._title, self._parameters)
            on_root(communicator, self._name.refuse_taken)
            self._marks, spec = self._prepare(communicator)
            if self._samples and not self.mpi_seen:
                raise UsageError(
                    f"sample= of this {self.what} needs MPI calls that hindmost sees: call "
                    "hindmost.listen() on all ranks before MPI is loaded, and give a communicator. "
                    "Any program with MPI is sampled by 'hindmost attach --sample'."
                )
            if self._parameters:
                spec["parameters"] = self._parameters
            origins = on_root(
                communicator,
                lambda: provenance.origins(self._petsc_version, communicator.size, Path.cwd()),
            )
            about = {"name": self._title, "mpi_seen": self.mpi_seen, "with_mpi": self._with_mpi}
            self._part = PartRecording(
                communicator,
                self._marks,
                self._stem,
                about | {"spec": spec},
                origins,
                self._watched,
            )
        except BaseException:
            self._free()
            raise
        return self

    def _stop_others(self) -> None:
        """Stop what ``hindmost attach`` records of the program, until this recording is over."""
        refuse_second_recording()
        self._stops_others = True

    def _free(self) -> None:
        if self._with_mpi:
            self._communicator.Free()
        self._let_others_go_on()

    def _let_others_go_on(self) -> None:
        if self._stops_others:
            loaded().hindmost_resume()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the run file, unless the program failed on some rank; collective."""
        self._marks.stop()
        failed = first_failed(self._communicator, error)
        if failed is not None:  # other ranks may not be here
            self._part.give_up()
            self._let_others_go_on()
            if error is None:
                raise UsageError(
                    f"The {self.what} failed on rank {failed}, so no run file is written."
                )
            return
        try:
            unwritten = self._part.end()
            if unwritten and self._communicator.rank == 0:
                warn(unwritten)
            why_nothing = self._write()
            self._part.remove()
            if why_nothing:
                raise UsageError(f"{why_nothing}, so there is nothing to write.")
        finally:
            self._free()

    def _write(self) -> str:
        """Write the run file, or return why there is nothing to write; collective."""
        try:
            program, groups = self._part.sections()
            conversion = self._part.conversion(program, self._name)
            if groups and conversion.write(0, groups[0]):
                return ""
        except HindmostError as error:
            folder = self._part.folder
            raise type(error)(
                f"{error} The records are in {folder}: hindmost attach --convert "
                f"{shell_word(folder)} makes a run file of them."
            ) from error
        return self._why_nothing(program, groups)


def checked_name(what: str, name: str) -> str:
    """Return a name that a run file can keep.

    Raises
    ------
    UsageError
        It is empty, or has control characters.
    """
    found: str = checked(NewName, name, what)
    return found


def checked(kind: Any, value: Any, what: str) -> Any:
    """Return a value of an argument, or raise a UsageError that says what is allowed."""
    try:
        return from_document(kind, value, what)
    except RecordError as error:
        raise UsageError(str(error)) from None


def refuse_different(communicator: Any, name: str, parameters: Mapping[str, Any]) -> None:
    """Raise a UsageError on all ranks if name or parameters differ between ranks; collective."""
    mine = {"name": name, **{f"parameters: {key}": value for key, value in parameters.items()}}
    ranks = communicator.allgather({what: repr(value) for what, value in mine.items()})
    for what in dict.fromkeys(what for given in ranks for what in given):
        values = [given.get(what, "not given") for given in ranks]
        other = next((rank for rank, value in enumerate(values) if value != values[0]), None)
        if other is not None:
            raise UsageError(
                f"{what} is {values[0]} on rank 0 and {values[other]} on rank {other}; give the "
                "same value on all ranks."
            )


def checked_parameters(given: Mapping[Any, Any]) -> dict[str, Scalar]:
    """Return parameters that a run file can keep.

    Numbers of numpy become Python's.

    Raises
    ------
    UsageError
        A value is not a text, finite number or bool.
    """
    plain = {
        str(name): value.item() if isinstance(value, np.generic) else value
        for name, value in given.items()
    }
    found: dict[str, Scalar] = checked(dict[str, Scalar], plain, "parameters")
    return found


def load_if_possible() -> tuple[Any, str]:
    """Return the recorder if it can intercept MPI calls, otherwise None and the reason."""
    try:
        return load(), ""
    except HindmostError as error:
        return None, str(error)
