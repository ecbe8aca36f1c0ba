"""The figures of an adaptive run, by name."""

from __future__ import annotations

from collections.abc import Callable

from hindmost.analysis.adaptive import charts
from hindmost.analysis.adaptive.checkpoints import study_checkpoints
from hindmost.analysis.runs.cycles import AdaptiveRun, read_adaptive
from hindmost.analysis.runs.figures.run_figure import FigureChoice, RunFigure
from hindmost.analysis.show.chart import Chart
from hindmost.harness.runfile.reader import Run


def of_cycles(chart: Callable[[AdaptiveRun], Chart]) -> Callable[[Run, FigureChoice], Chart]:
    """Return what makes a chart from a run file, given what makes it from its cycles."""
    return lambda run, choice: chart(read_adaptive(run))


def make_grind(run: Run, choice: FigureChoice) -> Chart:
    """Make the chart of time per cell, with the curves of the machine that was chosen."""
    return charts.time_per_cell(read_adaptive(run), choice.machine)


def make_checkpoints(run: Run, choice: FigureChoice) -> Chart:
    """Make the chart of accumulated time and checkpoints."""
    read = read_adaptive(run)
    return charts.accumulated(read, study_checkpoints(read, machine=choice.machine))


ADAPTIVE_FIGURES = (
    RunFigure(
        name="predicted",
        heading="Measured and predicted times",
        summary="adaptive runs: time of cycles, and what was predicted before",
        caption="The time of each cycle on rank 0, and its prediction before it ran: by the time "
        "per cell so far (online), from probes only (offline), and by the shape of a cycle times "
        "its level so far. Steps are changes of the mesh.",
        make=of_cycles(charts.predicted_times),
        default=True,
    ),
    RunFigure(
        name="interference",
        heading="With a neighbour on the machine",
        summary="adaptive runs: predictions where a neighbour ran (--interfere)",
        caption="A run that was disturbed on purpose in the shaded cycles. The offline model keeps "
        "predicting what the undisturbed machine can do. Online models adapt, sooner if they "
        "average over fewer cycles. Shape times level starts anew as soon as the test for "
        "interference detects the change.",
        make=of_cycles(charts.interference),
        default=True,
    ),
    RunFigure(
        name="grind",
        heading="Time per cell against cells",
        summary="adaptive runs: time per cell, and the probed curve (--machine)",
        caption="Hydro time of rank 0 per cell and step in each cycle, against the cells of the "
        "rank, and the probed piecewise curve that the offline model uses.",
        make=make_grind,
        default=True,
    ),
    RunFigure(
        name="checkpoints",
        heading="Accumulated time and checkpoints",
        summary="adaptive runs: accumulated time, and when to write checkpoints",
        caption="The accumulated time of the cycles, and after which of them each rule writes a "
        "checkpoint, given the predictions of the next cycle.",
        make=make_checkpoints,
        default=True,
    ),
    RunFigure(
        name="cells",
        heading="Cells of the mesh",
        summary="adaptive runs: cells over cycles",
        caption="Cells of the mesh in each cycle. On several ranks the gap between the lines is "
        "load imbalance: all ranks wait for the one with most cells.",
        make=of_cycles(charts.cells_over_cycles),
        default=True,
    ),
    RunFigure(
        name="adaption",
        heading="What adaption changed",
        summary="adaptive runs: cells divided, combined and moved over cycles",
        caption="Cells divided and combined at the end of each cycle, and moved to another rank "
        "for load balance.",
        make=of_cycles(charts.adaption_over_cycles),
        default=True,
    ),
    RunFigure(
        name="phases-over-cycles",
        heading="Phases of each cycle",
        summary="adaptive runs: time of every cycle of rank 0, its phases stacked",
        caption="The time of each cycle on rank 0, stacked by phase. Halo and reduction include "
        "waiting for other ranks.",
        make=of_cycles(charts.phases_over_cycles),
        default=True,
    ),
)
