"""Checks of adaptive runs: failed, short or disturbed ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hindmost.analysis.runs.cycles import DECIDES, read_adaptive
from hindmost.analysis.runs.finding import Remark, Topic
from hindmost.errors import DataError
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.interference import CycleKind
from hindmost.text import percent

LEAST_CYCLES = 20
OUTLIER_CYCLE = 1.25
OUTLIER_CYCLES = 0.05
DISTURBED_CYCLES = (Topic.TIMES, Topic.PREDICTIONS, Topic.COMPARISON)


def look_at_cycles(run: Run) -> Iterator[Remark]:
    """Find an adaptive run that failed, is short, or was disturbed.

    Its cycles do different work, so they are compared with their predictions.
    """
    failure = run.header.spec.get("failure")
    if not run.header.complete:
        yield Remark(
            code="incomplete",
            severity="error",
            text=f"the run failed: {failure}" if failure else "records were lost",
            advice="the cycles before are valid, but they are not the whole run",
            doubts=(Topic.TIMES, Topic.COMPARISON),
        )
    if run.bodies < LEAST_CYCLES:
        yield Remark(
            code="few-cycles",
            severity="error",
            text=f"only {run.bodies} cycles",
            advice=f"mean prediction errors need about {LEAST_CYCLES}: ask for more --cycles",
            doubts=(Topic.PREDICTIONS,),
        )
        return
    try:
        read = read_adaptive(run)
    except DataError as error:
        yield Remark(
            code="no-cycles",
            severity="error",
            text=str(error),
            advice="its predictions cannot be judged",
            doubts=(Topic.PREDICTIONS,),
        )
        return
    if read.disturbed_on_purpose:
        yield Remark(
            code="interference",
            severity="note",
            text="a neighbour ran on purpose (--interfere)",
            advice="its errors are not those of an idle machine",
            doubts=DISTURBED_CYCLES,
        )
        return
    if DECIDES not in read.predictors:
        return
    ratio = read.seconds / read.prediction(DECIDES)
    ratio = ratio[np.isfinite(ratio)]
    share = float(np.mean(ratio > OUTLIER_CYCLE)) if ratio.size else 0.0
    if share > OUTLIER_CYCLES:
        yield Remark(
            code="disturbed-cycles",
            severity="note",
            text=f"{percent(share, 0)} of the cycles took over {OUTLIER_CYCLE:g} times their "
            "prediction",
            advice="something else used the machine, or the prediction does not fit: replay "
            "(--repeats) and compare with the floor",
            doubts=DISTURBED_CYCLES,
        )
    slower = [each for each in read.verdicts if each.kind == CycleKind.SLOWER]
    if slower:
        yield Remark(
            code="machine-slower",
            severity="note",
            text=f"from cycle {slower[0].cycle} on: {slower[0].words}",
            advice="--interfere was not given: the errors are not those of an idle machine",
            doubts=DISTURBED_CYCLES,
        )
