"""Whether a pipelined solver pays off: two solvers with the same changes, here or on more ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TypedDict

import numpy as np

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import apart, configuration, events_of, is_loop
from hindmost.analysis.runs.finding import OF_MODELS, Finding, about
from hindmost.analysis.runs.groups import Group, group_runs
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.at_scale import (
    fewest_iterations,
    fitted_work,
    recorded_iterations,
    scale_runs,
)
from hindmost.analysis.whatif.compared import (
    Compared,
    Verdict,
    factor,
    parts_of_iteration,
    solves_of,
    time_s,
)
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import (
    announce_replays,
    of_path,
    replay_run,
)
from hindmost.analysis.whatif.targets import Scale, network_of, scalable
from hindmost.errors import UsageError
from hindmost.executors import Executor
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.rerun import WhatIf
from hindmost.text import counted, percent, seconds

FEWEST_REPEATS = 2
"""Of each solver, without which nothing is decided: one says nothing of how runs scatter."""
REPEATS = 3
"""Of each solver, from which on the spread of repeats says something."""
MAY_DIFFER = ("solver", "iterations", "options", "command", "warmup", "phases", "events")
"""What is not alike in runs of two solvers on one problem and machine."""
WHICH = ("blocking", "pipelined")


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverFiles:
    """A solver and its files."""

    of: Group

    JSON = "solver files"

    def solver(self) -> str:
        """Return its name."""
        return solver_of(self.of)

    def files(self) -> list[Path]:
        """Return the files of its runs."""
        return [run.path for run in self.of.runs]


class Comparisons(TypedDict, total=False):
    """The comparisons: as recorded and with each change, or on other ranks."""

    recorded: Compared
    changes: list[Compared]
    at_scale: list[Compared]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Whether a pipelined solver pays off, with which changes, and on how many ranks.

    Attributes
    ----------
    blocking, pipelined : Group
        Of the runs on most ranks.
    compared : tuple of Compared
        All changes on the first number of ranks, then on the next.
    findings : tuple of Finding
    doubt : str
        Why the runs decide nothing; empty if they may.
    """

    blocking: Group
    pipelined: Group
    compared: tuple[Compared, ...]
    findings: tuple[Finding, ...]
    doubt: str

    JSON = (
        "blocking=blocking_files pipelined=pipelined_files answer=explain **comparisons "
        "iterations_ratio assumptions findings"
    )

    @property
    def names(self) -> tuple[str, str]:
        """The two solvers."""
        return solver_of(self.blocking), solver_of(self.pipelined)

    @property
    def scaled(self) -> bool:
        """Whether other numbers of ranks are simulated."""
        return self.compared[0].simulated is not None

    def explain(self) -> str:
        """Return the answer, the most important sentence first."""
        reasons = self.parts() if self.scaled else reasons_of(self.by_change()[0][-1], self.names)
        return "\n".join([*self.verdicts(), *reasons, *self.surer()])

    def by_change(self) -> list[list[Compared]]:
        """Return the comparisons with each change, by ascending number of ranks."""
        found = dict[tuple[tuple[str, str], ...], list[Compared]]()
        for each in sorted(self.compared, key=lambda each: each.ranks):
            found.setdefault(each.named.words, []).append(each)
        return list(found.values())

    def verdicts(self) -> Iterator[str]:
        """Yield the answer for the first change, and for the others where it is another one."""
        every = self.by_change()
        first, alike = every[0][-1], 0
        for found in every:
            last = found[-1]
            if last is not first and last.verdict is first.verdict and not self.scaled:
                alike += 1
                continue
            yield self.answer(found)
            recorded = last.as_recorded
            if recorded is None or self.doubt:
                continue
            if last.on_tail or recorded.verdict is not last.verdict:
                undecided = "is " if recorded.verdict is Verdict.OPEN else ""
                yield (
                    f"If no detour exceeds the longest recorded one, it {undecided}"
                    f"{recorded.verdict} there: {recorded.words} times as long."
                )
        if alike and alike == len(every) - 1 and not self.doubt:
            yield "None of the changes below changes this."
        if self.reached and not (first.on_tail or first.ratio.wide):
            ratio = self.iterations_ratio
            yield (
                f"To the tolerance, {self.names[1]} takes {ratio:.2f} times as many iterations, "
                f"so it takes {factor(ratio * (first.ratio.typical or 0.0))} times as long on "
                f"{first.title}, if iterations stay as recorded."
            )

    def answer(self, found: Sequence[Compared]) -> str:
        """Return the answer for one change on one number of ranks or several, in a sentence."""
        last = found[-1]
        where = ""
        alike = list(takewhile(lambda each: each.verdict is last.verdict, reversed(found)))
        if len(alike) == len(found) > 1:
            where = f"on {found[0].ranks:,} to {last.ranks:,} ranks"
        elif len(alike) < len(found) and last.verdict is Verdict.YES:
            where = f"from {counted(alike[-1].ranks, 'rank')} on"
        return last.answer(self.names, where=where, doubt=self.doubt)

    @property
    def reached(self) -> bool:
        """Whether all runs reached their tolerance."""
        endings = [Ending.of(run.header) for run in (*self.blocking.runs, *self.pipelined.runs)]
        return all(each is not None and each.reached for each in endings)

    @property
    def iterations_ratio(self) -> float:
        """Iterations to the tolerance of the pipelined solver, over those of the blocking one."""
        ours, theirs = (
            float(np.median([run.header.iterations for run in group.runs]))
            for group in (self.blocking, self.pipelined)
        )
        return theirs / ours

    def parts(self) -> Iterator[str]:
        """Yield what an iteration of either solver consists of, on the most ranks."""
        last = self.by_change()[0][-1]
        for name, side in zip(self.names, (last.blocking, last.pipelined), strict=True):
            untold = next((each for each in side if each.missed), None)
            if untold is not None:
                yield f"On {last.title} nothing is known of {name}: {untold.withheld}"
                continue
            limited = any(one.limited for one, _ in solves_of(side))
            lead = "If no detour exceeds the longest recorded one, an" if limited else "An"
            parts_s = parts_of_iteration(side, capped=limited)
            words = ", ".join(
                f"{what} {seconds(each_s)}" for what, each_s in parts_s.items() if each_s > 0.0
            )
            yield (
                f"{lead} iteration of {name} takes {seconds(sum(parts_s.values()))} on "
                f"{last.title}: {words}."
            )

    def surer(self) -> Iterator[str]:
        """Yield what to measure to be surer."""
        last = max(self.compared, key=lambda each: each.ranks)
        few = [each for each in (self.blocking, self.pipelined) if len(each.runs) < REPEATS]
        if few:
            have = ", ".join(f"{solver_of(each)} {len(each.runs)}" for each in few)
            yield f"To be surer, record {counted(REPEATS, 'repeat')} of each solver (now: {have})."
        result = last.simulated
        if result is not None and result.case.noise > 0.0:
            wanted, recorded = fewest_iterations(result), recorded_iterations(result)
            if recorded < wanted:
                yield (
                    f"To be surer of the noise, record about {wanted:,} iterations in one run on "
                    f"{counted(result.recorded_ranks, 'rank')} (now: {recorded:,}; each repeat is "
                    "simulated by itself), or fewer on more ranks and nodes: the slowest of "
                    f"{result.ranks:,} ranks is rarer than what was recorded."
                )
        lower = any("lower bound" in each for each in last.blocking[0].assumed)
        if lower or any(each.ratio.typical is None for each in self.compared):
            yield (
                "To be surer of the network, give --machine with a file of 'hindmost probe "
                "network' on two nodes of the machine."
            )
        if has_errors((self.blocking, self.pipelined), self.findings):
            yield "To be surer, record again without the errors that 'hindmost check' lists."

    def table(self) -> Table:
        """Return all numbers of ranks and changes in a table."""
        note = "Times per iteration; ratio: with the range over repeats and intervals."
        if self.scaled:
            note = (
                "Times per iteration, with all noise that the fitted laws expect. recorded noise: "
                "the ratio if no detour exceeds the longest recorded one. All simulated."
            )
        return Table(
            columns=(
                Column("ranks", RIGHT),
                Column("with", LEFT),
                *(Column(name, RIGHT) for name in self.names),
                Column("ratio", RIGHT),
                Column("", LEFT),
                Column("recorded noise", RIGHT),
            ),
            rows=[
                (
                    f"{each.ranks:,}",
                    each.named.title if each.named.words else "",
                    *(
                        "-" if each_s is None else seconds(each_s)
                        for each_s in (time_s(each.blocking), time_s(each.pipelined))
                    ),
                    "-" if each.on_tail else each.ratio.words,
                    str(each.verdict),
                    "" if each.as_recorded is None else each.as_recorded.words,
                )
                for each in self.compared
            ],
            notes=(note,),
        )

    def assumptions(self) -> list[str]:
        """Return what the replays or simulations assume."""
        sides = [each for one in self.compared for each in (*one.blocking, *one.pipelined)]
        return list(dict.fromkeys(said for each in sides for said in each.assumed))

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons for JSON."""
        if self.scaled:
            return {"at_scale": list(self.compared)}
        return {"recorded": self.compared[0], "changes": list(self.compared[1:])}

    @property
    def blocking_files(self) -> SolverFiles:
        """The blocking solver and its files."""
        return SolverFiles(of=self.blocking)

    @property
    def pipelined_files(self) -> SolverFiles:
        """The pipelined one and its files."""
        return SolverFiles(of=self.pipelined)


def advise(
    blocking: Sequence[Run],
    pipelined: Sequence[Run],
    changes: Sequence[Named],
    machine: Machine | None = None,
    scale: Scale | None = None,
    executor: Executor | None = None,
) -> Advice:
    """Compare a blocking and a pipelined solver, as recorded, with changes, or on other ranks.

    Parameters
    ----------
    changes : sequence of Named
        The depth of a pipeline applies to the pipelined solver only.

    Raises
    ------
    UsageError
        Runs of several configurations, of unlike problems, or not of such solvers.
    """
    nothing = Named(change=Change(), words=())
    asked = [each for each in changes if each.words]
    both = list(zip((list(blocking), list(pipelined)), WHICH, strict=True))
    if scale is None:
        groups = [one_group(runs, which) for runs, which in both]
        refuse_unlike(*groups)
        asked = [nothing, *asked]
        announce_replays([run for group in groups for run in group.runs], asked)
        every = [
            [replay_run(run, side, machine, executor=executor) for run in group.runs]
            for group, side in zip(groups, sides_of(asked), strict=True)
        ]
    else:
        asked = [*changes, nothing] if len(asked) == len(changes) else list(changes)
        kinds = [of_one_kind(runs, which) for runs, which in both]
        groups = [most_ranks(each, which) for each, which in zip(kinds, WHICH, strict=True)]
        refuse_unlike(*groups)
        works = [[fitted_work(run) for run in runs] for runs in kinds]
        network = network_of(machine, [works[0][-1], works[1][-1]])
        every = [
            scale_runs(runs, fitted, scale, side, network, executor)
            for runs, fitted, side in zip(kinds, works, sides_of(asked), strict=True)
        ]
    findings = tuple(findings_of(groups))
    doubt = doubt_of(groups, findings)
    compared = tuple(
        Compared.of(
            asked[place % len(asked)],
            [each[place] for each in every[0]],
            [each[place] for each in every[1]],
            decides=not doubt,
        )
        for place in range(len(every[0][0]))
    )
    return Advice(
        blocking=groups[0],
        pipelined=groups[1],
        compared=compared,
        findings=findings,
        doubt=doubt,
    )


def sides_of(changes: Sequence[Named]) -> tuple[list[Named], list[Named]]:
    """Return the changes of the blocking solver, without the depth of a pipeline, and all."""
    without = [
        Named(
            change=replace(each.change, depth=None),
            words=tuple(word for word in each.words if word[0] != "pipeline depth"),
        )
        for each in changes
    ]
    return without, list(changes)


def solver_of(group: Group) -> str:
    """Return the solver of a group, or the program whose loop it is."""
    header = group.runs[0].header
    return header.workload if is_loop(group.runs[0]) else header.solver


def is_pipelined(group: Group) -> bool:
    """Tell whether a solver, or a loop, starts collectives and completes them later."""
    run = group.runs[0]
    if is_loop(run):
        return "post" in events_of(run)
    return run.header.synchronisation == "pipelined"


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
            f"{' and '.join(alone)} {have} one repeat only, which does not show how runs vary"
        )
    if has_errors(groups, findings):
        doubts.append("the runs have errors (see below)")
    return ", and ".join(doubts)


def one_group(runs: Sequence[Run], which: str) -> Group:
    """Return the only configuration of some runs; raise a UsageError if there are several."""
    groups = group_runs(runs)
    if len(groups) > 1:
        titles = "; ".join(each.title for each in groups[:3])
        raise UsageError(
            f"The {which} solver has {counted(len(groups), 'configuration')} ({titles}): name "
            "the run files of one."
        )
    return groups[0]


def of_one_kind(runs: Sequence[Run], which: str) -> list[Run]:
    """Return runs that differ in size and ranks only; raise a UsageError for others."""
    kinds = scalable(runs)
    if len(kinds) > 1:
        raise UsageError(
            f"The {which} solver has {counted(len(kinds), 'configuration')} that differ in more "
            "than ranks and size: name the run files of one."
        )
    return kinds[0]


def most_ranks(runs: Sequence[Run], which: str) -> Group:
    """Return the runs on most ranks."""
    most = runs[-1].header.ranks
    return one_group([run for run in runs if run.header.ranks == most], which)


def refuse_unlike(first: Group, second: Group) -> None:
    """Raise a UsageError for runs that do not compare."""
    if is_pipelined(first):
        raise UsageError(f"{solver_of(first)} is pipelined; name a blocking solver's runs first.")
    if not is_pipelined(second):
        raise UsageError(
            f"{solver_of(second)} is blocking; --against takes the runs of a pipelined solver, or "
            "of a loop with non-blocking collectives."
        )
    ours, theirs = (configuration(each.runs[0]) for each in (first, second))
    may_differ = (*MAY_DIFFER, *(("workload",) if is_loop(second.runs[0]) else ()))
    unlike = [name for name in apart([ours, theirs]) if name not in may_differ]
    if unlike:
        name = unlike[0]
        raise UsageError(
            f"The runs do not compare: {name} is {ours.get(name, 'none')} for {solver_of(first)} "
            f"and {theirs.get(name, 'none')} for {solver_of(second)}."
        )


def reasons_of(found: Compared, names: tuple[str, str]) -> Iterator[str]:
    """Yield what the two solvers spend their time on, along their critical paths."""
    blocking, pipelined = names
    parts, work_s = [], []
    for side in (found.blocking, found.pipelined):
        shares = [of_path(each.result.recorded) for each in side if isinstance(each.result, WhatIf)]
        parts.append({name: float(np.median([one[name] for one in shares])) for name in shares[0]})
        work_s.append(float(np.median([typical_work_s(each.run) for each in side])))
    if work_s[0] > 0.0:
        yield (
            f"An iteration of {pipelined} has {work_s[1] / work_s[0]:.2f} times the local work of "
            f"one of {blocking} (medians, so without detours)."
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
