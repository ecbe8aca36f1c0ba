"""Models fitted to run files, and their errors, ready for tables, pages and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.analysis.runs import Group, solve_times
from hindmost.harness.runfile.reader import Run
from hindmost.models.results import FittedModel
from hindmost.models.stochastic.fit import Fits, fit_models

JSON_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRun:
    """A run and its models."""

    run: Run
    fits: Fits
    solve_time_s: float

    def error_percent(self, model: FittedModel) -> float:
        """Return a model's error against the solve time, in percent."""
        return model.predict().error_percent(self.solve_time_s)

    def to_json(self) -> dict[str, Any]:
        """Return what ``hindmost fit --json`` says of a run."""
        header = self.run.header
        return {
            "file": str(self.run.path),
            "workload": header.workload,
            "solver": header.solver,
            "ranks": header.ranks,
            "iterations": header.iterations,
            "bodies": self.run.bodies,
            "solve_time_s": self.solve_time_s,
            "models": [self.model_json(model) for model in self.fits.models],
            "refused": self.fits.refused,
        }

    def model_json(self, model: FittedModel) -> dict[str, Any]:
        """Return what is said of one model."""
        prediction = model.predict()
        return {
            "name": model.name,
            "kind": str(model.kind),
            "predicted_s": prediction.seconds,
            "interval_s": [prediction.low_s, prediction.high_s],
            "error_percent": prediction.error_percent(self.solve_time_s),
            "explanation": model.explain(),
            "parameters": model.parameters(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """One model over the repeats of a configuration.

    Attributes
    ----------
    predicted_s, error_percent : float
        Medians over the runs.
    lowest_percent, highest_percent : float
        Range of the errors.
    """

    name: str
    kind: str
    predicted_s: float
    error_percent: float
    lowest_percent: float
    highest_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedGroup:
    """Repeats of a configuration and their models."""

    group: Group
    runs: tuple[FittedRun, ...]

    @property
    def solve_times_s(self) -> list[float]:
        """The solve time of every run, in seconds."""
        return [fitted.solve_time_s for fitted in self.runs]

    def summaries(self) -> list[ModelSummary]:
        """Return every model's error over the runs."""
        models: dict[str, list[tuple[FittedRun, FittedModel]]] = {}
        for fitted in self.runs:
            for model in fitted.fits.models:
                models.setdefault(model.name, []).append((fitted, model))
        return [summarise(pairs) for pairs in models.values()]


def summarise(pairs: list[tuple[FittedRun, FittedModel]]) -> ModelSummary:
    """Summarise one model over runs."""
    errors = [fitted.error_percent(model) for fitted, model in pairs]
    return ModelSummary(
        name=pairs[0][1].name,
        kind=str(pairs[0][1].kind),
        predicted_s=float(np.median([model.predict().seconds for _, model in pairs])),
        error_percent=float(np.median(errors)),
        lowest_percent=min(errors),
        highest_percent=max(errors),
    )


def fit_group(group: Group) -> FittedGroup:
    """Fit every model to every run of a group."""
    runs = []
    for run in group.runs:
        times = solve_times(run)
        runs.append(FittedRun(run=run, fits=fit_models(times), solve_time_s=times.solve_time_s))
    return FittedGroup(group=group, runs=tuple(runs))


def fits_json(groups: Iterable[FittedGroup]) -> dict[str, Any]:
    """Return what ``hindmost fit --json`` prints."""
    return {
        "version": JSON_VERSION,
        "runs": [fitted.to_json() for group in groups for fitted in group.runs],
    }
