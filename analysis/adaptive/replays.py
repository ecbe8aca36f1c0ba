"""Replays of the same cycles: raw prediction errors, their floor, and denoised errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.configuration import configuration
from hindmost.analysis.runs.cycles import AdaptiveRun
from hindmost.errors import DataError
from hindmost.models.adaptive.floor import denoised, error_floor_percent, mean_error_percent
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.panel import Panel
from hindmost.models.adaptive.work import Spent
from hindmost.text import counted

FIRST = 1
"""Cycles left out of errors: before the first there is no data to predict from."""


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
        choices = first.spec.get("choices", {})
        words = [
            f"{name} {value}"
            for name, value in choices.items()
            if value and DEFAULT_CHOICES.get(name) != value
        ]
        if first.disturbed_on_purpose:
            words.append(f"a neighbour {first.neighbour_words}")
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
    def fastest(self) -> AdaptiveRun:
        """The run before which the machine was fastest, by its pulse or its reference kernel."""
        for reading in ("pulse_s", "speed_s"):
            readings = [each.spec.get(reading) or np.inf for each in self.runs]
            if np.isfinite(readings).all():
                return self.runs[int(np.argmin(readings))]
        return self.runs[0]

    @property
    def middle(self) -> AdaptiveRun:
        """The run whose whole time is the median, or the one below it."""
        order = np.argsort([each.seconds.sum() for each in self.runs], kind="stable")
        return self.runs[int(order[(len(order) - 1) // 2])]

    @cached_property
    def replayed_s(self) -> NDArray[np.float64]:
        """Times of the cycles: float64 array, shape (replay, cycle), seconds."""
        return np.stack([each.seconds for each in self.runs])

    @property
    def predictors(self) -> tuple[str, ...]:
        """Those that every run has."""
        return tuple(
            name
            for name in self.runs[0].predictors
            if all(name in each.predictors for each in self.runs)
        )

    def errors_percent(self, name: str) -> list[float]:
        """Return the mean absolute error of a predictor in each run, as the run predicted."""
        return [
            mean_error_percent(each.prediction(name)[FIRST:], each.seconds[FIRST:])
            for each in self.runs
        ]

    def floor_percent(self) -> float | None:
        """Return mean |replay - median| / median; None for fewer than two replays."""
        return error_floor_percent(self.replayed_s[:, FIRST:]) if len(self.runs) > 1 else None

    def denoised_percent(self, model: OfflineModel | None = None) -> dict[str, float]:
        """Return errors over the fastest replay of each cycle, which the predictors also see.

        Each phase is the minimum over the replays as well, scaled so that they sum to the cycle.
        The predictors run again over these cycles. Without ``model`` the offline prediction is the
        recorded one of the run before which the machine was fastest.

        Returns
        -------
        dict of str to float
            Predictor -> percent; empty for fewer than two replays. Not comparable with the errors
            of single runs.
        """
        if len(self.runs) < 2:
            return {}
        cycles = denoised(self.replayed_s)
        phases = np.stack([each.phases_s for each in self.runs]).min(axis=0)
        rest = np.stack([each.seconds - each.phases_s.sum(axis=1) for each in self.runs]).min(
            axis=0
        )
        scale = cycles / (phases.sum(axis=1) + np.maximum(rest, 0.0))
        spents = [
            Spent(
                seconds=float(cycles[k]),
                phases_s=tuple((scale[k] * phases[k]).tolist()),
                iterations=self.runs[0].spents[k].iterations,
            )
            for k in range(cycles.size)
        ]
        panel = replayed(self.runs[0], spents, model=model)
        errors = panel.errors_percent(FIRST)
        if model is None and "offline" in self.predictors:
            said = self.fastest.prediction("offline")[FIRST:]
            errors["offline"] = mean_error_percent(said, cycles[FIRST:])
        return {name: errors[name] for name in self.predictors if name in errors}


DEFAULT_CHOICES = {
    "threshold": 1.02,
}
"""Choices that titles leave out."""


def replayed(
    run: AdaptiveRun,
    spents: Sequence[Spent] | None = None,
    *,
    names: Sequence[str] | None = None,
    model: OfflineModel | None = None,
) -> Panel:
    """Run the predictors over cycles again: over the times of a run, or over other times.

    Parameters
    ----------
    spents : sequence of Spent, optional
        One per cycle; by default those of the run.
    names, model
        See `hindmost.models.adaptive.panel.Panel`.
    """
    if spents is not None and len(spents) != len(run.works):
        raise DataError(f"{len(spents)} times for {len(run.works)} cycles; give one per cycle.")
    panel = Panel(names, model=model)
    for work, spent in zip(run.works, run.spents if spents is None else spents, strict=True):
        panel.predict(work)
        panel.observe(spent)
    return panel


def group_replays(runs: Iterable[AdaptiveRun]) -> list[Replays]:
    """Group replays, in the order of the runs.

    Runs are replays of each other if their configurations and their mesh histories (cells on every
    rank) are the same.
    """
    groups: dict[tuple[str, ...], list[AdaptiveRun]] = {}
    for each in runs:
        groups.setdefault(likeness(each), []).append(each)
    return [Replays(runs=tuple(members)) for members in groups.values()]


def likeness(run: AdaptiveRun) -> tuple[str, ...]:
    """Return everything that must be the same in replays."""
    return (
        *(f"{name} {value}" for name, value in sorted(configuration(run.run).items())),
        str(run.seconds.size),
        str(hash(run.total_cells.tobytes() + run.most_cells.tobytes())),
    )


def undisturbed(groups: Iterable[Replays]) -> list[Replays]:
    """Return the groups without a neighbour on purpose."""
    return [each for each in groups if not each.runs[0].disturbed_on_purpose]
