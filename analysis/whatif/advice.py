"""Whether a pipelined solver pays off: two solvers with the same changes, here or on more ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import apart, configuration, events_of, is_loop
from hindmost.analysis.runs.finding import OF_MODELS, Finding, about, findings_json
from hindmost.analysis.runs.groups import Group, group_runs
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.at_scale import TIMES_RARER, Simulated, fitted_work, scale_runs
from hindmost.analysis.whatif.compared import (
    Compared,
    Verdict,
    factor,
    parts_of_iteration,
    time_s,
)
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.prediction import Outcome
from hindmost.analysis.whatif.study import Replayed, announce_replays, of_path, replay_run
from hindmost.analysis.whatif.targets import Scale, network_of, scalable
from hindmost.errors import UsageError
from hindmost.executors import Executor
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
        return "\n".join([*self._verdicts(), *self._reasons(), *self.surer()])

    def with_change(self, named: Named) -> list[Compared]:
        """Return all numbers of ranks with one change, ascending."""
        found = [each for each in self.compared if each.named.words == named.words]
        return sorted(found, key=lambda each: each.ranks)

    @property
    def changes(self) -> list[Named]:
        """All changes."""
        return list({each.named.words: each.named for each in self.compared}.values())

    def _verdicts(self) -> Iterator[str]:
        """Yield the answer for the first change, and for the others where it is another one."""
        first = self.with_change(self.changes[0])[-1]
        alike = []
        for named in self.changes:
            last = self.with_change(named)[-1]
            if last is not first and last.verdict is first.verdict and not self.scaled:
                alike.append(named)
                continue
            yield self.answer(self.with_change(named))
            recorded = last.as_recorded
            if recorded is None or self.doubt:
                continue
            if last.on_tail or recorded.verdict is not last.verdict:
                verdict = f"it is {recorded.verdict}"
                if recorded.verdict is not Verdict.OPEN:
                    verdict = f"it {recorded.verdict}"
                yield (
                    f"If no detour exceeds the longest recorded one, {verdict} there: "
                    f"{recorded.words} times as long."
                )
        if alike and len(alike) == len(self.changes) - 1 and not self.doubt:
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
        both = [
            float(np.median([run.header.iterations for run in group.runs]))
            for group in (self.pipelined, self.blocking)
        ]
        return both[0] / both[1]

    def _reasons(self) -> Iterator[str]:
        """Yield what an iteration of either solver consists of, on the most ranks."""
        last = self.with_change(self.changes[0])[-1]
        if not self.scaled:
            yield from reasons(last, self.names)
            return
        for name, side in zip(self.names, (last.blocking, last.pipelined), strict=True):
            every = [each for each in side if isinstance(each, Simulated)]
            untold = next((each for each in every if each.missed), None)
            if untold is not None:
                yield f"On {last.title} nothing is told of {name}: {untold.withheld}"
                continue
            limited = any(each.result.limited for each in every)
            lead = "If no detour exceeds the longest recorded one, an" if limited else "An"
            parts_s = parts_of_iteration(every, capped=limited)
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
            wanted = TIMES_RARER * result.ranks
            if result.samples < wanted:
                yield (
                    f"To be surer of the noise, record about {wanted:,} iterations of all ranks in "
                    f"one run (now: {result.samples:,}; each repeat is simulated by itself), on as "
                    f"many ranks and nodes as you can: the slowest of {result.ranks:,} ranks is "
                    "rarer than what was recorded."
                )
        lower = any("lower bound" in each for each in last.blocking[0].assumptions())
        if lower or any(each.ratio.typical is None for each in self.compared):
            yield (
                "To be surer of the network, give --machine with a file of 'hindmost probe "
                "network' on two nodes of the machine."
            )
        if has_errors((self.blocking, self.pipelined), self.findings):
            yield "To be surer, record again without the errors that 'hindmost check' lists."

    def table(self) -> Table:
        """Return all numbers of ranks and changes in a table."""
        blocking, pipelined = self.names
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
                Column(blocking, RIGHT),
                Column(pipelined, RIGHT),
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
        return list(dict.fromkeys(said for each in sides for said in each.assumptions()))

    def to_json(self) -> dict[str, Any]:
        """Return the advice for JSON."""
        first = self.compared[0]
        compared = [each.to_json() for each in self.compared]
        found = {"at_scale": compared, "iterations_ratio": self.iterations_ratio}
        if not self.scaled:
            found = {"recorded": compared[0], "changes": compared[1:], "to_tolerance": None}
            if self.reached:
                whole = Compared.of(
                    first.named, first.blocking, first.pipelined, decides=first.decides, whole=True
                )
                found["to_tolerance"] = whole.to_json()
        return {
            **{
                name: {
                    "solver": solver_of(group),
                    "files": [str(run.path) for run in group.runs],
                }
                for name, group in (("blocking", self.blocking), ("pipelined", self.pipelined))
            },
            "answer": self.explain(),
            **found,
            "assumptions": self.assumptions(),
            "findings": findings_json(self.findings),
        }


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
    both = (list(blocking), list(pipelined))
    every: Sequence[Sequence[Sequence[Outcome]]]
    if scale is None:
        groups = [one_group(each, which) for each, which in zip(both, WHICH, strict=True)]
        refuse_unlike(*groups)
        asked = [nothing, *asked]
        announce_replays([run for group in groups for run in group.runs], asked)
        every = [
            [replay_run(run, side, machine, executor=executor) for run in group.runs]
            for group, side in zip(groups, sides_of(asked), strict=True)
        ]
    else:
        asked = [*changes, nothing] if len(asked) == len(changes) else list(changes)
        kinds = [of_one_kind(each, which) for each, which in zip(both, WHICH, strict=True)]
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


WHICH = ("blocking", "pipelined")


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
            f"{' and '.join(alone)} {have} one repeat only, which does not show how runs scatter"
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


def reasons(found: Compared, names: tuple[str, str]) -> Iterator[str]:
    """Yield what the two solvers spend their time on, along their critical paths."""
    blocking, pipelined = names
    parts, work = [], []
    for side in (found.blocking, found.pipelined):
        replays = [each for each in side if isinstance(each, Replayed)]
        shares = [of_path(each.result.recorded) for each in replays]
        parts.append({name: float(np.median([one[name] for one in shares])) for name in shares[0]})
        work.append(np.median([typical_work_s(each.run) for each in replays]))
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
