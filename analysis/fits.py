"""Models fitted to run files, and their errors, ready for tables, pages and JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hindmost.analysis.cache import is_kept, kept
from hindmost.analysis.character import character_of
from hindmost.analysis.fitted_model import ToldModel
from hindmost.analysis.runs import Group, solve_times
from hindmost.errors import DataError
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.models.stochastic.fit import fit_models

if TYPE_CHECKING:
    from hindmost.models.laws.families import BestLaws

JSON_VERSION = 1
KIND = "fit"
RESULT = frozenset({"models", "refused", "laws", "character"})
"""Parts of what is kept of a run."""
RANKED = 10
"""Families that are told of each ranking."""
WORTH_A_PROCESS = 2
"""Runs that are still to be fitted, from which on several processes share them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """What is asked of a fit.

    Attributes
    ----------
    families : bool
        Search scipy's families for the best law.
    keep_fill : bool
        Fit laws to pipelined solvers a second time, with the bodies that fill their pipeline.
    by_node : bool
        Take P of the models of whole bodies as nodes, not ranks.
    latency_s : float or None
        Of a reduction, from a measurement of the network; None: estimated on the first half.
    """

    families: bool = True
    keep_fill: bool = False
    by_node: bool = False
    latency_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRun:
    """A run and what its models said.

    Attributes
    ----------
    run : Run
    models : tuple of ToldModel
    refused : dict of str to str
        Models that its times do not allow, with the reason.
    laws : dict
        How well families of laws describe its bodies; empty where they were left out.
    character : dict
        See `hindmost.analysis.character.character_of`.
    """

    run: Run
    models: tuple[ToldModel, ...]
    refused: dict[str, str]
    laws: dict[str, Any]
    character: dict[str, Any]

    @property
    def solve_time_s(self) -> float:
        """What the models are held against, in seconds."""
        return self.run.solve_time_s

    def error_percent(self, model: ToldModel) -> float:
        """Return a model's error against the solve time, in percent."""
        return model.prediction.error_percent(self.solve_time_s)

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
            "models": [
                {**model.to_json(), "error_percent": self.error_percent(model)}
                for model in self.models
            ],
            "refused": self.refused,
            "laws": self.laws,
            **self.character,
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

    @property
    def median_run(self) -> FittedRun:
        """The run whose solve time is the median, or the one below it."""
        order = np.argsort(self.solve_times_s)
        return self.runs[int(order[(len(order) - 1) // 2])]

    def summaries(self) -> list[ModelSummary]:
        """Return every model's error over the runs."""
        models: dict[str, list[tuple[FittedRun, ToldModel]]] = {}
        for fitted in self.runs:
            for model in fitted.models:
                models.setdefault(model.name, []).append((fitted, model))
        return [summarise(pairs) for pairs in models.values()]


def summarise(pairs: list[tuple[FittedRun, ToldModel]]) -> ModelSummary:
    """Summarise one model over runs."""
    errors = [fitted.error_percent(model) for fitted, model in pairs]
    return ModelSummary(
        name=pairs[0][1].name,
        kind=pairs[0][1].kind,
        predicted_s=float(np.median([model.prediction.seconds for _, model in pairs])),
        error_percent=float(np.median(errors)),
        lowest_percent=min(errors),
        highest_percent=max(errors),
    )


def fit_groups(groups: Sequence[Group], options: FitOptions | None = None) -> list[FittedGroup]:
    """Fit every model to every run, on several cores where there is much to do.

    Results are kept beside the run files.
    """
    options = options or FitOptions()
    fit_elsewhere([run for group in groups for run in group.runs], options)
    return [
        FittedGroup(group=group, runs=tuple(fit_run(run, options) for run in group.runs))
        for group in groups
    ]


def fit_group(group: Group, options: FitOptions | None = None) -> FittedGroup:
    """Fit every model to every run of a group."""
    return fit_groups([group], options)[0]


def fit_elsewhere(runs: Sequence[Run], options: FitOptions) -> None:
    """Let several processes fit the runs that have no results yet; they keep what they find."""
    left = [run.path for run in runs if not is_kept(run, KIND, asdict(options))]
    cores = len(os.sched_getaffinity(0))
    if not options.families or len(left) < WORTH_A_PROCESS or cores < 2:
        return
    with ProcessPoolExecutor(min(cores, len(left)), get_context("spawn")) as processes:
        jobs = [processes.submit(fit_file, path, options) for path in left]
        for job in jobs:
            error = job.exception()
            if error is not None and not isinstance(error, DataError):
                raise error


def fit_file(path: Path, options: FitOptions) -> None:
    """Fit a run file and keep the results beside it; what it cannot be is found out again later."""
    fit_run(open_run(path), options)


def fit_run(run: Run, options: FitOptions) -> FittedRun:
    """Fit every model to a run, or read what was kept of it."""
    said = kept(run, KIND, asdict(options), lambda: fit_to_json(run, options), RESULT)
    return FittedRun(
        run=run,
        models=tuple(ToldModel.from_json(values) for values in said["models"]),
        refused=said["refused"],
        laws=said["laws"],
        character=said["character"],
    )


def fit_to_json(run: Run, options: FitOptions) -> dict[str, Any]:
    """Fit every model to a run."""
    times = solve_times(run, by_node=options.by_node)
    fits = fit_models(
        times,
        families=options.families,
        keep_fill=options.keep_fill,
        latency_s=options.latency_s,
    )
    return {
        "models": [ToldModel.of(model).to_json() for model in fits.models],
        "refused": fits.refused,
        "laws": laws_to_json(fits.laws) if fits.laws is not None else {},
        "character": character_of(run),
    }


def laws_to_json(laws: BestLaws) -> dict[str, Any]:
    """Return the best families by either measure, and those that were left out."""
    return {
        name: [
            {
                **candidate.law.to_json(),
                "squared_error": candidate.squared_error,
                "log_likelihood": candidate.log_likelihood,
            }
            for candidate in ranking[:RANKED]
        ]
        for name, ranking in (
            ("by_squared_error", laws.by_squared_error),
            ("by_likelihood", laws.by_likelihood),
        )
    } | {"left_out": laws.left_out}


def fits_json(groups: Iterable[FittedGroup]) -> dict[str, Any]:
    """Return what ``hindmost fit --json`` prints."""
    return {
        "version": JSON_VERSION,
        "runs": [fitted.to_json() for group in groups for fitted in group.runs],
    }
