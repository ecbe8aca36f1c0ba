"""What became of a recording, as the recorder in the program says, and what to say if nothing did.

The recorder appends lines to a status file; their fields are separated by tabs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hindmost.text import counted


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
    folders : list of Path
        Raw folders of which this process's program was rank 0.
    others : list of Path
        Those of which it was another rank, and which rank 0 converts: all ranks ended MPI.
    started : bool
        Whether a program began MPI.
    ended : bool
        Whether the recorder has said how the program ended.
    sections, solves, skipped, passed, marks : int
        Recorded solves and loops; outermost solves with the chosen prefix, how many of these were
        not recorded, and solves of other prefixes; marks of iterations.
    petsc : str
        PETSc's version; empty if libpetsc was not seen.
    lost : str
        Why the raw file ends early; empty if it does not.
    """

    loaded: bool = False
    foreign: tuple[str, ...] = ()
    failed: str = ""
    folders: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)
    started: bool = False
    ended: bool = False
    sections: int = 0
    solves: int = 0
    skipped: int = 0
    passed: int = 0
    marks: int = 0
    petsc: str = ""
    lost: str = ""


def read_outcome(status: Path) -> Outcome:
    """Read what the recorder has reported so far."""
    found = Outcome()
    try:
        lines = status.read_text(errors="replace").splitlines()
    except OSError:
        return found
    folder = ""
    for line in lines:
        match line.split("\t"):
            case ["loaded", _]:
                found.loaded = True
            case ["foreign", *libraries]:
                found.foreign = tuple(libraries)
            case ["failed", _, folder, reason]:
                found.failed = f"{folder}: {reason}"
            case ["started", rank, _, folder]:
                found.started = True
                if rank == "0":
                    found.folders.append(Path(folder))
            case ["finished" | "ended" as how, rank, *numbers, petsc, lost]:
                found.ended = True
                if rank != "0" and how == "finished":
                    found.others.append(Path(folder))
                sections, solves, skipped, passed, marks = (int(number) for number in numbers)
                found.sections += sections
                found.solves += solves
                found.skipped += skipped
                found.passed += passed
                found.marks += marks
                found.petsc = petsc
                found.lost = lost
    return found


def problem(found: Outcome, program: str, only: str | None) -> str:
    """Say why nothing was recorded of a program, and what to do; empty if something was.

    Parameters
    ----------
    program : str
        The program's name.
    only : str or None
        The options prefix that was asked for.
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
            f"Nothing was recorded: {program} did not load the recorder. It is statically linked, "
            "or runs with other rights (setuid). Link it dynamically, or link the recorder into "
            "it: hindmost attach --print-link."
        )
    if not found.started:
        return (
            f"Nothing was recorded: {program} made no call of MPI_Init that hindmost sees. It is "
            "not an MPI program, or MPI is linked statically into it: link libmpi dynamically, or "
            "link the recorder into the program as well: hindmost attach --print-link."
        )
    if not found.ended or found.sections:
        return ""
    if found.passed and not found.solves:
        return (
            f"Nothing was recorded: none of {counted(found.passed, 'solve')} of {program}, inner "
            f"ones included, has the options prefix '{only}' (--only). PETSc's option -ksp_view "
            "shows the prefixes."
        )
    if found.solves:
        return (
            f"Nothing was recorded: {program} made {counted(found.solves, 'solve')}, all inside "
            "recordings of its own (hindmost run, record, record_ksp). Run it without attach."
        )
    if found.petsc:
        return (
            f"Nothing was recorded: {program} uses PETSc {found.petsc}, but no KSPSolve was seen, "
            "and no marks of iterations. Mark them: MPI_Pcontrol(1), hindmost.h, or --iterate-at."
        )
    marks = "only one mark of an iteration was" if found.marks else "no marks of iterations were"
    return (
        f"Nothing was recorded: {program} uses MPI, but no shared libpetsc, and {marks} seen. Mark "
        "iterations with MPI_Pcontrol(1) or hindmost.h, or choose an MPI call at which they end: "
        "--iterate-at MPI_Allreduce. If it uses PETSc, link libpetsc dynamically."
    )
