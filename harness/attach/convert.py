"""Turn what attached programs left into run files, when they have ended or later.

A raw folder is locked while it is converted, and removed when all of its run files are written.
What has been written is noted in it, so that a conversion that was interrupted goes on where it
stopped: a launcher kills its ranks while one converts, if another rank of the program ended with an
error.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, HindmostError
from hindmost.files import matching, read_text, write_atomically
from hindmost.harness.attach.header import KIND, origins_of
from hindmost.harness.attach.iterations import UnsureError
from hindmost.harness.attach.missing_marks import (
    calls_listed,
    calls_to_mark,
    why_no_loop,
    why_nothing,
)
from hindmost.harness.attach.outcome import Recorded
from hindmost.harness.attach.rank_work import SUFFIX as WORK
from hindmost.harness.attach.raw import PATTERN, SUFFIX
from hindmost.harness.attach.raw_json import LOOP
from hindmost.harness.attach.raw_program import RankFacts, RawProgram, read_program
from hindmost.harness.attach.section_group import JOURNAL, Conversion, Journal, Report
from hindmost.harness.attach.sections import how_killed, sections_of
from hindmost.harness.attach.settings import FIND, iteration_call
from hindmost.harness.attach.stopped import where_ranks_stood
from hindmost.harness.rank_failures import on_root
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.runfile.rank_windows import FILE as WINDOWS
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.time_left import NOTE
from hindmost.harness.solo import Solo
from hindmost.output import ProgressLine, warn, warn_lines
from hindmost.printable import one_line, shell_word
from hindmost.processes import is_alive
from hindmost.text import counted, first_of, percent

UNUSABLE = "unusable.txt"
"""In a raw folder that verbs do not convert (again): why. It was said when that was found."""


def convert(
    folder: Path,
    out: Path,
    origins: Origins | None = None,
    report: Report = lambda _: None,
    iterate_at: tuple[str, int] | None = None,
    communicator: Any = None,
    refuse: Callable[[RawProgram], None] = lambda _: None,
    keep: float | None = None,
) -> tuple[Path, ...]:
    """Convert a raw folder into run files, and remove it; collective.

    Parameters
    ----------
    folder : Path
        ``NAME.raw``, of a program that has ended.
    out : Path
        For the run files.
    origins : Origins, optional
        Where the program ran, as its launcher found it; by default what its ranks wrote.
    report : callable
        Takes sentences on what was left out.
    iterate_at : tuple of str, int, optional
        The call at which iterations end, and how many of these; only where all calls were recorded
        to find it.
    communicator : MPI.Intracomm, optional
        Of the processes that convert it together; None for this one alone.
    refuse : callable
        Raises a DataError for a program that is not to be converted.
    keep : float, optional
        See `Conversion`.

    Returns
    -------
    tuple of Path
        The run files; none if the program recorded nothing.

    Raises
    ------
    DataError
        Nothing in the folder can be used, or a run file cannot be written; the folder stays.
    """
    everybody = communicator or Solo()
    with ExitStack() as stack:
        on_root(everybody, lambda: stack.enter_context(locked(folder)))
        line = stack.enter_context(ProgressLine(folder.name, seen=everybody.rank == 0))
        report = partial(said, line, report) if everybody.rank == 0 else lambda _: None
        program = read_program(folder, line, everybody)
        refuse(program)
        if iterate_at is not None and program.first.program.mark_call != FIND:
            given = program.first.program.mark_call
            ends = f"at calls of {given} (--iterate-at)" if given else "at its marks"
            raise DataError(
                f"The iterations of {folder.name} end {ends}: only a program that was recorded "
                f"with --iterate-at {FIND} can be converted with other iterations. Leave out "
                "--iterate-at, or record the program again."
            )
        for why in (*program.unreadable, *torn(program)):
            report(why)
        stood = where_ranks_stood(program)
        if stood:
            report(f"{folder.name}: when the program was ended, {stood}")
        groups, left_out, odd = sections_of(program)
        if odd:
            report(f"{folder.name}: {odd}")
        for why in left_out if groups else ():
            report(f"{folder.name}: {why}")
        if left_out and not groups:
            call = program.first.program.mark_call
            at_call = call and call != FIND and program.finished
            why = why_no_loop(program) if at_call else f"{left_out[0]}."
            on_root(everybody, partial(note_unusable, folder, why))
            has_records = any(rank.sections for rank in program.ranks.values())
            raise UnusableError(folder, why, has_records=has_records)
        if not groups:
            report(why_nothing(program))
        tell_unused(program, report)
        killed = how_killed(program)
        if killed and groups and all(group[0].parts[0].facts.what != LOOP for group in groups):
            report(f"{folder.name}: {killed}; a solve that it had not finished is lost")
        origins = origins_of(program, origins)
        conversion = Conversion(
            program=program,
            out=out,
            origins=origins,
            journal=Journal(folder / JOURNAL, out),
            report=report,
            iterate_at=iterate_at,
            line=line,
            keep=keep,
        )
        parts = [part for group in groups for section in group for part in section.parts]
        listed = "" if any(part.facts.unit for part in parts) else calls_listed(program)
        choices = f"{listed} {how_to_choose(program)}"
        files: list[Path] = []
        for number, group in enumerate(groups):
            try:
                files += conversion.write(number, group)
            except UnsureError as error:
                why = f"{error} {choices}" if listed else str(error)
                on_root(everybody, partial(note_unusable, folder, why))
                raise DataError(f"{folder.name}: {why}") from error
        why_whole = on_root(everybody, partial(why_whole_program, files))
        if why_whole:
            report(
                f"{folder.name}: {why_whole} Its run file has the whole program as one iteration."
            )
        if why_whole and listed:
            report(f"{folder.name}: {choices}")
            on_root(everybody, partial(note_unusable, folder, choices))
        else:
            on_root(everybody, partial(remove, folder, report))
    return tuple(files)


def why_whole_program(files: Sequence[Path]) -> str:
    """Return why a run file has the whole program as one iteration; empty if none has."""
    said = (open_run(file).header.spec.get(KIND, {}).get("no_loop", "") for file in files)
    return next(filter(None, said), "")


def said(line: ProgressLine, report: Report, sentence: str) -> None:
    """Report a sentence; the line of progress makes room for it."""
    line.clear()
    report(sentence)


def how_to_choose(program: RawProgram) -> str:
    """Say how the iterations of a program are chosen whose calls are all recorded."""
    folder, call = program.folder, next(iter(calls_to_mark(program)), "LOOP")
    return (
        "Its records are kept. Choose a loop or a call, as in: hindmost attach --convert "
        f"{shell_word(folder)} --out {shell_word(folder.parent)} --iterate-at {call}"
    )


def tell_unused(program: RawProgram, report: Report) -> None:
    """Say which marks of iterations were not kept."""
    ends = [raw.end for raw in program.ranks.values() if raw.end is not None]
    unused = max((end.marks_in_solves for end in ends), default=0)
    if unused:
        said = program.first.program
        why = "they lie inside solves"
        if said.chooses_solves:
            why = "--only, --every and --most choose solves"
        if said.mark_call:
            why = "--iterate-at says where iterations end"
        report(f"{program.folder.name}: {counted(unused, 'mark')} of iterations not kept: {why}")


def torn(program: RawProgram) -> Iterator[str]:
    """Say which ranks left less than they recorded."""
    broken = {rank: why for rank, raw in program.ranks.items() if (why := why_cut(raw))}
    if broken:
        rank, why = next(iter(broken.items()))
        others = f", and of {counted(len(broken) - 1, 'other rank')}" if len(broken) > 1 else ""
        yield f"{program.folder.name}: the records of rank {rank}{others} end early: {why}"
    if len(program.ranks) < program.size:
        missing = program.size - len(program.ranks)
        yield f"{program.folder.name}: {counted(missing, 'rank')} left no file"


def why_cut(raw: RankFacts) -> str:
    """Return why the records of a rank end early: the system's error, if it could still say so."""
    failure = raw.end.failure if raw.end is not None else 0
    return os.strerror(failure) if failure else raw.torn


