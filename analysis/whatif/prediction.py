"""The time of a later solve, also of one that was never run, from the repeats of an earlier one.

Each repeat is replayed with the change, as ``hindmost whatif`` does; the prediction is the median
over the repeats. Its interval has the scatter of the repeats and what a replay cannot know. Where a
run cannot be replayed, the times of the places in its restart cycle predict.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import solves_in
from hindmost.analysis.runs.finding import OF_MODELS, Finding, cautions, findings_json, folded
from hindmost.analysis.runs.groups import Group
from hindmost.analysis.runs.model_input import solve_times
from hindmost.analysis.runs.read import of_how_many
from hindmost.analysis.show.table import Table
from hindmost.analysis.whatif.beside import Beside, beside, comparison
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import WIDTH, Replayed, announce_replays, replay_run
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.noise.cycle_places import PlaceInCycle, fit_places
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.models.simulation.change import Change
from hindmost.text import counted, difference, seconds

ALONE = "; assumes that later runs vary no more than the parts of this one"
"""What an interval from a single run assumes."""
REPEATED = "; assumes that later runs vary no more than these"
"""What an interval from several runs assumes."""
FEWEST_BODIES = 20
"""Bodies of a run without which there is no interval."""
WIDEST = 10.0
"""The factor between a prediction and the ends of its interval from which on none is given."""
REPLAY = "replay"
CHANCE = 2
"""Repeats that may agree by chance, so that their parts count as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvePrediction:
    """The predicted time of a later solve, or of a later run of a loop or of several solves.

    Attributes
    ----------
    group : Group
        The earlier solves.
    named : Named
        What is unlike them.
    prediction : Prediction
        NaN in place of the seconds if the runs do not show what decides them, and in place of the
        interval if it would be meaningless.
    no_interval : str
        Why there is no interval; empty if there is one.
    replays : tuple of Replayed
        One a run that can be replayed.
    places : PlaceInCycle
        The parts of the runs.
    why_not : str
        Why no run is replayed; empty if one is.
    left_out : tuple of str
        Why others are not.
    beside : tuple of Beside
        What others predict.
    findings : tuple of Finding
        Of the earlier solves.
    """

    group: Group
    named: Named
    prediction: Prediction
    no_interval: str
    replays: tuple[Replayed, ...]
    places: PlaceInCycle
    why_not: str
    left_out: tuple[str, ...]
    beside: tuple[Beside, ...]
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.places.name if self.why_not else REPLAY

    @property
    def own_miss(self) -> str:
        """Which recorded solve the model misses; replays that do are refused."""
        return self.places.own_miss if self.why_not else ""

    def lines(self) -> list[str]:
        """Return the prediction in a few lines, before its table."""
        solves = max(map(solves_in, self.group.runs))
        later = "later run" + (f" of all {solves} solves" if solves > 1 else "")
        if self.named.words:
            later += f" with {self.named.title}"
        said = f"predicted {seconds(self.prediction.seconds)} ({self._interval()})"
        if not self.prediction.known:
            said = (
                f"between {seconds(self.prediction.low_s)} and {seconds(self.prediction.high_s)}; "
                "the runs do not show enough for a single prediction"
            )
        return [
            self.group.title,
            f"{later}: {said}",
            *([f"error: {self.own_miss}"] if self.own_miss else []),
        ]

    def notes(self) -> list[str]:
        """Return what the prediction assumes, and what puts it in doubt."""
        lines = self.places.explain(self.named.change.iterations).splitlines()
        if self.why_not:
            lines.append(f"Not replayed, but put together from these means: {self.why_not}")
        lines += [f"Left out: {each}" for each in self.left_out]
        assumed = dict.fromkeys(each for one in self.replays for each in one.assumptions())
        lines += [f"Assumed: {each}" for each in assumed]
        lines = [part for each in lines for part in wrapped(each)]
        return [*lines, *self._of_ranks(), *folded(cautions(self.findings, OF_MODELS))]

    def table(self) -> Table:
        """Return the prediction and what others say."""
        own = Beside(name=self.name, what="this prediction", prediction=self.prediction)
        return comparison(own, self.beside)

    def _of_ranks(self) -> list[str]:
        """Say of how many ranks the times of reduced runs are."""
        first = self.group.runs[0]
        if not first.reduced:
            return []
        ranks = counted(first.header.ranks, "rank")
        of = "of the slowest rank" if self.places.slowest_alone else f"means of all {ranks}"
        return [
            f"full records of {of_how_many(first)}: body times are {of}, restarts of kept ranks"
        ]

    def _interval(self) -> str:
        """Return the prediction interval in words."""
        low_s, high_s = self.prediction.low_s, self.prediction.high_s
        if self.no_interval:
            return f"no interval: {self.no_interval}"
        assumed = REPEATED if len(self.replays or self.group.runs) > 1 else ALONE
        return f"90 % prediction interval {seconds(low_s)} to {seconds(high_s)}{assumed}"

    def to_json(self) -> dict[str, Any]:
        """Return the entry of a configuration in ``hindmost predict --json``."""
        header, change = self.group.runs[0].header, self.named.change
        return {
            "files": [str(run.path) for run in self.group.runs],
            "workload": header.workload,
            "solver": change.solver or header.solver,
            "ranks": header.ranks,
            "kept_ranks": self.group.runs[0].columns if self.group.runs[0].reduced else None,
            "iterations": change.iterations or header.iterations,
            "restart": change.restart or header.restart,
            "changes": dict(self.named.words),
            "name": self.name,
            "kind": str(ModelKind.PREDICTS),
            "predicted_s": self.prediction.seconds if self.prediction.known else None,
            "interval_s": None
            if self.no_interval
            else [self.prediction.low_s, self.prediction.high_s],
            "no_interval": self.no_interval or None,
            "beside": [each.to_json() for each in self.beside],
            "explanation": self.places.explain(change.iterations),
            "own_miss": self.own_miss or None,
            "left_out": list(self.left_out),
            "findings": findings_json(self.findings),
        }


