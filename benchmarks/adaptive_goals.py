"""What this project wants predictions of adaptive runs to reach, next to what they reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.adaptive_paper import mean, mean_error

from hindmost.analysis.adaptive.study import AdaptiveStudy, Replays, percent
from hindmost.analysis.runs.cycles import DECIDES
from hindmost.analysis.show.table import RIGHT, WIDE, Column, Table
from hindmost.text import counted

RULE = "optimum, to the nearest cycle"
"""That of checkpoints in runs."""
RAW = 3.5
OVER_FLOOR = 1.2
OFFLINE_OVER_FLOOR = 1.3
FEW = 2
"""Ranks up to which the goals of errors hold."""
PROMPT = 2
"""Cycles within which a neighbour should be detected."""
WASTE_POINTS, OVERHEAD_PERCENT, DISTURBED_PERCENT = 0.5, 0.1, 5.0


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


def goals_of(study: AdaptiveStudy) -> list[Goal]:
    """Return the goals that the runs allow to be judged."""
    return [*errors(study), *decisions(study)]


def errors(study: AdaptiveStudy) -> Iterator[Goal]:
    """Judge errors of predictions on at most two ranks."""
    calm = [each for each in study.judged if each.ranks <= FEW]
    known = [each for each in calm if DECIDES in each.raw]
    if known:
        raw, floor = means(known, DECIDES)
        bound = max(RAW, OVER_FLOOR * floor)
        yield Goal(
            what=f"online ({DECIDES}), raw, mean of {len(known)} decks and ranks",
            measured=f"{raw:.2f} %; the floor is {floor:.2f} %",
            wanted=f"at most {bound:.2f} % (the paper's online model: "
            f"{mean(FEW).online:.1f} % on as few)",
            met=raw <= bound,
        )
    for ranks in range(1, FEW + 1):
        here = [each for each in calm if each.ranks == ranks and "offline" in each.raw]
        if here:
            offline, floor = means(here, "offline")
            bound = max(mean().offline, OFFLINE_OVER_FLOOR * floor)
            yield Goal(
                what=f"offline, raw, {counted(ranks, 'rank')}, mean of {len(here)}",
                measured=f"{offline:.2f} %; the floor is {floor:.2f} %",
                wanted=f"at most {bound:.2f} % (the larger of the paper's {mean().offline:.2f} % "
                f"and {OFFLINE_OVER_FLOOR:g} times the floor)",
                met=offline <= bound,
            )


def means(errors: list[Replays], name: str) -> tuple[float, float]:
    """Return the mean error of a predictor and the mean floor, 0 without replays; percent."""
    floors = [error.floor for error in errors if error.floor is not None]
    raw = float(np.mean([np.mean(error.raw[name]) for error in errors]))
    return raw, float(np.mean(floors or [0.0]))


def decisions(study: AdaptiveStudy) -> Iterator[Goal]:
    """Judge checkpoints, the detection of neighbours, and what predicting costs."""
    waste = max(error.checkpoints.above_percent(RULE) for error in study.errors)
    yield goal("checkpoint waste above the minimum, worst run", waste, WASTE_POINTS, "points")
    runs = [run for each in study.judged for run in each.runs]
    shares = [100.0 * run.spec.get("foresight_s", 0.0) / run.seconds.sum() for run in runs]
    yield goal("time spent on predicting and deciding, worst run", max(shares), OVERHEAD_PERCENT)
    if study.onsets:
        late = sum(not (onset.delay and onset.delay <= PROMPT) for onset in study.onsets)
        what = f"of {len(study.onsets)} neighbours, not detected within {PROMPT} cycles"
        yield goal(what, late, 0.0, "")
    after = [onset.error_percent for onset in study.onsets if np.isfinite(onset.error_percent)]
    if after:
        what = f"mean error of {DECIDES} from the fourth disturbed cycle on"
        yield goal(what, float(np.mean(after)), DISTURBED_PERCENT)


def goal(what: str, value: float, bound: float, unit: str = "%") -> Goal:
    """Return a goal that asks for at most a bound."""
    return Goal(
        what=what,
        measured=f"{value:.3g} {unit}",
        wanted=f"at most {bound:g} {unit}",
        met=value <= bound,
    )


def floor_table(study: AdaptiveStudy) -> Table:
    """Return the errors of online and offline predictions beside the floor of the same runs."""
    return Table(
        columns=(
            Column("runs", WIDE),
            Column("floor", RIGHT),
            Column("online-all", RIGHT),
            Column(DECIDES, RIGHT),
            Column("offline", RIGHT),
            Column(f"{OFFLINE_OVER_FLOOR:g} x floor", RIGHT),
        ),
        rows=[
            (
                each.label,
                percent(each.floor),
                *(mean_error(each, name) for name in ("online-all", DECIDES, "offline")),
                percent(None if each.floor is None else OFFLINE_OVER_FLOOR * each.floor),
            )
            for each in study.judged
        ],
        notes=("Mean absolute errors in percent.",),
    )


def goal_table(study: AdaptiveStudy) -> Table:
    """Return what is wanted next to what was measured."""
    return Table(
        columns=(Column("what", WIDE), Column("measured"), Column("wanted", WIDE), Column("met")),
        rows=[
            (goal.what, goal.measured, goal.wanted, "yes" if goal.met else "NO")
            for goal in goals_of(study)
        ],
    )
