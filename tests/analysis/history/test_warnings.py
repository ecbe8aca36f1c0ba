"""What is no change and still no reason to pass: drifts that go on, and runs that failed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import FIRST, NIGHTS, history, noise, series, stepped

from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.headline import failure_line, headline
from hindmost.analysis.history.page.tables import summary
from hindmost.analysis.history.study import (
    FAIL,
    PASS,
    WARN,
    HistoryStudy,
    judge_history,
)
from hindmost.analysis.readers.history import FailedRun
from hindmost.analysis.show.html_renderer import part_html
from hindmost.models.changepoint import Trend
from hindmost.models.changepoint.verdicts import DRIFT

LONG = 90


def drifting(by: float) -> NDArray[np.float64]:
    """Return a series that drifts by a share, from its first night to its last."""
    return np.asarray(noise(3, LONG) * np.exp(np.linspace(0.0, np.log1p(by), LONG)), np.float64)


def failed(night: int, case: str = "ice") -> FailedRun:
    time = FIRST.timestamp() + night * 86400.0
    return FailedRun(time=time, machine="blake", case=case, reason="did not pass", file="f")


def with_interval(study: HistoryStudy, low: float, high: float) -> HistoryStudy:
    """Return a study whose one series drifts up to now, as far as an interval says."""
    (judged,) = study.judged
    size = judged.detection.observations
    level, effect = judged.detection.level_now, 0.5 * (low + high)
    trend = Trend(
        start=0,
        stop=size,
        before=level / (1.0 + effect),
        after=level,
        effect=effect,
        effect_interval=(low, high),
        p_value=0.01,
    )
    detection = replace(judged.detection, changes=(), trends=(trend,))
    return replace(study, judged=(replace(judged, detection=detection),))


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [(DRIFT - 0.01, 0.4, PASS), (DRIFT + 0.01, 0.4, WARN), (-0.4, -0.2, PASS)],
)
def test_a_drift_is_told_and_warns_beyond_the_limit(low: float, high: float, status: str) -> None:
    # A detection has none whose interval contains zero: see tests/models/changepoint.
    study = with_interval(judge_history(history(series(noise(0, NIGHTS)))), low, high)
    assert len(group_changes(study)) == 1
    assert study.status() == status


def test_a_drift_that_ended_does_not_warn() -> None:
    ended = history(series(drifting(0.3)), series(noise(0, 3 * LONG), case="goes on"))
    assert judge_history(ended).status() == PASS


def test_failed_runs_of_the_last_days_warn() -> None:
    quiet = series(noise(0, NIGHTS))
    study = judge_history(history(quiet, failures=(failed(NIGHTS - 1), failed(NIGHTS - 2, "sea"))))
    assert study.status() == WARN
    assert study.by_case() == {("blake", "ice"): WARN, ("blake", "sea"): WARN}
    assert headline(study) == "warn: 2 failed runs in 2 cases"
    assert failure_line(study).startswith("2 runs failed")
    page = "".join(part_html(part) for part in summary(study))
    assert page.count(">warn</span>") == 2
    chosen = judge_history(study.history, case="ice")
    assert [each.case for each in chosen.history.failures] == ["ice"]
    assert judge_history(history(quiet, failures=(failed(5),))).status() == PASS


def test_a_slowdown_is_worse_than_a_failed_run() -> None:
    study = judge_history(history(series(stepped(0)), failures=(failed(NIGHTS - 1),)))
    assert study.by_case() == {("blake", "ice"): FAIL}
