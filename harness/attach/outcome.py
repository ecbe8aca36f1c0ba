"""What became of a recording, as the recorder in the program says, and what to say if none began.

The recorder appends lines to a status file; their fields are separated by tabs. What it says itself
on stderr, as it knows it while the program runs, is not said again here.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.harness.attach.program import Ended
from hindmost.harness.launch import AssignedRank
from hindmost.printable import one_line, shell_word
from hindmost.processes import how_ended
from hindmost.text import first_of

ASAN = (b"libasan.so", b"libclang_rt.asan")
"""Shared runtimes of AddressSanitizer, as a program names the one that it needs."""
WITH_ASAN = "ASAN_OPTIONS=verify_asan_link_order=0"
NOT_REACHED = (
    "a script, env or a container replaces or clears LD_PRELOAD before it starts the program: it "
    "has to keep what LD_PRELOAD contains",
    "the program is statically linked: link the recorder into it (hindmost attach --print link)",
    "it runs with other rights than yours (setuid, capabilities): it cannot be recorded",
    "the recorder cannot be loaded where the program runs, as in a container that does not have "
    "its file or has another C library (the loader then writes 'cannot be preloaded' to stderr): "
    "start 'hindmost attach' inside of it",
    f"it is built with AddressSanitizer: set {WITH_ASAN}",
)
"""Why a program has no recorder in it, and what to do; any of these where no fact decides."""
PAST_RECORDER = (
    "the program looks MPI's functions up in the library that it has loaded (ctypes, Julia, dlopen "
    "with dlsym): look them up in the whole process instead, as with ctypes.CDLL(None) or "
    "dlsym(RTLD_DEFAULT)",
    "MPI is linked statically into the program or one of its libraries: link the recorder into it "
    "(hindmost attach --print link)",
    "a tool that also intercepts MPI takes the call and does not pass it on by PMPI: record "
    "without it",
)
"""How MPI can begin without a call that the recorder sees, and what to do."""


@dataclass(slots=True, kw_only=True)
class Recorded:
    """A process that began to record.

    Attributes
    ----------
    rank, size : int
        As MPI sees them.
    folder : Path
        The raw folder of its program.
    finished : bool
        Whether it ended MPI, and so did all ranks.
    failure : int
        Number of the system's error for which its raw file ends early: `errno.ENOENT` if the file
        was removed; 0 if it does not.
    """

    rank: int
    size: int
    folder: Path
    finished: bool = False
    failure: int = 0


@dataclass(slots=True, kw_only=True)
class Loaded:
    """A process into which the recorder was loaded.

    Attributes
    ----------
    name : str
        What people call its program.
    image : str
        What the system calls it, its first 15 letters.
    left : bool
        Whether the recorder was in it to the end, by `exit`.
    called_init : bool
        Whether it called MPI_Init, or MPI_Init_thread.
    uses_sessions : bool
        Whether it called MPI_Session_init.
    mpi_begun : str
        The library whose MPI had begun when it left by `exit`; empty if none had.
    """

    name: str
    image: str = ""
    left: bool = False
    called_init: bool = False
    uses_sessions: bool = False
    mpi_begun: str = ""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What the recorder reported of the processes of one program.

    Attributes
    ----------
    loaded : dict of int to Loaded
        By process, in the order in which it was loaded; of a process that became another program,
        the last one with the recorder.
    refused : bool
        Whether the recorder has said why nothing is recorded.
    removed : bool
        Whether the file with its reports is gone, as when its folder was removed.
    processes : list of Recorded
        In the order in which they began, of each program its first rank; the program may be a
        script that starts several, or a launcher.
    """

    loaded: dict[int, Loaded] = field(default_factory=dict)
    refused: bool = False
    removed: bool = False
    processes: list[Recorded] = field(default_factory=list)


