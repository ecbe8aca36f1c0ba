"""Conclusions on adaptive runs: where the time of their cycles goes, how well it was predicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindmost.analysis.adaptive.study import AdaptiveStudy, Replays
from hindmost.analysis.fits.study import FittedGroup, FittedRun
from hindmost.analysis.ranks.study import report_run
from hindmost.analysis.report.looked_at import LookedAt
from hindmost.analysis.report.time_balance import time_balance
from hindmost.analysis.report.variation import busiest_of
from hindmost.analysis.runs.conclusion import Certainty, Conclusion, Link
from hindmost.analysis.runs.efficiency.of_run import efficiencies_of
from hindmost.analysis.runs.finding import OF_CYCLES, Finding
from hindmost.analysis.runs.groups import Group
from hindmost.analysis.show.page import Widget
from hindmost.analysis.whatif.gains import Remedies
from hindmost.text import counted, percent

NOT_REPLAYED = "the cycles of an adaptive run do different work, so no replay applies"


def looked_at(
    replays: Replays, anchor: str, findings: Sequence[Finding], pictures: Sequence[Widget] = ()
) -> LookedAt:
    """Return a group of replays as conclusions on runs take it, with what shows its cycles."""
    runs = tuple(each.run for each in replays.runs)
    middle = replays.middle.run
    ranks, remedies = report_run(middle), Remedies(refused=NOT_REPLAYED)
    fitted = FittedGroup(
        group=Group(runs),
        runs=tuple(FittedRun(run=run, models=(), refused={}, laws=(), tests=()) for run in runs),
        findings=tuple(findings),
    )
    return LookedAt(
        fitted=fitted,
        ranks=ranks,
        busiest=busiest_of(middle, ranks),
        slowest=None,
        balance=time_balance(efficiencies_of(middle), ranks, remedies),
        remedies=remedies,
        anchors={"section": anchor, "runs": anchor},
        of=replays.label,
        pictures=pictures,
    )


def prediction_conclusions(
    study: AdaptiveStudy, anchors: Sequence[str], findings: Sequence[Finding]
) -> list[Conclusion]:
    """Return how well the cycles of every group of replays were predicted, and what stood out."""
    return [
        prediction_conclusion(errors, anchor).doubted(findings)
        for errors, anchor in zip(study.errors, anchors, strict=True)
        if errors.raw
    ]


def prediction_conclusion(replays: Replays, anchor: str) -> Conclusion:
    """Return how well the cycles of one group were predicted."""
    means = {name: float(np.mean(each)) for name, each in replays.raw.items() if each}
    best = min(means, key=lambda name: means[name])
    verdicts = replays.middle.verdicts
    kinds = ", ".join(f"{count} {kind}" for kind, count in replays.middle.kinds.items())
    stood = (
        f" {counted(len(verdicts), 'cycle')} stood out: {kinds}."
        if verdicts
        else (" No cycle stood out.")
    )
    floor = (
        ""
        if replays.floor is None
        else f" Replays of the same cycles differ by {percent(replays.floor / 100.0)}."
    )
    return Conclusion(
        title="Prediction of cycles",
        text=f"The best predictor, {best}, misses a cycle by {percent(means[best] / 100.0)} on "
        f"average.{floor}{stood}",
        cost_s=0.0,
        amount=percent(means[best] / 100.0),
        certainty=Certainty.MEASURED,
        basis=f"{counted(len(replays.runs), 'run')}, every cycle predicted before it ran",
        of=replays.label,
        links=(Link(anchor=anchor, text="Cycles"),),
        topics=OF_CYCLES,
        files=tuple(str(each.run.path) for each in replays.runs),
    )
