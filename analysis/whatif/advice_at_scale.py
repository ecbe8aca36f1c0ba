"""Whether a pipelined solver pays off on numbers of ranks that were not recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.groups import Group
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.advice import (
    REPEATS,
    doubt_of,
    files_json,
    has_errors,
    one_group,
    refuse_unlike,
    solver_of,
    without_depth,
)
from hindmost.analysis.whatif.at_scale import fitted_work, scale_runs
from hindmost.analysis.whatif.compared import Verdict
from hindmost.analysis.whatif.compared_at_scale import (
    ComparedAtScale,
    factor,
    iteration_s,
    parts_of_iteration,
)
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.targets import NetworkBasis, Scale, network_of, scalable
from hindmost.errors import UsageError
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.text import counted, seconds

TIMES_RARER = 20
"""Recorded iterations for every rank of a target, to know its slowest rank without the tail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledAdvice:
    """Whether a pipelined solver pays off on other numbers of ranks.

    Attributes
    ----------
    blocking, pipelined : Group
        Of the runs on most ranks.
    compared : tuple of ComparedAtScale
        All changes on the first number of ranks, then on the next.
    reached : bool
        Whether all runs reached their tolerance.
    findings : tuple of Finding
    doubt : str
        Why the runs decide nothing; empty if they may.
    """

    blocking: Group
    pipelined: Group
    compared: tuple[ComparedAtScale, ...]
    reached: bool
    findings: tuple[Finding, ...]
    doubt: str

    @property
    def names(self) -> tuple[str, str]:
        """The two solvers."""
        return solver_of(self.blocking), solver_of(self.pipelined)

    def explain(self) -> str:
        """Return the answer, the most important sentence first."""
        return "\n".join([*self._verdicts(), *self._reasons(), *self.surer()])

    def with_change(self, named: Named) -> list[ComparedAtScale]:
        """Return all numbers of ranks with one change, ascending."""
        found = [each for each in self.compared if each.named.words == named.words]
        return sorted(found, key=lambda each: each.ranks)

    @property
    def changes(self) -> list[Named]:
        """All changes."""
        return list({each.named.words: each.named for each in self.compared}.values())

    def _verdicts(self) -> Iterator[str]:
        """Yield the answer for every change; the first sentence is the answer for the first."""
        for named in self.changes:
            found = self.with_change(named)
            yield self.answer(found)
            last = found[-1]
            recorded = last.as_recorded
            if not self.doubt and (last.on_tail or recorded.verdict is not last.verdict):
                verdict = {
                    Verdict.YES: "it pays off",
                    Verdict.NO: "it does not pay off",
                    Verdict.OPEN: "it is undecided",
                }[recorded.verdict]
                yield (
                    f"If no detour exceeds the longest recorded one, {verdict} there: "
                    f"{recorded.words} times as long."
                )
        last = self.with_change(self.changes[0])[-1]
        if self.reached and not (last.on_tail or last.ratio.wide):
            ratio = self.iterations_ratio
            yield (
                f"To the tolerance, {self.names[1]} takes {ratio:.2f} times as many iterations as "
                f"recorded, so it takes {factor(ratio * last.ratio.typical)} times as long on "
                f"{last.title}, if iterations stay as recorded."
            )

    def answer(self, found: Sequence[ComparedAtScale]) -> str:
        """Return the answer for one change, in a sentence."""
        blocking, pipelined = self.names
        last = found[-1]
        with_change = f" with {last.named.title}" if last.named.words else ""
        where = f"{counted(last.ranks, 'rank')}{with_change}"
        basis = last.blocking[0].extrapolated or "as recorded"
        figures = (
            f"an iteration takes {last.ratio.words} times as long as one of {blocking} (simulated, "
            f"{basis})"
        )
        undecided = f"These runs do not decide whether {pipelined} pays off on {where}"
        also = f", and {self.doubt}" if self.doubt else ""
        if last.on_tail:
            return (
                f"{undecided}: the answer rests on noise that is rarer than what was recorded "
                f"(simulated, {basis}){also}."
            )
        if last.ratio.wide:
            return (
                f"{undecided}: an iteration takes {factor(last.ratio.low)} to "
                f"{factor(last.ratio.high)} times as long as one of {blocking} (simulated, {basis})"
                f"{also}."
            )
        if self.doubt:
            return f"{undecided}: {self.doubt}. At face value, {figures}."
        since = first_of(found, Verdict.YES)
        if since is not None:
            lead = (
                f"{pipelined} pays off from {counted(since, 'rank')} on{with_change}"
                if len(found) > 1 and since != found[0].ranks
                else f"{pipelined} pays off on {range_of(found)}{with_change}"
            )
            on_last = f"on {counted(last.ranks, 'rank')} " if len(found) > 1 else ""
            return f"{lead}: {on_last}{figures}."
        if last.verdict is Verdict.NO:
            none = all(each.verdict is Verdict.NO for each in found)
            there = f"{range_of(found)}{with_change}" if none else where
            on_last = f"on {counted(last.ranks, 'rank')} " if none and len(found) > 1 else ""
            return f"{pipelined} does not pay off on {there}: {on_last}{figures}."
        return f"{undecided}: {figures}."

    @property
    def iterations_ratio(self) -> float:
        """Iterations to the tolerance of the pipelined solver, over those of the blocking one."""
        both = [
            float(np.median([run.header.iterations for run in group.runs]))
            for group in (self.pipelined, self.blocking)
        ]
        return both[0] / both[1]

    def _reasons(self) -> Iterator[str]:
        """Yield what an iteration of either solver consists of on the most ranks."""
        last = self.with_change(self.changes[0])[-1]
        for name, side in zip(self.names, (last.blocking, last.pipelined), strict=True):
            untold = next((each for each in side if each.result.missed), None)
            if untold is not None:
                yield f"On {last.title} nothing is told of {name}. {untold.withheld}"
                continue
            limited = any(each.result.limited for each in side)
            lead = "If no detour exceeds the longest recorded one, an" if limited else "An"
            parts_s = parts_of_iteration(side, capped=limited)
            words = ", ".join(
                f"{what} {seconds(each_s)}" for what, each_s in parts_s.items() if each_s > 0.0
            )
            yield (
                f"{lead} iteration of {name} takes {seconds(sum(parts_s.values()))} on "
                f"{last.title}: {words}."
            )

    @property
    def broken(self) -> bool:
        """Whether the runs have findings that forbid conclusions."""
        return has_errors((self.blocking, self.pipelined), self.findings)

    def surer(self) -> Iterator[str]:
        """Yield what to measure to be surer."""
        last = max(self.compared, key=lambda each: each.ranks)
        few = [each for each in (self.blocking, self.pipelined) if len(each.runs) < REPEATS]
        if few:
            have = ", ".join(f"{solver_of(each)} {len(each.runs)}" for each in few)
            yield f"To be surer, record {counted(REPEATS, 'repeat')} of each solver (now: {have})."
        result, noisy = last.blocking[0].result, last.named.change.noise > 0.0
        if noisy and result.ranks > result.samples / TIMES_RARER:
            wanted = TIMES_RARER * result.ranks
            yield (
                f"To be surer of the noise, record about {wanted:,} iterations of all ranks in one "
                f"run (now: {result.samples:,}; each repeat is simulated by itself), on as many "
                f"ranks and nodes as you can: the slowest of {result.ranks:,} ranks is rarer than "
                "what was recorded."
            )
        if "lower bound" in last.blocking[0].basis.network:
            yield (
                "To be surer of the network, give --machine with a file of 'hindmost probe "
                "network' on two nodes of the machine."
            )
        if self.broken:
            yield "To be surer, record again without the errors that 'hindmost check' lists."

    def table(self) -> Table:
        """Return all numbers of ranks and changes in a table."""
        blocking, pipelined = self.names
        return Table(
            columns=(
                Column("ranks", RIGHT),
                Column("with", LEFT),
                Column(blocking, RIGHT),
                Column(pipelined, RIGHT),
                Column("ratio", RIGHT),
                Column("", LEFT),
                Column("recorded noise", RIGHT),
                Column("", LEFT),
            ),
            rows=[
                (
                    f"{each.ranks:,}",
                    each.named.title if each.named.words else "",
                    *(
                        "-" if time_s is None else seconds(time_s)
                        for time_s in (iteration_s(each.blocking), iteration_s(each.pipelined))
                    ),
                    "-" if each.on_tail else each.ratio.words,
                    str(each.verdict),
                    each.as_recorded.words,
                    str(each.as_recorded.verdict),
                )
                for each in self.compared
            ],
            notes=(
                "All simulated. Times per iteration; ratio: of the times, with its interval. "
                "recorded noise: the ratio if no detour exceeds the longest recorded one.",
            ),
        )

    def assumptions(self) -> list[str]:
        """Return what is assumed."""
        last = max(self.compared, key=lambda each: each.ranks)
        every = [*last.blocking[0].assumptions(), *last.pipelined[0].assumptions()]
        return list(dict.fromkeys(every))

    def to_json(self) -> dict[str, Any]:
        """Return the advice for JSON."""
        blocking, pipelined = self.names
        return {
            "blocking": files_json(blocking, self.blocking),
            "pipelined": files_json(pipelined, self.pipelined),
            "answer": self.explain(),
            "at_scale": [each.to_json() for each in self.compared],
            "iterations_ratio": self.iterations_ratio if self.reached else None,
            "assumptions": self.assumptions(),
            "findings": [each.to_json() for each in self.findings],
        }


