"""A study of adaptive runs: prediction errors, checkpoints, and onsets of neighbours.

The tables on adaptive runs, the same on pages and terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.configuration import configuration, grouped
from hindmost.analysis.runs.cycles import DECIDES, AdaptiveRun, mean_error_percent
from hindmost.analysis.runs.summary import load_around
from hindmost.analysis.show.table import RIGHT, WIDE, Column, Table
from hindmost.models.adaptive.interference import CycleKind
from hindmost.models.ahead.checkpoints import (
    CheckpointPlan,
    best_plan,
    optimum_s,
    plan_by_rule,
    young_s,
)
from hindmost.text import counted

LATE = 20
"""Cycles after which a verdict does not belong to an onset."""
SETTLED = 3
"""Cycles after an onset by which predictions should have adapted."""

MTBF_S = 600.0
"""Mean time between failures where none is given, as in the figure of Mathis and Kerbyson."""
RULES = {
    "Young, rounded down (the paper)": (young_s, True),
    "optimum, to the nearest cycle": (optimum_s, False),
}
"""Intervals of (checkpoint_s, mtbf_s), and whether they are rounded down to whole cycles."""
BEST = "least waste, known afterwards"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStudy:
    """The checkpoints of a run by every rule.

    Attributes
    ----------
    mtbf_s : float
    checkpoint_s : float64 array, shape (cycle,), seconds
        Cost of a checkpoint after each cycle.
    assumed : bool
        Whether the cost is assumed, because none was measured.
    plans : dict of str to CheckpointPlan
        By rule, then that of least waste.
    """

    mtbf_s: float
    checkpoint_s: NDArray[np.float64]
    assumed: bool
    plans: dict[str, CheckpointPlan]

    def waste_percent(self, rule: str) -> float:
        """Return the expected wall time over the computed time, less one."""
        return 100.0 * self.plans[rule].expected_waste(self.mtbf_s)

    def above_percent(self, rule: str) -> float:
        """Return the waste of a rule less the least one, in percentage points."""
        return self.waste_percent(rule) - self.waste_percent(BEST)


def study_checkpoints(
    run: AdaptiveRun, *, mtbf_s: float = MTBF_S, checkpoint_s: float | None = None
) -> CheckpointStudy:
    """Plan the checkpoints of a run by every rule, from the predictions before each cycle.

    Parameters
    ----------
    mtbf_s : float
        Mean time between failures; by default the paper's 10 min.
    checkpoint_s : float, optional
        Cost of a checkpoint; by default that of the run's own, in proportion to the cells.
    """
    cost, assumed = costs(run, checkpoint_s)
    predicted = run.prediction(DECIDES) if DECIDES in run.predictors else run.seconds
    plans = {
        name: plan_by_rule(run.seconds, predicted, cost, mtbf_s, interval_s, down=down)
        for name, (interval_s, down) in RULES.items()
    }
    plans[BEST] = best_plan(run.seconds, cost, mtbf_s)
    return CheckpointStudy(mtbf_s=mtbf_s, checkpoint_s=cost, assumed=assumed, plans=plans)


def costs(run: AdaptiveRun, checkpoint_s: float | None) -> tuple[NDArray[np.float64], bool]:
    """Return the cost of a checkpoint after each cycle, and whether it is assumed."""
    cells = run.total_cells.astype(np.float64)
    if checkpoint_s is not None:
        return np.full(cells.size, checkpoint_s), False
    rates = [
        checkpoint.seconds / cells[min(max(0, checkpoint.cycle - run.first_cycle), cells.size - 1)]
        for checkpoint in run.checkpoints
    ]
    if rates:
        return float(np.median(rates)) * cells, False
    # Without a checkpoint of the run, half a percent of it.
    return np.full(cells.size, 0.005 * float(run.seconds.sum())), True


@dataclass(frozen=True, kw_only=True)
class Replays:
    """Runs of the same cycles from the same state.

    Attributes
    ----------
    runs : tuple of AdaptiveRun
        With the same deck, ranks, choices, cycles and mesh history.
    """

    runs: tuple[AdaptiveRun, ...]

    @property
    def deck(self) -> str:
        """Name of the deck."""
        return self.runs[0].deck

    @property
    def ranks(self) -> int:
        """Ranks of each run."""
        return self.runs[0].ranks

    @property
    def title(self) -> str:
        """What the runs have in common, for a heading."""
        first = self.runs[0]
        words = [f"a neighbour {first.neighbour_words}"] if first.disturbed_on_purpose else []
        base = first.spec.get("base")
        size = [f"{base[0]} x {base[1]} base cells"] if base else []
        return ", ".join([first.title, *size, f"{first.seconds.size} cycles", *words])

    @property
    def label(self) -> str:
        """The same in few words, for tables."""
        first = self.runs[0]
        neighbour = f", neighbour {first.neighbour_words}" if first.disturbed_on_purpose else ""
        return f"{first.deck}, {counted(first.ranks, 'rank')}{neighbour}"

    @property
    def middle(self) -> AdaptiveRun:
        """The run whose whole time is the median, or the one below it."""
        order = np.argsort([run.seconds.sum() for run in self.runs], kind="stable")
        return self.runs[int(order[(len(order) - 1) // 2])]

    @property
    def predictors(self) -> tuple[str, ...]:
        """Those that every run has."""
        return tuple(
            name
            for name in self.runs[0].predictors
            if all(name in run.predictors for run in self.runs)
        )

    @cached_property
    def raw(self) -> dict[str, list[float]]:
        """Predictor -> mean absolute error in each run without its first cycle, in percent."""
        return {
            name: [
                mean_error_percent(run.prediction(name)[1:], run.seconds[1:]) for run in self.runs
            ]
            for name in self.predictors
        }

    @cached_property
    def floor(self) -> float | None:
        """How much replays differ: mean |replay - median| / median, in percent.

        None for fewer than two replays, or fewer than two cycles.
        """
        times = np.stack([run.seconds[1:] for run in self.runs])
        if len(self.runs) < 2 or not times.size:
            return None
        middle: NDArray[np.float64] = np.median(times, axis=0)
        return float(100.0 * np.mean(np.abs(times - middle) / middle))

    @cached_property
    def load(self) -> tuple[float, float] | None:
        """The highest load of the hosts before a run, and after one; None if unknown."""
        loads = [load for run in self.runs if (load := load_around(run.run)) is not None]
        return (max(load[0] for load in loads), max(load[1] for load in loads)) if loads else None

    @cached_property
    def checkpoints(self) -> CheckpointStudy:
        """Those of the middle run by every rule."""
        return study_checkpoints(self.middle)


def group_replays(runs: Iterable[AdaptiveRun]) -> list[Replays]:
    """Group replays, in the order of the runs.

    Runs are replays of each other if their configurations and their mesh histories (cells on every
    rank) are the same.
    """

    def likeness(run: AdaptiveRun) -> tuple[object, ...]:
        asked = sorted(configuration(run.run).items())
        return *asked, run.seconds.size, run.total_cells.tobytes(), run.most_cells.tobytes()

    return [Replays(runs=tuple(members)) for members in grouped(runs, likeness).values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Onset:
    """The onset of a neighbour.

    Attributes
    ----------
    run : AdaptiveRun
    cycle : int
    length : int
        Number of cycles in which it ran.
    factor : float
        Median time of these cycles over that of as many before; the cells may have changed.
    delay : int or None
        Cycles to the verdict "machine slower", counted from 1; None if undetected.
    error_percent : float
        Mean absolute error of the predictor that decides, from the fourth slow cycle on; NaN if
        there are fewer.
    """

    run: AdaptiveRun
    cycle: int
    length: int
    factor: float
    delay: int | None
    error_percent: float


def find_onsets(run: AdaptiveRun) -> list[Onset]:
    """Return the onsets of neighbours in a run."""
    ran = run.neighbour.astype(np.int8)
    begins = np.flatnonzero(np.diff(np.concatenate([[0], ran])) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([ran, [0]])) == -1) + 1
    slower = [verdict.cycle for verdict in run.verdicts if verdict.kind == CycleKind.SLOWER]
    found = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        cycle = begin + run.first_cycle
        last = cycle + min(LATE, end - begin)
        delay = next((int(at) - cycle + 1 for at in slower if cycle <= at < last), None)
        before = run.seconds[max(0, 2 * begin - end) : begin]
        usual = np.median(before) if before.size else np.nan
        settled, error = slice(begin + SETTLED, end), float("nan")
        if begin + SETTLED < end and DECIDES in run.predictors:
            error = mean_error_percent(run.prediction(DECIDES)[settled], run.seconds[settled])
        found.append(
            Onset(
                run=run,
                cycle=cycle,
                length=end - begin,
                factor=float(np.median(run.seconds[begin:end]) / usual),
                delay=delay,
                error_percent=error,
            )
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveStudy:
    """What a set of adaptive runs shows.

    Attributes
    ----------
    errors : tuple of Replays
        All groups, including those with a neighbour.
    onsets : tuple of Onset
        Of all runs.
    """

    errors: tuple[Replays, ...]
    onsets: tuple[Onset, ...]

    @property
    def judged(self) -> tuple[Replays, ...]:
        """Groups without a neighbour on purpose that have a floor; all of them if none has."""
        calm = tuple(error for error in self.errors if not error.runs[0].disturbed_on_purpose)
        return tuple(each for each in calm if each.floor is not None) or calm


def study_runs(runs: Sequence[AdaptiveRun]) -> AdaptiveStudy:
    """Study adaptive runs."""
    onsets = tuple(onset for run in runs for onset in find_onsets(run))
    return AdaptiveStudy(errors=tuple(group_replays(runs)), onsets=onsets)


NOTHING = ""
RAW = (
    "Raw errors in percent, of the predictions as each run made them: mean and half the range over "
    "replays. Load: before and after, the highest of the replays. Floor: no prediction can be "
    "better; it is the mean distance of a replay from the median of all replays of the same cycle."
)
WASTE = (
    "Waste is the expected wall time above the computed time, with random failures. The last "
    "column gives the percentage points above the minimum waste."
)


def load_text(load: Sequence[float] | None) -> str:
    """Write the load before and after a run."""
    return "unknown" if load is None else f"{load[0]:.1f} before, {load[1]:.1f} after"


def percent(value: float | None) -> str:
    """Write an error; empty if there is none."""
    return NOTHING if value is None or not np.isfinite(value) else f"{value:.1f}"


def raw_table(errors: Sequence[Replays]) -> Table:
    """Return the errors of each predictor, as made in the runs."""
    names = list(dict.fromkeys(name for error in errors for name in error.raw))
    return Table(
        columns=(
            Column("runs", WIDE),
            Column("replays", RIGHT),
            Column("load", RIGHT),
            Column("floor", RIGHT),
            *(Column(name, RIGHT) for name in names),
        ),
        rows=[
            (
                error.label,
                str(len(error.runs)),
                load_text(error.load),
                percent(error.floor),
                *(span(error.raw.get(name, [])) for name in names),
            )
            for error in errors
        ],
        notes=(RAW,),
    )


def span(values: list[float]) -> str:
    """Write the mean of errors, and half their range where there are several."""
    if not values:
        return NOTHING
    if len(values) == 1:
        return percent(values[0])
    return f"{np.mean(values):.1f} ± {0.5 * (max(values) - min(values)):.1f}"


def checkpoint_table(study: CheckpointStudy) -> Table:
    """Return the checkpoints of a run by each rule, and their waste."""
    return Table(
        columns=(
            Column("rule"),
            Column("checkpoints", RIGHT),
            Column("after cycles", WIDE),
            Column("waste, %", RIGHT),
            Column("above minimum, points", RIGHT),
        ),
        rows=[
            (
                rule,
                str(len(plan.after)),
                ", ".join(str(cycle) for cycle in plan.after[:12])
                + (", ..." if len(plan.after) > 12 else ""),
                f"{study.waste_percent(rule):.3f}",
                f"{study.above_percent(rule):.3f}",
            )
            for rule, plan in study.plans.items()
        ],
        notes=(WASTE,),
    )


def onset_table(onsets: Sequence[Onset]) -> Table:
    """Return where neighbours began, and how soon that was detected."""
    return Table(
        columns=(
            Column("run"),
            Column("from cycle", RIGHT),
            Column("cycles", RIGHT),
            Column("slowdown factor", RIGHT),
            Column("detected after cycles", RIGHT),
            Column("error after, %", RIGHT),
        ),
        rows=[
            (
                str(Path(onset.run.run.path.parent.name, onset.run.run.path.name)),
                str(onset.cycle),
                str(onset.length),
                f"{onset.factor:.2f}",
                "not detected" if onset.delay is None else str(onset.delay),
                percent(onset.error_percent),
            )
            for onset in onsets
        ],
        notes=(f"Errors are those of {DECIDES} from the fourth disturbed cycle on.",),
    )
