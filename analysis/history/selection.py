"""The part of a study whose series have a machine, case or timer."""

from __future__ import annotations

from dataclasses import replace

from hindmost.analysis.history.name_patterns import fits
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.history.terms import FEW
from hindmost.analysis.readers.history import FailedRun, SeriesName
from hindmost.analysis.readers.remarks import first_few
from hindmost.errors import UsageError


def select_series(
    study: HistoryStudy,
    *,
    machine: str | None = None,
    case: str | None = None,
    timer: str | None = None,
) -> HistoryStudy:
    """Keep the series of a machine, case and timer; ``*`` and ``?`` are wildcards.

    Raises
    ------
    UsageError
        There is no such series.
    """
    wanted = {
        key: pattern
        for key, pattern in (("machine", machine), ("case", case), ("timer", timer))
        if pattern is not None
    }
    if not wanted:
        return study

    def is_wanted(name: SeriesName | FailedRun) -> bool:
        """Tell whether what has a name is wanted; a failed run has no timer."""
        return all(fits(pattern, getattr(name, key, pattern)) for key, pattern in wanted.items())

    judged = tuple(each for each in study.judged if is_wanted(each.series.name))
    if not judged:
        given = ", ".join(f"{key} {pattern!r}" for key, pattern in wanted.items())
        refused = [f"{name}: {why}" for name, why in study.refused.items() if is_wanted(name)]
        if refused:
            raise UsageError(f"No series with {given} can be judged: {first_few(refused, FEW)}")
        names = [str(each.series.name) for each in study.judged]
        raise UsageError(
            f"No series has {given}: omit that to see all {len(names)}, or use wildcards, as in "
            f"'ant-*'. There are {first_few(names, FEW)}."
        )
    failures = tuple(filter(is_wanted, study.history.failures))
    return replace(study, judged=judged, history=replace(study.history, failures=failures))
