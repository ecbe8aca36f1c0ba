"""A study cut down to the series that were asked for."""

from __future__ import annotations

from dataclasses import replace

from hindmost.analysis.history.acknowledgements import fits
from hindmost.analysis.history.study import HistoryStudy
from hindmost.analysis.readers.remarks import some
from hindmost.errors import UsageError

MOST = 3
"""Series that are named in a message."""


def only(
    study: HistoryStudy,
    *,
    machine: str | None = None,
    case: str | None = None,
    timer: str | None = None,
) -> HistoryStudy:
    """Keep the series of a machine, case and timer; names may hold ``*`` and ``?``.

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
    judged = tuple(
        each
        for each in study.judged
        if all(fits(pattern, getattr(each.series.name, key)) for key, pattern in wanted.items())
    )
    if not judged:
        told = ", ".join(f"{key} {pattern!r}" for key, pattern in wanted.items())
        refused = [
            f"{name}: {why}"
            for name, why in study.refused.items()
            if all(fits(pattern, getattr(name, key)) for key, pattern in wanted.items())
        ]
        if refused:
            raise UsageError(f"No series that has {told} can be judged: {some(refused, MOST)}")
        names = [str(each.series.name) for each in study.judged]
        raise UsageError(
            f"No series has {told}: leave that out to see all {len(names)}, or use * and ?, as in "
            f"'ant-*'. There are {some(names, MOST)}."
        )
    failures = tuple(
        each
        for each in study.history.failures
        if all(fits(wanted[key], getattr(each, key)) for key in wanted if key != "timer")
    )
    return replace(study, judged=judged, history=replace(study.history, failures=failures))
