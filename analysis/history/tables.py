"""The table of the series of a history, for a terminal."""

from __future__ import annotations

from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.history.terms import MANY, named
from hindmost.analysis.show.table import NAME, RIGHT, Column, Table
from hindmost.models.changepoint.verdicts import PASS
from hindmost.text import quantity


def series_table(study: HistoryStudy, most: int = MANY) -> Table:
    """Return the table of the series that do not pass: the worst verdict first."""
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
    for each in [one for one in study.ranked() if one.status(study.since) != PASS][:most]:
        found = each.detection
        regime = found.regimes[-1] if found.regimes else None
        level = quantity(found.level_now, each.series.unit) if found.regimes else ""
        rows.append(
            (
                each.status(study.since),
                named(each.series.name),
                str(each.nights),
                "drifts" if regime and regime.trend else level,
                "too short" if regime is None else each.labels[regime.start],
                str(len(found.changes)),
                str(outlying_nights(each)),
            )
        )
    return Table(columns=columns, rows=rows)


def outlying_nights(judged: JudgedSeries) -> int:
    """Return the number of nights with an outlier."""
    return len(
        {
            judged.labels[place][:10]
            for run in judged.detection.outliers
            for place in range(run.start, run.stop)
        }
    )
