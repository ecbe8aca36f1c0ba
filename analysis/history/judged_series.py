"""A judged series: its verdicts, acknowledgements and dates, and the terms for it in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from hindmost.analysis.history.acknowledgements import Acknowledgement
from hindmost.analysis.readers.history import NightlySeries, SeriesName
from hindmost.models.changepoint import ChangePoint, Event
from hindmost.models.changepoint.changes import OF_TIMES, WITHIN, Finding
from hindmost.models.changepoint.detection import PASS, WARN, Verdicts
from hindmost.text import quantity

FEW, MANY = 5, 30
"""Entries of a list within a report, and of a list that is the report; more are counted."""


def worse_noun(units: set[str]) -> tuple[str, str]:
    """Return the noun for a change for the worse in series of these units: singular, plural."""
    if units <= {"s"}:
        return "slowdown", "slowdowns"
    return "change for the worse", "changes for the worse"


def direction_word(units: set[str], *, worse: bool) -> str:
    """Return the adjective for series of these units: slower or faster, else worse or better."""
    if units <= {"s"}:
        return OF_TIMES[0] if worse else OF_TIMES[1]
    return "worse" if worse else "better"


def named(name: SeriesName) -> str:
    """Return a series' name without the colon at the end of some timers."""
    return timer_name(str(name))


def timer_name(timer: str) -> str:
    """Return a timer's name without a colon at its end."""
    return timer.rstrip(": ")


def signed(value: float, unit: str) -> str:
    """Return a difference with its sign and unit."""
    return f"{'+' if value >= 0.0 else '-'}{quantity(abs(value), unit)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeries(Verdicts):
    """A series, what was found in it, and the verdicts.

    Attributes
    ----------
    series : NightlySeries
    detection : Detection
        Its indices are those of the series; all times are seconds since 1970, UTC.
    log : tuple of Event
        How the reported changes came about, with revisions and reasons; empty without a state.
    known : tuple of Acknowledgement
        Changes that a person has acknowledged.
    labels : tuple of str, one an observation
        Dates, as ``2020-02-26``; with the time of the day where a day has several runs.
    fell_silent : bool
        Whether a result of its machine or case was due and did not come.
    """

    series: NightlySeries
    log: tuple[Event, ...] = ()
    known: tuple[Acknowledgement, ...] = ()
    labels: tuple[str, ...]
    fell_silent: bool = False

    def status(self, since: float) -> str:
        """Return the worst verdict after a time; what fell silent does not pass."""
        verdict = Verdicts.status(self, since)
        return WARN if verdict == PASS and self.fell_silent else verdict

    def is_known(self, finding: Finding) -> bool:
        """Tell whether a change or drift is acknowledged."""
        return self.acknowledgement(finding) is not None

    def acknowledgement(self, finding: Finding) -> Acknowledgement | None:
        """Return the acknowledgement of a change or drift, if there is one."""
        return next((note for note in self.known if self.meant(note) == finding), None)

    def meant(self, note: Acknowledgement) -> Finding | None:
        """Return what an acknowledgement matches, if it concerns this series.

        The nearest of the changes that may lie at its date, else the drift that contains it.
        """
        noted = date.fromisoformat(note.date)
        changes = (step for step in self.detection.steps if self.may_be(note, step))
        nearest = min(
            changes,
            key=lambda change: abs(date.fromisoformat(self.labels[change.index][:10]) - noted),
            default=None,
        )
        drifts = (trend for trend in self.detection.trends if self.may_be(note, trend))
        return next(drifts, None) if nearest is None else nearest

    def may_be(self, note: Acknowledgement, finding: Finding) -> bool:
        """Tell whether the date of an acknowledgement lies in a change or drift."""
        first, last = finding.interval
        if isinstance(finding, ChangePoint):
            first, last = self.places_of(finding)
        return note.covers(self.labels[first], self.labels[last])

    def places_of(self, finding: Finding) -> tuple[int, int]:
        """Return the observations between which a change may lie, also after it has moved."""
        last = len(self.labels) - 1
        return (
            max(min(finding.interval[0], finding.index) - WITHIN, 0),
            min(max(finding.interval[1], finding.index) + WITHIN, last),
        )

    @property
    def nights(self) -> int:
        """The number of nights with a result."""
        return len({label[:10] for label in self.labels})