def predict_solves(
    groups: Iterable[Group],
    changes: Sequence[Named] = (Named(change=Change(), words=()),),
    machine: Machine | None = None,
) -> list[SolvePrediction]:
    """Predict a later run of each group, with each of some changes.

    Raises
    ------
    UsageError
        A change that does not apply, such as a length for runs of several solves, whose iterations
        are not those of one.
    DataError
        Runs that cannot be replayed, with a change that only replays can answer.
    """
    predicted = []
    for group in groups:
        findings = tuple(findings_of([group]))
        for number, named in enumerate(changes):
            change = named.change
            times = [times_of(run, change.iterations, change.restart) for run in group.runs]
            places = fit_places(times)
            if number == 0:
                every, why_not = replays_of(group, changes, machine)
            if not every and not of_length_alone(change):
                raise DataError(why_not[0])
            replays = tuple(each[number] for each in every)
            prediction = pooled(replays, places, change, least=parts_width(times))
            why_none = why_no_interval(times, prediction, change)
            if why_none:
                prediction = replace(prediction, low_s=float("nan"), high_s=float("nan"))
            predicted.append(
                SolvePrediction(
                    group=group,
                    named=named,
                    prediction=prediction,
                    no_interval=why_none,
                    replays=replays,
                    places=places,
                    why_not="" if every else why_not[0],
                    left_out=tuple(why_not) if every else (),
                    beside=tuple(beside(times, change, unknowns_of(group))),
                    findings=findings,
                )
            )
    return predicted


def wrapped(line: str) -> list[str]:
    """Return a line in lines of a page's width."""
    return textwrap.wrap(line, WIDTH, subsequent_indent="    ")


def unknowns_of(group: Group) -> int:
    """Return the size of the system; 0 if not known."""
    found = group.runs[0].header.spec.get("unknowns")
    return found if isinstance(found, int) else 0


