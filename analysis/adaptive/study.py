"""A study of adaptive runs: prediction errors, and how well the decisions from them work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.adaptive.checkpoints import RULES, CheckpointStudy, study_checkpoints
from hindmost.analysis.adaptive.interference import (
    Onset,
    RecordedAlarms,
    count_alarms,
    find_onsets,
)
from hindmost.analysis.adaptive.limits import SimulatedLimits, simulate_limits
from hindmost.analysis.adaptive.offline import PhaseRow, offline_model, phase_rows
from hindmost.analysis.adaptive.replays import Replays, group_replays, undisturbed
from hindmost.analysis.runs.cycles import DECIDES, AdaptiveRun
from hindmost.analysis.runs.summary import load_around
from hindmost.errors import DataError
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.text import percent

PROMPT = 2
"""Cycles within which a change of the machine should be detected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionErrors:
    """How well the cycles of replays were predicted, in percent of their times.

    Attributes
    ----------
    replays : Replays
    raw : dict of str to list of float
        Predictor -> mean absolute error in every run.
    floor : float or None
        Mean |replay - median| / median; None for a single run.
    denoised : dict of str to float
        Over the fastest replay of each cycle; empty for a single run.
    load : (float, float) or None
        The highest of the hosts before a run, and after one; None if unknown.
    """

    replays: Replays
    raw: dict[str, list[float]]
    floor: float | None
    denoised: dict[str, float]
    load: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveStudy:
    """What a set of adaptive runs shows.

    Attributes
    ----------
    errors : tuple of Errors
        Of each group of replays, including those with a neighbour.
    phases : dict of int to tuple of PhaseRow
        Place of the group -> phases of its middle run; empty without a machine.
    limits, alarms, checkpoints, onsets
        None or empty if no run allows them.
    """

    errors: tuple[PredictionErrors, ...]
    phases: dict[int, tuple[PhaseRow, ...]]
    limits: SimulatedLimits | None
    alarms: RecordedAlarms | None
    checkpoints: dict[int, CheckpointStudy]
    onsets: tuple[Onset, ...]

    @property
    def calm(self) -> tuple[PredictionErrors, ...]:
        """Errors of the runs that were not disturbed on purpose."""
        return tuple(each for each in self.errors if not each.replays.runs[0].disturbed_on_purpose)

    @property
    def judged(self) -> tuple[PredictionErrors, ...]:
        """Of these, the replayed ones, which have a floor; all if none were replayed."""
        return tuple(each for each in self.calm if each.floor is not None) or self.calm


def study_runs(
    runs: Sequence[AdaptiveRun],
    machine: Machine | None = None,
    *,
    limits: int = 200,
) -> AdaptiveStudy:
    """Study adaptive runs.

    Parameters
    ----------
    machine : Machine, optional
        From which the runs were predicted: gives phases, and the offline baseline of the test.
    limits : int
        See `simulate_limits`.
    """
    groups = group_replays(runs)
    calm = [run for group in undisturbed(groups) for run in group.runs]
    deciding = [run for run in calm if DECIDES in run.predictors and run.seconds.size > 1]
    models = [model_of(run, machine) for run in calm]
    phases = {}
    checkpoints = {}
    for place, group in enumerate(groups):
        if machine is not None and model_of(group.middle, machine) is not None:
            phases[place] = tuple(phase_rows(group.middle, machine))
        checkpoints[place] = study_checkpoints(group.middle, machine=machine)
    return AdaptiveStudy(
        errors=tuple(errors_of(group, machine) for group in groups),
        phases=phases,
        limits=simulate_limits(deciding, limits=limits) if deciding else None,
        alarms=count_alarms(calm, models),
        checkpoints=checkpoints,
        onsets=tuple(onset for run in runs for onset in find_onsets(run)),
    )


def errors_of(group: Replays, machine: Machine | None) -> PredictionErrors:
    """Return the errors of a group."""
    loads = [load for run in group.runs if (load := load_around(run.run)) is not None]
    return PredictionErrors(
        replays=group,
        raw={name: group.errors_percent(name) for name in group.predictors},
        floor=group.floor_percent(),
        denoised=group.denoised_percent(fastest_model(group, machine)),
        load=(max(each[0] for each in loads), max(each[1] for each in loads)) if loads else None,
    )


def fastest_model(group: Replays, machine: Machine | None) -> OfflineModel | None:
    """Return the model at the speed of the replay before which the machine was fastest."""
    return model_of(group.fastest, machine)