class BusyError(DataError):
    """Another process converts the folder."""


class UnusableError(DataError):
    """Nothing in a raw folder can ever become a run file."""

    def __init__(self, folder: Path, why: str, *, has_records: bool) -> None:
        do = (
            "What some ranks recorded stays in it."
            if has_records
            else (f"Delete it: rm -r {shell_word(folder)}")
        )
        super().__init__(f"{folder}: nothing in it can be used. {why} {do}")


def note_unusable(folder: Path, why: str) -> None:
    """Note why a raw folder cannot be converted, so that verbs do not try again."""
    with suppress(OSError):
        write_atomically(folder / UNUSABLE, f"{why}\n")


def why_unusable(folder: Path) -> str:
    """Return why a raw folder cannot be converted; empty if nobody found so."""
    with suppress(OSError, UnicodeDecodeError):
        return one_line(read_text(folder / UNUSABLE).strip())
    return ""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process convert a folder at a time."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}.") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"{folder} is being converted by another process.") from None
        except OSError:
            pass  # some file systems have no locks
        yield
    finally:
        os.close(handle)


def remove(folder: Path, report: Report) -> None:
    """Remove the files that hindmost wrote to a raw folder, and the folder if it is then empty."""
    try:
        watched = (NOTE, f".{NOTE}", WINDOWS, f".{WINDOWS}")
        notes = (folder / name for name in (JOURNAL, UNUSABLE, *watched))
        for path in (*folder.glob(PATTERN), *folder.glob(f"*{WORK}"), *notes):
            path.unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        report(f"{folder} is converted, but cannot be removed: {error.strerror}")


