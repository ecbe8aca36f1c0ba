"""The table of the series of a history, for a terminal."""

from __future__ import annotations

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.history.terms import named
from hindmost.analysis.show.table import NAME, RIGHT, Column, Table
from hindmost.models.changepoint import Detection
from hindmost.text import quantity

MOST_SERIES = 20


def series_table(study: HistoryStudy, most: int = MOST_SERIES) -> Table:
    """Return the table of all series: the worst verdict first, then the newest change."""
    columns = (
        Column("verdict"),
        Column("series", NAME),
        Column("nights", RIGHT),
        Column("level now", RIGHT),
        Column("since"),
        Column("changes", RIGHT),
        Column("outliers", RIGHT),
    )
    rows = []
    for each in study.ranked()[:most]:
        found = each.detection
        regime = found.regimes[-1] if found.regimes else None
        level = quantity(found.level_now, each.series.unit) if found.knows_level else "unknown"
        rows.append(
            (
                each.status(study.since),
                named(each.series.name),
                str(each.nights),
                "" if regime is None else "drifts" if regime.trend else level,
                "too short" if regime is None else each.labels[start_of_level(found)],
                str(len(found.changes)),
                str(outlying_nights(each)),
            )
        )
    return Table(columns=columns, rows=rows)


def start_of_level(found: Detection) -> int:
    """Return the first observation of the last level, after any stretch without a level."""
    if found.last_shift is not None:
        return found.last_shift.index
    start = found.regimes[-1].start
    stops = (each.stop for each in found.unjudged if each.stop < found.observations)
    return max([start, *stops])


def outlying_nights(judged: JudgedSeries) -> int:
    """Return the number of nights with an outlier."""
    return len(
        {
            judged.labels[place][:10]
            for run in judged.detection.outliers
            for place in range(run.start, run.stop)
        }
    )
