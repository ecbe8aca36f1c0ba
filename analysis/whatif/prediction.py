"""The time of a solve with a change, on its ranks or others, from the repeats of a recorded one.

Each repeat is replayed with the change, or simulated on other ranks; the prediction is the median
over the repeats. Its interval has the scatter of the repeats and what a replay cannot know. Where a
run cannot be replayed, the times of the places in its restart cycle predict another length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

import numpy as np

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import Group, group_runs, solves_in
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.read import of_how_many
from hindmost.analysis.runs.tallies import solve_times
from hindmost.analysis.show.phrases import folded
from hindmost.analysis.show.table import LEFT, RIGHT, Column, Table
from hindmost.analysis.whatif.at_scale import scaled, without_cores
from hindmost.analysis.whatif.baseline import Baseline, baselines
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import (
    WIDEST,
    Outcome,
    announce_replays,
    replay_run,
)
from hindmost.analysis.whatif.targets import NetworkBasis, Scale, Scaling, scaling_of
from hindmost.errors import DataError, UsageError
from hindmost.executors import Executor
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.inference import student_reach
from hindmost.models.noise.cycle_places import PlaceInCycle, fit_places
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.models.simulation.blocks import FEWEST
from hindmost.models.simulation.change import Change
from hindmost.text import counted, difference, percent, seconds, signed_percent

ALONE = "; assumes that later runs vary no more than the parts of this one"
"""What an interval from a single run assumes."""
REPEATED = "; assumes that later runs vary no more than these"
"""What an interval from several runs assumes."""
REPLAY, SIMULATION = "replay", "simulation"
NO_CORES = ("crowded", "cores-taken")
"""Findings after which other numbers of ranks are not told from noise as recorded."""
CHANCE = 2
"""Repeats that may agree by chance, so that their parts count as well."""
DESCRIBED = 0.5
"""Share of the repeats above which their time counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvePrediction:
    """The predicted time of a later solve, or of a later run of a loop or of several solves.

    Attributes
    ----------
    group : Group
        The earlier solves; those on most ranks if they are scaled.
    named : Named
        What is unlike them.
    ranks : int
        Of the later solve.
    prediction : Prediction
        With noise, on other ranks. NaN in place of the seconds if the runs do not show what decides
        them, and in place of the interval if it would be meaningless.
    no_interval : str
        Why there is no interval; empty if there is one.
    found : tuple of Outcome
        One a run that can be replayed.
    places : PlaceInCycle or None
        The parts of the runs; None on other ranks.
    left_out : tuple of str
        Why runs are not replayed.
    others : tuple of Baseline
        What others predict.
    findings : tuple of Finding
        Of the earlier solves.
    quiet : Prediction or None
        On other ranks: on a machine without noise. None on the recorded ones.
    kind : ModelKind
    """

    group: Group
    named: Named
    ranks: int
    prediction: Prediction
    no_interval: str
    found: tuple[Outcome, ...]
    places: PlaceInCycle | None
    left_out: tuple[str, ...]
    others: tuple[Baseline, ...]
    findings: tuple[Finding, ...]
    quiet: Prediction | None = None
    kind: ModelKind = ModelKind.PREDICTS

    JSON = (
        "files workload=first.header.workload solver ranks iterations "
        "restart=first.header.restart changes name kind predicted_s=prediction.seconds "
        "interval_s no_interval? beside=others **details findings"
    )

    @property
    def name(self) -> str:
        """The name of the model."""
        if self.places is None:
            return SIMULATION
        return REPLAY if self.found else self.places.name

    @property
    def own_miss(self) -> str:
        """Which recorded solve the model misses; replays that do are refused."""
        return "" if self.found or self.places is None else self.places.own_miss

    @property
    def recorded_s(self) -> float:
        """The recorded time, the median of the runs."""
        return float(np.median([run.solve_time_s for run in self.group.runs]))

    @property
    def middle(self) -> Outcome | None:
        """The repeat whose time is in the middle; None if there is none."""
        kept = sorted(self.found, key=lambda each: each.middle_s)
        return kept[(len(kept) - 1) // 2] if kept else None

    @property
    def simulated(self) -> bool:
        """Whether other numbers of ranks are simulated."""
        return self.places is None

    @property
    def iteration_s(self) -> float | None:
        """The time of an iteration; None if it is not known."""
        return time_s(self.found)

    @property
    def iteration_interval_s(self) -> tuple[float, float]:
        """The least and the most that an iteration may take, in seconds."""
        return range_s(self.found)

    @property
    def subject(self) -> str:
        """What is predicted, as the beginning of a sentence."""
        with_change = f" with {self.named.title}" if self.named.words else ""
        if (there := self.found[0].simulated if self.found else None) is not None:
            where = f"{counted(there.ranks, 'rank')} ({counted(there.nodes, 'node')}"
            if there.ranks != there.recorded_ranks:
                where += f"; extrapolated from {counted(there.recorded_ranks, 'rank')}"
            others = self.named.without_noise
            return f"On {where})" + (f" with {others}" if others else "")
        solves = max(map(solves_in, self.group.runs))
        if solves > 1:
            return f"A later run of all {solves} solves{with_change}"
        return f"With {self.named.title}" if self.named.words else "A later run"

    @property
    def noise_name(self) -> str:
        """Which noise the prediction on other ranks has; empty for none."""
        change = self.found[0].named.change
        if change.noise == 0.0 and change.detours is None:
            return ""
        if (stated := dict(self.named.words).get("noise")) is not None:
            return f"noise {stated}"
        return "the recorded noise" if change.detours is None else "the noise of the machine file"

    def sentences(self) -> Iterator[str]:
        """Yield the answer: a sentence, or on other ranks one without noise and one with it."""
        found = self.prediction
        if self.quiet is not None:
            ends = f"90 % prediction interval {ends_of(self.quiet)}{self.assumes}"
            yield (
                f"{self.subject}: predicted {seconds(self.quiet.seconds)} on a quiet machine "
                f"({self.change_to(self.quiet)}; {ends})."
            )
            if self.noise_name:
                ends = f"90 % prediction interval {ends_of(found)}"
                yield (
                    f"With {self.noise_name}: {seconds(found.seconds)} "
                    f"({self.change_to(found)}; {ends})."
                )
            return
        if not found.known:
            without = [each for each in self.found if each.predicted_s is None]
            several = len(without) < len(self.found)
            few = f"in {len(without)} of {len(self.found)} repeats " if several else ""
            yield (
                f"{self.subject}: undecided, {ends_of(found)}, because {few}{without[0].withheld}"
            )
            return
        change = f"{self.change_to(found)}; " if self.named.words else ""
        interval = f"no interval: {self.no_interval}"
        if not self.no_interval:
            interval = f"90 % prediction interval {ends_of(found)}{self.assumes}"
        yield f"{self.subject}: predicted {seconds(found.seconds)} ({change}{interval})."

    @property
    def assumes(self) -> str:
        """What an interval assumes of later runs."""
        return REPEATED if len(self.found or self.group.runs) > 1 else ALONE

    def change_to(self, found: Prediction) -> str:
        """Return the change of the recorded time, in percent."""
        return signed_percent(found.seconds / self.recorded_s - 1.0)

    def lines(self) -> list[str]:
        """Return the prediction, and what its time consists of in the middle repeat."""
        lines = list(self.sentences())
        if self.own_miss:
            lines.append(f"error: {self.own_miss}")
        if (shown := self.middle) is not None:
            lines += shown.parts
        if self.quiet is not None:
            why = next((each.withheld for each in self.found if each.withheld), "")
            lines += [why] if why else []
        return folded(lines)

    def check_line(self) -> str:
        """Return what was recorded, and how well the model gives that without a change."""
        runs = [each.run for each in self.found] or self.group.runs
        times_s = sorted(run.solve_time_s for run in runs)
        what = runs[0].path.name if len(runs) == 1 else f"{len(runs)} runs"
        recorded = " to ".join(dict.fromkeys(map(seconds, (times_s[0], times_s[-1]))))
        if not self.found:
            return f"{what}: recorded {recorded}."
        misses = sorted(each.miss for each in self.found)
        by = " to ".join(
            dict.fromkeys(signed_percent(each, decimals=2) for each in (misses[0], misses[-1]))
        )
        how = "a replay without a change"
        if self.places is None:
            how = "a simulation of the recorded ranks"
        missing = dict.fromkeys(each.left_out for each in self.found if each.left_out)
        return " ".join([f"{what}: recorded {recorded}; {how} is off by {by}.", *missing])

    def notes(self) -> list[str]:
        """Return what the prediction assumes, and what puts it in doubt."""
        lines = []
        if self.places is not None and (self.named.change.iterations or not self.found):
            lines += self.places.explain(self.named.change.iterations).splitlines()
        if not self.found:
            lines.append(f"Not replayed, but put together from these means: {self.left_out[0]}")
        else:
            lines += [f"Left out: {each}" for each in self.left_out]
        if self.middle is not None:
            lines += [f"Assumed: {each}" for each in self.middle.assumed]
        first = self.group.runs[0]
        if first.reduced and self.places is not None:
            of = "of the slowest rank"
            if not self.places.slowest_alone:
                of = f"means of all {counted(first.header.ranks, 'rank')}"
            kept = f"iteration times are {of}, restarts of kept ranks"
            lines.append(f"full records of {of_how_many(first)}: {kept}")
        return folded(lines)

    def models(self) -> list[Baseline]:
        """Return the prediction, and what others say."""
        what = "this prediction" + ("" if self.prediction.known else ": undecided, see above")
        own = Baseline(name=self.name, what=what, prediction=self.prediction)
        return [own, *self.others]

    def row(self) -> tuple[str, ...]:
        """Return the row of a table of changes and ranks."""
        found = self.prediction
        shares = [each.network_share for each in self.found]
        quiet = () if self.quiet is None else (seconds(self.quiet.seconds), ends_of(self.quiet))
        return (
            f"{self.ranks:,}",
            self.named.title,
            *quiet,
            seconds(found.seconds) if found.known else "-",
            "none" if self.no_interval else ends_of(found),
            self.change_to(found) if found.known else "-",
            percent(float(np.median(shares))) if shares else "-",
        )

    @property
    def first(self) -> Run:
        """The first of the earlier solves."""
        return self.group.runs[0]

    @property
    def files(self) -> list[Path]:
        """The files of all of them."""
        return [run.path for run in self.group.runs]

    @property
    def solver(self) -> str:
        """The solver of the later solve."""
        return self.named.change.solver or self.first.header.solver

    @property
    def iterations(self) -> int:
        """Its iterations."""
        return self.named.change.iterations or self.first.header.iterations

    @property
    def changes(self) -> dict[str, str]:
        """What is changed, by name."""
        return dict(self.named.words)

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The interval in seconds, whose end may be infinite; None if there is none."""
        return None if self.no_interval else (self.prediction.low_s, self.prediction.high_s)

    @property
    def details(self) -> Details:
        """Keys of JSON that depend on whether the ranks stay."""
        if self.places is None:
            assert self.quiet is not None
            return {
                "recorded_ranks": self.first.header.ranks,
                "without_noise_s": self.quiet.seconds,
                "without_noise_interval_s": (self.quiet.low_s, self.quiet.high_s),
            }
        return {
            "kept_ranks": self.first.columns if self.first.reduced else None,
            "explanation": self.places.explain(self.named.change.iterations),
            "own_miss": self.own_miss or None,
            "left_out": list(self.left_out) if self.found else [],
        }


class Details(TypedDict, total=False):
    """Keys of JSON that only predictions on the recorded ranks have, or only others."""

    recorded_ranks: int
    without_noise_s: float
    without_noise_interval_s: tuple[float, float]
    kept_ranks: int | None
    explanation: str
    own_miss: str | None
    left_out: list[str]


def ends_of(found: Prediction) -> str:
    """Return the ends of an interval, for people."""
    return f"{seconds(found.low_s)} to {seconds(found.high_s)}"


def predictions_table(found: Sequence[SolvePrediction]) -> Table:
    """Return a table of several changes, or numbers of ranks."""
    predicted, quiet = "predicted", tuple[Column, ...]()
    if found[0].quiet is not None:
        quiet = (Column("quiet machine", RIGHT), Column("90 % interval", RIGHT))
        predicted = "with noise"
    return Table(
        columns=(
            Column("ranks", RIGHT),
            Column("with", LEFT),
            *quiet,
            Column(predicted, RIGHT),
            Column("90 % interval", RIGHT),
            Column("change", RIGHT),
            Column("network", RIGHT),
        ),
        rows=[each.row() for each in found],
        notes=(
            "change: against the recorded time; network: share of the critical path, or of the "
            "simulated time. -: the runs do not show enough.",
        ),
    )


def predict_solves(
    group: Group,
    changes: Sequence[Named] = (Named(change=Change(), words=()),),
    machine: Machine | None = None,
    executor: Executor | None = None,
) -> list[SolvePrediction]:
    """Predict a later run of a group on its ranks, with each of some changes.

    Raises
    ------
    UsageError
        A change that does not apply, such as a length for runs of several solves, whose iterations
        are not those of one.
    DataError
        Runs that cannot be replayed, with a change that only replays can answer.
    """
    findings, predicted = tuple(findings_of([group])), []
    times = [[times_of(run, change.change) for run in group.runs] for change in changes]
    every, why_not = replays_of(group, changes, machine, executor)
    lengths = [change.change.iterations for change in changes]
    if not every and [change.change for change in changes] != [
        Change(iterations=length) for length in lengths
    ]:
        raise DataError(why_not[0])
    for number, named in enumerate(changes):
        change = named.change
        places = fit_places(times[number])
        found = tuple(each[number] for each in every)
        prediction = places.predict(change.iterations)
        if found:
            width = parts_width(times[number])
            if len(found) == 1:
                scatter = found[0].scatter
                width = max(places.own_width, scatter if np.isfinite(scatter) else 0.0)
            prediction = pooled(found, width)
        why_none = why_no_interval(times[number], prediction, change)
        if found and np.isinf(min(each.scatter for each in found)) and prediction.known:
            why_none = why_none or f"it rests on fewer than {FEWEST} recorded iterations"
        if why_none:
            prediction = replace(prediction, low_s=float("nan"), high_s=float("nan"))
        predicted.append(
            SolvePrediction(
                group=group,
                named=named,
                ranks=group.runs[0].header.ranks,
                prediction=prediction,
                no_interval=why_none,
                found=found,
                places=places,
                left_out=tuple(why_not),
                others=tuple(baselines(times[number], change)),
                findings=findings,
            )
        )
    return predicted


def predict_at_scale(
    runs: Sequence[Run],
    scale: Scale,
    changes: Sequence[Named],
    machine: Machine | None = None,
    executor: Executor | None = None,
    network: NetworkBasis | None = None,
) -> list[SolvePrediction]:
    """Predict a solve on other numbers of ranks, with each of some changes.

    Parameters
    ----------
    runs : sequence of Run
        That differ in size and ranks only, those on most ranks last; these are scaled.
    network : NetworkBasis, optional
        By default that of the machine file or of the runs.

    Returns
    -------
    list of SolvePrediction
        All changes on the first number of ranks, then on the next.
    """
    every = scaled(runs, scale, changes, machine, executor, network)
    (group,) = group_runs([each[0].run for each in every])
    findings, predicted = tuple(findings_of([group])), []
    lost = {
        finding.file: finding.text
        for finding in findings
        if finding.severity == "error" and finding.code in NO_CORES
    }
    every = [
        [
            without_cores(one, lost[file], network_known=machine is not None)
            if (file := str(one.run.path)) in lost
            else one
            for one in found
        ]
        for found in every
    ]
    strong = (scale.scaling or scaling_of(runs) or Scaling.STRONG) is Scaling.STRONG
    times = [solve_times(run) for run in group.runs]
    for found in zip(*every, strict=True):
        ranks = found[0].ranks
        prediction = pooled(found, 0.0)
        share = group.runs[0].header.ranks / ranks if strong else 1.0
        predicted.append(
            SolvePrediction(
                group=group,
                named=found[0].named,
                ranks=ranks,
                prediction=prediction,
                no_interval="",
                found=found,
                places=None,
                left_out=(),
                others=tuple(baselines(times, found[0].named.change, ranks=ranks, work=share)),
                findings=findings,
                quiet=joined([one.simulated.quiet for one in found if one.simulated is not None]),
            )
        )
    return predicted


def replays_of(
    group: Group, changes: Sequence[Named], machine: Machine | None, executor: Executor | None
) -> tuple[list[list[Outcome]], list[str]]:
    """Return the replays of the runs that can be replayed, and why others cannot."""
    found, why_not = [], []
    announce_replays(group.runs, changes)
    for run in group.runs:
        try:
            found.append(replay_run(run, changes, machine, executor=executor))
        except DataError as error:
            why_not.append(str(error))
    return found, why_not


def parts_width(times: Sequence[SolveTimes]) -> float:
    """Return half the width of the interval that the parts of runs give alone, as a logarithm.

    Only of two runs, which may agree by chance: more of them show how runs scatter.
    """
    if len(times) != CHANCE:
        return 0.0
    return float(np.median([fit_places([each]).own_width for each in times]))


def pooled(found: Sequence[Outcome], least: float) -> Prediction:
    """Return the median over all repeats, with a 90 % prediction interval; see `joined`."""
    told = [
        Prediction(seconds=one.predicted_s, low_s=one.result.low_s, high_s=one.result.high_s)
        for one in found
        if one.predicted_s is not None
    ]
    if len(told) > DESCRIBED * len(found):
        return joined(told, least)
    return Prediction(
        seconds=float("nan"),
        low_s=float(np.median([one.result.low_s for one in found])),
        high_s=float(np.median([one.result.high_s for one in found])),
    )


def joined(found: Sequence[Prediction], least: float = 0.0) -> Prediction:
    """Return the median of the predictions of repeats, with a 90 % prediction interval.

    Parameters
    ----------
    least : float
        The scatter of repeats is taken as no less than this half width, a logarithm.
    """
    known = [one.seconds for one in found]
    low_s, high_s = (
        float(np.median([one.low_s for one in found])),
        float(np.median([one.high_s for one in found])),
    )
    middle_s = float(np.median(known))
    width = max(repeat_width(known), least) if len(known) > 1 else least
    # What repeats differ by and what a replay does not know are independent of each other.
    below = np.hypot(width, np.log(middle_s / min(low_s, middle_s))) if low_s > 0.0 else np.inf
    above = np.hypot(width, np.log(max(high_s, middle_s) / middle_s))
    return Prediction(
        seconds=middle_s,
        low_s=middle_s * float(np.exp(-below)),
        high_s=middle_s * float(np.exp(above)),
    )


def time_s(found: Sequence[Outcome]) -> float | None:
    """Return the time of an iteration, the median over repeats; None if not known."""
    known = [
        each.predicted_s / each.run.header.iterations
        for each in found
        if each.predicted_s is not None
    ]
    return float(np.median(known)) if len(known) == len(found) else None


def range_s(found: Sequence[Outcome]) -> tuple[float, float]:
    """Return the least and the most that an iteration may take, in seconds."""
    wider = [(1.0 + abs(each.miss), each.run.header.iterations, each.result) for each in found]
    return (
        min(result.low_s / miss / count for miss, count, result in wider),
        max(result.high_s * miss / count for miss, count, result in wider),
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
    if fewest < FEWEST:
        return f"{counted(fewest, 'recorded iteration')}, and at least {FEWEST} are needed"
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
    return f"{wide}; repeats differ by {difference(max(solves_s) / min(solves_s) - 1.0)}"


def repeat_width(times_s: Sequence[float]) -> float:
    """Return half the width of a 90 % interval of one more repeat, as a logarithm.

    The logarithms of solve times are assumed normal: noise only adds, in proportion.
    """
    return student_reach(np.log(times_s))


def times_of(run: Run, change: Change) -> SolveTimes:
    """Return the times of a run; several solves as a stretch of bodies without cycles.

    Each of several solves ends within a cycle, so the cycles of the whole do not tell its length.
    """
    solves = solves_in(run)
    if solves == 1:
        return solve_times(run, some_ranks=True)
    if change.iterations is not None:
        raise UsageError(
            f"{run.path} has {solves} solves, and --iterations is of one: record one solve "
            "(hindmost attach --most 1), or omit it."
        )
    return replace(solve_times(run, some_ranks=True), restart=0)
