"""Two solvers compared: the ratio of their times, replayed here or simulated on more ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypedDict

import numpy as np

from hindmost.analysis.whatif.at_scale import (
    extrapolated_from,
)
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import (
    ExtrapolatedFrom,
    Outcome,
)
from hindmost.models.simulation.simulated_solve import (
    CAPPED,
    PARTS,
    WIDEST,
    SimulatedSolve,
    spread_of,
)
from hindmost.text import counted


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
        if factor(self.low) == factor(self.high) and 0.01 <= self.low < 100.0:
            ends = f"{self.low:.4f} to {self.high:.4f}"
        return ends if self.wide else f"{factor(self.typical or 0.0)} ({ends})"

    @property
    def shown(self) -> float | None:
        """The ratio; None where the interval is too wide."""
        return None if self.wide else self.typical

    @property
    def interval(self) -> tuple[float, float]:
        """Its ends."""
        return self.low, self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRatio:
    """A ratio with what is known of it."""

    of: Ratio
    verdict: Verdict

    JSON = "ratio=of.shown ratio_interval=of.interval verdict"


class Details(TypedDict, total=False):
    """Keys of JSON that only replays have, or only simulations on other ranks."""

    blocking_interval_s: tuple[float, float]
    pipelined_interval_s: tuple[float, float]
    ranks: int
    nodes: int
    origin: str
    extrapolated_from: ExtrapolatedFrom
    with_recorded_noise: JudgedRatio


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
    blocking, pipelined : sequence of Outcome
        One for each repeat.
    ratio : Ratio
        Of iterations.
    as_recorded : Ratio or None
        Simulated, if no detour exceeds the longest recorded one.
    decides : bool
        Whether the runs may decide at all; see `advice.doubt_of`.
    """

    named: Named
    blocking: Sequence[Outcome]
    pipelined: Sequence[Outcome]
    ratio: Ratio
    as_recorded: Ratio | None = None
    decides: bool = True

    JSON = (
        "changes=named.changes blocking_s pipelined_s **details "
        "ratio=ratio.shown ratio_interval=ratio.interval verdict"
    )

    @classmethod
    def of(
        cls,
        named: Named,
        blocking: Sequence[Outcome],
        pipelined: Sequence[Outcome],
        *,
        decides: bool = True,
    ) -> Compared:
        """Compare two solvers; simulations have common random numbers, replays repeats alone."""
        ratio, recorded = ratio_of_replays(blocking, pipelined), None
        if blocking[0].simulated is not None:
            ratio, recorded = (
                ratio_of_simulations(blocking, pipelined, capped=each) for each in (False, True)
            )
            low, high = min(ratio.low, recorded.low), max(ratio.high, recorded.high)
            ratio = replace(ratio, low=low, high=high)
        return cls(
            named=named,
            blocking=blocking,
            pipelined=pipelined,
            ratio=ratio,
            as_recorded=recorded,
            decides=decides,
        )

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.blocking[0].ranks

    @property
    def simulated(self) -> SimulatedSolve | None:
        """What was simulated of the first repeat; None if it was replayed."""
        return self.blocking[0].simulated

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
        basis, also = "", f", and {doubt}" if doubt else ""
        if self.simulated is not None:
            basis = f" (simulated, {extrapolated_from(self.simulated) or 'as recorded'})"
        if self.on_tail:
            return (
                f"{undecided}: the answer rests on noise that is rarer than what was "
                f"recorded{basis}{also}."
            )
        if self.ratio.wide and self.as_recorded is not None:
            return f"{undecided}: {figures}{basis}{also}."
        if doubt:
            return f"{undecided}: {doubt}. At face value, {figures}{basis}."
        if self.verdict is Verdict.OPEN:
            return f"{undecided}: {figures}{basis}."
        if not where:
            return f"{pipelined} {self.verdict} on {self.title}: {figures}{basis}."
        change = f" with {self.named.title}" if self.named.words else ""
        there = f"on {counted(self.ranks, 'rank')}"
        return f"{pipelined} {self.verdict} {where}{change}: {there} {figures}{basis}."

    @property
    def blocking_s(self) -> float | None:
        """The time of an iteration of the blocking solver; None if not known."""
        return time_s(self.blocking)

    @property
    def pipelined_s(self) -> float | None:
        """The same of the pipelined one."""
        return time_s(self.pipelined)

    @property
    def details(self) -> Details:
        """Keys of JSON that depend on whether the ranks stay."""
        if self.simulated is None:
            return {
                "blocking_interval_s": range_s(self.blocking),
                "pipelined_interval_s": range_s(self.pipelined),
            }
        if self.as_recorded is None:
            return {}
        known = self.as_recorded.verdict if self.decides else Verdict.OPEN
        return {
            "ranks": self.ranks,
            "nodes": self.simulated.nodes,
            "origin": "simulated",
            "extrapolated_from": {"ranks": self.simulated.recorded_ranks},
            "with_recorded_noise": JudgedRatio(of=self.as_recorded, verdict=known),
        }


