"""The one entry: a series in, its changes out, by the method of a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from hindmost.errors import UsageError
from hindmost.models.changepoint.observations import Labels, check
from hindmost.models.changepoint.report.method import detect_as_report
from hindmost.models.changepoint.results import Detection
from hindmost.models.changepoint.robust.method import detect_robustly

METHODS: dict[str, Callable[..., Detection]] = {
    "robust": detect_robustly,
    "report": detect_as_report,
}
"""By the name that `detect` takes; each takes `Observations` and its own settings."""


def detect(
    values: ArrayLike,
    *,
    times: ArrayLike | None = None,
    days: Labels | None = None,
    commits: Labels | None = None,
    method: str = "robust",
    **settings: Any,
) -> Detection:
    """Find the changes in a series of times.

    Parameters
    ----------
    values : float array, shape (observation,), seconds
        Positive, in the order of time.
    times : float array, shape (observation,), days, optional
        Must not fall; they date the results, and the recent days count in them.
    days : sequence, shape (observation,), optional
        Labels: changes lie only between days, and runs of one day are one night.
    commits : sequence, shape (observation,), optional
        Labels: changes lie only between commits.
    method : str
        One of `METHODS`.
    **settings
        Of the method: see `robust.settings.RobustSettings`, and `report.method.detect_as_report`.

    Raises
    ------
    DataError
        Values or times that are not what they should be; the message says what to do.
    UsageError
        There is no such method or setting, or it is out of range.
    """
    if method not in METHODS:
        raise UsageError(f"There is no method {method!r}: choose {' or '.join(METHODS)}.")
    return METHODS[method](check(values, times, days, commits), **settings)
