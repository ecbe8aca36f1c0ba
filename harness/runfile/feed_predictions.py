"""Predictions of the next cycle in a frame of a live feed."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPrediction:
    """The predictions of the next cycle; part of a frame.

    The names of the predictors are in the ``solve`` line, ``predictors``.

    Attributes
    ----------
    cycle : int
        The next cycle of this run, from 1.
    next_s : tuple of (float or None)
        Prediction of each predictor in seconds; None if it has no data yet.
    error_percent : tuple of (float or None)
        Mean absolute error of each over its last predictions.
    decides : int
        Index of the predictor for decisions.
    interval_s : (float, float) or None
        90 % prediction interval of that predictor.
    rest_s : float or None
        Predicted time of all remaining cycles, assuming the work of this one.
    """

    cycle: int
    next_s: tuple[float | None, ...]
    error_percent: tuple[float | None, ...]
    decides: int
    interval_s: tuple[float, float] | None
    rest_s: float | None

    def text(self) -> str:
        """Return the JSON of the frame: whole nanoseconds, and errors in hundredths."""
        return json.dumps(
            {
                "cycle": self.cycle,
                "next_ns": [whole_ns(each) for each in self.next_s],
                "error_percent": [
                    None if each is None else round(each, 2) for each in self.error_percent
                ],
                "decides": self.decides,
                "interval_ns": None
                if self.interval_s is None
                else [whole_ns(each) for each in self.interval_s],
                "rest_ns": whole_ns(self.rest_s),
            },
            allow_nan=False,
            separators=(",", ":"),
        )

    @classmethod
    def of(cls, frame: dict[str, Any]) -> FeedPrediction | None:
        """Return the predictions of a frame; None if it has none, or invalid ones."""
        try:
            told = frame["foreseen"]
            interval = told["interval_ns"]
            found = cls(
                cycle=int(told["cycle"]),
                next_s=tuple(seconds_of(each) for each in told["next_ns"]),
                error_percent=tuple(
                    None if each is None else float(each) for each in told["error_percent"]
                ),
                decides=int(told["decides"]),
                interval_s=None if interval is None else (interval[0] * 1e-9, interval[1] * 1e-9),
                rest_s=seconds_of(told["rest_ns"]),
            )
        except (KeyError, TypeError, ValueError, IndexError):
            return None
        same = len(found.next_s) == len(found.error_percent)
        return found if same and 0 <= found.decides < len(found.next_s) else None


def whole_ns(value_s: float | None) -> int | None:
    """Return a time in nanoseconds; None if unknown."""
    return None if value_s is None or not math.isfinite(value_s) else round(value_s * 1e9)


def seconds_of(value_ns: int | None) -> float | None:
    """Return a time of a feed in seconds."""
    return None if value_ns is None else value_ns * 1e-9
