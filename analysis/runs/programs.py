"""Attached programs: all runs of one execution, with their sentences below one title."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from hindmost.analysis.runs.attached import AttachedRun
from hindmost.analysis.runs.configuration import is_attached
from hindmost.analysis.runs.finding import Finding, of_file
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.model_input import MAX_IN_MEMORY
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.straggler import pooled, verdict_of
from hindmost.analysis.runs.stretches import stretches_of
from hindmost.analysis.runs.summary import when
from hindmost.analysis.show.facts import RepeatedCulprit
from hindmost.analysis.show.phrases import folded, within
from hindmost.analysis.show.table import LEADING, WIDTH
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted


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

    def lines(
        self,
        below: Mapping[Path, Sequence[str]] = MappingProxyType({}),
        remark: str = "",
        room: float = math.inf,
    ) -> list[str]:
        """Return the title and the sentences.

        Parameters
        ----------
        below : mapping of Path to sequence of str
            What else is said of each run, below its sentences.
        remark : str
            In what it differs from others, if the command is too long to show it.
        room : float
            Lines of each run, of which the most important sentences are taken.
        """
        first = self.runs[0]
        attached, header = first.attached, first.run.header
        command = " ".join(attached.get("program", [])) or self.name
        if len(command) > WIDTH // 2:  # so that the title stays on one line
            command = f"{command[: WIDTH // 2 - 3]}..." + (f" ({remark})" if remark else "")
        ranks = int(attached.get("of_ranks") or header.ranks)
        began = min(run.run.header.t0_utc for run in self.runs)
        lines = [f"{self.name}: {command}, {counted(ranks, 'rank')}, {when(began)}"]
        if attached.get("finished") is False or attached.get("aborted") is not None:
            how = "" if attached.get("aborted") is None else f" (MPI_Abort {attached['aborted']})"
            lines.append(
                f"  The program did not end by MPI_Finalize{how}; this is what it recorded before."
            )
        if len(self.runs) > 1:
            total = sum(run.solves for run in self.runs)
            of_solves = f"{counted(total, 'solve')} in {len(self.runs)} files, by solver, options "
            what = f"{of_solves}prefix and size" if total else f"{len(self.runs)} of its loops"
            lines.append(f"  {what}. The longest first:")
        lines = folded(lines)
        for each in self.runs[:LEADING]:
            if len(self.runs) > 1:
                lines += folded([f"  {each.run.path.name}:"])
            more = folded([line.strip() for line in below.get(each.run.path, ())], indent="  ")
            left = room - len(more) - (len(lines) if each is first else 0)
            lines += [*within(left, each.paragraphs(), indent="  "), *more]
        if len(self.runs) > LEADING:
            lines.append(f"  {counted(len(self.runs) - LEADING, 'file')} more, of less time.")
        skipped = attached.get("solves_skipped", 0)
        if skipped:
            words = (
                f"{counted(skipped, 'further solve')} of the program, on all ranks together, not "
                "recorded, as --only, --every or --most asked."
            )
            lines += folded([words], indent="  ")
        return lines


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
            large = run.bodies * run.columns > MAX_IN_MEMORY
            stretches = () if large else stretches_of(run)
            own = tuple(of_file(findings, run.path))
            found = AttachedRun(
                run=run,
                attached=said,
                verdict=None if large else verdict_of(run),
                stretches=stretches,
                findings=own,
                facts=facts_of(run, own),
            )
            programs.setdefault(key, []).append(found)
    return [
        AttachedProgram(
            name=name,
            runs=tuple(
                replace(each, alone=len(found) == 1)  # the loops of a run are those of others
                for each in sorted(found, key=lambda each: -each.run.solve_time_s)
            ),
        )
        for (_, name, _), found in programs.items()
    ]


def repeated_culprits(programs: Iterable[AttachedProgram]) -> list[RepeatedCulprit]:
    """Return in how many repeats of a configuration which rank takes longest."""
    runs = [run for program in programs for run in program.runs]
    verdicts = {run.run: run.verdict for run in runs if run.verdict is not None}
    return [
        one
        for group in group_runs(verdicts)
        for one in pooled([verdicts[run] for run in group.runs])
    ]
