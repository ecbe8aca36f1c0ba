"""Figures that compare runs: solvers, repeats or machines in one chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.configuration import (
    LOOP,
    OF_THE_SOLVER,
    OWN_SOLVER,
    STRUCTURE,
    Group,
    configuration,
    group_runs,
    part_words,
)
from hindmost.analysis.runs.configuration import apart as parts_apart
from hindmost.analysis.runs.figures.distributions import (
    NamedTimes,
    ecdf,
    histograms,
    laws_over_each_other,
)
from hindmost.analysis.runs.figures.one_run import fitted_bodies
from hindmost.analysis.runs.figures.run_figure import Figure
from hindmost.analysis.runs.over_ranks import RESULTS, identifying, size_of
from hindmost.analysis.runs.tallies import solve_times
from hindmost.analysis.show.chart import Chart
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted

SEEN = "mpi_seen"
COUNTED = {"unknowns": "unknown", "ranks": "rank", "iterations": "iteration"}
"""Part of a configuration that needs words only where MPI was not seen."""
WITH_THE_SOLVER = (*OF_THE_SOLVER, *STRUCTURE)
"""Parts of a configuration that need no words where the solver is named."""
WITH_THE_LOOP = ("workload", "iterations", *STRUCTURE)
"""Parts that need none where the loop of a program is named."""
NAMES_FOR = {"solver": WITH_THE_SOLVER, OWN_SOLVER: WITH_THE_SOLVER, LOOP: WITH_THE_LOOP}
"""Parts that may name a configuration, and what then needs no words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFigure(Figure):
    """A figure of several runs."""

    make: Callable[[Sequence[Run]], Chart]


def make_fastest_overlay(runs: Sequence[Run]) -> Chart:
    """Make the histograms of a_k of several configurations, with their laws."""
    samples = samples_of(runs, over_ranks=np.min)
    return laws_over_each_other(
        samples, title=common_title(runs), what="fastest rank of an iteration, aₖ"
    )


def make_span_overlay(runs: Sequence[Run]) -> Chart:
    """Make the histograms of s_k of several configurations, with their laws.

    Raises
    ------
    UsageError
        No run has two ranks.
    """
    several = [run for run in runs if run.header.ranks > 1]
    if not several:
        raise UsageError(
            f"{runs[0].path} has only one rank, so there is no span from fastest to slowest."
        )
    samples = samples_of(several, over_ranks=np.ptp)
    return laws_over_each_other(
        samples, title=common_title(several), what="span of an iteration over ranks, sₖ"
    )


def samples_of(
    runs: Sequence[Run], over_ranks: Callable[..., NDArray[np.float64]] | None = None
) -> list[NamedTimes]:
    """Return a sample a configuration, repeats pooled; of one configuration, a sample a run.

    Parameters
    ----------
    over_ranks : function, optional
        What is taken of each body: of (iteration, rank) along axis 1, such as the minimum.
    """

    def taken(run: Run) -> NDArray[np.float64]:
        if over_ranks is None:
            return solve_times(run).fitted.ravel()
        return np.asarray(over_ranks(fitted_bodies(run), axis=1))

    groups = group_runs(runs)
    if len(groups) == 1:
        return [NamedTimes(run.path.stem, taken(run)) for run in runs]
    return [
        NamedTimes(name, np.concatenate([taken(run) for run in group.runs]))
        for name, group in zip(apart(groups), groups, strict=True)
    ]


def common_title(runs: Sequence[Run]) -> str:
    """Return what all runs have in common, for a title."""
    kinds = [configuration(run) for run in runs]
    words = [
        words_for(key, kinds[0][key])
        for key in ("solver", "workload", "unknowns", "ranks")
        if all(kind[key] == kinds[0][key] for kind in kinds)
    ]
    return ", ".join([*filter(None, words), counted(len(runs), "run")])


def apart(groups: Sequence[Group]) -> list[str]:
    """Return for each group what distinguishes it from the others, for a legend."""
    runs = [group.runs[0] for group in groups]
    kinds = [configuration(run) for run in runs]
    sizes = [(float(run.header.ranks), size_of(run) or 0.0) for run in runs]
    named = {*parts_apart(identifying(runs, sizes)), *RESULTS}
    different = parts_apart(kinds)
    for more in ((), ("iterations",), different):  # what follows the ranks says no more
        keys = [key for key in different if key in named or key in more]
        if len({tuple(kind.get(key) for key in keys) for kind in kinds}) == len(kinds):
            break
    for name, follow in NAMES_FOR.items():
        if name in keys and len({kind.get(name) for kind in kinds}) == len(kinds):
            keys = [key for key in keys if key == name or key not in follow]
    keys.sort(key=lambda key: key != "solver")
    return [
        ", ".join(filter(None, (words_for(key, kind.get(key)) for key in keys))) for kind in kinds
    ]


def words_for(key: str, value: str | None) -> str:
    """Write a part of a configuration; empty for the restart of a solver without one."""
    if value is None:
        return "" if key == SEEN else part_words(key, value)
    if key == SEEN:
        return "MPI not seen"
    if key == "restart" and value == "0":
        return ""
    if key in COUNTED and value.isdigit():
        return counted(int(value), COUNTED[key])
    if key in (OWN_SOLVER, LOOP):
        return value
    return f"restart {value}" if key == "restart" else part_words(key, value)


COMPARISON_FIGURES = (
    ComparisonFigure(
        name="overlay",
        summary="histograms of all files in one chart, a curve per configuration",
        caption="Iteration times of each configuration, repeats pooled.",
        make=lambda runs: histograms(samples_of(runs), title=common_title(runs)),
    ),
    ComparisonFigure(
        name="ecdf",
        summary="empirical distribution functions of iteration times of all files in one chart",
        caption="Share of iterations that take at most a given time, for each configuration, "
        "repeats pooled. The leftmost curve is the fastest. If curves cross, one configuration is "
        "faster in the middle and slower in the tail.",
        make=lambda runs: ecdf(samples_of(runs), title=common_title(runs)),
        default=True,
    ),
    ComparisonFigure(
        name="overlay-fastest",
        summary="a_k of machines, ranks, sizes or solvers in one chart, with laws",
        caption="The time of the fastest rank of each iteration, a_k, for each configuration, "
        "repeats pooled, with the Johnson SU law from which simulations draw it. The longest "
        "tenth lies beyond the axis. More than three configurations show their laws only.",
        make=make_fastest_overlay,
    ),
    ComparisonFigure(
        name="overlay-span",
        summary="s_k of machines, ranks, sizes or solvers in one chart, with laws",
        caption="The difference between the slowest and the fastest rank of each iteration, s_k, "
        "for each configuration, repeats pooled, with its Johnson SU law. The longest tenth lies "
        "beyond the axis. More than three configurations show their laws only.",
        make=make_span_overlay,
    ),
)
