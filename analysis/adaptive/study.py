"""Everything that is said of adaptive runs, computed once, for the page and for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.adaptive.alarms import Alarms, simulate_alarms
from hindmost.analysis.adaptive.baseline import PhaseRow, offline_model, phase_rows
from hindmost.analysis.adaptive.checkpoints import CheckpointStudy, study_checkpoints
from hindmost.analysis.adaptive.limits import DECIDES, Limits, simulate_limits
from hindmost.analysis.adaptive.onsets import Onset, find_onsets
from hindmost.analysis.adaptive.replays import Replays, group_replays, undisturbed
from hindmost.analysis.adaptive.run import AdaptiveRun
from hindmost.analysis.summary import load_around
from hindmost.errors import DataError
from hindmost.models.dynamic.machine import Machine
from hindmost.models.dynamic.offline import OfflineModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How well the cycles of replays were predicted, in percent of what they took.

    Attributes
    ----------
    replays : Replays
    raw : dict of str to list of float
        Predictor -> mean absolute error in every run.
    floor : float or None
        Mean |replay - median| / median; None of a single run.
    denoised : dict of str to float
        Over the fastest of all replays of every cycle; empty of a single run.
    load : (float, float) or None
        The highest of the hosts before a run, and after one; None where it is not known.
    """

    replays: Replays
    raw: dict[str, list[float]]
    floor: float | None
    denoised: dict[str, float]
    load: tuple[float, float] | None

    def mean_raw(self, name: str) -> float:
        """Return the mean over the runs; NaN for a predictor that they do not have."""
        return float(np.mean(self.raw[name])) if name in self.raw else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What a set of runs comes to.

    Attributes
    ----------
    errors : tuple of Errors
        Of every group of replays, those with a neighbour included.
    phases : dict of int to tuple of PhaseRow
        Place of the group -> phases of its middle run; empty without a machine.
    limits, alarms, checkpoints, onsets
        None or empty where no run allows them.
    """

    errors: tuple[Errors, ...]
    phases: dict[int, tuple[PhaseRow, ...]]
    limits: Limits | None
    alarms: Alarms | None
    checkpoints: dict[int, CheckpointStudy]
    onsets: tuple[Onset, ...]

    @property
    def calm(self) -> tuple[Errors, ...]:
        """Errors of the runs that were not disturbed on purpose."""
        return tuple(each for each in self.errors if not each.replays.runs[0].disturbed_on_purpose)

    @property
    def judged(self) -> tuple[Errors, ...]:
        """Of these, the ones that were replayed, so that there is a floor; all if none were."""
        return tuple(each for each in self.calm if each.floor is not None) or self.calm


def study_runs(
    runs: Sequence[AdaptiveRun],
    machine: Machine | None = None,
    *,
    limits: int = 200,
    risk: float = 0.01,
    cycles: int = 20_000,
    seed: int = 0,
) -> Study:
    """Compute all of it.

    Parameters
    ----------
    machine : Machine, optional
        That the runs were predicted from: gives phases, and the offline baseline of the test.
    limits, risk
        See `simulate_limits`.
    cycles : int
        Undisturbed cycles that are drawn for false alarms.
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
    return Study(
        errors=tuple(errors_of(group, machine) for group in groups),
        phases=phases,
        limits=simulate_limits(deciding, limits=limits, risk=risk, seed=seed) if deciding else None,
        alarms=alarms_of(calm, models, cycles, seed),
        checkpoints=checkpoints,
        onsets=tuple(onset for run in runs for onset in find_onsets(run)),
    )


def errors_of(group: Replays, machine: Machine | None) -> Errors:
    """Return the errors of a group."""
    loads = [load for run in group.runs if (load := load_around(run.run)) is not None]
    return Errors(
        replays=group,
        raw={name: group.errors_percent(name) for name in group.predictors},
        floor=group.floor_percent(),
        denoised=group.denoised_percent(fastest_model(group, machine)),
        load=(max(each[0] for each in loads), max(each[1] for each in loads)) if loads else None,
    )


def fastest_model(group: Replays, machine: Machine | None) -> OfflineModel | None:
    """Return the model at the pace of the replay before which the reference kernel was fastest."""
    fastest = min(group.runs, key=lambda each: each.spec.get("speed_s") or np.inf)
    return model_of(fastest, machine)


def model_of(run: AdaptiveRun, machine: Machine | None) -> OfflineModel | None:
    """Return the offline model of a run that was predicted from this machine; None of others."""
    if machine is None or run.spec.get("machine") != machine.name:
        return None
    try:
        return offline_model(run, machine)
    except DataError:
        return None


def alarms_of(
    runs: Sequence[AdaptiveRun], models: Sequence[OfflineModel | None], cycles: int, seed: int
) -> Alarms | None:
    """Return how the test for interference does; None where no run is long enough."""
    try:
        return simulate_alarms(runs, models, cycles=cycles, seed=seed)
    except DataError:
        return None
