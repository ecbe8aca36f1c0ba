"""What each figure of an adaptive run shows, made from the run and from what was chosen of it."""

from __future__ import annotations

from hindmost.analysis.adaptive.checkpoints import study_checkpoints
from hindmost.analysis.adaptive.run import read_adaptive
from hindmost.analysis.figures.adaptive.checkpoints import accumulated
from hindmost.analysis.figures.adaptive.grind import time_per_cell
from hindmost.analysis.figures.adaptive.mesh import adaption_over_cycles, cells_over_cycles
from hindmost.analysis.figures.adaptive.phase_times import phases_over_cycles
from hindmost.analysis.figures.adaptive.predicted import interference, predicted_times
from hindmost.analysis.figures.chart import Chart
from hindmost.analysis.figures.choice import Choice
from hindmost.harness.runfile.reader import Run


def make_predicted(run: Run, choice: Choice) -> Chart:
    """Make the chart of measured and predicted times."""
    return predicted_times(read_adaptive(run))


def make_interference(run: Run, choice: Choice) -> Chart:
    """Make the chart of a run with a neighbour."""
    return interference(read_adaptive(run))


def make_grind(run: Run, choice: Choice) -> Chart:
    """Make the chart of time per cell."""
    return time_per_cell(read_adaptive(run), choice.machine)


def make_checkpoints(run: Run, choice: Choice) -> Chart:
    """Make the chart of accumulated time and checkpoints."""
    read = read_adaptive(run)
    return accumulated(read, study_checkpoints(read, machine=choice.machine))


def make_cells(run: Run, choice: Choice) -> Chart:
    """Make the chart of cells."""
    return cells_over_cycles(read_adaptive(run))


def make_adaption(run: Run, choice: Choice) -> Chart:
    """Make the chart of what adaption and balance changed."""
    return adaption_over_cycles(read_adaptive(run))


def make_phases_over_cycles(run: Run, choice: Choice) -> Chart:
    """Make the stacked chart of phases."""
    return phases_over_cycles(read_adaptive(run))
