"""Whether a pipelined solver pays off: two solvers replayed with the same changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import apart, configuration
from hindmost.analysis.runs.finding import OF_MODELS, Finding, about
from hindmost.analysis.runs.groups import Group, group_runs
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.compared import Compared, SolverTime, Verdict
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import Replayed, announce_replays, of_path, replay_run
from hindmost.errors import UsageError
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.change import Change
from hindmost.text import counted, percent, seconds

FEWEST_REPEATS = 2
"""Of each solver, without which nothing is decided: one says nothing of how runs scatter."""
REPEATS = 3
"""Of each solver, from which on the spread of repeats says something."""
MAY_DIFFER = ("solver", "iterations", "options", "command", "warmup", "phases", "events")
"""What is not alike in runs of two solvers on one problem and machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Whether a pipelined solver pays off, and with which changes.

    Attributes
    ----------
    blocking, pipelined : Group
    recorded : Compared
        Per iteration, without a change.
    changed : tuple of Compared
        Per iteration.
    to_tolerance : Compared or None
        Whole solves without a change; None if some did not reach their tolerance.
    reasons : tuple of str
    assumptions : tuple of str
    findings : tuple of Finding
    doubt : str
        Why the runs decide nothing; empty if they may.
    """

    blocking: Group
    pipelined: Group
    recorded: Compared
    changed: tuple[Compared, ...]
    to_tolerance: Compared | None
    reasons: tuple[str, ...]
    assumptions: tuple[str, ...]
    findings: tuple[Finding, ...]
    doubt: str

    @property
    def names(self) -> tuple[str, str]:
        """The two solvers."""
        return solver_of(self.blocking), solver_of(self.pipelined)

    def explain(self) -> str:
        """Return the answer, the most important sentence first."""
        return "\n".join([*self._verdicts(), *self.reasons, *self.surer()])

    def _verdicts(self) -> Iterator[str]:
        """Yield whether the pipelined solver pays off, as recorded and from when on."""
        blocking, pipelined = self.names
        ranks = counted(self.blocking.runs[0].header.ranks, "rank")
        say = f"{pipelined} {self.recorded.verdict} on this machine and {ranks}"
        if self.recorded.verdict is Verdict.OPEN:
            say = f"These runs do not decide whether {pipelined} pays off"
        figures = f"an iteration takes {self.recorded.words} times as long as one of {blocking}"
        if self.doubt:
            figures = f"{self.doubt}. At face value, {figures}"
        yield f"{say}: {figures}."
        unlike = [each for each in self.changed if each.verdict is not self.recorded.verdict]
        if unlike:
            words = f"{pipelined} {unlike[0].verdict}"
            if unlike[0].verdict is Verdict.OPEN:
                words = "it is undecided"
            yield f"With {unlike[0].named.title}, {words}: {unlike[0].words} times as long."
        elif self.changed and not self.doubt:
            yield "None of the changes below changes this."
        if self.to_tolerance is not None:
            yield f"To the tolerance it takes {self.to_tolerance.words} times as long."

    @property
    def broken(self) -> bool:
        """Whether the runs have findings that forbid conclusions."""
        return has_errors((self.blocking, self.pipelined), self.findings)

    def surer(self) -> Iterator[str]:
        """Yield what to measure to be surer."""
        few = [each for each in (self.blocking, self.pipelined) if len(each.runs) < REPEATS]
        if few:
            have = ", ".join(f"{solver_of(each)} {len(each.runs)}" for each in few)
            yield (
                f"To be surer, record {counted(REPEATS, 'repeat')} of each solver (now: {have}): "
                "the interval has only the repeats that there are."
            )
        if self.broken:
            yield "To be surer, record again without the errors that 'hindmost check' lists."
        if any(each.ratio is None for each in self.changed):
            yield (
                "To be surer of other latencies, give --machine with a file of 'hindmost probe "
                "network' on as many ranks."
            )

    def table(self) -> Table:
        """Return all changes in a table."""
        blocking, pipelined = self.names
        return Table(
            columns=(
                Column("with", LEFT),
                Column(blocking, RIGHT),
                Column(pipelined, RIGHT),
                Column("ratio", RIGHT),
                Column("", LEFT),
            ),
            rows=[
                (
                    each.named.title,
                    *(
                        "-" if one.each_s is None else seconds(one.each_s)
                        for one in (each.blocking, each.pipelined)
                    ),
                    each.words,
                    str(each.verdict),
                )
                for each in (self.recorded, *self.changed)
            ],
            notes=("Times per iteration; ratio: with the range over repeats and intervals.",),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the advice for JSON."""
        blocking, pipelined = self.names
        return {
            "blocking": files_json(blocking, self.blocking),
            "pipelined": files_json(pipelined, self.pipelined),
            "answer": self.explain(),
            "recorded": self.recorded.to_json(),
            "changes": [each.to_json() for each in self.changed],
            "to_tolerance": None if self.to_tolerance is None else self.to_tolerance.to_json(),
            "assumptions": list(self.assumptions),
            "findings": [each.to_json() for each in self.findings],
        }


def files_json(solver: str, group: Group) -> dict[str, Any]:
    """Return a solver and its files for JSON."""
    return {"solver": solver, "files": [str(run.path) for run in group.runs]}


def has_errors(groups: Sequence[Group], findings: Sequence[Finding]) -> bool:
    """Tell whether findings forbid conclusions.

    How much repeats differ is in the interval, which is that over repeats, if there are enough.
    """
    enough = all(len(each.runs) >= REPEATS for each in groups)
    return any(
        each.severity == "error" and not (enough and each.code == "repeats-differ")
        for each in about(findings, OF_MODELS)
    )


