"""The data in a history page: deflated JSON of short numbers."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from hindmost.analysis.history.change_sentences import revision_words
from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.page.badges import change_badge, series_badge
from hindmost.analysis.history.page.regime_statistics import regime_statistics
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.show.html_charts import rounded
from hindmost.models.changepoint import ChangePoint, Jump
from hindmost.printable import page_json
from hindmost.records import to_document

SECONDS_A_MINUTE = 60.0


class Calendars:
    """Nights and their commits, which the timers of a case mostly share."""

    def __init__(self) -> None:
        self.commits: dict[str, int] = {}
        self.numbers: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}

    def number(self, judged: JudgedSeries) -> int:
        """Return the number of a series' nights."""
        series = judged.series
        minutes = np.rint(series.times / SECONDS_A_MINUTE).astype(np.int64)
        steps = np.diff(minutes, prepend=0)
        texts = (json.dumps(dict(parts)) for parts in series.commit_parts)
        codes = [self.commits.setdefault(each, len(self.commits)) for each in texts]
        key = (tuple(steps.tolist()), tuple(codes))
        return self.numbers.setdefault(key, len(self.numbers))

    def data(self) -> dict[str, Any]:
        """Return all nights: steps in minutes since 1970, and numbers of commits."""
        return {
            "commits": [json.loads(parts) for parts in self.commits],
            "calendars": [{"steps": steps, "commits": codes} for steps, codes in self.numbers],
        }


def history_data(study: HistoryStudy) -> dict[str, Any]:
    """Return the data that the scripts need."""
    calendars = Calendars()
    failed: dict[tuple[str, str], list[float]] = {}
    for run in study.history.failures:
        days = round(run.time / SECONDS_A_DAY, 3)
        failed.setdefault((run.machine, run.case), []).append(days)
    series = [
        {
            **to_document(judged.series.name),
            "calendar": calendars.number(judged),
            "badge": series_badge(judged, study.since),
            **series_data(judged, study.level, study.since),
            "failed": failed.get((judged.series.name.machine, judged.series.name.case), []),
        }
        for judged in study.judged
    ]
    return {
        "level": 100.0 * study.level,
        **calendars.data(),
        "series": series,
    }


def series_data(judged: JudgedSeries, level: float, since: float) -> dict[str, Any]:
    """Return the values of a series and its findings."""
    series, found = judged.series, judged.detection
    jump = [each for each in judged.recent(since) if isinstance(each, Jump)]
    steps = [*found.changes, *jump]
    return {
        "unit": series.unit,
        "less_is_better": series.smaller_is_better,
        "values": rounded(series.values),
        "changes": [change_data(judged, change, since) for change in steps],
        "regimes": regime_statistics(judged, level),
        "outliers": [[run.start, run.stop] for run in found.outliers],
        "trends": [
            {
                "start": trend.start,
                "stop": trend.stop,
                "effect": short([100 * trend.effect, *(100 * e for e in trend.effect_interval)]),
                "p": short([trend.p_anywhere])[0],
            }
            for trend in found.trends
        ],
        "too_short": found.too_short,
        "log": [revision_words(event) for event in judged.log if event.revises],
    }


def change_data(judged: JudgedSeries, change: ChangePoint, since: float) -> dict[str, Any]:
    """Return a change: its effect in per cent with its interval, and its verdict."""
    note = judged.acknowledgement(change)
    return {
        "index": change.index,
        "interval": change.interval,
        "levels": short([change.before, change.after]),
        "effect": short([100.0 * change.effect, *(100.0 * end for end in change.effect_interval)]),
        "p": short([change.p_anywhere])[0],
        "seen": [change.seen, change.needed],
        "badge": change_badge(judged, change, since),
        **({} if note is None else {"known": note.reason}),
    }


def short(values: Sequence[float]) -> list[float | None]:
    """Round numbers to the digits that are visible."""
    return rounded(np.array(values))


def packed(data: dict[str, Any]) -> str:
    """Deflate data into text for a page."""
    text = page_json(data, allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