def first_of(found: Sequence[ComparedAtScale], verdict: Verdict) -> int | None:
    """Return the number of ranks from which on all have a verdict; None if the last has not."""
    since = None
    for each in reversed(found):
        if each.verdict is not verdict:
            break
        since = each.ranks
    return since


def range_of(found: Sequence[ComparedAtScale]) -> str:
    """Return the numbers of ranks, for a sentence."""
    if len(found) == 1:
        return counted(found[0].ranks, "rank")
    return f"{found[0].ranks:,} to {found[-1].ranks:,} ranks"


def advise_at_scale(
    blocking: Sequence[Run],
    pipelined: Sequence[Run],
    changes: Sequence[Named],
    scale: Scale,
    machine: Machine | None,
) -> ScaledAdvice:
    """Compare a blocking and a pipelined solver on other numbers of ranks.

    Parameters
    ----------
    changes : sequence of Named
        The depth of a pipeline applies to the pipelined solver only.

    Raises
    ------
    UsageError
        Runs of several configurations, of unlike problems, or not of such solvers.
    """
    both = [of_one_kind(blocking, "first"), of_one_kind(pipelined, "second")]
    groups = [
        most_ranks(runs, which) for runs, which in zip(both, ("first", "second"), strict=True)
    ]
    refuse_unlike(*groups)
    works = [[fitted_work(run) for run in runs] for runs in both]
    network: NetworkBasis = network_of(machine, [works[0][-1], works[1][-1]])
    blocking_changes = [without_depth(each) for each in changes]
    found = [
        scale_runs(runs, fitted, scale, named, network)
        for runs, fitted, named in zip(both, works, (blocking_changes, changes), strict=True)
    ]
    findings = tuple(findings_of(groups))
    doubt = doubt_of(groups, findings)
    compared = tuple(
        ComparedAtScale(
            named=changes[place % len(changes)],
            blocking=tuple(each[place] for each in found[0]),
            pipelined=tuple(each[place] for each in found[1]),
            decides=not doubt,
        )
        for place in range(len(found[0][0]))
    )
    endings = [Ending.of(run.header) for group in groups for run in group.runs]
    return ScaledAdvice(
        blocking=groups[0],
        pipelined=groups[1],
        compared=compared,
        reached=all(each is not None and each.reached for each in endings),
        findings=findings,
        doubt=doubt,
    )


def of_one_kind(runs: Sequence[Run], which: str) -> list[Run]:
    """Return runs that differ in size and ranks only; raise a UsageError for others."""
    kinds = scalable(runs)
    if len(kinds) > 1:
        raise UsageError(
            f"The {which} argument has {counted(len(kinds), 'configuration')} that differ in more "
            "than ranks and size: name the run files of one."
        )
    return kinds[0]


def most_ranks(runs: Sequence[Run], which: str) -> Group:
    """Return the runs on most ranks."""
    most = runs[-1].header.ranks
    return one_group([run for run in runs if run.header.ranks == most], which)
