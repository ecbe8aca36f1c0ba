"""The times of two solvers on numbers of ranks that were not recorded, and their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.whatif.at_scale import AtScale
from hindmost.analysis.whatif.compared import Verdict
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import dict_of
from hindmost.models.simulation.prospect import WIDEST, Prospect, spread_of
from hindmost.models.simulation.readings import CAPPED, PARTS
from hindmost.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The time of an iteration of the pipelined solver, over that of the blocking one.

    Attributes
    ----------
    typical, low, high : float
    decides : bool
        Whether the runs may decide at all.
    """

    typical: float
    low: float
    high: float
    decides: bool = True

    @property
    def verdict(self) -> Verdict:
        """What the interval says."""
        if not self.decides:
            return Verdict.OPEN
        if self.high < 1.0:
            return Verdict.YES
        return Verdict.NO if self.low > 1.0 else Verdict.OPEN

    @property
    def wide(self) -> bool:
        """Whether the interval is too wide for a single ratio to mean anything."""
        return self.high > WIDEST * self.low

    @property
    def words(self) -> str:
        """The ratio with its interval, or the interval alone if it is too wide."""
        if self.wide:
            return f"{factor(self.low)} to {factor(self.high)}"
        return f"{factor(self.typical)} ({factor(self.low)} to {factor(self.high)})"

    def to_json(self) -> dict[str, Any]:
        """Return the ratio for JSON."""
        return {
            "ratio": None if self.wide else self.typical,
            "ratio_interval": [self.low, self.high],
            "verdict": str(self.verdict),
        }


def factor(ratio: float) -> str:
    """Write a ratio."""
    if 0.01 <= ratio < 100.0:
        return f"{ratio:.2f}"
    return "over 100" if ratio > 1.0 else "under 0.01"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAtScale:
    """Two solvers on a number of ranks, with the same change.

    Attributes
    ----------
    named : Named
    blocking, pipelined : tuple of AtScale
        One for each repeat.
    decides : bool
        Whether the runs may decide at all; see `hindmost.analysis.whatif.advice.doubt_of`.
    """

    named: Named
    blocking: tuple[AtScale, ...]
    pipelined: tuple[AtScale, ...]
    decides: bool = True

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.blocking[0].result.ranks

    @property
    def ratio(self) -> Ratio:
        """Of the times, with all noise that the laws expect; the interval has both cases."""
        expected, recorded = (
            ratio_of(self.blocking, self.pipelined, capped=each) for each in (False, True)
        )
        return Ratio(
            typical=expected.typical,
            low=min(expected.low, recorded.low),
            high=max(expected.high, recorded.high),
            decides=self.decides,
        )

    @property
    def as_recorded(self) -> Ratio:
        """Of the times if no detour exceeds the longest recorded one."""
        found = ratio_of(self.blocking, self.pipelined, capped=True)
        return replace(found, decides=self.decides)

    @property
    def on_tail(self) -> bool:
        """Whether a law without a mean, or one that describes no run, leaves nothing to say."""
        return any(
            each.result.missed or not np.isfinite(each.result.high_s)
            for each in (*self.blocking, *self.pipelined)
        )

    @property
    def verdict(self) -> Verdict:
        """What is known."""
        return Verdict.OPEN if self.on_tail else self.ratio.verdict

    @property
    def title(self) -> str:
        """Where, and with which change."""
        where = counted(self.ranks, "rank")
        return f"{where} with {self.named.title}" if self.named.words else where

    def to_json(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        result = self.blocking[0].result
        return {
            "ranks": self.ranks,
            "nodes": result.nodes,
            "changes": dict_of(self.named.words),
            "origin": "simulated",
            "extrapolated_from": {"ranks": result.recorded_ranks},
            "blocking_s": iteration_s(self.blocking),
            "pipelined_s": iteration_s(self.pipelined),
            **self.ratio.to_json(),
            "verdict": str(self.verdict),
            "with_recorded_noise": self.as_recorded.to_json(),
        }


def iteration_s(found: Sequence[AtScale]) -> float | None:
    """Return the time of an iteration, the median over repeats; None if it is not known."""
    if any(each.result.open for each in found):
        return None
    return middle(found, capped=False)


def parts_of_iteration(found: Sequence[AtScale], *, capped: bool) -> dict[str, float]:
    """Return what the time of an iteration consists of, of the repeat in the middle, in seconds.

    The sum is the time of `middle`: of an even number of repeats, the mean of two.
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
    means = np.mean(parts, axis=0).tolist()
    return dict(
        zip(
            ("undisturbed work", "noise and waiting for it", "network", "between cycles"),
            means,
            strict=True,
        )
    )


def each_s(one: AtScale, *, capped: bool) -> float:
    """Return the time of an iteration of one repeat, in seconds."""
    total_s = one.result.as_recorded_s if capped else one.result.seconds
    return total_s / one.run.header.iterations


def ratio_of(blocking: Sequence[AtScale], pipelined: Sequence[AtScale], *, capped: bool) -> Ratio:
    """Return a ratio of times per iteration.

    Replicas of both solvers have common random numbers, so their ratios scatter less than the
    times. The interval has 90 % of them, times the change by any reading that both solvers have,
    and by how much the simulations miss the recorded times.
    """
    ours, theirs = drawn(blocking, capped=capped), drawn(pipelined, capped=capped)
    pairs = min(ours.size, theirs.size)
    low, high = spread_of(theirs[:pairs] / ours[:pairs])
    typical = middle(pipelined, capped=capped) / middle(blocking, capped=capped)
    shifts = [1.0]
    for name in blocking[0].result.readings_s:
        if name not in (*PARTS, CAPPED):
            moved = [
                float(np.median([of_reading(each.result, name) for each in side]))
                for side in (pipelined, blocking)
            ]
            shifts.append(moved[0] / moved[1])
    missed = [
        float(np.median([each.result.recorded_s / each.result.check_s for each in side]))
        for side in (pipelined, blocking)
    ]
    shifts.append(missed[0] / missed[1])
    return Ratio(
        typical=typical,
        low=min(low, typical) * min(shifts),
        high=max(high, typical) * max(shifts),
    )


def of_reading(result: Prospect, name: str) -> float:
    """Return the change of a time by a reading, as a ratio."""
    return result.readings_s[name] / result.readings_s["typical"]


def drawn(found: Sequence[AtScale], *, capped: bool) -> NDArray[np.float64]:
    """Return the replicas of all repeats in seconds per iteration, one repeat after the other."""
    return np.concatenate(
        [
            (each.result.capped_s if capped else each.result.replicas_s)
            / each.run.header.iterations
            for each in found
        ]
    )


def middle(found: Sequence[AtScale], *, capped: bool) -> float:
    """Return the time of an iteration, the median over repeats, in seconds."""
    return float(np.median([each_s(each, capped=capped) for each in found]))
