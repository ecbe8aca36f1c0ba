"""The figures of one run, by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hindmost.analysis.figures.heat_map import draw_heat_map
from hindmost.analysis.figures.histogram import draw_histogram
from hindmost.analysis.runs import solve_times
from hindmost.errors import DataError
from hindmost.harness.runfile.reader import Run
from hindmost.models.stochastic.johnsonsu import fit_johnsonsu

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigure:
    """A figure that can be drawn of any run.

    Attributes
    ----------
    name : str
        Part of the file's name.
    caption : str
        What is to be seen in it.
    height_inches : callable
        From the number of ranks.
    """

    name: str
    caption: str
    draw: Callable[[Axes, Run], Axes]
    height_inches: Callable[[int], float]


def draw_map(axes: Axes, run: Run) -> Axes:
    """Draw the (iteration, rank) colour map of a run."""
    return draw_heat_map(axes, run.durations, f"{title(run)}: where and when")


def draw_law(axes: Axes, run: Run) -> Axes:
    """Draw the histogram of a run's bodies with the fitted laws."""
    times = solve_times(run).fitted
    law = None
    with suppress(DataError):
        law = fit_johnsonsu(times)
    return draw_histogram(axes, times, law, f"{title(run)}: how long a body lasts")


def title(run: Run) -> str:
    """Return solver, workload and ranks."""
    header = run.header
    return f"{header.solver} on {header.workload}, {header.ranks} ranks"


RUN_FIGURES = (
    RunFigure(
        name="map",
        caption="The bodies of every rank in the order of time, as colours. Ramps are the cycles "
        "of a solver that restarts, whose bodies orthogonalise against ever more vectors. Stripes "
        "along time are a rank that is always slower; columns are bodies in which all were slow; "
        "specks are detours.",
        draw=draw_map,
        height_inches=lambda ranks: min(1.6 + 0.35 * ranks, 5.0),
    ),
    RunFigure(
        name="histogram",
        caption="How long bodies last, all ranks and iterations together, with the Johnson SU law "
        "that the stationary model takes them to follow, and a normal one for comparison. Of a "
        "pipelined solver, bodies that only fill the pipeline are left out; those that drain it "
        "make a peak at the left.",
        draw=draw_law,
        height_inches=lambda _: 3.2,
    ),
)
