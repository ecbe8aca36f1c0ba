"""A judged series: its verdicts, with acknowledgements and dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from hindmost.analysis.history.acknowledgements import Acknowledgement
from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.readers.history import NightlySeries
from hindmost.models.changepoint import ChangePoint, Event, Trend
from hindmost.models.changepoint.changes import WITHIN
from hindmost.models.changepoint.verdicts import Verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeries(Verdicts):
    """A series, what was found in it, and the verdicts.

    Attributes
    ----------
    series : NightlySeries
    detection : Detection
        Its indices are those of the series, its times are days since 1970, UTC. All methods here
        expect seconds since 1970, UTC.
    log : tuple of Event
        How the reported changes came about, with revisions and reasons; empty without a state.
    known : tuple of Acknowledgement
        Changes that a person has acknowledged.
    labels : tuple of str, one an observation
        Dates, as ``2020-02-26``; with the time of the day where a day has several runs.
    """

    series: NightlySeries
    log: tuple[Event, ...] = ()
    known: tuple[Acknowledgement, ...] = ()
    labels: tuple[str, ...]

    DAY: ClassVar[float] = SECONDS_A_DAY

    @property
    def times(self) -> Sequence[float]:
        """When the observations were made: seconds since 1970, UTC."""
        times: Sequence[float] = self.series.times  # type: ignore[assignment]
        return times

    def is_known(self, change: ChangePoint) -> bool:
        """Tell whether a change is acknowledged."""
        return self.acknowledgement(change) is not None

    def is_known_drift(self, trend: Trend) -> bool:
        """Tell whether a drift is acknowledged."""
        return self.drift_note(trend) is not None

    def acknowledgement(self, change: ChangePoint) -> Acknowledgement | None:
        """Return the acknowledgement of a change, if there is one."""
        return next((note for note in self.known if self.meant(note) == change), None)

    def meant(self, note: Acknowledgement) -> ChangePoint | None:
        """Return the change that an acknowledgement matches: the nearest that may lie there."""
        noted = date.fromisoformat(note.date)
        may = [
            change
            for change in self.detection.changes
            if note.covers(*(self.labels[place] for place in self.places_of(change)))
        ]
        return min(
            may,
            key=lambda change: abs(date.fromisoformat(self.labels[change.index][:10]) - noted),
            default=None,
        )

    def places_of(self, change: ChangePoint) -> tuple[int, int]:
        """Return the observations between which a change may lie, also after it has moved."""
        last = len(self.labels) - 1
        return (
            max(min(change.interval[0], change.index) - WITHIN, 0),
            min(max(change.interval[1], change.index) + WITHIN, last),
        )

    @property
    def nights(self) -> int:
        """The number of nights with a result."""
        return len({label[:10] for label in self.labels})

    def drift_note(self, trend: Trend) -> Acknowledgement | None:
        """Return the acknowledgement whose date lies in a drift, and that matches no change."""
        first, last = self.labels[trend.start], self.labels[trend.stop - 1]
        return next(
            (note for note in self.known if note.covers(first, last) and self.meant(note) is None),
            None,
        )

    def commits_of(self, change: ChangePoint) -> list[str]:
        """Return the commits of the last observation before a change and of the first after it.

        They belong to the ends of its interval: the change lies between them.
        """
        first, last = change.interval
        return [self.series.commits[max(first - 1, 0)], self.series.commits[last]]