def read_outcome(status: Path) -> Outcome:
    """Read what the recorder has reported so far."""
    outcome = Outcome()
    try:
        lines = status.read_text(errors="replace").splitlines()
    except OSError:
        outcome.removed = True
        return outcome
    loaded = outcome.loaded
    for line in lines:
        match line.split("\t"):
            case ["loaded", process, name, image]:
                loaded.pop(int(process), None)
                loaded[int(process)] = Loaded(name=one_line(name), image=one_line(image))
            case ["init", process] if int(process) in loaded:
                loaded[int(process)].called_init = True
            case ["session", process] if int(process) in loaded:
                loaded[int(process)].uses_sessions = True
            case ["exit", process, library] if int(process) in loaded:
                loaded[int(process)].left = True
                loaded[int(process)].mpi_begun = one_line(library)
            case ["refused", _]:
                outcome.refused = True
            case ["started", rank, size, folder]:
                recorded = Recorded(rank=int(rank), size=int(size), folder=Path(folder))
                outcome.processes.append(recorded)
            case ["finished" | "ended" as how, rank, folder, failure]:
                for recorded in outcome.processes:
                    if (recorded.rank, recorded.folder) == (int(rank), Path(folder)):
                        recorded.finished = how == "finished"
                        recorded.failure = int(failure)
    return outcome


def singletons(found: Outcome, program: str, promised: AssignedRank) -> str:
    """Say that each process ran on its own, and what to do; empty if they ran together."""
    sizes = [process.size for process in found.processes]
    if not promised.launcher or not sizes or max(sizes) >= promised.size:
        return ""
    return (
        f"{promised.launcher} started {promised.size} processes, but MPI in {program} sees "
        f"{max(sizes)}: each ran on its own. Start it with the launcher of its MPI; under srun "
        "choose what that MPI needs (--mpi=pmi2 for MPICH)."
    )


def ended_early(out: Path, *, over: bool) -> str:
    """Say that a program ended without MPI_Finalize, and what becomes of its records.

    Parameters
    ----------
    over : bool
        Whether all of its ranks are known to have ended: their launcher has. Else some may still
        write.
    """
    said = "The program ended without MPI_Finalize."
    if over:
        return said
    return (
        f"{said} The first command on this machine that reads {out} when all ranks have ended "
        f"writes its run files, or: hindmost attach --convert {shell_word(out)}"
    )


def cut_off(process: Recorded, out: Path) -> str:
    """Say that the records of a process end early, or are gone, and what to do."""
    if process.failure == errno.ENOENT:
        return gone(process.folder)
    do = {
        errno.ENOSPC: f"Free some space in {out}.",
        errno.EDQUOT: f"Your quota in {out} is used up.",
        errno.EFBIG: "The limit of the size of a file (ulimit -f) is too low.",
    }.get(process.failure, "")
    why = os.strerror(process.failure)
    return f"The records on rank {process.rank} are cut off: {why}. {do}".rstrip()


def gone(folder: Path) -> str:
    """Say that a folder was removed under the program, and what to do."""
    return (
        f"{folder} was removed while the program ran: what was recorded in it is lost. Choose a "
        "folder for --out that nobody clears meanwhile."
    )


def reports_gone(status: Path, out: Path) -> str:
    """Say that the recorder's reports were removed under the program, or their folder, too."""
    if not out.exists():
        return gone(out)
    return (
        f"{status} was removed while the program ran: what became of it is not known. If it was "
        f"recorded: hindmost attach --convert {shell_word(out)}"
    )


def problem(outcome: Outcome, ended: Ended) -> str:
    """Say why a program began no recording: what was seen, then what may be the cause.

    Empty if it began one, or if the recorder has said so itself.
    """
    if outcome.refused or outcome.processes:
        return ""
    return f"Nothing was recorded: {why_nothing_began(outcome, ended)}"


