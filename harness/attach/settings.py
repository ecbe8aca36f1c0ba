"""The settings that the preloaded recorder reads: what it keeps, and which PETSc events matter.

The recorder in C knows no solver. Names of events and the letters of their marks come from the
declarations in `hindmost.harness.krylov.solvers`, so that a solver is described once.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.launch import AssignedRank, assigned_rank
from hindmost.harness.recorder.build import SOURCES
from hindmost.harness.recorder.injection import OPTION, Injection, Law, read_law
from hindmost.harness.recorder.petsc_library import (
    ACTIVITIES,
    HALO_EVENTS,
    INNER_EVENTS,
    SOLVE_EVENT,
)
from hindmost.harness.runfile.provenance import Origins
from hindmost.output import strict_json
from hindmost.text import choose

NONLINEAR_EVENT = "SNESSolve"
TIME_STEP_EVENT = "TSStep"
DEFAULT_MEMORY = "256MB"
BUDGET_BYTES = 64 * 1000**2
"""For the calls of a loop on each rank; of those beyond it sums are kept."""
FIND = "auto"
"""Of ``--iterate-at``: record all calls, and find the loop that iterates."""
LAWS = {
    "exponential": Law.EXPONENTIAL,
    "fixed": Law.FIXED,
    "periodic": Law.TIMED,
}
MAX_RANGES = 64
"""Ranges of ranks that the recorder in C stores."""
MAX_SAMPLES = 10_000
"""A second of a thread."""
SIZES = {"": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachRequest:
    """What to record of a program.

    Attributes
    ----------
    out : Path
        Folder for the run files.
    only : str or None
        Record solves of this options prefix; None for all.
    every : int
        Record each Nth of these.
    most : int or None
        Record at most so many; None for all.
    iterate_at : str
        The MPI call at which an iteration ends, ``MPI_Allreduce`` or ``MPI_Allreduce:2``; a loop of
        the program or `FIND`; empty for PETSc's solves or marks of the program, and `FIND` where it
        has neither.
    memory : str
        Memory for records on each rank, as ``256MB``.
    all_calls : bool
        Keep all calls of a loop, however many there are.
    inject : str
        Law of noise to inject into what is recorded; empty for none.
    seed : int
        Of that noise.
    most_seconds : float or None
        After which the program is ended; None for no limit.
    sample : int, True or None
        Samples a second of where its threads spend processor time; True for as many as cost at
        most 0.3 %, None for no samples.
    keep : float
        Share of the ranks whose full records the run files keep.
    """

    out: Path
    only: str | None = None
    every: int = 1
    most: int | None = None
    iterate_at: str = ""
    memory: str = DEFAULT_MEMORY
    all_calls: bool = False
    inject: str = ""
    seed: int = 0
    most_seconds: float | None = None
    sample: int | None = None
    keep: float = 1.0

    def text(self, origins: Origins | None) -> str:
        """Return the file of settings.

        Parameters
        ----------
        origins : Origins or None
            Where the program runs, for rank 0.

        Raises
        ------
        UsageError
            The request cannot be carried out.
        """
        for option, count in (("every", self.every), ("most", self.most)):
            if count is not None and count < 1:
                raise UsageError(f"--{option} {count}: give a number of at least 1.")
        memory = memory_bytes(self.memory)
        lines = [f"out {self.out.resolve()}", f"memory {memory}"]
        if not self.all_calls:
            lines.append(f"budget {min(memory, BUDGET_BYTES)}")
        if self.only is not None:
            lines.append(f"only {self.only}")
        lines.append(f"every {self.every}")
        if self.most is not None:
            lines.append(f"most {self.most}")
        if self.most_seconds is not None:
            if not 0.0 < self.most_seconds < 1e9:
                raise UsageError(
                    f"--most-seconds {self.most_seconds:g}: it must be above 0 and below 1e9."
                )
            lines.append(f"most_ns {round(self.most_seconds * 1e9)}")
        lines += sample_lines(self.sample, f"--sample {self.sample}", "no number")
        lines += keep_lines(self.keep, f"--keep {self.keep:g}")
        if self.iterate_at:
            chosen = [
                option
                for option, is_given in (
                    ("--only", self.only is not None),
                    ("--every", self.every != 1),
                    ("--most", self.most is not None),
                )
                if is_given
            ]
            if chosen:
                raise UsageError(
                    f"{chosen[0]} chooses PETSc solves, and --iterate-at records the program's "
                    f"loop with the solves in it. Leave out {' and '.join(chosen)}, or "
                    "--iterate-at."
                )
            call, nth = iteration_call(self.iterate_at)
            if not call.startswith("MPI_"):  # a loop is looked for when the program has ended
                call, nth = FIND, 1
            lines += [f"iterate {call}", f"nth {nth}"]
        elif self.only is None and self.every == 1 and self.most is None and not self.inject:
            lines.append("unless_marked 1")
        lines += injection_lines(self.inject, self.seed, self.iterate_at)
        if origins is not None:
            lines.append(f"origins {strict_json(asdict(origins))}")
        lines += event_lines()
        if any("\n" in line for line in lines):
            raise UsageError(f"'{self.out}': a folder or prefix cannot contain a line end.")
        return "".join(f"{line}\n" for line in lines)


def injection_lines(inject: str, seed: int, iterate_at: str) -> list[str]:
    """Return the settings of injected noise; nothing if there is none."""
    if not inject:
        return []
    law = read_law(inject)
    if law.at_calls:
        raise UsageError(
            f"{OPTION} {inject}: attach injects noise into iterations; 'hindmost run' also at MPI "
            "calls. Leave out at=calls."
        )
    if iterate_at and not iterate_at.startswith("MPI_"):
        raise UsageError(
            f"{OPTION} injects noise into iterations, and --iterate-at {FIND} finds these after "
            "the program has ended. Name the call at which they end: --iterate-at MPI_Allreduce."
        )
    if len(law.ranks) > MAX_RANGES:
        raise UsageError(f"{OPTION} {inject}: at most {MAX_RANGES} ranges of ranks.")
    mine = assigned_rank()
    if mine.launcher:
        law.check_ranks(mine.size)
    if law.trace is not None or law.per_s:
        return timed_lines(law, seed, mine)
    kind = LAWS[law.kind]
    length = law.times_ns["mean" if kind is Law.EXPONENTIAL else "length"]
    period = law.times_ns.get("period", 0)
    return [
        f"inject {int(kind)} {int(law.asleep)} {seed} {length} {law.probability!r} {period}",
        *(f"inject_ranks {first} {last}" for first, last in law.ranks),
        f"injected {law}",
    ]


def timed_lines(law: Injection, seed: int, mine: AssignedRank) -> list[str]:
    """Return the settings of detours at times that are drawn here, for this rank."""
    if not mine.launcher:
        raise UsageError(
            f"{OPTION} {law}: which rank this process will be is not known before it starts, and "
            "detours of a trace or by time are drawn for each: start attach with mpiexec or srun."
        )
    drawn = law.of_rank(mine.rank, seed=seed, repeat=0)
    detours = zip(drawn.start_ns.tolist(), drawn.each_ns.tolist(), strict=True)
    return [
        f"inject {int(drawn.law)} {int(law.asleep)} {seed} 0 1 {drawn.span_ns} {drawn.first_ns}",
        *(f"detour {start} {length}" for start, length in detours),
        f"injected {law}",
    ]


def sample_lines(sample: int | None, given: str, default: str) -> list[str]:
    """Return the line that asks for samples; none for None.

    Parameters
    ----------
    sample : int, True or None
        As `Settings` has it.
    given, default : str
        What was given, and what asks for as many as cost little, for messages.

    Raises
    ------
    UsageError
        Such a number of samples cannot be taken.
    """
    if sample is None or sample is False:
        return []
    if not 1 <= sample <= MAX_SAMPLES:
        raise UsageError(f"{given}: give 1 to {MAX_SAMPLES:,} samples a second, or {default}.")
    return [f"sample {0 if sample is True else sample}"]


def keep_lines(keep: float, given: str) -> list[str]:
    """Return the line that says which share of the ranks keeps full records; none for all.

    Parameters
    ----------
    keep : float
    given : str
        What was given, for messages.

    Raises
    ------
    UsageError
        It is no share.
    """
    if not 0.0 < keep <= 1.0:
        raise UsageError(f"{given}: it must be above 0 and at most 1, as 0.05.")
    return [f"keep {keep!r}"] if keep < 1.0 else []


def event_lines(*, activities: bool = True) -> list[str]:
    """Return the PETSc events that matter for every solver, then those of each.

    Parameters
    ----------
    activities : bool
        Whether local work is divided by event.
    """
    lines = [
        f"solve {SOLVE_EVENT}",
        f"snes {NONLINEAR_EVENT}",
        f"ts {TIME_STEP_EVENT}",
        *(f"halo {event}" for event in HALO_EVENTS),
        *(f"inner {event}" for event in INNER_EVENTS),
        *(
            f"activity {number} {event}"
            for number, events in enumerate(ACTIVITIES.values(), 1)
            for event in events
            if activities
        ),
    ]
    for name in SOLVERS.names:
        lines.append(f"solver {name}")
        lines += [
            f"{mark.side} {mark.letter} {event}"
            for mark in SOLVERS[name].pattern.marks
            for event in mark.events
        ]
    return lines


def memory_bytes(text: str) -> int:
    """Return a size in bytes, written as ``256MB``.

    Raises
    ------
    UsageError
        It is not a size, or out of range.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    if not found or found[2] not in SIZES:
        raise UsageError(f"--memory {text}: write a size as 256MB or 1GiB.")
    size = float(found[1]) * SIZES[found[2]]
    if size < 1 << 20:
        raise UsageError(f"--memory {text}: give at least 1MiB for each rank.")
    return int(size)


