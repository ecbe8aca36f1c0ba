"""When the time of a program is up, and what is kept free for its end."""

import time
from dataclasses import replace

import pytest
from tests.harness.test_time_left import USE

from hindmost.errors import UsageError
from hindmost.harness.attach import limit
from hindmost.harness.attach.background import Background
from hindmost.harness.attach.limit import (
    ASK_AHEAD_S,
    ASSUMED,
    BY_JOB,
    BY_OPTION,
    END_S,
    FLOOR_S,
    GIVEN,
    LAG,
    LEARNT,
    MAX_LAG,
    RESERVE,
    KeptFree,
    Limit,
    StopRequest,
)
from hindmost.harness.batch_job import END_VARIABLE


def of_job(left_s: float) -> Limit:
    now_s = time.monotonic()
    return Limit(begin_s=now_s, end_s=now_s + left_s, by=BY_JOB)


def moved_s(limited: Limit) -> float:
    """Poll until the scheduler has answered."""
    deadline_s = time.monotonic() + 20.0
    while time.monotonic() < deadline_s:
        moved = limited.renew(0.0)
        if moved or limited._answer is None:
            return moved
        time.sleep(0.01)
    return 0.0


@pytest.mark.parametrize(("change_s", "seen_s"), [(600.0, 600.0), (-30.0, -30.0), (2.0, 0.0)])
def test_a_limit_that_was_changed_is_taken(
    monkeypatch: pytest.MonkeyPatch, change_s: float, seen_s: float
) -> None:
    limited = of_job(100.0)
    before_s = limited.end_s
    monkeypatch.setattr(limit, "end_of_job_s", lambda: before_s + change_s)
    assert moved_s(limited) == pytest.approx(seen_s)
    assert limited.end_s == pytest.approx(before_s + seen_s)


def test_the_job_is_asked_only_near_its_end_and_not_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(limit, "end_of_job_s", lambda: asked.append(1))
    limited = of_job(1000.0)
    limited.renew(ASK_AHEAD_S + 1.0)
    assert not asked
    for _ in range(3):
        moved_s(limited)
    assert len(asked) == 1
    given = replace(limited, by=BY_OPTION)
    given.renew(0.0)
    assert len(asked) == 1


def test_what_is_kept_free_is_given_learnt_or_assumed() -> None:
    first = KeptFree.of(None, None)
    assert (first.lag, first.end_s, first.lag_by, first.end_by) == (LAG, END_S, ASSUMED, ASSUMED)
    last = replace(USE, lag=2, lag_seen=7, end_seen_s=4.0, written_after_s=2.0)
    learnt = KeptFree.of(None, last)
    assert (learnt.lag, learnt.lag_by, learnt.end_by) == (7, LEARNT, LEARNT)
    assert learnt.end_s == RESERVE * 6.0 + FLOOR_S
    given = KeptFree.of(3.0, last)
    assert (given.end_s, given.end_by, given.lag_by) == (3.0, GIVEN, LEARNT)
    assert KeptFree.of(None, replace(last, lag_seen=0)).lag == 2  # it was so before
    assert KeptFree.of(None, replace(USE, lag_seen=None)) == first
    assert MAX_LAG > LAG


def test_a_job_that_is_over_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(END_VARIABLE, str(int(time.time()) - 60))
    with pytest.raises(UsageError, match=r"is up .* before it starts"):
        StopRequest.of("job", "", "", "")


def test_an_error_in_the_background_is_for_the_one_who_asked() -> None:
    def fails() -> int:
        raise ValueError("no")

    question = Background(fails)
    deadline_s = time.monotonic() + 20.0
    while not question.is_answered and time.monotonic() < deadline_s:
        time.sleep(0.01)
    with pytest.raises(ValueError, match="no"):
        question.answer()
