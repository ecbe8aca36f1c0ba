"""A judged history for other programs: JSON, OpenMetrics, and a message for a webhook.

Metrics are gauges without times of their own, so that Prometheus' node exporter takes them from a
file ``NAME.prom``: the verdict, the level, the age of the newest result, the open changes, failed
runs. The message is ``{"text": ...}``, as Slack and Mattermost take it.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.analysis.history.change_groups import (
    ChangeGroup,
    NightChange,
    changes_open_before,
    group_lines,
)
from hindmost.analysis.history.dates import date_of, moment
from hindmost.analysis.history.headline import failure_line, headline, scope, silence_lines
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.state import FALSE_SHARE
from hindmost.analysis.history.study import GATES, HistoryStudy
from hindmost.analysis.readers.history import SeriesName
from hindmost.models.changepoint import Regime, default_settings
from hindmost.models.changepoint.detection import VERDICTS
from hindmost.text import counted


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
        "open": changes_open_before(study),
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


METRICS = {
    "status": "1 for the worst verdict on all.",
    "verdict": "1 for the verdict on a series in the last days.",
    "level": "Level of a series now, in its unit (label unit).",
    "newest_timestamp_seconds": "Time of the newest result.",
    "open_change_ratio": "Level after an open change over that before.",
    "failed_runs": "Failed runs of a case in the last days.",
    "silent": "1 for a case without a result that was due.",
}
"""Name to meaning, without the prefix of all."""


def open_metrics(study: HistoryStudy) -> str:
    """Return the text of the metrics; those without a sample are left out."""
    samples: dict[str, list[str]] = {name: [] for name in METRICS}

    def put(metric: str, value: float, *name: str, **more: str) -> None:
        labels = dict(zip(("machine", "case", "timer"), name, strict=False)) | more
        inside = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
        samples[metric].append(f"hindmost_{metric}{{{inside}}} {value:.9g}")

    status = study.status()
    for verdict in VERDICTS:
        put("status", verdict == status, verdict=verdict)
    for judged in study.judged:
        name, found = judged.series.name.parts, judged.detection
        put("verdict", 1.0, *name, verdict=judged.status(study.since))
        put("newest_timestamp_seconds", float(judged.series.times[-1]), *name)
        if found.regimes and math.isfinite(found.level_now):
            put("level", found.level_now, *name, unit=judged.series.unit)
        for change in found.findings:
            if judged.is_open(change):
                date = judged.labels[change.last][:10]
                put("open_change_ratio", 1.0 + change.effect, *name, date=date)
    for case, count in study.failed_cases().items():
        put("failed_runs", count, *case)
    machines, cases = study.silent_machines(), study.silent_cases()
    for case in study.results():
        put("silent", case[0] in machines or case in cases, *case)
    lines = []
    for metric, meaning in METRICS.items():
        if samples[metric]:
            lines += [f"# TYPE hindmost_{metric} gauge", f"# HELP hindmost_{metric} {meaning}"]
            lines += samples[metric]
    return "\n".join([*lines, "# EOF", ""])


def escaped(text: str) -> str:
    """Return a text as the value of a label."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", " ")):
        text = text.replace(sign, written)
    return text


MAX_LINES, MAX_CHARACTERS = 20, 3500
"""Of a message; the last line counts the others."""


def webhook_text(study: HistoryStudy, groups: Sequence[ChangeGroup]) -> str:
    """Return the message: the verdict in one line, then the changes, as JSON on one line."""
    lines = [*silence_lines(study), *group_lines(groups), *filter(None, [failure_line(study)])]
    shown: list[str] = []
    for line in lines:
        if len(shown) == MAX_LINES or sum(map(len, shown)) + len(line) > MAX_CHARACTERS:
            break
        shown.append(line)
    if left := len(lines) - len(shown):
        shown.append(f"and {counted(left, 'more line')}")
    text = "\n".join([f"hindmost: {headline(study)}", scope(study), *shown])
    # Slack reads these signs as marks of its own.
    return json.dumps({"text": html.escape(text, quote=False)}) + "\n"
