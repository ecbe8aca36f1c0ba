"""What would help a run, and how much: its recorded solve, replayed with a change.

`whatif` and `report` have these numbers, and no others, for what a change would save.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from msgspec import UnsetType

from hindmost.analysis.runs.configuration import injected_noise, is_loop
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.read import cached
from hindmost.analysis.show.page import Paragraph, Part
from hindmost.analysis.show.table import RIGHT, Column, Table
from hindmost.analysis.whatif.options import Named
from hindmost.analysis.whatif.study import (
    SCENARIOS,
    WIDEST,
    Outcome,
    program_of,
    replay,
    replay_s,
)
from hindmost.errors import DataError, HindmostError, UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.culprit import Culprit
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.partner import RECIPES
from hindmost.models.simulation.program import Program
from hindmost.models.simulation.rerun import WhatIf
from hindmost.output import announce_work
from hindmost.text import percent, seconds, signed_percent

KIND = "gains"
NAMES = {
    "uninjected": "no injected noise",
    "quiet": "no noise",
    "balanced": "equal work",
    "network": "an ideal network",
    "partner": "the pipelined solver",
}
"""By the attribute of `Remedies`, what is changed; `hindmost.models.simulation.rerun.what_if`
predicts the time."""
NARROWEST = 1e-3
"""Half width of an interval, as a share, below which it is not told apart."""
BOTH = (
    "its interval has both, a gain and a loss. Record more iterations, on cores that nothing else "
    "uses"
)
"""Why a change is undecided, unless the replay says why."""
LOST = (
    "ranks lose their cores in MPI, and with less waiting may do so less. Record on cores that "
    "nothing else uses"
)
"""Why equal work is undecided where ranks were interrupted."""
MAX_EVENTS = 2_000_000
"""Events of all ranks up to which a report replays a run."""
INTERRUPTED = 0.02
"""Share of the time that events take beyond their typical cost, from which on equal work may change
that time: a rank that polls longer loses its core more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """The time of a solve with a change.

    Attributes
    ----------
    change : str
        In words.
    recorded_s, predicted_s, low_s, high_s : float
        With the change; ``predicted_s`` is None if the run shows only the interval.
    network_s : float
        On the critical path with the change, in messages and other MPI time.
    why : str
        Why the run shows only the interval, and what to record.
    """

    change: str
    recorded_s: float
    predicted_s: float | None
    low_s: float
    high_s: float
    network_s: float
    why: str = BOTH

    JSON = "change predicted_s interval_s saved_s=saved_range_s"

    @classmethod
    def of(cls, found: Outcome, change: str) -> Remedy:
        """Return what a replay with the change says; its interval has the scatter of iterations."""
        result = found.result
        assert isinstance(result, WhatIf)  # gains are those of replays
        path, wider = result.changed.path, min(float(np.exp(found.scatter)), WIDEST)
        return cls(
            change=change,
            recorded_s=found.run.solve_time_s,
            predicted_s=found.predicted_s,
            low_s=result.low_s / wider,
            high_s=result.high_s * wider,
            network_s=float(path.cost.sum() + path.stay.sum()),
            why=found.withheld.rstrip(".") or BOTH,
        )

    @property
    def interval_s(self) -> tuple[float, float]:
        """The interval of the predicted time, in seconds."""
        return self.low_s, self.high_s

    @property
    def saved_range_s(self) -> tuple[float, float]:
        """The least and the most that the change saves, in seconds; none is below 0."""
        ends = self.recorded_s - self.high_s, self.recorded_s - self.low_s
        return max(ends[0], 0.0), max(ends[1], 0.0)

    @property
    def saved_s(self) -> float:
        """What the change saves, in seconds; from the middle of the interval if need be."""
        middle_s = (
            0.5 * (self.low_s + self.high_s) if self.predicted_s is None else self.predicted_s
        )
        return self.recorded_s - middle_s

    @property
    def sure(self) -> bool:
        """Whether all of the interval saves time."""
        return self.high_s < self.recorded_s

    @property
    def verdict(self) -> str:
        """What the interval decides, as the end of a sentence; nothing where it saves time."""
        if self.sure:
            return ""
        if self.low_s > self.recorded_s:
            return ": it would cost time"
        return f": undecided, because {self.why}"

    @property
    def sentence(self) -> str:
        """What the replay with the change says."""
        return f"With {self.change} the replay takes {self.words}{self.verdict}."

    @property
    def words(self) -> str:
        """The predicted time with its interval."""
        low, high = seconds(self.low_s), seconds(self.high_s)
        if self.predicted_s is None:
            return f"between {low} and {high}"
        change = signed_percent(self.predicted_s / self.recorded_s - 1.0)
        if low == high:  # in the digits that are shown
            half = max((self.high_s - self.low_s) / (2.0 * self.predicted_s), NARROWEST)
            return f"{seconds(self.predicted_s)} ({change}; to within {percent(half)})"
        return f"{seconds(self.predicted_s)} ({change}; interval {low} to {high})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedies:
    """What replays of a run say; None where one is impossible.

    Attributes
    ----------
    quiet : Remedy or None
        Every iteration takes its typical time: no noise.
    balanced : Remedy or None
        All ranks have the same work. Without a prediction if ranks were interrupted in MPI: the
        interval then ends where they still are, and where neither they are nor work varies.
    uninjected : Remedy or None
        Without the noise that was injected; that of the machine stays.
    network : Remedy or None
        Messages and reductions cost nothing once nobody is waited for.
    partner : Remedy or None
        The pipelined partner of a blocking solver, with its own vector operations.
    refused : str
        Why the run cannot be replayed at all; may be empty.
    undecided : mapping of str to str
        Why a replay with a change is impossible, and what to record, by attribute.
    """

    quiet: Remedy | None = None
    balanced: Remedy | None = None
    uninjected: Remedy | None = None
    network: Remedy | None = None
    partner: Remedy | None = None
    refused: str = ""
    undecided: Mapping[str, str] = field(default_factory=dict)

    def largest_first(self) -> list[Remedy]:
        """Return what was replayed."""
        known = [each for each in (getattr(self, name) for name in NAMES) if each is not None]
        return sorted(known, key=lambda each: -each.saved_s)

    @property
    def why_undecided(self) -> dict[str, str]:
        """Why a replay with a change is impossible, by the change in words."""
        return {NAMES[name]: why for name, why in self.undecided.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """A run with a change, its findings, and its culprit and gains if no change was asked for."""

    outcome: Outcome
    findings: list[Finding]
    culprit: Culprit | UnsetType | None
    gains: list[Remedy] | UnsetType
    undecided: dict[str, str] | UnsetType

    JSON = "**outcome findings culprit gains undecided"


def pooled(every: Sequence[Remedies]) -> Remedies:
    """Return what replays of repeats say: medians, with the ends of the widest interval.

    What not all of them say is undecided.
    """
    found: dict[str, Remedy] = {}
    undecided = {name: why for one in every for name, why in one.undecided.items()}
    for name in NAMES:
        known = [each for each in (getattr(one, name) for one in every) if each is not None]
        if known and len(known) == len(every):
            recorded_s = float(np.median([each.recorded_s for each in known]))
            predicted = [each.predicted_s for each in known if each.predicted_s is not None]
            found[name] = Remedy(
                change=NAMES[name],
                recorded_s=recorded_s,
                predicted_s=float(np.median(predicted)) if len(predicted) == len(known) else None,
                low_s=recorded_s * min(each.low_s / each.recorded_s for each in known),
                high_s=recorded_s * max(each.high_s / each.recorded_s for each in known),
                network_s=float(np.median([each.network_s for each in known])),
                why=next((each.why for each in known if each.why != BOTH), BOTH),
            )
    refused = next((one.refused for one in every if one.refused), "")
    return Remedies(**found, refused=refused, undecided=undecided)


def remedies_of(run: Run, *, briefly: bool = False) -> Remedies:
    """Replay a run with each change, or read what was cached.

    Parameters
    ----------
    briefly : bool
        Whether a report waits for it, which does not wait for large runs.
    """
    events = int(np.prod(run.shape("event_work"))) if run.has("event_work") else 0
    if briefly and max(events, run.bodies * run.columns) > MAX_EVENTS:
        return Remedies(
            refused=f"a report replays up to {MAX_EVENTS:,} events; 'hindmost whatif' all of them"
        )
    if run.header.ranks < 2:
        return Remedies(refused="a single rank waits for nobody")
    return cached(run, KIND, {}, Remedies, lambda: replayed(run))


def replayed(run: Run) -> Remedies:
    """Replay a run with each change."""
    announce_work(f"Replaying {run.path.name}", replay_s(run, SCENARIOS * len(NAMES)))
    try:
        program = program_of(run)
    except HindmostError as error:
        return Remedies(refused=str(error).rstrip("."))
    asked = {"quiet": Change(noise=0.0), "balanced": Change(balanced=True)}
    found: dict[str, Remedy] = {}
    undecided: dict[str, str] = {}
    work_s = np.concatenate([run.work_in(rows) for rows in run.blocks()])
    if not (of_rank := work_s.sum(axis=0)).min() > 0.0:
        del asked["balanced"]
        undecided["balanced"] = (
            f"rank {of_rank.argmin()} has no work of its own in the iterations. Record a loop "
            "in which all ranks work"
        )
    if injected_noise(run):
        asked["uninjected"] = Change(uninjected=True)
    asked["network"] = Change(latency=0.0)
    recipe = RECIPES.get(run.header.solver)
    if recipe is not None and run.header.synchronisation == "blocking":
        asked["partner"] = Change(solver=recipe.partner)
    try:
        for name, change in asked.items():
            remedy = replayed_with(run, program, change, NAMES[name])
            if name == "balanced" and isinstance(remedy, Remedy):
                typical = bool(np.median(work_s, axis=0).min() > 0.0)
                remedy = with_less_waiting(run, program, remedy, found.get("quiet"), typical)
            if isinstance(remedy, Remedy):
                found[name] = remedy
            else:
                undecided[name] = remedy
    except DataError as error:
        return Remedies(refused=str(error).rstrip("."))
    if recipe is None and not is_loop(run):
        undecided["partner"] = (
            f"no pipelined partner of this {run.header.solver} is known. Record both forms, "
            "and give the pipelined one's runs with --against"
        )
    return Remedies(**found, refused="", undecided=undecided)


def replayed_with(run: Run, program: Program, change: Change, name: str) -> Remedy | str:
    """Return what a replay with a change says, or why there is none."""
    share = 0.0 if change.of_network else None  # no network costs nothing, whatever its bytes
    try:
        return Remedy.of(replay(run, program, Named(change=change, words=()), share), name)
    except UsageError as error:
        why = str(error).rstrip(".")
        return why[:1].lower() + why[1:]


def with_less_waiting(
    run: Run, program: Program, balanced: Remedy, quiet: Remedy | None, typical: bool
) -> Remedy | str:
    """Return what equal work saves where interruptions in MPI may become fewer, or may not.

    Events then take much longer than is typical of them, on the critical path. The replay keeps
    that as it was recorded. It comes from waiting in part, so that is only one end. The other is
    equal work with typical times.

    Parameters
    ----------
    typical : bool
        Whether all ranks have work in a typical iteration.
    """
    usual_s = 0.0 if quiet is None else quiet.network_s
    if balanced.network_s - usual_s <= INTERRUPTED * balanced.recorded_s:
        return balanced
    change = Change(balanced=True, noise=0.0)
    best = replayed_with(run, program, change, balanced.change) if typical else LOST
    if isinstance(best, str):
        return LOST
    low_s = min(best.low_s, balanced.low_s)
    return replace(balanced, predicted_s=None, low_s=low_s, why=LOST)


def change_words(found: Remedy) -> str:
    """Write by how much the time changes, as a range where only that is known."""
    if found.predicted_s is not None:
        return signed_percent(-found.saved_s / found.recorded_s)
    low, high = (
        signed_percent(each / found.recorded_s - 1.0) for each in (found.low_s, found.high_s)
    )
    return f"{low} to {high}"


def gain_lines(remedies: Remedies) -> list[str]:
    """Return what each change would save, the largest gain first, or why nothing is known."""
    if remedies.refused:
        return [f"What a change would save is undecided: {remedies.refused}."]
    return [
        *(each.sentence for each in remedies.largest_first()),
        *(
            f"With {change}: undecided, because {why}."
            for change, why in remedies.why_undecided.items()
        ),
    ]


def remedy_parts(remedies: Remedies) -> list[Part]:
    """Return the table of replays, or why there are none."""
    if remedies.refused:
        return [Paragraph(f"Not replayed: {remedies.refused}.", quiet=True)]
    rows = [
        (
            each.change,
            "unknown" if each.predicted_s is None else seconds(each.predicted_s),
            f"{seconds(each.low_s)} to {seconds(each.high_s)}",
            change_words(each),
        )
        for each in remedies.largest_first()
    ]
    rows += [(change, "undecided", "", "") for change in remedies.why_undecided]
    columns = (
        Column("replayed with"),
        Column("predicted", RIGHT),
        Column("interval", RIGHT),
        Column("change", RIGHT),
    )
    note = "no noise: every iteration takes its typical time. 'hindmost whatif' has more changes."
    whys = (f"{change}: {why}." for change, why in remedies.why_undecided.items())
    return [Table(columns=columns, rows=rows, notes=(note, *whys))]