def model_of(run: AdaptiveRun, machine: Machine | None) -> OfflineModel | None:
    """Return the offline model of a run that was predicted from this machine; None for others."""
    if machine is None or run.spec.get("machine") != machine.name:
        return None
    try:
        return offline_model(run, machine)
    except DataError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureOfMerit:
    """A measure of how well decisions from predictions work.

    Attributes
    ----------
    key : str
        Short and stable, for programs.
    what : str
    value : float
    text : str
        The value with its unit.
    """

    key: str
    what: str
    value: float
    text: str


def figures_of_merit(study: AdaptiveStudy) -> list[FigureOfMerit]:
    """Return the figures of merit that the runs allow to be computed."""
    parts = (
        merits_of_extra_work,
        merit_of_limits,
        merit_of_checkpoints,
        merit_of_alarms,
        merit_of_onsets,
    )
    return [each for part in parts for each in part(study)]


def merits_of_extra_work(study: AdaptiveStudy) -> Iterator[FigureOfMerit]:
    """Yield the shares of the cycles' time that predicting and deciding, and pulses, took."""
    for key, name, what in (
        ("overhead", "foresight_s", "spent on predicting and deciding"),
        ("probe", "pulses_s", "of the probe between cycles"),
    ):
        shares = shares_percent(study, name)
        if shares:
            yield FigureOfMerit(
                key=key,
                what=f"time {what}, in percent of the cycles (worst run)",
                value=max(shares),
                text=f"{max(shares):.3f} %",
            )


def shares_percent(study: AdaptiveStudy, name: str) -> list[float]:
    """Return an entry of the spec, in seconds, in percent of the cycles of each calm run."""
    return [
        100.0 * float(run.spec[name]) / float(run.seconds.sum())
        for each in study.calm
        for run in each.replays.runs
        if run.spec.get(name)
    ]


def merit_of_limits(study: AdaptiveStudy) -> Iterator[FigureOfMerit]:
    """Yield how simulated time limits were kept, and how much time was left unused."""
    found = study.limits
    if found is not None:
        yield FigureOfMerit(
            key="overruns",
            what=f"overruns of {found.limits} simulated time limits "
            f"(stated risk {percent(found.risk, None)})",
            value=found.overruns,
            text=str(found.overruns),
        )
        yield FigureOfMerit(
            key="unused",
            what="predicted cycles left unused before a time limit (mean)",
            value=found.mean_unused,
            text=f"{found.mean_unused:.2f}",
        )


def merit_of_checkpoints(study: AdaptiveStudy) -> Iterator[FigureOfMerit]:
    """Yield the waste of checkpoints by the rule that runs follow."""
    above = [
        planned.above_percent
        for found in study.checkpoints.values()
        for planned in found.planned
        if planned.name == RULES[-1].name
    ]
    if above:
        yield FigureOfMerit(
            key="checkpoint-waste",
            what="checkpoint waste above the minimum, in percentage points (worst run)",
            value=max(above),
            text=f"{max(above):.3f}",
        )


def merit_of_alarms(study: AdaptiveStudy) -> Iterator[FigureOfMerit]:
    """Yield how the test for interference did on recorded cycles that were undisturbed."""
    found = study.alarms
    if found is not None:
        yield FigureOfMerit(
            key="false-alarms",
            what="false alarms in 1000 cycles that the probe shows undisturbed "
            f"({found.cycles:,} of {found.of:,} recorded)",
            value=found.per_thousand,
            text=f"{found.per_thousand:.2f} ({found.false_alarms})",
        )


def merit_of_onsets(study: AdaptiveStudy) -> Iterator[FigureOfMerit]:
    """Yield how soon recorded neighbours were detected, and the errors of predictions then."""
    if study.onsets:
        prompt = [each for each in study.onsets if each.delay and each.delay <= PROMPT]
        yield FigureOfMerit(
            key="onsets",
            what=f"onsets of a neighbour detected within {PROMPT} cycles",
            value=100.0 * len(prompt) / len(study.onsets),
            text=f"{len(prompt)} of {len(study.onsets)}",
        )
    after = [each.error_percent for each in study.onsets if np.isfinite(each.error_percent)]
    if after:
        yield FigureOfMerit(
            key="disturbed-error",
            what=f"mean error of {DECIDES} from the fourth disturbed cycle on",
            value=float(np.mean(after)),
            text=f"{np.mean(after):.2f} %",
        )
