"""Two solvers with the same change: the ratio of their times, and what it decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from hindmost.analysis.whatif.at_scale import Simulated
from hindmost.analysis.whatif.options import Named, dict_of
from hindmost.analysis.whatif.prediction import Outcome
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
        Whether the runs may decide at all; see `hindmost.analysis.whatif.advice.doubt_of`.
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
        (
            each.result.low_s / (1.0 + abs(each.miss)) / count,
            each.result.high_s * (1.0 + abs(each.miss)) / count,
        )
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
