"""What became of a recording, as the recorder in the program says, and what to say if none began.

The recorder appends lines to a status file; their fields are separated by tabs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hindmost.harness.launch import AssignedRank
from hindmost.printable import shell_word


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
    lost : str
        Why its raw file ends early; empty if it does not.
    """

    rank: int
    size: int
    folder: Path
    finished: bool = False
    lost: str = ""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What the recorder reported of the processes of one program.

    Attributes
    ----------
    loaded : bool
        Whether the recorder was preloaded into any process.
    foreign : tuple of str
        Two libraries of MPI in one process.
    failed : str
        Why nothing could be written; empty if it could.
    processes : list of Recorded
        In the order in which they began, of each program its first rank; the program may be a
        script that starts several, or a launcher.
    """

    loaded: bool = False
    foreign: tuple[str, ...] = ()
    failed: str = ""
    processes: list[Recorded] = field(default_factory=list)


def read_outcome(status: Path) -> Outcome:
    """Read what the recorder has reported so far."""
    found = Outcome()
    try:
        lines = status.read_text(errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        match line.split("\t"):
            case ["loaded", _]:
                found.loaded = True
            case ["foreign", *libraries]:
                found.foreign = tuple(libraries)
            case ["failed", _, folder, reason]:
                found.failed = f"{folder}: {reason}"
            case ["started", rank, size, folder]:
                process = Recorded(rank=int(rank), size=int(size), folder=Path(folder))
                found.processes.append(process)
            case ["finished" | "ended" as how, rank, folder, lost]:
                for process in found.processes:
                    if (process.rank, process.folder) == (int(rank), Path(folder)):
                        process.finished = how == "finished"
                        process.lost = lost
    return found


def singletons(found: Outcome, program: str, promised: AssignedRank) -> str:
    """Say that each process ran on its own, and what to do; empty if they ran together."""
    sizes = [each.size for each in found.processes]
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


def problem(found: Outcome, program: str) -> str:
    """Say why a program began no recording, and what to do; empty if it did.

    Parameters
    ----------
    program : str
        The program's name.
    """
    if found.foreign:
        first, second = found.foreign[:2]
        return (
            f"{program} was stopped before it began: it uses another MPI than hindmost's recorder "
            f"({first} and {second}). Name the mpicc of the program's MPI: --mpicc PATH."
        )
    if found.failed:
        return f"Nothing was recorded of {program}: {found.failed}. Choose another --out."
    if not found.loaded:
        return (
            f"Nothing was recorded: {program} did not load the recorder. It is statically linked: "
            "link it dynamically, or link the recorder into it (hindmost attach --print link). Or "
            "it runs with other rights (setuid): such programs cannot be recorded."
        )
    if not found.processes:
        return (
            f"Nothing was recorded: {program} made no call of MPI_Init that hindmost sees. It "
            "ended before, is not an MPI program, or MPI is linked statically into it: link libmpi "
            "dynamically, or link the recorder into the program: hindmost attach --print link."
        )
    return ""
