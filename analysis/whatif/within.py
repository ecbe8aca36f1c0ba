"""How many iterations of recorded runs fit into a job, and where to write checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hindmost.analysis.runs.configuration import grouped
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.attributes import Amount, Count
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.time_left import TimeUse, time_use_of
from hindmost.models.ahead.checkpoints import optimum_s, waste
from hindmost.models.ahead.next_iterations import DRAWS, iterations_within
from hindmost.text import counted, duration, parse_duration, percent, seconds

SEED = 1
RISKS = (0.5, 0.1, 0.01)
MIN_ITERATIONS = 10
"""Iterations of a run from which a job is drawn, at least."""
KIND = "attached"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAdvice:
    """Where to write checkpoints.

    Attributes
    ----------
    cost_s, mtbf_s : float
        Time of a checkpoint, and mean time between failures.
    best_s : float
        The interval of least waste.
    best_waste : float
        Expected share of the time that is lost to checkpoints and failures with it.
    recorded_s : float or None
        The interval in the runs; None if it is not known.
    recorded_waste : float or None
    """

    cost_s: Amount
    mtbf_s: Amount
    best_s: Amount
    best_waste: Amount
    recorded_s: Amount | None = None
    recorded_waste: Amount | None = None

    def explain(self) -> str:
        """Say it in a sentence."""
        recorded = ""
        if self.recorded_s is not None and self.recorded_waste is not None:
            recorded = (
                f"; those of the runs come every {duration(self.recorded_s)} and waste "
                f"{percent(self.recorded_waste)}"
            )
        return (
            f"A checkpoint takes {seconds(self.cost_s)}: with a mean time between failures of "
            f"{duration(self.mtbf_s)}, one every {duration(self.best_s)} wastes least "
            f"({percent(self.best_waste)}){recorded}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForecast:
    """How many iterations of some runs fit into a job.

    Attributes
    ----------
    title : str
        What the runs have in common.
    files : tuple of str
    within_s : float
        Time of the job.
    outside_s : float or None
        Time of the program outside of its iterations; None if it is not known.
    iterations : int
        That fit in half of the draws.
    at_risk : dict of str to int
        How many fit but for this share of the draws.
    mean_s, bound_s : float
        Of an iteration; and what two may take, which is kept free at the end.
    checkpoints : CheckpointAdvice or None
    """

    title: str
    files: tuple[str, ...]
    within_s: Annotated[float, Meta(gt=0)]
    outside_s: Amount | None
    iterations: Count
    at_risk: dict[str, int]
    mean_s: Amount
    bound_s: Amount
    checkpoints: CheckpointAdvice | None = None

    def lines(self) -> Iterator[str]:
        """Say it in sentences."""
        often, nearly = (self.at_risk[f"{risk:g}"] for risk in RISKS[1:])
        yield (
            f"About {self.iterations:,} iterations fit into {duration(self.within_s)}: at least "
            f"{often:,} in 9 of 10 jobs, {nearly:,} in 99 of 100 "
            f"({seconds(self.mean_s)} each on average)."
        )
        outside = "Time outside of the iterations is not known and not counted"
        if self.outside_s is not None:
            outside = f"The program takes {seconds(self.outside_s)} outside of its iterations"
        yield (
            f"{outside}; 'hindmost attach --stop-before' tells a program to stop when less than "
            f"{seconds(self.bound_s)} and the time of its end are left."
        )
        if self.checkpoints is not None:
            yield self.checkpoints.explain()
        runs = counted(len(self.files), "recorded run")
        differ = " How runs differ from each other is not known." if len(self.files) == 1 else ""
        yield (
            f"Assumed: each job is like one of {runs}, its iterations in stretches as recorded, "
            f"with the output in them ({DRAWS:,} draws).{differ}"
        )


def read_within(text: str, option: str) -> float:
    """Read a time that an option was given.

    Raises
    ------
    UsageError
        It is not one, or not above 0.
    """
    try:
        value_s = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}.") from None
    if value_s <= 0.0:
        raise UsageError(f"{option} {text}: give a time above 0.")
    return value_s


def forecasts(
    runs: Sequence[Run], within_s: float, mtbf_s: float | None, checkpoint_s: float | None
) -> list[JobForecast]:
    """Forecast a job for each program, solver and number of ranks among some runs."""
    alike = grouped(runs, lambda run: (run.header.workload, run.header.solver, run.header.ranks))
    found = []
    for (workload, solver, ranks), group in alike.items():
        title = f"{workload}, {solver}, {counted(ranks, 'rank')}"
        found.append(forecast(group, title, within_s, mtbf_s, checkpoint_s))
    return found


def forecast(
    runs: Sequence[Run],
    title: str,
    within_s: float,
    mtbf_s: float | None,
    checkpoint_s: float | None,
) -> JobForecast:
    """Forecast a job like some runs.

    Parameters
    ----------
    title : str
        What the runs have in common.
    mtbf_s : float or None
        Mean time between failures; without one there is no advice on checkpoints.
    checkpoint_s : float or None
        Time of a checkpoint, if it is given; else what the runs show.

    Raises
    ------
    DataError
        The runs have too few iterations.
    UsageError
        The time of a checkpoint is not known.
    """
    times = [slowest_rank_s(run) for run in runs]
    if min(each.size for each in times) < MIN_ITERATIONS:
        raise DataError(f"{title}: a forecast needs runs of at least {MIN_ITERATIONS} iterations.")
    outside = [outside_s(run) for run in runs]
    known = [each for each in outside if each is not None]
    free_s = within_s - (max(known) if known else 0.0)
    found = iterations_within(times, free_s, np.random.default_rng(SEED))
    uses = [use for run in runs if (use := use_of(run)) is not None]
    return JobForecast(
        title=title,
        files=tuple(run.path.name for run in runs),
        within_s=within_s,
        outside_s=max(known) if len(known) == len(outside) else None,
        iterations=found.at_risk(RISKS[0]),
        at_risk={f"{risk:g}": found.at_risk(risk) for risk in RISKS},
        mean_s=found.mean_s,
        bound_s=found.bound_s,
        checkpoints=None if mtbf_s is None else advice_of(uses, mtbf_s, checkpoint_s, title),
    )


def advice_of(
    uses: Sequence[TimeUse], mtbf_s: float, given_s: float | None, title: str
) -> CheckpointAdvice:
    """Return the best interval between checkpoints, by what they cost in some runs."""
    costs = [write.extra_s for use in uses for write in use.checkpoints]
    cost_s = given_s if given_s is not None else median(costs) if costs else 0.0
    if not cost_s:
        raise UsageError(
            f"{title}: no checkpoint was seen, so its time is not known; give --checkpoint-takes."
        )
    gaps = [gap for use in uses if (gap := use.checkpoint_interval_s) is not None]
    best_s = optimum_s(cost_s, mtbf_s)
    recorded_s = median(gaps) if gaps and given_s is None else None
    return CheckpointAdvice(
        cost_s=cost_s,
        mtbf_s=mtbf_s,
        best_s=best_s,
        best_waste=waste(best_s, cost_s, mtbf_s),
        recorded_s=recorded_s,
        recorded_waste=None if not recorded_s else waste(recorded_s, cost_s, mtbf_s),
    )


def slowest_rank_s(run: Run) -> NDArray[np.float64]:
    """Return the iterations of the rank whose iterations take longest in all."""
    times = run.durations
    return np.asarray(times[:, int(times.sum(axis=0).argmax())])


def outside_s(run: Run) -> float | None:
    """Return the time of the program outside of its iterations; None if it is not known."""
    use = use_of(run)
    whole_s = (run.header.spec.get(KIND) or {}).get("program_s") if use is None else use.at_s
    return None if whole_s is None else max(0.0, float(whole_s) - float(slowest_rank_s(run).sum()))


def use_of(run: Run) -> TimeUse | None:
    """Return how the time of a run was used, if it was watched."""
    return time_use_of(run.header.spec.get(KIND) or {})
