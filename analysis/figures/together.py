"""The figures of several runs together: solvers, repeats or machines over each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.figures.chart import Chart
from hindmost.analysis.figures.ecdf import ecdf
from hindmost.analysis.figures.histogram import Sample, histograms
from hindmost.analysis.figures.units import several
from hindmost.analysis.runs import Group, configuration, group_runs, solve_times
from hindmost.harness.runfile.reader import Run

LONGEST_WORD = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherFigure:
    """A figure of several runs; names and words as of a `RunFigure`."""

    name: str
    summary: str
    caption: str
    make: Callable[[Sequence[Run]], Chart]
    usual: bool = False


def make_overlay(runs: Sequence[Run]) -> Chart:
    """Make the histograms of several runs over each other."""
    return histograms(samples_of(runs), title=common_title(runs))


def make_ecdf(runs: Sequence[Run]) -> Chart:
    """Make the empirical distributions of several runs over each other."""
    return ecdf(samples_of(runs), title=common_title(runs))


def samples_of(runs: Sequence[Run]) -> list[Sample]:
    """Return a sample a configuration, repeats pooled; of one configuration, a sample a run."""
    groups = group_runs(runs)
    if len(groups) == 1:
        return [Sample(run.path.stem, solve_times(run).fitted) for run in runs]
    return [
        Sample(name, np.concatenate([solve_times(run).fitted.ravel() for run in group.runs]))
        for name, group in zip(apart(groups), groups, strict=True)
    ]


def common_title(runs: Sequence[Run]) -> str:
    """Say what all runs have in common, in few words."""
    kinds = [configuration(run) for run in runs]
    words = [
        words_for(key, kinds[0][key])
        for key in ("solver", "workload", "unknowns", "ranks")
        if all(kind[key] == kinds[0][key] for kind in kinds)
    ]
    return ", ".join([*filter(None, words), several(len(runs), "run")])


def apart(groups: Sequence[Group]) -> list[str]:
    """Say of each group what sets it apart from the others, in few words."""
    kinds = [configuration(group.runs[0]) for group in groups]
    keys = [key for key in kinds[0] if len({kind[key] for kind in kinds}) > 1]
    if "solver" in keys and len({kind["solver"] for kind in kinds}) == len(kinds):
        keys = ["solver"]  # what else differs comes with the solver
    keys.sort(key=lambda key: key != "solver")
    return [", ".join(filter(None, (words_for(key, kind[key]) for key in keys))) for kind in kinds]


def words_for(key: str, value: str) -> str:
    """Say a part of a configuration; nothing of a solver that does not restart."""
    if key == "restart" and value == "0":
        return ""
    if key in ("unknowns", "ranks", "iterations") and value.isdigit():
        return several(int(value), key.removesuffix("s"))
    return f"restart {value}" if key == "restart" else value[:LONGEST_WORD]


TOGETHER_FIGURES = (
    TogetherFigure(
        name="overlay",
        summary="histograms of all files over each other, a curve a configuration",
        caption="How long bodies last in each configuration, repeats pooled.",
        make=make_overlay,
    ),
    TogetherFigure(
        name="ecdf",
        summary="the share of bodies no longer than a time, of all files over each other",
        caption="What share of bodies is no longer than a time, in each configuration, repeats "
        "pooled. The curve that lies to the left is the faster one; where curves cross, one is "
        "faster in the middle and slower in the tail.",
        make=make_ecdf,
        usual=True,
    ),
)
