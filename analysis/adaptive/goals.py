"""What predictions of adaptive runs are to reach, beside what they reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.adaptive.checkpoints import RULES
from hindmost.analysis.adaptive.limits import DECIDES
from hindmost.analysis.adaptive.paper import mean
from hindmost.analysis.adaptive.study import Errors, Study

RAW, DENOISED = 3.5, 2.0
OVER_FLOOR = 1.2
OFFLINE = {1: 4.0, 2: 5.0}
OVERRUNS, UNUSED = 5, 1.5
WASTE = 0.5
FALSE, DELAY, RECOVERED = 1.0, 2, 5.0
FORESIGHT = 0.1
FEW = 2
"""Ranks up to which the goals of errors hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Something to be reached.

    Attributes
    ----------
    what, measured, wanted : str
    met : bool
    """

    what: str
    measured: str
    wanted: str
    met: bool


def goals_of(study: Study) -> list[Goal]:
    """Return what the runs allow to be judged."""
    looks = (errors, foresight, limits, checkpoints, alarms, onsets)
    return [goal for look in looks for goal in look(study)]


def errors(study: Study) -> Iterator[Goal]:
    """Judge errors of predictions on at most two ranks."""
    calm = [each for each in study.judged if each.replays.ranks <= FEW]
    known = [each for each in calm if DECIDES in each.raw]
    if known:
        raw = average([each.mean_raw(DECIDES) for each in known])
        floors = [each.floor for each in known if each.floor is not None]
        bound = max(RAW, OVER_FLOOR * average(floors)) if floors else RAW
        floor = f"; the floor is {average(floors):.2f} %" if floors else ""
        yield Goal(
            what=f"online ({DECIDES}), raw, mean of {len(known)} decks and ranks",
            measured=f"{raw:.2f} %{floor}",
            wanted=f"at most {bound:.2f} % (the paper's online model: "
            f"{mean(FEW).online:.1f} % on as few)",
            met=raw <= bound,
        )
    least = [each.denoised[DECIDES] for each in known if DECIDES in each.denoised]
    if least:
        yield Goal(
            what=f"online ({DECIDES}), denoised, mean of {len(least)}",
            measured=f"{average(least):.2f} %",
            wanted=f"at most {DENOISED:g} %",
            met=average(least) <= DENOISED,
        )
    for ranks, bound in OFFLINE.items():
        offline = offline_errors(calm, ranks)
        if offline:
            yield Goal(
                what=f"offline, raw, {ranks} rank{'s' * (ranks > 1)}, mean of {len(offline)}",
                measured=f"{average(offline):.2f} %",
                wanted=f"at most {bound:g} % (the paper's: {mean(FEW).offline:.1f} %)",
                met=average(offline) <= bound,
            )


def offline_errors(calm: list[Errors], ranks: int) -> list[float]:
    """Return the offline errors of the groups on so many ranks."""
    return [
        each.mean_raw("offline")
        for each in calm
        if each.replays.ranks == ranks and "offline" in each.raw
    ]


def foresight(study: Study) -> Iterator[Goal]:
    """Judge what predicting took, of the time of the cycles."""
    shares = [
        100.0 * float(run.spec["foresight_s"]) / float(run.seconds.sum())
        for each in study.calm
        for run in each.replays.runs
        if run.spec.get("foresight_s")
    ]
    if shares:
        yield Goal(
            what="time that predicting and deciding takes, of the cycles: the worst run",
            measured=f"{max(shares):.3f} %",
            wanted=f"at most {FORESIGHT:g} %",
            met=max(shares) <= FORESIGHT,
        )


def limits(study: Study) -> Iterator[Goal]:
    """Judge time limits."""
    found = study.limits
    if found is not None:
        yield Goal(
            what=f"overruns of {found.limits} time limits at a risk of {100 * found.risk:g} %",
            measured=str(found.overruns),
            wanted=f"at most {OVERRUNS}",
            met=found.overruns <= OVERRUNS,
        )
        yield Goal(
            what="predicted cycles left unused before them, mean",
            measured=f"{found.mean_unused:.2f}",
            wanted=f"at most {UNUSED:g}",
            met=found.mean_unused <= UNUSED,
        )


def checkpoints(study: Study) -> Iterator[Goal]:
    """Judge the waste of checkpoints by the rule that runs follow."""
    rule = RULES[-1].name
    above = [
        planned.above_percent
        for found in study.checkpoints.values()
        for planned in found.planned
        if planned.name == rule
    ]
    if above:
        yield Goal(
            what="checkpoint waste above the least there is, worst run",
            measured=f"{max(above):.3f} points",
            wanted=f"at most {WASTE:g} points",
            met=max(above) <= WASTE,
        )


def alarms(study: Study) -> Iterator[Goal]:
    """Judge the test for interference on drawn cycles."""
    found = study.alarms
    if found is not None:
        yield Goal(
            what=f"false alarms in 1000 undisturbed cycles ({found.cycles:,} drawn)",
            measured=f"{found.per_thousand:.2f}",
            wanted=f"at most {FALSE:g}",
            met=found.per_thousand <= FALSE,
        )
        share = found.found_within(DELAY)
        yield Goal(
            what=f"slowdowns by {found.factor:g} found within {DELAY} cycles "
            f"({found.delays.size} drawn)",
            measured=f"{100 * share:.1f} %",
            wanted="all, or nearly: 95 %",
            met=share >= 0.95,
        )


def onsets(study: Study) -> Iterator[Goal]:
    """Judge the runs with a neighbour."""
    if study.onsets:
        late = [each for each in study.onsets if each.delay is None or each.delay > DELAY]
        yield Goal(
            what="onsets of a neighbour found within 2 cycles",
            measured=f"{len(study.onsets) - len(late)} of {len(study.onsets)}",
            wanted="all",
            met=not late,
        )
    after = [each.error_percent for each in study.onsets if np.isfinite(each.error_percent)]
    if after:
        yield Goal(
            what=f"online ({DECIDES}) from the fourth disturbed cycle on, mean",
            measured=f"{average(after):.2f} %",
            wanted=f"at most {RECOVERED:g} %",
            met=average(after) <= RECOVERED,
        )


def average(values: list[float]) -> float:
    """Return the mean."""
    return float(np.mean(values))