def raw_folders(folder: Path) -> list[Path]:
    """Return the raw folders in a folder, or the folder itself if it is one."""
    if folder.name.endswith(SUFFIX) and folder.is_dir():
        return [folder]
    return [path for path in matching(folder, f"*{SUFFIX}") if path.is_dir()]


def states_of(program: RawProgram) -> set[str]:
    """Return what is known of the processes of a program: ``ended``, ``running``, ``unknown``."""
    states = set() if len(program.ranks) == program.size else {"unknown"}
    for raw in program.ranks.values():
        if raw.end is None and raw.program.host != socket.gethostname():
            states.add("unknown")
        else:
            running = raw.end is None and is_alive(raw.program.pid)
            states.add("running" if running else "ended")
    return states


def convert_finished(folder: Path, report: Report) -> list[Path]:
    """Convert the raw folders in a folder whose programs have finished.

    Parameters
    ----------
    report : callable
        Takes a sentence on each that is left as it is, and on what is left out.

    Returns
    -------
    list of Path
        The new run files.
    """
    files: list[Path] = []
    for raw in raw_folders(folder):
        if why_unusable(raw):  # it was said when it was found
            continue
        try:
            files += convert(raw, raw.parent, report=report, refuse=refuse_unfinished)
        except DataError as error:
            report(str(error))
    return files


def refuse_unfinished(program: RawProgram) -> None:
    """Refuse a program that may still run, and one whose folder cannot be changed."""
    raw, states = program.folder, states_of(program)
    if "running" in states:
        raise DataError(f"{raw} is not converted: its program is still running")
    if "unknown" in states:
        raise DataError(
            f"{raw} is not converted: some rank did not write its end. If the program has "
            f"ended: hindmost attach --convert {raw.parent}"
        )
    if not os.access(raw.parent, os.W_OK):
        raise DataError(f"{raw} is not converted: its folder cannot be written")


def refuse_running(program: RawProgram) -> None:
    """Refuse a program that still runs on this host."""
    if "running" in states_of(program):
        raise DataError(f"{program.folder} cannot be converted: its program is still running.")


