"""What this project wants predictions of adaptive runs to reach, next to what they reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.adaptive_paper import mean, mean_error

from hindmost.analysis.adaptive.interference import undisturbed_share
from hindmost.analysis.adaptive.study import AdaptiveStudy, FigureOfMerit, figures_of_merit
from hindmost.analysis.adaptive.tables import percent
from hindmost.analysis.runs.cycles import DECIDES
from hindmost.analysis.show.table import RIGHT, WIDE, Column, Table
from hindmost.text import counted

RAW, DENOISED = 3.5, 2.0
OVER_FLOOR = 1.2
OFFLINE_OVER_FLOOR = 1.3
FEW = 2
"""Ranks up to which the goals of errors hold."""
AT_MOST = {
    "overhead": (0.1, " %"),
    "probe": (0.1, " %"),
    "overruns": (5.0, ""),
    "unused": (1.5, ""),
    "checkpoint-waste": (0.5, " points"),
    "false-alarms": (1.0, ""),
    "disturbed-error": (5.0, " %"),
}
AT_LEAST = {"onsets": 100.0}
"""Bounds on figures of merit, by their keys; those to be exceeded are in percent."""


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
    return [*errors(study), *map(goal_of, figures_of_merit(study))]


def goal_of(figure: FigureOfMerit) -> Goal:
    """Hold a figure of merit against its bound."""
    if figure.key in AT_MOST:
        bound, unit = AT_MOST[figure.key]
        wanted, met = f"at most {bound:g}{unit}", figure.value <= bound
    else:
        bound = AT_LEAST[figure.key]
        wanted, met = f"at least {bound:g} %", figure.value >= bound
    return Goal(what=figure.what, measured=figure.text, wanted=wanted, met=met)


def errors(study: AdaptiveStudy) -> Iterator[Goal]:
    """Judge errors of predictions on at most two ranks."""
    calm = [each for each in study.judged if each.replays.ranks <= FEW]
    known = [each for each in calm if DECIDES in each.raw]
    if known:
        raw = average([average(each.raw[DECIDES]) for each in known])
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
    for ranks in range(1, FEW + 1):
        here = [each for each in calm if each.replays.ranks == ranks and "offline" in each.raw]
        if here:
            offline = average([average(each.raw["offline"]) for each in here])
            floors = [each.floor for each in here if each.floor is not None]
            bound = max(mean().offline, OFFLINE_OVER_FLOOR * average(floors or [0.0]))
            yield Goal(
                what=f"offline, raw, {counted(ranks, 'rank')}, mean of {len(here)}",
                measured=f"{offline:.2f} %"
                + (f"; the floor is {average(floors):.2f} %" if floors else ""),
                wanted=f"at most {bound:.2f} % (the larger of the paper's {mean().offline:.2f} % "
                f"and {OFFLINE_OVER_FLOOR:g} times the floor)",
                met=offline <= bound,
            )


def average(values: list[float]) -> float:
    """Return the mean."""
    return float(np.mean(values))


def floor_table(study: AdaptiveStudy) -> Table:
    """Return the errors of online and offline predictions beside the floor of the same runs."""
    return Table(
        columns=(
            Column("runs", WIDE),
            Column("undisturbed, %", RIGHT),
            Column("floor", RIGHT),
            Column("online-all", RIGHT),
            Column(DECIDES, RIGHT),
            Column("offline", RIGHT),
            Column(f"{OFFLINE_OVER_FLOOR:g} x floor", RIGHT),
        ),
        rows=[
            (
                each.replays.label,
                percent(scaled(undisturbed_share(each.replays.runs), 100.0)),
                percent(each.floor),
                *(mean_error(each, name) for name in ("online-all", DECIDES, "offline")),
                percent(scaled(each.floor, OFFLINE_OVER_FLOOR)),
            )
            for each in study.judged
        ],
        notes=(
            "Mean absolute errors in percent. Undisturbed: cycles before and after which a fixed "
            "computation on the same core took its usual time, and in which no rank lost its core.",
        ),
    )


def scaled(value: float | None, factor: float) -> float | None:
    """Return a multiple; None of nothing."""
    return None if value is None else factor * value


def goal_table(study: AdaptiveStudy) -> Table:
    """Return what is wanted next to what was measured."""
    return Table(
        columns=(Column("what", WIDE), Column("measured"), Column("wanted", WIDE), Column("met")),
        rows=[
            (each.what, each.measured, each.wanted, "yes" if each.met else "NO")
            for each in goals_of(study)
        ],
    )
