"""Whether a pipelined solver pays off: two solvers with the same changes, here or on more ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import Any

import numpy as np

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import apart, configuration
from hindmost.analysis.runs.finding import OF_MODELS, Finding, about
from hindmost.analysis.runs.groups import Group, group_runs
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.at_scale import TIMES_RARER, Simulated, fitted_work, scale_runs
from hindmost.analysis.whatif.options import Named, dict_of
from hindmost.analysis.whatif.prediction import Outcome
from hindmost.analysis.whatif.study import Replayed, announce_replays, of_path, replay_run
from hindmost.analysis.whatif.targets import Scale, network_of, scalable
from hindmost.errors import UsageError
from hindmost.executors import Executor
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.scenarios import CAPPED, PARTS
from hindmost.models.simulation.simulated_solve import WIDEST, SimulatedSolve, spread_of
from hindmost.text import counted, percent, seconds

FEWEST_REPEATS = 2
"""Of each solver, without which nothing is decided: one says nothing of how runs scatter."""
REPEATS = 3
"""Of each solver, from which on the spread of repeats says something."""
MAY_DIFFER = ("solver", "iterations", "options", "command", "warmup", "phases", "events")
"""What is not alike in runs of two solvers on one problem and machine."""


class Verdict(StrEnum):
    """Whether the pipelined solver pays off."""

    YES = "pays off"
    NO = "does not pay off"
    OPEN = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The time of an iteration of the pipelined solver, over that of the blocking one.

    Attributes
    ----------
    typical : float or None
        None if the runs show only the interval.
    low, high : float
        Of a 90 % interval, or the range over repeats and intervals of replays.
    """

    typical: float | None
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """What the interval says."""
        if self.high < 1.0:
            return Verdict.YES
        return Verdict.NO if self.low > 1.0 else Verdict.OPEN

    @property
    def wide(self) -> bool:
        """Whether the interval is too wide for a single ratio to mean anything."""
        return self.typical is None or self.high > WIDEST * self.low

    @property
    def words(self) -> str:
        """The ratio with its interval, or the interval alone if it is too wide."""
        ends = f"{factor(self.low)} to {factor(self.high)}"
        return ends if self.wide else f"{factor(self.typical or 0.0)} ({ends})"

    def to_json(self, verdict: Verdict) -> dict[str, Any]:
        """Return the ratio for JSON."""
        return {
            "ratio": None if self.wide else self.typical,
            "ratio_interval": [self.low, self.high],
            "verdict": str(verdict),
        }


