"""The time of a solve on other numbers of ranks, from all repeats: the simulations of ``whatif``.

The number is the median over the repeats on most ranks of what ``hindmost whatif --ranks`` gives
for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.finding import OF_MODELS, Finding, cautions, findings_json, folded
from hindmost.analysis.runs.groups import Group, group_runs
from hindmost.analysis.runs.model_input import solve_times
from hindmost.analysis.show.table import Table
from hindmost.analysis.whatif.at_scale import AtScale, scaled
from hindmost.analysis.whatif.beside import NAIVE, NO_LAW, PAPER, Beside, comparison
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.prediction import (
    ALONE,
    REPEATED,
    WIDEST,
    repeat_width,
    too_wide,
    wrapped,
)
from hindmost.analysis.whatif.targets import Scale, Scaling, scalable, scaling_of
from hindmost.errors import DataError
from hindmost.executors import Executor
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.laws.johnsonsu import JohnsonSU
from hindmost.models.noise.redraw import RedrawnUniform, fit_redrawn_uniform
from hindmost.models.results import ModelKind, Prediction
from hindmost.models.simulation.prospect import MISSES
from hindmost.text import counted, percent, seconds, signed_percent

SIMULATION = "simulation"
DESCRIBED = 0.5
"""Share of the repeats that the laws must describe, to pool these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePrediction:
    """The predicted time of a solve on another number of ranks.

    Attributes
    ----------
    group : Group
        The repeats on most ranks.
    simulated : tuple of AtScale
        One a repeat.
    prediction : Prediction
        NaN in place of the seconds if the runs do not say enough, and in place of an interval that
        would be meaningless. Repeats that the laws do not describe are left out, if few.
    no_interval : str
        Why there is no interval; empty if there is one.
    beside : tuple of Beside
    findings : tuple of Finding
    """

    group: Group
    simulated: tuple[AtScale, ...]
    prediction: Prediction
    no_interval: str
    beside: tuple[Beside, ...]
    findings: tuple[Finding, ...]

    def lines(self) -> list[str]:
        """Return the prediction in a few lines, before its table."""
        first, found = self.simulated[0], self.prediction
        if not described(self.simulated):
            return [self.group.title, *wrapped(f"on {first.title}: undecided. {self.no_interval}")]
        assumed = REPEATED if len(self.simulated) > 1 else ALONE
        interval = f"90 % prediction interval {self._interval}{assumed}"
        if self.no_interval:
            interval = f"no interval: {self.no_interval}"
        said = f"predicted {seconds(found.seconds)} ({interval})"
        if not found.known:
            said = f"no prediction, but {self._interval}. {self._withheld}"
        return [self.group.title, *wrapped(f"on {first.title}: {said}")]

    @property
    def _withheld(self) -> str:
        """Why there is no prediction: the reason of a repeat that gives none."""
        kept = described(self.simulated)
        without = [each for each in kept if each.predicted_s is None]
        share = "" if len(kept) == 1 else f"In {len(without)} of {len(kept)} repeats: "
        return f"{share}{without[0].withheld}"

    @property
    def _interval(self) -> str:
        low_s, high_s = self.prediction.low_s, self.prediction.high_s
        if not np.isfinite(high_s):
            return f"at least {seconds(low_s)}"
        return f"{seconds(low_s)} to {seconds(high_s)}"

    def table(self) -> Table:
        """Return the prediction and what others say."""
        own = Beside(name=SIMULATION, what="this prediction", prediction=self.prediction)
        return comparison(own, self.beside)

    def notes(self) -> list[str]:
        """Return what the prediction assumes, and what puts it in doubt."""
        assumed = dict.fromkeys(each for one in self.simulated for each in one.assumptions())
        lines = [part for each in assumed for part in wrapped(f"Assumed: {each}")]
        missed = [each for each in self.simulated if each.result.missed]
        if missed and described(self.simulated):
            files = ", ".join(each.run.path.name for each in missed)
            lines += wrapped(f"Left out: {files}. {misses_of(missed)}")
        return [*lines, *folded(cautions(self.findings, OF_MODELS))]

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``hindmost predict --json``."""
        header, first = self.group.runs[0].header, self.simulated[0]
        found = self.prediction
        return {
            "files": [str(run.path) for run in self.group.runs],
            "workload": header.workload,
            "solver": header.solver,
            "ranks": first.result.ranks,
            "recorded_ranks": header.ranks,
            "iterations": header.iterations,
            "restart": header.restart,
            "changes": dict(first.named.words),
            "name": SIMULATION,
            "kind": str(ModelKind.PREDICTS),
            "predicted_s": found.seconds if found.known else None,
            "interval_s": None
            if self.no_interval
            else [found.low_s, found.high_s if np.isfinite(found.high_s) else None],
            "no_interval": self.no_interval or None,
            "beside": [each.to_json() for each in self.beside],
            "findings": findings_json(self.findings),
        }


def predict_at_scale(
    runs: Sequence[Run],
    scale: Scale,
    changes: Sequence[Named],
    machine: Machine | None,
    executor: Executor | None = None,
) -> list[ScalePrediction]:
    """Predict solves on other numbers of ranks, from runs on one or several numbers of ranks."""
    predicted = []
    for alike in scalable(runs):
        found = scaled(alike, scale, changes, machine, executor)
        base = [each[0].run for each in found]
        (group,) = group_runs(base)
        findings = tuple(findings_of([group]))
        scaling = scale.scaling or scaling_of(alike) or Scaling.WEAK
        for simulated in zip(*found, strict=True):  # a number of ranks, and a change
            kept = described(simulated)
            prediction = pooled_at_scale(kept or simulated)
            why_none = why_no_interval(prediction, base) if kept else undecided(simulated)
            if why_none:
                prediction = replace(prediction, low_s=float("nan"), high_s=float("nan"))
            if not kept:
                prediction = replace(prediction, seconds=float("nan"))
            predicted.append(
                ScalePrediction(
                    group=group,
                    simulated=simulated,
                    prediction=prediction,
                    no_interval=why_none,
                    beside=beside_at_scale(base, simulated[0], scaling),
                    findings=findings,
                )
            )
    return predicted


def described(simulated: Sequence[AtScale]) -> list[AtScale]:
    """Return the repeats that the laws describe; none if these are too few to stand for all."""
    kept = [each for each in simulated if not each.result.missed]
    return kept if len(kept) > DESCRIBED * len(simulated) else []


def misses_of(missed: Sequence[AtScale]) -> str:
    """Return by how much simulations miss the recorded time, in a sentence."""
    found = sorted(each.result.miss for each in missed)
    by = signed_percent(found[0])
    if len(found) > 1:
        by += f" to {signed_percent(found[-1])}"
    return (
        f"Simulated on the recorded ranks, the solve misses the recorded time by {by} (at most "
        f"{percent(MISSES)} is accepted), so the laws of local work do not describe it."
    )


def undecided(simulated: Sequence[AtScale]) -> str:
    """Return why nothing can be said, and what to record, in sentences."""
    missed = [each for each in simulated if each.result.missed]
    runs = "" if len(simulated) == 1 else f"In {len(missed)} of {len(simulated)} repeats: "
    samples = min(each.result.samples for each in missed)
    return (
        f"{runs}{misses_of(missed)} The laws take disturbances as short and random; long or rare "
        f"ones do not repeat as recorded. Record at least {4 * samples:,} iterations of all ranks "
        f"(here: {samples:,}) on cores that nothing else uses; the findings below say what "
        "disturbed these."
    )


def pooled_at_scale(simulated: Sequence[AtScale]) -> Prediction:
    """Return the median over the repeats, with an interval that has their scatter."""
    low_s = float(np.median([each.result.low_s for each in simulated]))
    high_s = float(np.median([each.result.high_s for each in simulated]))
    known = [each.predicted_s for each in simulated if each.predicted_s is not None]
    if len(known) < len(simulated):
        if high_s > WIDEST**2 * low_s:  # says no more than its lower end
            high_s = float("inf")
        return Prediction(seconds=float("nan"), low_s=low_s, high_s=high_s)
    middle_s = float(np.median(known))
    width = repeat_width(known) if len(known) > 1 else 0.0
    below = np.hypot(width, np.log(middle_s / min(low_s, middle_s)))
    above = np.hypot(width, np.log(max(high_s, middle_s) / middle_s))
    return Prediction(
        seconds=middle_s,
        low_s=middle_s * float(np.exp(-below)),
        high_s=middle_s * float(np.exp(above)),
    )


def why_no_interval(found: Prediction, runs: Sequence[Run]) -> str:
    """Return why an interval would say nothing; empty if it says something, or has no upper end."""
    if not found.known or not np.isfinite(found.high_s):
        return ""
    return too_wide(found, [run.solve_time_s for run in runs])


def beside_at_scale(
    runs: Sequence[Run], simulated: AtScale, scaling: Scaling
) -> tuple[Beside, ...]:
    """Return the naive answer, and the paper's simulation (sections 6 and 7.1)."""
    recorded, ranks = simulated.result.recorded_ranks, simulated.result.ranks
    share = recorded / ranks if scaling is Scaling.STRONG else 1.0
    naive_s = share * float(np.median([run.solve_time_s for run in runs]))
    how = "divided by the ranks" if scaling is Scaling.STRONG else "as it is"
    naive = Beside(
        name=NAIVE,
        what=f"the recorded time, {how}",
        prediction=Prediction(seconds=naive_s, low_s=naive_s, high_s=naive_s),
    )
    if simulated.named.words:
        what = "the paper's simulation says nothing of this change"
        return naive, Beside(name=PAPER, what=what)
    try:
        models = [fit_redrawn_uniform(solve_times(run)) for run in runs]
    except DataError:
        return naive, Beside(name=PAPER, what=NO_LAW)
    said = [on_ranks(each, ranks, share).predict() for each in models]
    ends = [
        float(np.median([getattr(each, end) for each in said]))
        for end in ("seconds", "low_s", "high_s")
    ]
    what = f"the paper's simulation with {counted(ranks, 'rank')} (sections 6 and 7.1)"
    found = Prediction(seconds=ends[0], low_s=ends[1], high_s=ends[2])
    return naive, Beside(name=PAPER, what=what, prediction=found)


def on_ranks(model: RedrawnUniform, ranks: int, share: float) -> RedrawnUniform:
    """Return the paper's simulation on another number of ranks.

    With strong scaling the law of the fastest rank shifts with its work, and that of the span stays
    about as it is (Figure 8).
    """
    law = model.laws.least
    least = JohnsonSU(a=law.a, b=law.b, loc=share * law.loc, scale=share * law.scale)
    laws = replace(model.laws, least=least)
    return replace(model, ranks=ranks, laws=laws, fill_s=share * model.fill_s)