def time_s(found: Sequence[Outcome]) -> float | None:
    """Return the time of an iteration, the median over repeats; None if not known."""
    known = [
        each.predicted_s / each.run.header.iterations
        for each in found
        if each.predicted_s is not None
    ]
    return float(np.median(known)) if len(known) == len(found) else None


def range_s(found: Sequence[Outcome]) -> tuple[float, float]:
    """Return the least and the most that an iteration may take, in seconds."""
    wider = [(1.0 + abs(each.miss), each.run.header.iterations, each.result) for each in found]
    return (
        min(result.low_s / miss / count for miss, count, result in wider),
        max(result.high_s * miss / count for miss, count, result in wider),
    )


def ratio_of_replays(blocking: Sequence[Outcome], pipelined: Sequence[Outcome]) -> Ratio:
    """Return a ratio of times, with the range over repeats and intervals."""
    ours, theirs = time_s(blocking), time_s(pipelined)
    ends, others = range_s(blocking), range_s(pipelined)
    return Ratio(
        typical=None if ours is None or theirs is None else theirs / ours,
        low=others[0] / ends[1],
        high=others[1] / ends[0],
    )


def ratio_of_simulations(
    blocking: Sequence[Outcome], pipelined: Sequence[Outcome], *, capped: bool
) -> Ratio:
    """Return a ratio of times per iteration.

    Replicas of both solvers have common random numbers, so their ratios scatter less than the
    times. The interval has 90 % of them, times the change by any scenario that both solvers have,
    and by how much the simulations miss the recorded times.
    """
    sides = [solves_of(pipelined), solves_of(blocking)]
    drawn_s = [
        np.concatenate([(one.capped_s if capped else one.replicas_s) / n for one, n in side])
        for side in sides
    ]
    pairs = min(each.size for each in drawn_s)
    low, high = spread_of(drawn_s[0][:pairs] / drawn_s[1][:pairs])

    def over(values: list[list[float]]) -> float:
        return float(np.median(values[0]) / np.median(values[1]))

    typical = over(
        [[(one.as_recorded_s if capped else one.seconds) / n for one, n in side] for side in sides]
    )
    shifts = [1.0, over([[one.recorded_s / one.check_s for one, _ in side] for side in sides])]
    for name in sides[1][0][0].scenarios_s:
        if name not in (*PARTS, CAPPED):
            moved = [
                [one.scenarios_s[name] / one.scenarios_s["typical"] for one, _ in side]
                for side in sides
            ]
            shifts.append(over(moved))
    return Ratio(
        typical=typical,
        low=min(low, typical) * min(shifts),
        high=max(high, typical) * max(shifts),
    )


def solves_of(found: Sequence[Outcome]) -> list[tuple[SimulatedSolve, int]]:
    """Return what was simulated of every repeat, with its number of iterations."""
    return [
        (each.simulated, each.run.header.iterations) for each in found if each.simulated is not None
    ]


def parts_of_iteration(found: Sequence[Outcome], *, capped: bool) -> dict[str, float]:
    """Return what the time of an iteration consists of, of the repeat in the middle, in seconds.

    Of an even number of repeats, the mean of two.
    """
    each_s = [
        ((one.as_recorded_s if capped else one.seconds) / n, one, n) for one, n in solves_of(found)
    ]
    each_s.sort(key=lambda each: each[0])
    parts = []
    for total_s, one, n in each_s[(len(found) - 1) // 2 : len(found) // 2 + 1]:
        network_s, outside_s = max(one.network_s, 0.0) / n, max(one.outside_s, 0.0) / n
        rest_s = total_s - network_s - outside_s
        # With less noise than is typical of the run, work takes less than its typical time.
        work_s = min(one.work_s / n, rest_s)
        parts.append((work_s, rest_s - work_s, network_s, outside_s))
    names = ("undisturbed work", "noise and waiting for it", "network", "between cycles")
    return dict(zip(names, np.mean(parts, axis=0).tolist(), strict=True))