def doubt_of(groups: Sequence[Group], findings: Sequence[Finding]) -> str:
    """Return why runs of two solvers decide nothing, for a sentence; empty if they may."""
    alone = [solver_of(each) for each in groups if len(each.runs) < FEWEST_REPEATS]
    doubts = []
    if alone:
        have = "has" if len(alone) == 1 else "have"
        doubts.append(
            f"{' and '.join(alone)} {have} one repeat only, which does not show how runs scatter"
        )
    if has_errors(groups, findings):
        doubts.append("the runs have errors (see below)")
    return ", and ".join(doubts)


def solver_of(group: Group) -> str:
    """Return the solver of a group."""
    return group.runs[0].header.solver


def advise(
    blocking: Sequence[Run],
    pipelined: Sequence[Run],
    changes: Sequence[Named],
    machine: Machine | None = None,
) -> Advice:
    """Compare a blocking and a pipelined solver, as recorded and with changes.

    Raises
    ------
    UsageError
        Runs of several configurations, of unlike problems, or not of such solvers.
    """
    first, second = one_group(blocking, "first"), one_group(pipelined, "second")
    refuse_unlike(first, second)
    nothing = Named(change=Change(), words=())
    every = [nothing, *(each for each in changes if each.words)]
    announce_replays([*first.runs, *second.runs], every)
    ours = [replay_run(run, [without_depth(each) for each in every], machine) for run in first.runs]
    theirs = [replay_run(run, every, machine) for run in second.runs]

    findings = tuple(findings_of([first, second]))
    doubt = doubt_of([first, second], findings)

    def compare(number: int, *, whole: bool = False) -> Compared:
        return Compared(
            named=every[number],
            blocking=SolverTime.of([each[number] for each in ours], whole=whole),
            pipelined=SolverTime.of([each[number] for each in theirs], whole=whole),
            decides=not doubt,
        )

    endings = [Ending.of(run.header) for run in (*first.runs, *second.runs)]
    reached = all(each is not None and each.reached for each in endings)
    said = dict.fromkeys(
        each for replays in (*ours, *theirs) for one in replays for each in one.assumptions()
    )
    return Advice(
        blocking=first,
        pipelined=second,
        recorded=compare(0),
        changed=tuple(compare(number) for number in range(1, len(every))),
        to_tolerance=compare(0, whole=True) if reached else None,
        reasons=tuple(reasons([each[0] for each in ours], [each[0] for each in theirs])),
        assumptions=tuple(said),
        findings=findings,
        doubt=doubt,
    )


def without_depth(named: Named) -> Named:
    """Return a change without the depth of a pipeline, for a blocking solver."""
    words = tuple(each for each in named.words if each[0] != "pipeline depth")
    return Named(change=replace(named.change, depth=None), words=words)


def one_group(runs: Sequence[Run], which: str) -> Group:
    """Return the only configuration of some runs; raise a UsageError if there are several."""
    groups = group_runs(runs)
    if len(groups) > 1:
        titles = "; ".join(each.title for each in groups[:3])
        raise UsageError(
            f"The {which} argument has {counted(len(groups), 'configuration')} ({titles}): name "
            "the run files of one."
        )
    return groups[0]


def refuse_unlike(first: Group, second: Group) -> None:
    """Raise a UsageError for runs that do not compare."""
    if first.runs[0].header.synchronisation != "blocking":
        raise UsageError(f"{solver_of(first)} is pipelined; name a blocking solver's runs first.")
    if second.runs[0].header.synchronisation != "pipelined":
        raise UsageError(f"{solver_of(second)} is blocking; name a pipelined solver's runs last.")
    ours, theirs = (configuration(each.runs[0]) for each in (first, second))
    unlike = [name for name in apart([ours, theirs]) if name not in MAY_DIFFER]
    if unlike:
        name = unlike[0]
        raise UsageError(
            f"The runs do not compare: {name} is {ours.get(name, 'none')} for {solver_of(first)} "
            f"and {theirs.get(name, 'none')} for {solver_of(second)}."
        )


def reasons(ours: Sequence[Replayed], theirs: Sequence[Replayed]) -> Iterator[str]:
    """Yield what the two solvers spend their time on, along their critical paths."""
    blocking, pipelined = (each[0].run.header.solver for each in (ours, theirs))
    parts = []
    for replays in (ours, theirs):
        shares = [of_path(each.result.recorded) for each in replays]
        parts.append({name: float(np.median([one[name] for one in shares])) for name in shares[0]})
    work = [np.median([typical_work_s(each.run) for each in replays]) for replays in (ours, theirs)]
    if work[0] > 0.0:
        yield (
            f"An iteration of {pipelined} has {work[1] / work[0]:.2f} times the local work of one "
            f"of {blocking} (medians, so without detours)."
        )
    words = ", ".join(
        f"{name} {percent(parts[0][name])} and {percent(parts[1][name])}" for name in parts[0]
    )
    yield f"Of their critical paths ({blocking} and {pipelined}): {words}."


def typical_work_s(run: Run) -> float:
    """Return the local work of a typical iteration, in seconds.

    The median of each rank, so that detours do not count; then the mean of the ranks.
    """
    work_s = np.concatenate([run.work_in(rows) for rows in run.blocks()])
    return float(np.median(work_s, axis=0).mean())