def why_nothing_began(outcome: Outcome, ended: Ended) -> str:
    """Return what was seen of a program that began no recording, and what may be the cause."""
    loaded = outcome.loaded
    if not loaded:
        return why_not_loaded(ended)
    for process, one in reversed(loaded.items()):
        if one.called_init:
            how = f" It {how_ended(ended.status)}." if process == ended.process else ""
            return (
                f"{one.name} called MPI_Init, and either ended before it returned, or MPI_Init "
                f"failed.{how} Does it run without hindmost?"
            )
        if one.uses_sessions:
            return (
                f"{one.name} begins MPI with MPI_Session_init. Only programs that call MPI_Init "
                "can be recorded."
            )
        if one.mpi_begun:
            return (
                f"{one.name} uses MPI ({one.mpi_begun}), but no call of MPI_Init reached the "
                f"recorder. {possible(PAST_RECORDER)}"
            )
    names = first_of(list(dict.fromkeys(one.name for one in loaded.values())))
    first = loaded.get(ended.process)
    if first is not None and not first.left and ended.image not in ("", first.image):
        return (
            f"the recorder was loaded into {names}, but not into {ended.image}, which took its "
            f"place and {how_ended(ended.status)}. {possible(NOT_REACHED)}"
        )
    last = list(loaded.values())[-1].name
    how = f", and {how_ended(ended.status)}" if list(loaded) == [ended.process] else ""
    return (
        f"the recorder was loaded into {names}, which made no call of MPI_Init{how}. "
        + possible(
            (
                f"{last} does not use MPI, or ended before MPI_Init",
                "it starts the MPI program, and the recorder does not reach that one, as where "
                "LD_PRELOAD is replaced or cleared on the way, where the program is statically "
                "linked, setuid or built with AddressSanitizer "
                f"({WITH_ASAN}), or in a container without the recorder's file",
                *PAST_RECORDER[1:2],
            )
        )
    )


def possible(causes: Iterable[str]) -> str:
    """Say what may be the cause, where nothing decides."""
    return f"Possible causes: {'; '.join(causes)}."


def why_not_loaded(ended: Ended) -> str:
    """Say why the recorder was loaded into no process, from the file that was started."""
    name = Path(ended.words[0]).name
    seen = f"{name} did not load the recorder"
    path = shutil.which(ended.words[0])
    facts = facts_of(Path(path)) if path else ProgramFile()
    if facts.is_static:
        return (
            f"{seen}: it is statically linked. If it is the MPI program, link it dynamically, or "
            "link the recorder into it (hindmost attach --print link). If it starts that, as the "
            "command of a container does, start 'hindmost attach' inside of it."
        )
    if facts.other_rights:
        return (
            f"{seen}: it runs with other rights ({facts.other_rights}). If it is the MPI program, "
            "it cannot be recorded. If it starts that, start 'hindmost attach' inside of it."
        )
    if facts.needs_asan:
        return (
            f"{seen}: it is built with AddressSanitizer, which ends a program into which another "
            f"library is loaded first. Set {WITH_ASAN}"
        )
    return f"{seen}, and {how_ended(ended.status)}. {possible(NOT_REACHED)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFile:
    """What a program's file says of how it can be started.

    Attributes
    ----------
    is_static : bool
        Whether no loader is named in it.
    other_rights : str
        With which rights of others it runs; empty if with those of its user.
    needs_asan : bool
        Whether it names the shared runtime of AddressSanitizer.
    """

    is_static: bool = False
    other_rights: str = ""
    needs_asan: bool = False


def facts_of(path: Path) -> ProgramFile:
    """Read the file of a program; of one that cannot be read, or is a script, nothing is known."""
    rights = ""
    with suppress(OSError):
        mode = path.stat().st_mode
        rights = "setuid" if mode & stat.S_ISUID else "setgid" if mode & stat.S_ISGID else ""
    with suppress(OSError):
        if os.getxattr(path, "security.capability"):
            rights = rights or "capabilities"
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return ProgramFile(
                is_static=is_static(data),
                other_rights=rights,
                needs_asan=data[:4] == b"\x7fELF" and any(data.find(each) >= 0 for each in ASAN),
            )
    except (OSError, ValueError):
        return ProgramFile(other_rights=rights)


def is_static(data: mmap.mmap) -> bool:
    """Tell whether a file of ELF names no loader: it has no segment PT_INTERP."""
    if data[:4] != b"\x7fELF" or data[4] not in (1, 2):
        return False
    order = "<" if data[5] == 1 else ">"
    try:
        if data[4] == 2:
            (begin,) = struct.unpack_from(f"{order}Q", data, 32)
            size, count = struct.unpack_from(f"{order}HH", data, 54)
        else:
            (begin,) = struct.unpack_from(f"{order}I", data, 28)
            size, count = struct.unpack_from(f"{order}HH", data, 42)
        kinds = [struct.unpack_from(f"{order}I", data, begin + size * i)[0] for i in range(count)]
    except struct.error:
        return False
    return bool(kinds) and 3 not in kinds  # PT_INTERP
