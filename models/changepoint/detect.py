"""The entry: find the changes of a series, by the method of a name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any

from numpy.typing import ArrayLike

from hindmost.errors import UsageError
from hindmost.models.changepoint.detection import Detection
from hindmost.models.changepoint.observations import Labels, check
from hindmost.models.changepoint.report.method import detect_as_report
from hindmost.models.changepoint.robust.method import detect_robustly
from hindmost.text import choose

METHODS: dict[str, Callable[..., Detection]] = {
    "robust": detect_robustly,
    "report": detect_as_report,
}
"""By name; each is called with `CheckedSeries` and its own settings."""


def default_settings(method: str) -> dict[str, Any]:
    """Return all settings of a method by name, with their defaults.

    Raises
    ------
    UsageError
        There is no such method.
    """
    return {
        name: parameter.default
        for name, parameter in signature(chosen(method)).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def least_change(method: str) -> float:
    """Return the smallest relative change that a method reports; 0 where it has no such limit."""
    return math.expm1(float(default_settings(method).get("least", 0.0)))


def chosen(method: str) -> Callable[..., Detection]:
    """Return the method of a name."""
    if method not in METHODS:
        raise UsageError(f"Unknown method {method!r}; {choose(METHODS)}.")
    return METHODS[method]


def detect(
    values: ArrayLike,
    *,
    times: ArrayLike | None = None,
    day: float = 1.0,
    nights: Labels | None = None,
    confirmed: ArrayLike = (),
    smaller_is_better: bool = True,
    method: str = "robust",
    **settings: Any,
) -> Detection:
    """Find the changes in a series of times, or of other results.

    Parameters
    ----------
    values : float array, shape (observation,), seconds
        Positive, in the order of time.
    times : float array, shape (observation,), optional
        Ascending; they date the results, and define the recent days.
    day : float
        A day in the unit of the times.
    nights : sequence, shape (observation,), optional
        Labels: all runs of a night count as one night for minimum lengths and for confirmation,
        but changes may lie between them. By default, every observation is a night.
    confirmed : int array, shape (change,), optional
        First observations of the changes that an earlier pass, of fewer nights, confirmed. They
        stay unless the evidence against them is clear (``keep`` of the robust method).
    method : str
        One of `METHODS`.
    **settings
        Of the method: see `robust.method.detect_robustly` and `report.method.detect_as_report`.

    Raises
    ------
    DataError
        Values, times or labels are invalid; the message says what to do.
    UsageError
        There is no such method or setting, or it is out of range.
    """
    known = default_settings(method)
    for name in settings.keys() - known.keys():
        raise UsageError(f"The {method} method has no setting {name!r}; {choose(known)}.")
    found = chosen(method)(check(values, times, nights, confirmed), **settings)
    return replace(found, smaller_is_better=smaller_is_better, day=day)
