"""Solvers side by side: the same workload, on the same machine, by different solvers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.figures.together import apart
from hindmost.analysis.fits import FittedGroup
from hindmost.analysis.runs import configuration
from hindmost.analysis.summary import summarise_run

OF_THE_SOLVER = ("solver", "restart")
"""Parts of a configuration in which solvers that are compared may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSolver:
    """One solver beside the others.

    Attributes
    ----------
    name : str
        What sets it apart from the others.
    median_s, lowest_s, highest_s : float
        Of the solve times of its repeats.
    wait_share : float
        Of the time of all bodies, the median over repeats.
    ratio : float
        Median over that of the first solver.
    verdict : str
        What may be concluded from the ratio, given the spread of repeats; empty for the first.
    """

    name: str
    runs: int
    median_s: float
    lowest_s: float
    highest_s: float
    wait_share: float
    ratio: float
    verdict: str

    @property
    def spread_percent(self) -> float:
        """From the fastest repeat to the slowest, in percent of the median."""
        return 100.0 * (self.highest_s - self.lowest_s) / self.median_s


def comparable(groups: Iterable[FittedGroup]) -> list[list[FittedGroup]]:
    """Return the sets of groups that differ in their solver only, those of one group left out."""
    sets: dict[tuple[str, ...], list[FittedGroup]] = {}
    for fitted in groups:
        kind = configuration(fitted.group.runs[0])
        key = tuple(value for name, value in kind.items() if name not in OF_THE_SOLVER)
        sets.setdefault(key, []).append(fitted)
    return [members for members in sets.values() if len(members) > 1]


def compare_solvers(groups: Sequence[FittedGroup]) -> list[ComparedSolver]:
    """Compare groups with the first of them."""
    names = apart([fitted.group for fitted in groups])
    first = groups[0].solve_times_s
    return [
        ComparedSolver(
            name=name,
            runs=len(fitted.runs),
            median_s=float(np.median(fitted.solve_times_s)),
            lowest_s=min(fitted.solve_times_s),
            highest_s=max(fitted.solve_times_s),
            wait_share=float(
                np.median([summarise_run(each.run).phase_share["wait"] for each in fitted.runs])
            ),
            ratio=float(np.median(fitted.solve_times_s) / np.median(first)),
            verdict="" if fitted is groups[0] else verdict(first, fitted.solve_times_s),
        )
        for name, fitted in zip(names, groups, strict=True)
    ]


def verdict(first: Sequence[float], second: Sequence[float]) -> str:
    """Say what two sets of solve times allow to conclude.

    Parameters
    ----------
    first, second : sequence of float, seconds
    """
    if min(len(first), len(second)) < 2:
        return "unknown without repeats"
    if max(second) < min(first):
        return "faster in every repeat"
    if min(second) > max(first):
        return "slower in every repeat"
    return "none: the repeats overlap"