def convert_all(
    folder: Path,
    out: Path,
    report: Report = lambda _: None,
    iterate_at: tuple[str, int] | None = None,
    communicator: Any = None,
    keep: float | None = None,
) -> tuple[Path, ...]:
    """Convert all raw folders in a folder, also those whose programs ended early; collective.

    Raises
    ------
    DataError
        There is none, a program is still running, or nothing in a raw folder can be used.
    """
    everybody = communicator or Solo()
    raws = on_root(everybody, lambda: folders_to_convert(folder))
    if not raws and everybody.rank == 0:
        report(f"{folder} has run files and no raw folder: there is nothing left to convert.")
    files: list[Path] = []
    first: DataError | None = None
    for raw in raws:
        try:
            files += convert(
                raw,
                out,
                report=report,
                iterate_at=iterate_at,
                communicator=everybody,
                refuse=refuse_running,
                keep=keep,
            )
        except DataError as error:
            if len(raws) > 1 and everybody.rank == 0:
                report(str(error))
            first = first or error
    if first is not None and not files:
        raise first
    return tuple(files)


def folders_to_convert(folder: Path) -> list[Path]:
    """Return the raw folders in a folder; raise a DataError if there are none, nor run files."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; name the one that was given to --out.")
    raws = raw_folders(folder)
    if not raws and not matching(folder, "*.h5"):
        raise DataError(
            f"{folder} has no raw folder (NAME{SUFFIX}), so there is nothing to convert."
        )
    return raws


def convert_ended(process: Recorded, out: Path, iterate_at: str) -> None:
    """Convert what a program left and say what was recorded, or why it is not.

    Parameters
    ----------
    process : Recorded
        Its first rank.
    iterate_at : str
        As `AttachRequest` has it.
    """
    is_loop = iterate_at and not iterate_at.startswith("MPI_")
    call = iteration_call(iterate_at) if is_loop else None
    try:
        files = convert(process.folder, out, report=warn, iterate_at=call)
    except BusyError:
        return
    except UnusableError as error:
        warn(str(error))
        return
    except HindmostError as error:
        if process.folder.exists():
            warn(f"{process.folder} is kept, but no run file was written: {error}")
        return
    for file in files:
        tell_recorded(file)


def sampling_words(sampling: Mapping[str, Any]) -> str:
    """Say how samples were taken, and what is missing."""
    if sampling["mechanism"] == "none":
        return f"no samples: {sampling['why_none']}"
    cost = f", at a cost of {percent(sampling['cost'], 2)}" if sampling["cost"] else ""
    said = f"{sampling['per_second']:.0f} samples a second of processor time{cost}"
    if sampling["mechanism"] == "timer":
        said += (
            "; by timers, since perf_event_open is forbidden here: they follow the kernel's tick, "
            "so that more of them are needed"
        )
    if sampling["why_none"]:
        said += f"; none any more when {sampling['why_none']}"
    if sampling["lost"]:
        said += f"; {counted(sampling['lost'], 'sample')} lost"
    if sampling.get("unsampled"):
        threads = counted(sampling["unsampled"], "thread")
        said += f"; none of {threads}: SIGPROF is blocked, or the system allows no more"
    return said


def tell_recorded(file: Path) -> None:
    """Name a run file, what it contains, and why it is incomplete if it is."""
    try:
        run = open_run(file)
    except DataError as error:
        warn(str(error))
        return
    said, header = run.header.spec[KIND], run.header
    bodies = counted(header.iterations, "iteration")
    what = (
        ", ".join(filter(None, (bodies, header.iteration_is)))
        if header.solver == LOOP
        else f"{counted(said['solves'], 'solve')}, {bodies}"
    )
    kept = f"; full records of {run.columns} of {header.ranks} ranks" if run.reduced else ""
    warn_lines(f"hindmost: recorded {file}: {what}{run.of_program}{kept}")
    sampling = header.spec.get("sampling")
    if sampling:
        warn_lines(f"hindmost: {sampling_words(sampling)}")
    others = header.loops()
    if others:
        warn(f"Other loops: {first_of(others, '; ')}.")  # 'show --loops' has all
    if not header.complete:
        warn(f"{file} is INCOMPLETE: {header.spec.get('failure', 'records were lost')}")
