"""Planted steps are found, and fail, warn or pass as they should."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import (
    FIRST,
    NIGHTS,
    SOLVE,
    STEP,
    TOTAL,
    day,
    history,
    noise,
    series,
    stepped,
)

from hindmost.analysis.history.change_groups import NightChange, group_changes
from hindmost.analysis.history.exports import history_json
from hindmost.analysis.history.headline import failure_line, headline
from hindmost.analysis.history.judged_series import Acknowledgement
from hindmost.analysis.history.page.history_page import summary
from hindmost.analysis.history.study import (
    FAIL,
    PASS,
    WARN,
    HistoryStudy,
    judge_history,
)
from hindmost.analysis.readers.history import FailedRun
from hindmost.analysis.show.html_renderer import part_html
from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import Trend, detect, least_change
from hindmost.models.changepoint.detection import DRIFT, OPEN
from hindmost.models.changepoint.robust.method import LEAST
from hindmost.output import plain


def test_a_planted_slowdown_fails() -> None:
    study = judge_history(history(series(stepped(0)), series(noise(1, NIGHTS), timer=SOLVE)))
    assert study.status() == FAIL
    assert study.by_case() == {("blake", "ice"): FAIL}
    slow = next(each for each in study.judged if each.series.name.timer == TOTAL)
    (change,) = slow.detection.changes
    assert slow.labels[change.index] == day(STEP)
    assert change.effect_interval[0] < 0.2 < change.effect_interval[1]
    assert NightChange.of(study, slow, change).commits == [
        f"Albany a{STEP - 1:03d}, Trilinos t0",
        f"Albany a{STEP:03d}, Trilinos t0",
    ]
    assert [slow.verdict_on(each) for each in slow.recent(study.since)] == [FAIL]


def test_what_is_faster_or_old_or_undone_passes() -> None:
    assert judge_history(history(series(stepped(0, by=-0.2)))).status() == PASS
    old = history(series(stepped(0, step=15)))
    assert judge_history(old).status() == OPEN
    assert judge_history(old, last_days=30).status() == FAIL
    undone = stepped(0, step=28)
    undone[34:] /= 1.2
    study = judge_history(history(series(undone)), last_days=20)
    (judged,) = study.judged
    assert len(judged.detection.changes) == 2
    assert judged.is_undone(judged.detection.changes[0])
    assert study.status() == PASS


def test_days_are_counted_from_the_newest_night_of_all() -> None:
    ended = series(stepped(0), case="ended")
    goes_on = series(noise(1, 80), case="goes on")
    assert judge_history(history(ended, goes_on)).status() == PASS


def test_a_known_change_does_not_fail_and_the_next_one_does() -> None:
    values = stepped(0, step=25)
    values[34:] *= 1.3
    note = Acknowledgement(date=day(25), case="ice", timer="Tot*", reason="new compiler")
    study = judge_history(history(series(values)), last_days=20, acknowledged=[note])
    (judged,) = study.judged
    first, second = judged.detection.changes
    assert judged.acknowledgement(first) == note
    assert judged.acknowledgement(second) is None
    assert (judged.verdict_on(first), judged.verdict_on(second)) == (PASS, FAIL)
    other = Acknowledgement(date=day(25), case="fire", reason="another case")
    assert judge_history(history(series(values)), acknowledged=[other]).judged[0].known == ()


def test_several_runs_a_day_are_told_apart() -> None:
    once = series(noise(0, 4))
    twice = np.repeat(once.times[:2], 2) + np.array([0.0, 3600.0, 0.0, 3600.0])
    study = judge_history(history(series(noise(0, 4)), failures=()))
    assert study.judged[0].labels == tuple(day(night) for night in range(4))
    from hindmost.analysis.history.dates import date_labels

    assert date_labels(twice)[:2] == (f"{day(0)}T05:30:00", f"{day(0)}T06:30:00")


def test_requests_that_mean_nothing_are_refused() -> None:
    planted = history(series(noise(0, 20)))
    for request in ({"method": "guess"}, {"last_days": 0.0}):
        with pytest.raises(UsageError):
            judge_history(planted, **request)
    with pytest.raises(DataError, match="no series"):
        judge_history(history())


def test_one_bad_series_does_not_stop_the_others() -> None:
    broken = series(noise(0, 20), timer=SOLVE)
    broken.values[3] = np.nan
    study = judge_history(history(broken, series(stepped(0))))
    assert [each.series.name.timer for each in study.judged] == [TOTAL]
    assert [name.timer for name in study.refused] == [SOLVE]


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
    assert [failure.case for failure in chosen.history.failures] == ["ice"]
    assert judge_history(history(quiet, failures=(failed(5),))).status() == PASS


def test_a_slowdown_is_worse_than_a_failed_run() -> None:
    study = judge_history(history(series(stepped(0)), failures=(failed(NIGHTS - 1),)))
    assert study.by_case() == {("blake", "ice"): FAIL}
