"""A judged history for other programs: JSON, OpenMetrics, and a message for a webhook.

Metrics are gauges without times of their own, so that Prometheus' node exporter takes them from a
file ``NAME.prom``: the verdict, the level, the age of the newest result, the open changes, failed
runs. The message is ``{"text": ...}``, as Slack and Mattermost take it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hindmost.analysis.history.change_groups import ChangeGroup, NightChange
from hindmost.analysis.history.change_sentences import group_lines
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


PREFIX = "hindmost_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """A family of metrics.

    Attributes
    ----------
    name, meaning : str
    samples : list of (mapping, float)
        Labels and value.
    """

    name: str
    meaning: str
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield its lines."""
        if not self.samples:
            return
        yield f"# TYPE {PREFIX}{self.name} gauge"
        yield f"# HELP {PREFIX}{self.name} {self.meaning}"
        for labels, value in self.samples:
            inside = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
            yield f"{PREFIX}{self.name}{{{inside}}} {value:.9g}"


def escaped(text: str) -> str:
    """Return a text as the value of a label."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", " ")):
        text = text.replace(sign, written)
    return text


def open_metrics(study: HistoryStudy) -> str:
    """Return the text."""
    verdict = Gauge(name="verdict", meaning="1 for the verdict on a series in the last days.")
    level = Gauge(name="level", meaning="Level of a series now, in its unit (label unit).")
    newest = Gauge(name="newest_timestamp_seconds", meaning="Time of the newest result.")
    change = Gauge(name="open_change_ratio", meaning="Level after an open change over that before.")
    failed = Gauge(name="failed_runs", meaning="Failed runs of a case in the last days.")
    silent = Gauge(name="silent", meaning="1 for a case without a result that was due.")
    status = study.status()
    whole = Gauge(name="status", meaning="1 for the worst verdict on all.")
    whole.samples.extend([({"verdict": name}, float(name == status)) for name in VERDICTS])
    for judged in study.judged:
        name = judged.series.name
        labels = {"machine": name.machine, "case": name.case, "timer": name.timer}
        own = judged.status(study.since)
        verdict.samples.append(({**labels, "verdict": own}, 1.0))
        newest.samples.append((labels, float(judged.series.times[-1])))
        if judged.detection.regimes and math.isfinite(judged.detection.level_now):
            unit = {"unit": judged.series.unit}
            level.samples.append(({**labels, **unit}, judged.detection.level_now))
        for found in judged.detection.findings:
            if judged.is_open(found):
                date = {"date": judged.labels[found.last][:10]}
                change.samples.append(({**labels, **date}, 1.0 + found.effect))
    for (machine, case), count in study.failed_cases().items():
        failed.samples.append(({"machine": machine, "case": case}, float(count)))
    machines, cases = study.silent_machines(), study.silent_cases()
    for machine, case in study.results():
        missing = machine in machines or (machine, case) in cases
        silent.samples.append(({"machine": machine, "case": case}, float(missing)))
    return metrics_text([whole, verdict, level, newest, change, failed, silent])


def metrics_text(gauges: Iterable[Gauge]) -> str:
    """Return families of metrics as a text."""
    lines = [line for gauge in gauges for line in gauge.lines()]
    return "\n".join([*lines, "# EOF", ""])


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
    # Slack reads these three as marks of its own.
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, written)
    return json.dumps({"text": text}) + "\n"
