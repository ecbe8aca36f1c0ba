"""Planted steps are found, and fail, warn or pass as they should."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analysis.history.planted import (
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

from hindmost.analysis.history.acknowledgements import Acknowledgement
from hindmost.analysis.history.change_groups import SeriesChange
from hindmost.analysis.history.study import FAIL, PASS, judge_history
from hindmost.errors import DataError, UsageError


def test_a_planted_slowdown_fails() -> None:
    study = judge_history(history(series(stepped(0)), series(noise(1, NIGHTS), timer=SOLVE)))
    assert study.status() == FAIL
    assert study.by_case() == {("blake", "ice"): FAIL}
    slow = next(each for each in study.judged if each.series.name.timer == TOTAL)
    (change,) = slow.detection.changes
    assert slow.labels[change.index] == day(STEP)
    assert change.effect_interval[0] < 0.2 < change.effect_interval[1]
    assert SeriesChange(judged=slow, change=change).commits == [
        f"Albany a{STEP - 1:03d}, Trilinos t0",
        f"Albany a{STEP:03d}, Trilinos t0",
    ]
    assert [slow.verdict_on(each) for each in slow.recent(study.since)] == [FAIL]


def test_what_is_faster_or_old_or_undone_passes() -> None:
    assert judge_history(history(series(stepped(0, by=-0.2)))).status() == PASS
    old = history(series(stepped(0, step=15)))
    assert judge_history(old).status() == PASS
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