def replays_of(
    group: Group, changes: Sequence[Named], machine: Machine | None
) -> tuple[list[list[Replayed]], list[str]]:
    """Return the replays of the runs that can be replayed, and why others cannot."""
    found, why_not = [], []
    announce_replays(group.runs, changes)
    for run in group.runs:
        try:
            found.append(replay_run(run, changes, machine))
        except DataError as error:
            why_not.append(str(error))
    return found, why_not


def of_length_alone(change: Change) -> bool:
    """Tell whether nothing is changed but the length of a solve and of its cycles."""
    return change == Change(iterations=change.iterations, restart=change.restart)


def parts_width(times: Sequence[SolveTimes]) -> float:
    """Return half the width of the interval that the parts of runs give alone, as a logarithm.

    Only of two runs, which may agree by chance: more of them show how runs scatter.
    """
    if len(times) != CHANCE:
        return 0.0
    return float(np.median([fit_places([each]).own_width for each in times]))


def pooled(
    replays: Sequence[Replayed], places: PlaceInCycle, change: Change, *, least: float = 0.0
) -> Prediction:
    """Return the median over the replays of all repeats, with a 90 % prediction interval.

    Parameters
    ----------
    replays : sequence of Replayed
    places : PlaceInCycle
        Where there are no replays, or only one.
    change : Change
    least : float
        The scatter of repeats is taken as no less than this half width, a logarithm.
    """
    if not replays:
        return places.predict(change.iterations, change.restart)
    low_s, high_s = (
        float(np.median([one.result.low_s for one in replays])),
        float(np.median([one.result.high_s for one in replays])),
    )
    known = [one.predicted_s for one in replays if one.predicted_s is not None]
    if len(known) < len(replays):
        return Prediction(seconds=float("nan"), low_s=low_s, high_s=high_s)
    middle_s = float(np.median(known))
    width = max(repeat_width(known), least) if len(known) > 1 else places.own_width
    # What repeats differ by and what a replay does not know are independent of each other.
    below = np.hypot(width, np.log(middle_s / min(low_s, middle_s))) if low_s > 0.0 else np.inf
    above = np.hypot(width, np.log(max(high_s, middle_s) / middle_s))
    return Prediction(
        seconds=middle_s,
        low_s=middle_s * float(np.exp(-below)),
        high_s=middle_s * float(np.exp(above)),
    )


def why_no_interval(times: Sequence[SolveTimes], found: Prediction, change: Change) -> str:
    """Return why an interval would say nothing; empty if it says something.

    Parameters
    ----------
    times : sequence of SolveTimes
        Of the runs.
    found : Prediction
    change : Change
    """
    if not found.known:
        return ""
    fewest = min(each.iterations for each in times)
    if fewest < FEWEST_BODIES:
        return f"{counted(fewest, 'recorded body')}, and at least {FEWEST_BODIES} are needed"
    first = times[0]
    recorded = first.solver_iterations or first.iterations
    if recorded < first.restart and (change.iterations or recorded) > recorded:
        return f"no run has a whole restart cycle of {first.restart} iterations"
    if not found.low_s < found.high_s:
        return "this run is too short"
    return too_wide(found, [each.solve_time_s for each in times])


def too_wide(found: Prediction, solves_s: Sequence[float]) -> str:
    """Return why an interval is too wide to say anything; empty if it is not.

    Parameters
    ----------
    found : Prediction
    solves_s : sequence of float
        The recorded times of the runs.
    """
    if WIDEST * found.low_s >= found.seconds and found.high_s <= WIDEST * found.seconds:
        return ""
    wide = f"one end would be a factor of over {WIDEST:g} away"
    if len(solves_s) == 1:
        return f"{wide}, as the parts of this run differ too much"
    return f"{wide}, as repeats differ by {difference(max(solves_s) / min(solves_s) - 1.0)}"


def repeat_width(times_s: Sequence[float]) -> float:
    """Return half the width of a 90 % interval of one more repeat, as a logarithm.

    The logarithms of solve times are assumed normal: noise only adds, in proportion.
    """
    logs = np.log(times_s)
    factor = special.stdtrit(logs.size - 1, 0.95) * (1.0 + 1.0 / logs.size) ** 0.5
    return float(factor * logs.std(ddof=1))


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
