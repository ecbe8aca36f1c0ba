"""One engine gives all verdicts, and it knows whether less or more is better."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analysis.history.planted import history, noise, series, stepped

from hindmost.analysis.history.history_json import history_json
from hindmost.analysis.history.study import judge_history
from hindmost.models.changepoint import detect, least_change
from hindmost.models.changepoint.robust.method import LEAST
from hindmost.output import plain

DRIFTING = 100.0 * np.exp(np.linspace(0.0, 0.3, 60)) * noise(4, 60, 1.0)


@pytest.mark.parametrize(
    ("values", "smaller_is_better", "verdict"),
    [
        (stepped(0, by=-0.3), False, "fail"),
        (stepped(0, by=-0.3), True, "pass"),
        (stepped(0, by=0.3), True, "fail"),
        (stepped(0, by=0.3), False, "pass"),
        (DRIFTING, True, "warn"),
        (DRIFTING, False, "pass"),
        (1.0 / DRIFTING, False, "warn"),
        (noise(0, 4), True, "unknown"),
    ],
)
def test_a_series_has_one_verdict_wherever_it_is_asked_for(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], smaller_is_better: bool, verdict: str
) -> None:
    found = detect(values, smaller_is_better=smaller_is_better)
    assert found.status() == verdict
    rate = series(values, unit="GB/s", smaller_is_better=smaller_is_better)
    study = judge_history(history(rate))
    assert study.status() == verdict
    assert study.judged[0].detection.status() == verdict
    assert plain(history_json(study))["series"][0]["status"] == verdict


def test_the_least_change_is_declared_once() -> None:
    assert least_change("robust") == pytest.approx(np.expm1(LEAST))
    assert least_change("report") == 0.0