def factor(ratio: float) -> str:
    """Write a ratio."""
    if 0.01 <= ratio < 100.0:
        return f"{ratio:.2f}"
    return "over 100" if ratio > 1.0 else "under 0.01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two solvers on a number of ranks, with the same change.

    Attributes
    ----------
    named : Named
    blocking, pipelined : tuple of Replayed or of Simulated
        One for each repeat.
    ratio : Ratio
        Of iterations.
    as_recorded : Ratio or None
        Simulated, if no detour exceeds the longest recorded one.
    decides : bool
        Whether the runs may decide at all; see `doubt_of`.
    whole : bool
        Whether whole solves are compared, not iterations.
    """

    named: Named
    blocking: Sequence[Outcome]
    pipelined: Sequence[Outcome]
    ratio: Ratio
    as_recorded: Ratio | None = None
    decides: bool = True
    whole: bool = False

    @classmethod
    def of(
        cls,
        named: Named,
        blocking: Sequence[Outcome],
        pipelined: Sequence[Outcome],
        *,
        decides: bool = True,
        whole: bool = False,
    ) -> Compared:
        """Compare two solvers; simulations have common random numbers, replays repeats alone."""
        ours, theirs = ([e for e in side if isinstance(e, Simulated)]
                        for side in (blocking, pipelined))  # fmt: skip
        if not ours:
            ratio, recorded = ratio_of_replays(blocking, pipelined, whole), None
        else:
            expected, recorded = (
                ratio_of_simulations(ours, theirs, capped=each) for each in (False, True)
            )
            ratio = replace(
                expected,
                low=min(expected.low, recorded.low),
                high=max(expected.high, recorded.high),
            )
        return cls(
            named=named,
            blocking=blocking,
            pipelined=pipelined,
            ratio=ratio,
            as_recorded=recorded,
            decides=decides,
            whole=whole,
        )

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.blocking[0].ranks

    @property
    def simulated(self) -> SimulatedSolve | None:
        """What was simulated of the first repeat; None if it was replayed."""
        first = self.blocking[0]
        return first.result if isinstance(first, Simulated) else None

    @property
    def on_tail(self) -> bool:
        """Whether a law without a mean, or one that describes no run, leaves nothing to say."""
        return any(
            each.missed or not np.isfinite(each.result.high_s)
            for each in (*self.blocking, *self.pipelined)
        )

    @property
    def verdict(self) -> Verdict:
        """What is known."""
        return Verdict.OPEN if self.on_tail or not self.decides else self.ratio.verdict

    @property
    def title(self) -> str:
        """Where, and with which change."""
        where = counted(self.ranks, "rank")
        return f"{where} with {self.named.title}" if self.named.words else where

    @property
    def basis(self) -> str:
        """What the numbers rest on, as the end of a sentence."""
        first = self.blocking[0]
        if isinstance(first, Simulated):
            return f" (simulated, {first.extrapolated or 'as recorded'})"
        return ""

    def answer(self, solvers: tuple[str, str], *, where: str = "", doubt: str = "") -> str:
        """Return whether the pipelined solver pays off, in a sentence.

        Parameters
        ----------
        where : str
            The ranks that it is said of; by default those of this comparison.
        doubt : str
            Why the runs decide nothing; empty if they may.
        """
        blocking, pipelined = solvers
        figures = f"an iteration takes {self.ratio.words} times as long as one of {blocking}"
        undecided = f"These runs do not decide whether {pipelined} pays off on {self.title}"
        also = f", and {doubt}" if doubt else ""
        if self.on_tail:
            return (
                f"{undecided}: the answer rests on noise that is rarer than what was "
                f"recorded{self.basis}{also}."
            )
        if self.ratio.wide and self.as_recorded is not None:
            return f"{undecided}: {figures}{self.basis}{also}."
        if doubt:
            return f"{undecided}: {doubt}. At face value, {figures}{self.basis}."
        if self.verdict is Verdict.OPEN:
            return f"{undecided}: {figures}{self.basis}."
        there = f" on {counted(self.ranks, 'rank')}" if where else ""
        said = f"on {self.title}"
        if where:
            said = where + (f" with {self.named.title}" if self.named.words else "")
        comma = f"{there} " if there else " "
        return f"{pipelined} {self.verdict} {said}:{comma}{figures}{self.basis}."

    def to_json(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        found: dict[str, Any] = {"changes": dict_of(self.named.words)}
        for name, side in (("blocking", self.blocking), ("pipelined", self.pipelined)):
            found[f"{name}_s"] = time_s(side, self.whole)
            if self.simulated is None:
                found[f"{name}_interval_s"] = list(range_s(side, self.whole))
        if self.simulated is not None and self.as_recorded is not None:
            recorded = self.as_recorded
            found |= {
                "ranks": self.ranks,
                "nodes": self.simulated.nodes,
                "origin": "simulated",
                "extrapolated_from": {"ranks": self.simulated.recorded_ranks},
                "with_recorded_noise": recorded.to_json(self.known(recorded)),
            }
        return {**found, **self.ratio.to_json(self.verdict)}

    def known(self, ratio: Ratio) -> Verdict:
        """Return the verdict of a ratio, if the runs may decide."""
        return ratio.verdict if self.decides else Verdict.OPEN


def time_s(found: Sequence[Outcome], whole: bool = False) -> float | None:
    """Return the time of an iteration, or a solve, the median over repeats; None if not known."""
    known = [
        each.predicted_s / (1 if whole else each.run.header.iterations)
        for each in found
        if each.predicted_s is not None
    ]
    return float(np.median(known)) if len(known) == len(found) else None


def range_s(found: Sequence[Outcome], whole: bool) -> tuple[float, float]:
    """Return the least and the most that an iteration, or a solve, may take, in seconds."""
    ends = [
        (each.result.low_s / count, each.result.high_s / count)
        for each in found
        for count in [1 if whole else each.run.header.iterations]
    ]
    return min(low_s for low_s, _ in ends), max(high_s for _, high_s in ends)


def ratio_of_replays(
    blocking: Sequence[Outcome], pipelined: Sequence[Outcome], whole: bool
) -> Ratio:
    """Return a ratio of times, with the range over repeats and intervals."""
    ours, theirs = time_s(blocking, whole), time_s(pipelined, whole)
    ends, others = range_s(blocking, whole), range_s(pipelined, whole)
    return Ratio(
        typical=None if ours is None or theirs is None else theirs / ours,
        low=others[0] / ends[1],
        high=others[1] / ends[0],
    )


def ratio_of_simulations(
    blocking: Sequence[Simulated], pipelined: Sequence[Simulated], *, capped: bool
) -> Ratio:
    """Return a ratio of times per iteration.

    Replicas of both solvers have common random numbers, so their ratios scatter less than the
    times. The interval has 90 % of them, times the change by any scenario that both solvers have,
    and by how much the simulations miss the recorded times.
    """
    ours, theirs = (
        np.concatenate(
            [
                (each.result.capped_s if capped else each.result.replicas_s)
                / each.run.header.iterations
                for each in side
            ]
        )
        for side in (blocking, pipelined)
    )
    pairs = min(ours.size, theirs.size)
    low, high = spread_of(theirs[:pairs] / ours[:pairs])
    middle = [
        float(np.median([each_s(each, capped=capped) for each in side]))
        for side in (pipelined, blocking)
    ]
    shifts = [1.0]
    for name in blocking[0].result.scenarios_s:
        if name not in (*PARTS, CAPPED):
            moved = [
                float(np.median([e.result.scenarios_s[name] / e.result.scenarios_s["typical"]
                                 for e in side]))
                for side in (pipelined, blocking)
            ]  # fmt: skip
            shifts.append(moved[0] / moved[1])
    missed = [
        float(np.median([each.result.recorded_s / each.result.check_s for each in side]))
        for side in (pipelined, blocking)
    ]
    shifts.append(missed[0] / missed[1])
    typical = middle[0] / middle[1]
    return Ratio(
        typical=typical,
        low=min(low, typical) * min(shifts),
        high=max(high, typical) * max(shifts),
    )


def each_s(one: Simulated, *, capped: bool) -> float:
    """Return the time of an iteration of one repeat, in seconds."""
    total_s = one.result.as_recorded_s if capped else one.result.seconds
    return total_s / one.run.header.iterations


def parts_of_iteration(found: Sequence[Simulated], *, capped: bool) -> dict[str, float]:
    """Return what the time of an iteration consists of, of the repeat in the middle, in seconds.

    Of an even number of repeats, the mean of two.
    """
    count = len(found)
    order = np.argsort([each_s(each, capped=capped) for each in found], kind="stable")
    both = [found[at] for at in order[(count - 1) // 2 : count // 2 + 1]]
    parts = []
    for each in both:
        result, iterations = each.result, each.run.header.iterations
        network_s, outside_s = max(result.network_s, 0.0), max(result.outside_s, 0.0)
        rest_s = each_s(each, capped=capped) - (network_s + outside_s) / iterations
        # With less noise than is typical of the run, work takes less than its typical time.
        work_s = min(result.work_s / iterations, rest_s)
        parts.append((work_s, rest_s - work_s, network_s / iterations, outside_s / iterations))
    names = ("undisturbed work", "noise and waiting for it", "network", "between cycles")
    return dict(zip(names, np.mean(parts, axis=0).tolist(), strict=True))


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
            "findings": [each.to_json() for each in self.findings],
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
    """Return the solver of a group."""
    return group.runs[0].header.solver


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
    if first.runs[0].header.synchronisation != "blocking":
        raise UsageError(f"{solver_of(first)} is pipelined; name a blocking solver's runs first.")
    if second.runs[0].header.synchronisation != "pipelined":
        raise UsageError(
            f"{solver_of(second)} is blocking; --against takes a pipelined solver's runs."
        )
    ours, theirs = (configuration(each.runs[0]) for each in (first, second))
    unlike = [name for name in apart([ours, theirs]) if name not in MAY_DIFFER]
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