def call_names() -> list[str]:
    """Return the MPI calls that the recorder intercepts."""
    calls = next(source for source in SOURCES if source.name == "calls.def").read_text()
    return [f"MPI_{name}" for name in re.findall(r"^(?:CALL|COUNTING)\((\w+),", calls, re.M)]


def iteration_call(text: str) -> tuple[str, int]:
    """Return where iterations end, and each which: a call as ``MPI_Allreduce:2``, or a loop.

    Raises
    ------
    UsageError
        The call is unknown, or the number is none.
    """
    if text == FIND:
        return text, 1
    name, _, nth = text.partition(":")
    if not name.startswith("MPI_"):  # of a loop: C++ has colons in names, and a line may end one
        name, nth = text, ""
        if (numbered := re.fullmatch(r"(.*[^:]):([^:()]*)", text)) is not None:
            name, nth = numbered.groups()
    names = call_names()
    if name.startswith("MPI_") and name not in names:
        raise UsageError(
            f"--iterate-at {text}: unknown MPI call '{name}'; {choose(names, name)}, or "
            f"{FIND} to find the loop."
        )
    if nth and not (nth.isdecimal() and int(nth) > 0):
        raise UsageError(
            f"--iterate-at {text}: '{nth}' is not a number of calls from 1 on; write every "
            f"second call as {name}:2."
        )
    return name, int(nth or 1)
