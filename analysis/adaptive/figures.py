"""The figures of adaptive runs: time per cell, predictions, checkpoints, interference."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.adaptive.study import study_checkpoints
from hindmost.analysis.runs.cycles import AdaptiveRun, read_adaptive
from hindmost.analysis.runs.figures.run_figure import FigureChoice, RunFigure
from hindmost.analysis.show.chart import Chart, Quantity, Series, worth_showing
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import grind_curve
from hindmost.text import unit_for

ROOM = 1.08
"""Top of an axis over the highest of what is shown."""
NAMES = {
    "online-all": "online, all cycles",
    "online-1": "online, last cycle",
    "offline": "offline",
    "shape-level": "shape times level",
}
"""Predictors that are drawn, and their names in figures."""
NEIGHBOUR = "neighbour runs"


def times_over_cycles(
    run: AdaptiveRun,
    times_s: Mapping[str, NDArray[np.float64]],
) -> Chart:
    """Make a chart of times of cycles, from zero; cycles far out lie beyond the axis.

    An area lies behind the cycles in which a neighbour ran.

    Parameters
    ----------
    times_s : mapping of str to float64 array, shape (cycle,), seconds
        The first are measured. NaN where nothing was predicted.
    """
    measured = next(iter(times_s.values()))
    unit = unit_for(measured)
    known = np.concatenate([each[np.isfinite(each)] for each in times_s.values()])
    top = ROOM * max(worth_showing(measured)[1], worth_showing(known)[1]) * unit.per_second
    beyond = int(np.count_nonzero(measured * unit.per_second > top))
    borders = np.append(run.numbers, run.numbers[-1] + 1) - 0.5  # of the cycles
    ran = Series(name=NEIGHBOUR, look="area", x=borders, y=np.where(run.neighbour, top, 0.0))
    lines = [
        Series(
            name=name,
            look="line",
            x=run.numbers[known].astype(np.float64),
            y=each[known] * unit.per_second,
        )
        for name, each in times_s.items()
        if (known := np.isfinite(each)).any()
    ]
    return Chart(
        title=run.title,
        x=Quantity("cycle"),
        y=Quantity("time of a cycle", unit.sign),
        series=(*([ran] if run.neighbour.any() else []), *lines),
        y_limits=(0.0, top),
        note=f"{beyond} of {measured.size} lie beyond" if beyond else "",
        counted=True,
        legend_below=len(times_s) > 3,
    )


def predicted_times(run: AdaptiveRun) -> Chart:
    """Make the chart of measured times and what was said before (figures 2 and 3).

    Raises
    ------
    UsageError
        Nothing was predicted.
    """
    said = said_before(run)
    said.pop(NAMES["online-1"], None)  # the paper's figures 2 and 3 have the window of all cycles
    if not said:
        raise UsageError(f"{run.run.path} has no predictions of its cycles.")
    return times_over_cycles(run, {"measured": run.seconds, **said})


def interference(run: AdaptiveRun) -> Chart:
    """Make the chart of a run that was disturbed on purpose (figure 5).

    The paper's online model never forgets, whatever the test for interference finds; ``shape times
    level`` begins anew then.

    Raises
    ------
    UsageError
        No neighbour ran on purpose.
    """
    if not run.disturbed_on_purpose:
        raise UsageError(
            f"{run.run.path}: no neighbour ran on purpose; use `hindmost run adaptive --interfere`."
        )
    return times_over_cycles(run, {"measured": run.seconds, **said_before(run)})


def said_before(run: AdaptiveRun) -> dict[str, NDArray[np.float64]]:
    """Return the predictions of a run by their names in figures."""
    return {words: run.prediction(name) for name, words in NAMES.items() if name in run.predictors}


def time_per_cell(run: AdaptiveRun, machine: Machine | None = None) -> Chart:
    """Make the chart of hydro time per cell and step on rank 0 against its cells.

    Parameters
    ----------
    machine : Machine, optional
        Its curves are drawn for one rank, and for as many as the run had on a node.
    """
    cells = run.cells.astype(np.float64)
    each = 1e9 * run.hydro_s / (cells * run.steps)
    curves, highest = [], worth_showing(each)[1]
    if machine is not None:
        for on_node in sorted({1, min(run.ranks, machine.ranks_per_node)}):
            found = grind_curve(machine.grind, "hydro", on_node)
            if found is not None:
                ranks = "rank" if on_node == 1 else "ranks"
                probed = Series(
                    name=f"probed with {on_node} {ranks} at work",
                    look="line",
                    x=np.exp(found.log_cells),
                    y=1e9 * np.asarray(found.seconds),
                )
                curves.append(probed)
                highest = max(highest, float(probed.y.max()))
    top = ROOM * highest
    order = np.argsort(cells, kind="stable")
    shown = order[each[order] <= top]
    points = Series(name="measured in the run", look="points", x=cells[shown], y=each[shown])
    beyond = cells.size - shown.size
    return Chart(
        title=run.title,
        x=Quantity("cells of a rank"),
        y=Quantity("hydro time per cell and step", "ns"),
        series=(points, *curves),
        y_limits=(0.0, top),
        note=f"{beyond} of {each.size} cycles lie beyond" if beyond else "",
        logarithmic=(machine is not None, False),
    )


def accumulated(run: AdaptiveRun) -> Chart:
    """Make the chart of time over cycles, with the checkpoints of each rule as points on it."""
    study = study_checkpoints(run)
    total = np.cumsum(run.seconds)
    done = run.numbers + 1.0
    series = [Series(name="accumulated time", look="line", x=done, y=total)]
    for rule, plan in study.plans.items():
        after = np.asarray(plan.after, np.int64)
        if after.size:
            series.append(Series(name=rule, look="points", x=done[after - 1], y=total[after - 1]))
    written = np.array([checkpoint.cycle for checkpoint in run.checkpoints], np.int64)
    places = written - run.first_cycle - 1
    places = places[(places >= 0) & (places < total.size)]
    if places.size:
        series.append(
            Series(name="written in the run", look="points", x=done[places], y=total[places])
        )
    cost = float(np.median(study.checkpoint_s))
    return Chart(
        title=f"{run.title}: a failure every {study.mtbf_s:,.4g} s, a checkpoint of {cost:.3g} s"
        + (" (assumed)" if study.assumed else ""),
        x=Quantity("cycles done"),
        y=Quantity("accumulated time", "s"),
        series=tuple(series),
        y_limits=(0.0, ROOM * float(total[-1])),
        counted=True,
        legend_below=True,
    )


def of_cycles(chart: Callable[[AdaptiveRun], Chart]) -> Callable[[Run, FigureChoice], Chart]:
    """Return what makes a chart from a run file, given what makes it from its cycles."""
    return lambda run, choice: chart(read_adaptive(run))


ADAPTIVE_FIGURES = (
    RunFigure(
        name="predicted",
        heading="Measured and predicted times",
        summary="adaptive runs: time of cycles, and what was predicted before",
        caption="The time of each cycle on rank 0, and its prediction before it ran: by the time "
        "per cell so far (online), from probes only (offline), and by the shape of a cycle times "
        "its level so far. Steps are changes of the mesh.",
        make=of_cycles(predicted_times),
        default=True,
    ),
    RunFigure(
        name="interference",
        heading="With a neighbour on the machine",
        summary="adaptive runs: predictions where a neighbour ran (--interfere)",
        caption="A run that was disturbed on purpose in the shaded cycles. The offline model keeps "
        "predicting what the undisturbed machine can do. Online models adapt, sooner if they "
        "average over fewer cycles. Shape times level starts again as soon as the test for "
        "interference detects the change.",
        make=of_cycles(interference),
        default=True,
    ),
    RunFigure(
        name="grind",
        heading="Time per cell against cells",
        summary="adaptive runs: time per cell, and the probed curve (--machine)",
        caption="Hydro time of rank 0 per cell and step in each cycle, against the cells of the "
        "rank, and the probed piecewise curve that the offline model uses.",
        make=lambda run, choice: time_per_cell(read_adaptive(run), choice.machine),
        default=True,
    ),
    RunFigure(
        name="checkpoints",
        heading="Accumulated time and checkpoints",
        summary="adaptive runs: accumulated time, and when to write checkpoints",
        caption="The accumulated time of the cycles, and after which of them each rule writes a "
        "checkpoint, given the predictions of the next cycle.",
        make=of_cycles(accumulated),
        default=True,
    ),
)
