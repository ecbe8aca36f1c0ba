"""The JSON of ``hindmost history --json``; other programs rely on it."""

from __future__ import annotations

from typing import Any

from hindmost.analysis.history.dates import date_of, moment
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.study import WARN, HistoryStudy
from hindmost.models.changepoint import effective_settings
from hindmost.records import to_document

JSON_VERSION = 1


def to_json(study: HistoryStudy) -> dict[str, Any]:
    """Return what ``hindmost history --json`` prints."""
    return {
        "version": JSON_VERSION,
        "method": study.method,
        "status": study.status(),
        "since": moment(study.since).isoformat(),
        "until": moment(study.until).isoformat(),
        "least_change_percent": 100.0 * study.least,
        "settings": effective_settings(study.method, study.settings),
        "open": [
            {
                **to_document(each.series.name),
                **change.to_json(each.labels),
                "badge": each.verdict_on(change),
            }
            for each in study.judged
            for change in each.open_before(study.since)
        ]
        + [
            {
                **to_document(each.series.name),
                "date": each.labels[trend.start],
                "before": each.detection.levels_of(trend)[0],
                "after": each.detection.levels_of(trend)[1],
                **trend.to_json(each.labels),
                "badge": WARN,
            }
            for each in study.judged
            for trend in each.open_drifts(study.since)
        ],
        "silent_cases": [
            {"machine": machine, "case": case, "last": date_of(time)}
            for (machine, case), time in study.silent_cases(study.since).items()
        ],
        "silent_machines": {
            machine: date_of(time) for machine, time in study.silent_machines(study.since).items()
        },
        "series": [series_json(each, study.history.source, study.since) for each in study.judged],
        "refused": [{**to_document(name), "reason": why} for name, why in study.refused.items()],
        "failures": [
            {
                "date": date_of(each.time),
                "machine": each.machine,
                "case": each.case,
                "reason": each.reason,
                "file": each.file,
            }
            for each in study.history.failures
        ],
        "parents": dict(study.history.parents),
        "warnings": [*study.history.warnings, *study.remarks],
    }


def series_json(judged: JudgedSeries, source: str, since: float) -> dict[str, Any]:
    """Return it under the keys of the ``history`` contract."""
    found = judged.detection.to_json(judged.labels)
    for record, change in zip(found["changes"], judged.detection.changes, strict=True):
        note = judged.acknowledgement(change)
        record["badge"] = judged.verdict_on(change)
        record["open"] = judged.is_open(change)
        record["known"] = None if note is None else note.reason
        record["commits"] = judged.commits_of(change)
    return {
        "file": source,
        **to_document(judged.series.name),
        "unit": judged.series.unit,
        "smaller_is_better": judged.series.smaller_is_better,
        **found,
        "status": judged.status(since),
        "last": judged.labels[-1],
        "nights": judged.nights,
        "log": to_document(judged.log),
    }
