"""What ``hindmost history --json`` prints: other programs rely on it."""

from __future__ import annotations

import math
from typing import Any

from hindmost.analysis.history.labels import date_of, moment
from hindmost.analysis.history.study import HistoryStudy

JSON_VERSION = 1


def to_json(study: HistoryStudy) -> dict[str, Any]:
    """Return what ``hindmost history --json`` prints."""
    answer: dict[str, Any] = strict(
        {
            "version": JSON_VERSION,
            "method": study.method,
            "status": study.status(),
            "since": moment(study.since).isoformat(),
            "until": moment(study.until).isoformat(),
            "series": [each.to_json(study.history.source, study.since) for each in study.judged],
            "refused": [
                {"machine": name.machine, "case": name.case, "timer": name.timer, "reason": why}
                for name, why in study.refused.items()
            ],
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
    )
    return answer


def strict(value: Any) -> Any:
    """Return plain data with null for every number that JSON does not have."""
    if isinstance(value, dict):
        return {key: strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [strict(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
