"""The offline model of a recorded run: its deck's counts and a probed machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.cycles import AdaptiveRun
from hindmost.errors import DataError
from hindmost.models.adaptive.application import Application
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.work import PHASES


def offline_model(run: AdaptiveRun, machine: Machine) -> OfflineModel:
    """Return the model that the run itself used, if this is its machine.

    Raises
    ------
    DataError
        The run file lacks the counts of its deck.
    """
    counts = run.spec.get("application")
    if counts is None:
        raise DataError(
            f"{run.run.path} lacks the counts of its deck: an older hindmost wrote it. Run it "
            "again to compare phases with the offline model."
        )
    return OfflineModel(
        machine=machine,
        application=Application.from_json(counts),
        ranks=run.ranks,
        speed_s=run.spec.get("speed_s"),
        pulse_s=run.spec.get("pulse_s"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    """A phase as predicted by the offline model and as measured; means over the cycles.

    Attributes
    ----------
    phase : str
    predicted_s : float
        With the actual iterations and moved cells.
    measured_s : float
        On rank 0.
    least_s : float
        On the rank that spent least in the phase: for halo and reduction the one that waits least
        for others. The model has the waiting for detours of the system, and no other.
    error_percent : float
        Mean absolute error over the cycles against ``measured_s``; NaN if the phase never ran.
    error_least_percent : float
        The same against ``least_s``.
    """

    phase: str
    predicted_s: float
    measured_s: float
    least_s: float
    error_percent: float
    error_least_percent: float


def phase_rows(run: AdaptiveRun, machine: Machine, first: int = 1) -> list[PhaseRow]:
    """Compare each phase of the offline model with its measurement.

    Parameters
    ----------
    first : int
        Number of first cycles that are left out.
    """
    predicted = predicted_phases(run, offline_model(run, machine))[first:]
    measured, least = run.phases_s[first:], run.least_s[first:]
    return [
        PhaseRow(
            phase=name,
            predicted_s=float(predicted[:, k].mean()),
            measured_s=float(measured[:, k].mean()),
            least_s=float(least[:, k].mean()),
            error_percent=error_percent(predicted[:, k], measured[:, k]),
            error_least_percent=error_percent(predicted[:, k], least[:, k]),
        )
        for k, name in enumerate(PHASES)
    ]


def predicted_phases(run: AdaptiveRun, model: OfflineModel) -> NDArray[np.float64]:
    """Return the model's phases of every cycle: float64, shape (cycle, phase), seconds."""
    rows = [
        model.phase_times(
            work,
            iterations=spent.iterations,
            moved=float(moved) or None,
        ).phases_s
        for work, spent, moved in zip(run.works, run.spents, run.moved, strict=True)
    ]
    return np.array(rows)


def error_percent(predicted: NDArray[np.float64], measured: NDArray[np.float64]) -> float:
    """Return the mean absolute error over the cycles in which the phase ran."""
    ran = measured > 0.0
    if not ran.any():
        return float("nan")
    return float(100.0 * np.mean(np.abs(predicted[ran] - measured[ran]) / measured[ran]))
