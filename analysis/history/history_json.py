"""The JSON of ``hindmost history --json``; other programs rely on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hindmost.analysis.history.change_groups import NightChange
from hindmost.analysis.history.dates import date_of, moment
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.state import FALSE_SHARE
from hindmost.analysis.history.study import GATES, HistoryStudy
from hindmost.analysis.readers.history import SeriesName
from hindmost.models.changepoint import Regime, default_settings


@dataclass(frozen=True, slots=True)
class DatedRegime:
    """Observations between two changes, with the first and the last date."""

    of: JudgedSeries
    found: Regime

    JSON = "dates **found"

    def dates(self) -> tuple[str, str]:
        """Return the first and the last date."""
        return self.of.labels[self.found.start], self.of.labels[self.found.stop - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesEntry:
    """A series with what was found in it."""

    of: JudgedSeries
    file: str
    changes: list[NightChange]
    outliers: list[str]
    trends: list[NightChange]
    jump: NightChange | None
    visible_step_percent: float | None
    regimes: list[DatedRegime]
    level_now: float | None
    status: str

    JSON = (
        "file **of.series.name unit=of.series.unit "
        "smaller_is_better=of.series.smaller_is_better method=of.detection.method "
        "observations=of.detection.observations changes outliers trend trends jump "
        "visible_step_percent regimes level_now "
        "too_short=of.detection.too_short status last nights=of.nights log=of.log"
    )

    @classmethod
    def made(cls, judged: JudgedSeries, study: HistoryStudy) -> SeriesEntry:
        """Return the entry of a series of a study."""
        found, labels = judged.detection, judged.labels
        step = judged.visible_step(study.since)
        return cls(
            of=judged,
            file=study.history.source,
            changes=[NightChange.of(study, judged, change) for change in found.changes],
            outliers=[labels[at] for run in found.outliers for at in range(run.start, run.stop)],
            trends=[NightChange.of(study, judged, trend) for trend in found.trends],
            jump=None if found.jump is None else NightChange.of(study, judged, found.jump),
            visible_step_percent=100.0 * step if math.isfinite(step) else None,
            regimes=[DatedRegime(judged, regime) for regime in found.regimes],
            level_now=found.level_now if found.regimes else None,
            status=judged.status(study.since),
        )

    @property
    def trend(self) -> NightChange | None:
        """The last drift."""
        return self.trends[-1] if self.trends else None

    @property
    def last(self) -> str:
        """The date of the last observation."""
        return self.of.labels[-1]


@dataclass(frozen=True, slots=True)
class RefusedSeries:
    """A series that cannot be judged, and why."""

    name: SeriesName
    reason: str

    JSON = "**name reason"


@dataclass(frozen=True, slots=True)
class SilentCase:
    """A case without recent results."""

    machine: str
    case: str
    last: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed run."""

    date: str
    machine: str
    case: str
    reason: str
    file: str


def history_json(study: HistoryStudy) -> dict[str, Any]:
    """Return what ``hindmost history --json`` prints."""
    since, judged, history = study.since, study.judged, study.history
    return {
        "method": study.method,
        "status": study.status(),
        "fails_on": [gate for gate in GATES if study.fails(gate)],
        "since": moment(since).isoformat(),
        "until": moment(study.until).isoformat(),
        "least_change_percent": 100.0 * study.least,
        "settings": default_settings(study.method),
        "false_discovery_rate": FALSE_SHARE,
        "open": [
            NightChange.of(study, each, found)
            for each in judged
            for found in each.open_before(since)
        ],
        "silent_cases": [
            SilentCase(*name, date_of(time)) for name, time in study.silent_cases().items()
        ],
        "silent_machines": {
            machine: date_of(time) for machine, time in study.silent_machines().items()
        },
        "series": [SeriesEntry.made(each, study) for each in judged],
        "refused": [RefusedSeries(name, why) for name, why in study.refused.items()],
        "failures": [
            Failure(
                date_of(failure.time), failure.machine, failure.case, failure.reason, failure.file
            )
            for failure in history.failures
        ],
        "parents": history.parents,
        "warnings": history.warnings,
    }
