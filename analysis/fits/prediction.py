"""Predictions of later solves from groups of runs, by place in the restart cycle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import solves_in
from hindmost.analysis.runs.finding import OF_MODELS, Finding, cautions, findings_json, folded
from hindmost.analysis.runs.groups import Group
from hindmost.analysis.runs.model_input import solve_times
from hindmost.analysis.runs.read import of_how_many
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.noise.cycle_places import PlaceInCycle, fit_places
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import Prediction
from hindmost.text import counted, seconds

ALONE = "; assumes that later runs vary no more than the parts of this one"
"""What an interval from a single run assumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvePrediction:
    """The predicted time of a later solve, or of a later run of a loop or of several solves.

    Attributes
    ----------
    group : Group
        The earlier solves.
    model : PlaceInCycle
    prediction : Prediction
    iterations, restart : int or None
        Of the later solve; None: as recorded.
    findings : tuple of Finding
        Of the earlier solves.
    """

    group: Group
    model: PlaceInCycle
    prediction: Prediction
    iterations: int | None
    restart: int | None
    findings: tuple[Finding, ...]

    def lines(self) -> list[str]:
        """Return the prediction in a few lines."""
        changes = [] if self.iterations is None else [counted(self.iterations, "iteration")]
        changes += [] if self.restart is None else [f"restart {self.restart}"]
        solves = max(map(solves_in, self.group.runs))
        later = "later run" + (f" of all {solves} solves" if solves > 1 else "")
        if changes:
            later += f" with {', '.join(changes)}"
        return [
            self.group.title,
            f"{later}: predicted {seconds(self.prediction.seconds)} ({self._interval()})",
            *([f"error: {self.model.own_miss}"] if self.model.own_miss else []),
            *self.model.explain(self.iterations).splitlines(),
            *self._of_ranks(),
            *folded(cautions(self.findings, OF_MODELS)),
        ]

    def _of_ranks(self) -> list[str]:
        """Say of how many ranks the times of reduced runs are."""
        first = self.group.runs[0]
        if not first.reduced:
            return []
        ranks = counted(first.header.ranks, "rank")
        of = "of the slowest rank" if self.model.slowest_alone else f"means of all {ranks}"
        return [
            f"full records of {of_how_many(first)}: body times are {of}, restarts of kept ranks"
        ]

    def _interval(self) -> str:
        """Return the prediction interval in words."""
        low_s, high_s = self.prediction.low_s, self.prediction.high_s
        if not low_s < high_s:
            return "no interval: this run is too short"
        alone = "" if len(self.group.runs) > 1 else ALONE
        return f"90 % prediction interval {seconds(low_s)} to {seconds(high_s)}{alone}"

    def to_json(self) -> dict[str, Any]:
        """Return the entry of a configuration in ``hindmost predict --json``."""
        header = self.group.runs[0].header
        return {
            "files": [str(run.path) for run in self.group.runs],
            "workload": header.workload,
            "solver": header.solver,
            "ranks": header.ranks,
            "kept_ranks": self.group.runs[0].columns if self.group.runs[0].reduced else None,
            "iterations": self.iterations or header.iterations,
            "restart": self.restart or header.restart,
            "name": self.model.name,
            "kind": str(self.model.kind),
            "predicted_s": self.prediction.seconds,
            "interval_s": [self.prediction.low_s, self.prediction.high_s],
            "explanation": self.model.explain(self.iterations),
            "own_miss": self.model.own_miss or None,
            "findings": findings_json(self.findings),
        }


def predict_solves(
    groups: Iterable[Group], iterations: int | None = None, restart: int | None = None
) -> list[SolvePrediction]:
    """Predict a later run of each group.

    Parameters
    ----------
    iterations, restart : int, optional
        Of the later solve; by default as recorded.

    Raises
    ------
    UsageError
        One of them for runs of several solves, whose iterations are not those of one.
    """
    predicted = []
    for group in groups:
        model = fit_places([times_of(run, iterations, restart) for run in group.runs])
        predicted.append(
            SolvePrediction(
                group=group,
                model=model,
                prediction=model.predict(iterations, restart),
                iterations=iterations,
                restart=restart,
                findings=tuple(findings_of([group])),
            )
        )
    return predicted


def times_of(run: Run, iterations: int | None, restart: int | None) -> SolveTimes:
    """Return the times of a run; several solves as a stretch of bodies without cycles.

    Each of several solves ends within a cycle, so the cycles of the whole do not tell its length.
    """
    solves = solves_in(run)
    if solves == 1:
        return solve_times(run, some_ranks=True)
    if iterations is not None or restart is not None:
        raise UsageError(
            f"{run.path} has {solves} solves, and --iterations and --restart are of one: record "
            "one solve (hindmost attach --most 1), or omit them."
        )
    return replace(solve_times(run, some_ranks=True), restart=0)
