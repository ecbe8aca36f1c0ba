"""Whether a pipelined solver pays off: two solvers with the same changes, here or on more ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TypedDict

import numpy as np

from hindmost.analysis.runs.configuration import (
    Group,
    apart,
    configuration,
    events_of,
    group_runs,
    is_loop,
)
from hindmost.analysis.runs.finding import OF_MODELS, Finding, about
from hindmost.analysis.runs.tallies import tallied
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.prediction import (
    SolvePrediction,
    predict_at_scale,
    predict_solves,
    range_s,
    time_s,
)
from hindmost.analysis.whatif.study import Outcome, program_of
from hindmost.analysis.whatif.targets import Scale, network_of, scalable
from hindmost.analysis.whatif.typical_work import TYPICAL_WORK
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.inference import Ratio, replica_interval
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.simulated_solve import (
    CAPPED,
    PARTS,
    WIDEST,
)
from hindmost.text import counted, seconds

REPEATS = 3
"""Of each solver, from which on the spread of repeats says something."""
MAY_DIFFER = ("solver", "iterations", "options", "command", "warmup", "phases", "events")
"""What is not alike in runs of two solvers on one problem and machine."""


class Verdict(StrEnum):
    """Whether the pipelined solver pays off."""

    YES = "pays off"
    NO = "does not pay off"
    OPEN = "undecided"


def is_wide(ratio: Ratio) -> bool:
    """Tell whether an interval is too wide for a single ratio to mean anything."""
    low, high = ends_of(ratio)
    return not math.isfinite(ratio.value) or high > WIDEST * low


def ends_of(ratio: Ratio) -> tuple[float, float]:
    """Return the interval of a ratio; the ratio itself where it has none."""
    return ratio.interval or (ratio.value, ratio.value)


def ratio_words(ratio: Ratio) -> str:
    """Write a ratio with its interval, or the interval alone if it is too wide."""
    low, high = ends_of(ratio)
    ends = f"{factor(low)} to {factor(high)}"
    return ends if is_wide(ratio) else f"{factor(ratio.value)} ({ends})"


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
    blocking, pipelined : SolvePrediction
    ratio : Ratio
        Of iterations.
    doubt : str
        Why the runs decide nothing; empty if they may.
    """

    named: Named
    blocking: SolvePrediction
    pipelined: SolvePrediction
    ratio: Ratio
    doubt: str = ""

    JSON = (
        "ranks=pipelined.ranks changes=named.changes blocking_s=blocking.iteration_s "
        "pipelined_s=pipelined.iteration_s blocking_interval_s=blocking.iteration_interval_s "
        "pipelined_interval_s=pipelined.iteration_interval_s ratio=shown ratio_interval=interval "
        "verdict"
    )

    @classmethod
    def of(
        cls,
        named: Named,
        blocking: SolvePrediction,
        pipelined: SolvePrediction,
        doubt: str = "",
    ) -> Compared:
        """Compare two solvers; simulations have common random numbers, replays repeats alone."""
        both = blocking.found, pipelined.found
        ratio = ratio_of_replays(*both)
        if blocking.simulated:
            ratio, recorded = (ratio_of_simulations(*both, capped=each) for each in (False, True))
            (low, high), (first, last) = ends_of(ratio), ends_of(recorded)
            ratio = replace(ratio, interval=(min(low, first), max(high, last)))
        return cls(named=named, blocking=blocking, pipelined=pipelined, ratio=ratio, doubt=doubt)

    @property
    def unknown(self) -> str:
        """Why there is no ratio, and what to record; empty if there is one."""
        return next(
            (
                each.withheld
                for each in (*self.blocking.found, *self.pipelined.found)
                if each.missed
            ),
            "",
        )

    @property
    def verdict(self) -> Verdict:
        """What is known."""
        low, high = self.interval
        if self.unknown or self.doubt or low <= 1.0 <= high:
            return Verdict.OPEN
        return Verdict.YES if high < 1.0 else Verdict.NO

    @property
    def shown(self) -> float | None:
        """The ratio; None where the interval is too wide."""
        return None if is_wide(self.ratio) else self.ratio.value

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval of the ratio."""
        return ends_of(self.ratio)

    def answer(self, solvers: tuple[str, str]) -> str:
        """Return whether the pipelined solver pays off, in a sentence."""
        blocking, pipelined = solvers
        title = counted(self.pipelined.ranks, "rank")
        title += f" with {self.named.title}" if self.named.words else ""
        figures = f"an iteration takes {ratio_words(self.ratio)} times as long as one of {blocking}"
        if self.blocking.simulated:
            recorded = counted(self.blocking.first.header.ranks, "rank")
            figures += f" (simulated, extrapolated from {recorded})"
        if self.verdict is not Verdict.OPEN:
            return f"{pipelined} {self.verdict} on {title}: {figures}."
        undecided = f"These runs do not decide whether {pipelined} pays off on {title}"
        if self.unknown:
            return f"{undecided}: {self.unknown}"
        if self.doubt:
            return f"{undecided}: {self.doubt}. At face value, {figures}."
        return f"{undecided}: {figures}."


def ratio_of_replays(blocking: Sequence[Outcome], pipelined: Sequence[Outcome]) -> Ratio:
    """Return a ratio of times, with the range over repeats and intervals."""
    ours, theirs = time_s(blocking), time_s(pipelined)
    ends, others = range_s(blocking), range_s(pipelined)
    return Ratio(
        value=math.nan if ours is None or theirs is None else theirs / ours,
        interval=(others[0] / ends[1], others[1] / ends[0]),
    )


def ratio_of_simulations(
    blocking: Sequence[Outcome], pipelined: Sequence[Outcome], *, capped: bool
) -> Ratio:
    """Return a ratio of times per iteration.

    Replicas of both solvers have common random numbers, so their ratios scatter less than the
    times. The interval has 90 % of them, times the change by any scenario that both solvers have,
    and by how much the simulations miss the recorded times.
    """
    sides = [
        [
            (each.simulated, each.run.header.iterations)
            for each in found
            if each.simulated is not None
        ]
        for found in (pipelined, blocking)
    ]
    drawn_s = [
        np.concatenate([(one.capped_s if capped else one.replicas_s) / n for one, n in side])
        for side in sides
    ]
    pairs = min(each.size for each in drawn_s)
    low, high = replica_interval(drawn_s[0][:pairs] / drawn_s[1][:pairs])

    def over(values: list[list[float]]) -> float:
        return float(np.median(values[0]) / np.median(values[1]))

    typical = over(
        [[(one.as_recorded_s if capped else one.seconds) / n for one, n in side] for side in sides]
    )
    shifts = [1.0, over([[one.recorded_s / one.check_s for one, _ in side] for side in sides])]
    shifts += [
        over(
            [
                [one.scenarios_s[name] / one.scenarios_s["typical"] for one, _ in side]
                for side in sides
            ]
        )
        for name in sides[1][0][0].scenarios_s
        if name not in (*PARTS, CAPPED)
    ]
    return Ratio(
        value=typical,
        interval=(min(low, typical) * min(shifts), max(high, typical) * max(shifts)),
    )


class SolverFiles(TypedDict):
    """A solver and its files."""

    solver: str
    files: list[Path]


class Solvers(TypedDict):
    """The two solvers and their files."""

    blocking: SolverFiles
    pipelined: SolverFiles


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
    compared : tuple of Compared
        All changes on the first number of ranks, then on the next.
    """

    compared: tuple[Compared, ...]

    JSON = "**solvers answer=explain **comparisons iterations_ratio assumptions findings"

    @property
    def sides(self) -> tuple[SolvePrediction, SolvePrediction]:
        """What is predicted first of the blocking and of the pipelined solver."""
        return self.compared[0].blocking, self.compared[0].pipelined

    @property
    def groups(self) -> tuple[Group, Group]:
        """The runs of the blocking and the pipelined solver, on most ranks."""
        return self.sides[0].group, self.sides[1].group

    @property
    def names(self) -> tuple[str, str]:
        """The two solvers."""
        return solver_of(self.groups[0]), solver_of(self.groups[1])

    @property
    def scaled(self) -> bool:
        """Whether other numbers of ranks are simulated."""
        return self.sides[0].simulated

    @property
    def findings(self) -> list[Finding]:
        """Of the runs of both."""
        return [finding for side in self.sides for finding in side.findings]

    def explain(self) -> str:
        """Return the answer, the most important sentence first."""
        most = max(each.pipelined.ranks for each in self.compared)
        first, *others = (each for each in self.compared if each.pipelined.ranks == most)
        said = [first.answer(self.names)]
        said += [
            other.answer(self.names)
            for other in others
            if self.scaled or other.verdict is not first.verdict
        ]
        if self.reached and not (first.unknown or is_wide(first.ratio)):
            ratio = self.iterations_ratio
            said.append(
                f"To the tolerance, {self.names[1]} takes {ratio:.2f} times as many iterations, "
                f"so it takes {factor(ratio * first.ratio.value)} times as long, if "
                "iterations stay as recorded."
            )
        for name, side in zip(self.names, (first.blocking, first.pipelined), strict=True):
            middle = side.middle
            said += [] if middle is None else [f"{name}: {part}" for part in middle.parts]
        if not self.scaled:
            ours, theirs = (
                float(np.median([tallied(run, TYPICAL_WORK)[1].mean() for run in group.runs]))
                for group in self.groups
            )
            said.append(
                f"An iteration of {self.names[1]} has {theirs / ours:.2f} times the local work of "
                f"one of {self.names[0]} (medians, so without detours)."
            )
        few = [group for group in self.groups if len(group.runs) < REPEATS]
        if few:
            have = ", ".join(f"{solver_of(each)} {len(each.runs)}" for each in few)
            said.append(
                f"To be surer, record {counted(REPEATS, 'repeat')} of each solver (now: {have})."
            )
        return "\n".join(said)

    @property
    def reached(self) -> bool:
        """Whether all runs reached their tolerance."""
        endings = [Ending.of(run.header) for group in self.groups for run in group.runs]
        return all(ending is not None and ending.reached for ending in endings)

    @property
    def iterations_ratio(self) -> float:
        """Iterations to the tolerance of the pipelined solver, over those of the blocking one."""
        ours, theirs = (
            float(np.median([run.header.iterations for run in group.runs])) for group in self.groups
        )
        return theirs / ours

    def table(self) -> Table:
        """Return all numbers of ranks and changes in a table."""
        return Table(
            columns=(
                Column("ranks", RIGHT),
                Column("with", LEFT),
                *(Column(name, RIGHT) for name in self.names),
                Column("ratio", RIGHT),
                Column("", LEFT),
            ),
            rows=[
                (
                    f"{each.pipelined.ranks:,}",
                    each.named.title if each.named.words else "",
                    *(
                        "-" if each_s is None else seconds(each_s)
                        for each_s in (each.blocking.iteration_s, each.pipelined.iteration_s)
                    ),
                    "-" if each.unknown else ratio_words(each.ratio),
                    str(each.verdict),
                )
                for each in self.compared
            ],
            notes=("Times per iteration; ratio: with what repeats and assumptions leave open.",),
        )

    def assumptions(self) -> list[str]:
        """Return what the replays or simulations assume."""
        sides = [side for one in self.compared for side in (one.blocking, one.pipelined)]
        return list(
            dict.fromkeys(said for side in sides for one in side.found for said in one.assumed)
        )

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons for JSON."""
        if self.scaled:
            return {"at_scale": list(self.compared)}
        return {"recorded": self.compared[0], "changes": list(self.compared[1:])}

    @property
    def solvers(self) -> Solvers:
        """The two solvers and their files."""
        ours, theirs = (
            SolverFiles(solver=solver_of(group), files=[run.path for run in group.runs])
            for group in self.groups
        )
        return {"blocking": ours, "pipelined": theirs}


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
    asked = [nothing, *(change for change in changes if change.words)]
    if scale is not None:
        asked = [*asked[1:], nothing]
    ours, our_group = one_group(blocking, "blocking", scale)
    theirs, their_group = one_group(pipelined, "pipelined", scale)
    runs, groups = (ours, theirs), (our_group, their_group)
    refuse_unlike(*groups)
    # The blocking solver has no pipeline whose depth could change.
    without = [
        Named(
            change=replace(each.change, depth=None),
            words=tuple(word for word in each.words if word[0] != "pipeline depth"),
        )
        for each in asked
    ]
    if scale is None:
        sides = (
            predict_solves(groups[0], without, machine, executor),
            predict_solves(groups[1], asked, machine, executor),
        )
        for one, *_ in sides:
            if one.left_out:
                raise DataError(one.left_out[0])
    else:
        shown = [(program_of(run), len(set(run.hosts))) for each in runs for run in each[::-1]]
        network = network_of(machine, shown, scale.ranks)
        sides = (
            predict_at_scale(runs[0], scale, without, machine, executor, network),
            predict_at_scale(runs[1], scale, asked, machine, executor, network),
        )
    doubt = doubt_of(groups, [finding for side in sides for finding in side[0].findings])
    compared = tuple(
        Compared.of(two.named, one, two, doubt) for one, two in zip(*sides, strict=True)
    )
    return Advice(compared=compared)


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


def doubt_of(groups: Sequence[Group], findings: Sequence[Finding]) -> str:
    """Return why runs of two solvers decide nothing, for a sentence; empty if they may.

    How much repeats differ is in the interval, which is that over repeats, if there are enough.
    """
    alone = [solver_of(group) for group in groups if len(group.runs) == 1]
    doubts = []
    if alone:
        have = "has" if len(alone) == 1 else "have"
        doubts.append(
            f"{' and '.join(alone)} {have} one repeat only, which does not show how runs vary"
        )
    enough = all(len(group.runs) >= REPEATS for group in groups)
    if any(
        each.severity == "error" and not (enough and each.code == "repeats-differ")
        for each in about(findings, OF_MODELS)
    ):
        doubts.append("the runs have errors (see below)")
    return ", and ".join(doubts)


def one_group(runs: Sequence[Run], which: str, scale: Scale | None) -> tuple[list[Run], Group]:
    """Return the runs of one configuration, or of one kind to be scaled, and those on most ranks.

    Raises
    ------
    UsageError
        There are several.
    """
    kinds, more = [list(runs)], ""
    if scale is not None:
        kinds, more = scalable(runs), " that differ in more than ranks and size"
    runs = kinds[0]
    most = [run for run in runs if scale is None or run.header.ranks == runs[-1].header.ranks]
    groups = group_runs(most)
    if len(kinds) > 1 or len(groups) > 1:
        count = max(len(kinds), len(groups))
        titles = "; ".join(group.title for group in groups[:3])
        raise UsageError(
            f"The {which} solver has {counted(count, 'configuration')}"
            f"{more if len(kinds) > 1 else f' ({titles})'}: name the run files of one."
        )
    return runs, groups[0]


def refuse_unlike(first: Group, second: Group) -> None:
    """Raise a UsageError for runs that do not compare."""
    if is_pipelined(first):
        raise UsageError(f"{solver_of(first)} is pipelined; name a blocking solver's runs first.")
    if not is_pipelined(second):
        raise UsageError(
            f"{solver_of(second)} is blocking; --against takes the runs of a pipelined solver, or "
            "of a loop with non-blocking collectives."
        )
    ours, theirs = (configuration(each.runs[0], whole=True) for each in (first, second))
    may_differ = (*MAY_DIFFER, *(("workload",) if is_loop(second.runs[0]) else ()))
    unlike = [name for name in apart([ours, theirs]) if name not in may_differ]
    if unlike:
        name = unlike[0]
        raise UsageError(
            f"The runs do not compare: {name} is {ours.get(name, 'none')} for {solver_of(first)} "
            f"and {theirs.get(name, 'none')} for {solver_of(second)}."
        )
