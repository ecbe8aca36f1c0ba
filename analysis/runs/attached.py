"""What the runs of an attached program say to a person first, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.analysis.runs.attached_ranks import rank_times
from hindmost.analysis.runs.attached_run import BOUND, AttachedRun
from hindmost.analysis.runs.configuration import is_attached
from hindmost.analysis.runs.finding import Finding, of_file
from hindmost.analysis.runs.summary import when
from hindmost.harness.runfile.reader import Run
from hindmost.printable import shell_word
from hindmost.text import counted

MOST_RUNS = 3
"""Kinds of solves of a program that get sentences, those that take longest."""
MOST_SHOWN = 100
"""Characters of a command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedProgram:
    """One execution of an attached program, with all of its runs.

    Attributes
    ----------
    name : str
    runs : tuple of AttachedRun
        The longest first.
    """

    name: str
    runs: tuple[AttachedRun, ...]

    def lines(self) -> list[str]:
        """Return the title and the sentences."""
        first = self.runs[0]
        attached, header = first.attached, first.run.header
        command = " ".join(attached.get("program", [])) or self.name
        if len(command) > MOST_SHOWN:
            command = f"{command[: MOST_SHOWN - 3]}..."
        ranks = int(attached.get("of_ranks") or header.ranks)
        began = min(each.run.header.t0_utc for each in self.runs)
        lines = [f"{self.name}: {command}, {counted(ranks, 'rank')}, {when(began)}"]
        if attached.get("finished") is False or attached.get("aborted") is not None:
            how = "" if attached.get("aborted") is None else f" (MPI_Abort {attached['aborted']})"
            lines.append(
                f"  The program did not end by MPI_Finalize{how}; this is what it recorded before."
            )
        if len(self.runs) > 1:
            total = sum(each.solves for each in self.runs)
            lines.append(
                f"  {counted(total, 'solve')} in {len(self.runs)} files, by solver, options prefix "
                "and size. The longest first:"
            )
        for each in self.runs[:MOST_RUNS]:
            lines += [f"  {line}" for line in each.lines()]
            lines.append(f"  In {shell_word(each.run.path)}")
        if len(self.runs) > MOST_RUNS:
            lines.append(f"  {counted(len(self.runs) - MOST_RUNS, 'file')} more, of less time.")
        if any(each.hidden is not None for each in self.runs[:MOST_RUNS]):
            lines.append(f"  {BOUND}")
        skipped = attached.get("solves_skipped", 0)
        if skipped:
            lines.append(
                f"  {counted(skipped, 'further solve')} of the program, on all ranks together, not "
                "recorded, as --only, --every or --most asked."
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``programs`` in ``hindmost show --json``."""
        return {"name": self.name, "runs": [each.to_json() for each in self.runs]}


def attached_programs(
    runs: Iterable[Run], findings: Sequence[Finding] = ()
) -> list[AttachedProgram]:
    """Return the attached programs among runs, in the order in which they come."""
    programs: dict[tuple[Path, str, str], list[AttachedRun]] = {}
    for run in runs:
        if is_attached(run) and run.bodies:
            said = run.header.spec["attached"]
            name = str(said.get("name") or run.header.workload)
            key = (run.path.parent, name, str(said.get("execution", "")))
            found = AttachedRun(
                run=run,
                attached=said,
                times=rank_times(run),
                findings=tuple(of_file(findings, run.path)),
            )
            programs.setdefault(key, []).append(found)
    return [
        AttachedProgram(name=name, runs=longest_first(found))
        for (_, name, _), found in programs.items()
    ]


def longest_first(runs: Sequence[AttachedRun]) -> tuple[AttachedRun, ...]:
    """Return runs by their solve time."""
    return tuple(sorted(runs, key=lambda each: -each.run.solve_time_s))
