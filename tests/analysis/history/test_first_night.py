"""What matters is told on the first night, once: jumps, failures, silence; and no pass hides it."""

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import FIRST, NIGHTS, day, history, noise, series, stepped

from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.dates import next_due
from hindmost.analysis.history.exports import history_json
from hindmost.analysis.history.headline import headline, newest_line, silence_lines
from hindmost.analysis.history.judged_series import Acknowledgement
from hindmost.analysis.history.mail_message import MailPlan, compose, plan_mail
from hindmost.analysis.history.page.data import address_of
from hindmost.analysis.history.page.history_page import events
from hindmost.analysis.history.state import (
    HistoryState,
    KeptSeries,
    judge_series,
    reported,
    without_chance,
)
from hindmost.analysis.history.study import (
    FAIL,
    GATES,
    PASS,
    UNKNOWN,
    WARN,
    HistoryStudy,
    judge_history,
)
from hindmost.analysis.readers.history import FailedRun, NightlySeries, SeriesName
from hindmost.analysis.readers.provenance import commits_text
from hindmost.analysis.show.html_renderer import part_html
from hindmost.models.changepoint import Detection
from hindmost.models.changepoint.detection import OPEN
from hindmost.output import plain

DAY = 86400.0
BEGUN = FIRST.timestamp()


def failed(night: int, case: str = "ice") -> FailedRun:
    return FailedRun(time=BEGUN + night * DAY, machine="blake", case=case, reason="", file="")


def mails(
    *members: NightlySeries, failures: tuple[FailedRun, ...] = (), first: int, hours: float = 1.0
) -> dict[int, tuple[HistoryStudy, MailPlan]]:
    """Judge and mail some series night by night, an hour after the results of a night are due."""
    state, told = HistoryState(), {}
    for night in range(first, NIGHTS):
        until = BEGUN + night * DAY
        tonight = [
            replace(
                member,
                times=member.times[member.times <= until],
                values=member.values[member.times <= until],
                commits=member.commits[: int((member.times <= until).sum())],
                commit_parts=member.commit_parts[: int((member.times <= until).sum())],
            )
            for member in members
        ]
        so_far = tuple(failure for failure in failures if failure.time <= until)
        at = until + hours * 3600.0
        study = judge_history(history(*tonight, failures=so_far), state=state, now=at)
        assert study.state is not None
        plan = plan_mail(study, study.state.mailed, at)
        state = replace(study.state, mailed=plan.record)
        told[night] = study, plan
    return told


def told_on(told: dict[int, tuple[HistoryStudy, MailPlan]]) -> list[int]:
    return [night for night, (_, plan) in told.items() if plan.news or plan.others]


def with_last(factors: list[float], seed: int = 0) -> NDArray[np.float64]:
    values = noise(seed, NIGHTS)
    values[NIGHTS - len(factors) :] *= factors
    return values


@pytest.mark.parametrize(
    ("factors", "status"),
    [
        ([3.0], WARN),
        ([3.0, 2.8], WARN),
        ([1.15], WARN),
        ([1.02], PASS),
        ([0.3], PASS),
        ([3.0, 1.0], PASS),
        ([3.0] * 5, FAIL),
    ],
)
def test_a_jump_of_the_last_nights_is_no_pass(factors: list[float], status: str) -> None:
    study = judge_history(history(series(with_last(factors))))
    assert study.status() == status
    assert headline(study).startswith(f"{status}: ")
    entry = plain(history_json(study))
    assert entry["status"] == entry["series"][0]["status"] == status
    assert entry["fails_on"] == [gate for gate in GATES if study.fails(gate)]
    assert [study.fails(gate) for gate in ("new", "confirmed", "open")] == [
        status in (WARN, FAIL),
        status == FAIL,
        status == FAIL,
    ]


def test_where_larger_is_better_a_fall_is_the_jump() -> None:
    fall = series(with_last([0.3]), unit="1/s", smaller_is_better=False)
    rise = series(with_last([3.0]), unit="1/s", smaller_is_better=False)
    assert judge_history(history(fall)).status() == WARN
    study = judge_history(history(rise))
    assert study.status() == PASS
    assert newest_line(study)


def test_a_jump_is_mailed_when_it_is_seen_and_when_it_is_confirmed() -> None:
    assert told_on(mails(series(stepped(0)), first=30)) == [34, 38]
    # An outlier returns: told once, and not withdrawn, as it was never confirmed.
    values = noise(0, NIGHTS)
    values[33] *= 3.0
    told = mails(series(values), first=30)
    assert told_on(told) == [33]
    assert [study.status() for study, _ in told.values()][3:] == [WARN, *[PASS] * (NIGHTS - 34)]
    assert not any(plan.withdrawn for _, plan in told.values())


def test_a_jump_can_be_acknowledged_and_stays_so_when_it_is_confirmed() -> None:
    note = Acknowledgement(date=day(34), reason="new compiler")
    for night in range(34, NIGHTS):
        slower = without(series(stepped(0)), night + 1)
        study = judge_history(history(slower), acknowledged=[note])
        assert study.status() == PASS
        assert study.judged[0].recent(study.since)
    assert judge_history(history(without(series(stepped(0)), 35))).status() == WARN


def test_a_case_that_fails_is_told_once_in_a_row() -> None:
    values = series(noise(0, NIGHTS))
    rest = [night for night in range(NIGHTS) if night not in (32, 33, 34, 37)]
    values = replace(
        values,
        times=values.times[rest],
        values=values.values[rest],
        commits=tuple(values.commits[night] for night in rest),
        commit_parts=tuple(values.commit_parts[night] for night in rest),
    )
    failures = tuple(failed(night) for night in (32, 33, 34, 37))
    assert told_on(mails(values, failures=failures, first=30)) == [32, 37]


def without(values: NightlySeries, first: int) -> NightlySeries:
    return replace(
        values,
        times=values.times[:first],
        values=values.values[:first],
        commits=values.commits[:first],
        commit_parts=values.commit_parts[:first],
    )


@pytest.mark.parametrize("name", ["machine", "case"])
def test_silence_is_told_on_the_first_night_once(name: str) -> None:
    gone = without(series(noise(1, NIGHTS), **{name: "gone"}), 33)  # type: ignore[arg-type]
    told = mails(series(noise(0, NIGHTS)), gone, first=30)
    assert told_on(told) == [33]
    assert all(study.status() == WARN for study, _ in list(told.values())[3:])
    study, _ = told[33]
    (line,) = silence_lines(study)
    assert "gone has no result since 2026-02-02" in line
    assert f"1 silent {name}" in headline(study)
    assert [each.status(study.since) for each in study.judged].count(PASS) == 1
    assert set(study.by_case().values()) == {PASS, WARN}


def test_the_only_machine_is_missed_by_the_clock_and_an_old_folder_is_not() -> None:
    nights = history(series(noise(0, NIGHTS)))
    newest = BEGUN + (NIGHTS - 1) * DAY
    silent = {
        hours: bool(judge_history(nights, now=newest + 3600.0 * hours).silent_machines())
        for hours in (1, 23, 25, 100, 1000)
    }
    assert silent == {1: False, 23: False, 25: True, 100: False, 1000: False}


WEEKDAYS = np.array([day for day in range(70) if day % 7 < 5])  # 1970 began on a Thursday


@pytest.mark.parametrize(
    ("days", "due"),
    [
        (np.arange(30), 30.0),
        (WEEKDAYS, 70.0),
        (WEEKDAYS[:-1], 67.0),
        (np.arange(0, 210, 7), 210.0),
        (np.append(np.arange(20), np.arange(22, 30)), 30.0),
        (np.arange(4), np.inf),
        (np.cumsum(np.random.default_rng(0).geometric(0.5, 30)), np.inf),
    ],
)
def test_when_a_result_is_due_follows_from_the_week(days: NDArray[np.int64], due: float) -> None:
    assert next_due(DAY * days) == DAY * due
    late = 0.1 * np.abs(np.sin(np.arange(days.size)))
    assert DAY * due <= next_due(DAY * (days + late)) <= DAY * (due + 0.2)


def test_a_weekend_is_no_silence() -> None:
    values = series(noise(0, 70))
    keep = WEEKDAYS
    values = replace(
        values,
        times=values.times[keep],
        values=values.values[keep],
        commits=tuple(values.commits[day] for day in keep),
        commit_parts=tuple(values.commit_parts[day] for day in keep),
    )
    nightly = series(noise(1, 70), machine="nightly")
    assert not judge_history(history(values, nightly)).silent_machines()


def test_a_series_with_an_open_slowdown_does_not_pass() -> None:
    opened = series(stepped(0, nights=60, step=30))
    study = judge_history(history(opened, series(noise(1, 60), case="sea")))
    assert study.status() == OPEN
    assert [each.status(study.since) for each in study.judged] == [OPEN, PASS]
    assert [study.fails(gate) for gate in GATES] == [True, False, False]


def test_what_could_not_be_seen_is_said() -> None:
    def with_noise(sigma: float) -> HistoryStudy:
        logs = np.random.default_rng(3).normal(0.0, sigma, 60)
        return judge_history(history(series(np.exp(logs))))

    steps = [with_noise(sigma).judged[0].visible_step(BEGUN + 49.5 * DAY) for sigma in (0.02, 0.15)]
    assert 0.028 <= steps[0] < steps[1] / 4.0
    study = with_noise(0.15)
    assert f"a step below about {100 * steps[1]:.2g} % could not be seen" in headline(study)
    few = judge_history(history(series(noise(0, NIGHTS)), series(noise(1, 60), case="sea")))
    assert few.by_case()["blake", "ice"] == UNKNOWN


@pytest.mark.parametrize(
    ("p_values", "confirmed"),
    [
        # Benjamini and Hochberg: the k-th smallest of 100 is accepted up to 0.05 k / 100.
        ([4e-4], [True]),
        ([6e-4], [False]),
        ([6e-4, 9e-4], [True, True]),
        ([4e-4, 2e-3], [True, False]),
        ([6e-4, 1.4e-3, 1.4e-3], [True, True, True]),
    ],
)
def test_among_many_series_a_change_needs_more_evidence(
    p_values: list[float], confirmed: list[bool]
) -> None:
    quiet, slower = series(noise(9, NIGHTS)), series(stepped(0))
    newest = float(quiet.times[-1]) / DAY
    still, found = (
        judge_series(KeptSeries(series=each), method="robust") for each in (quiet, slower)
    )
    assert isinstance(still, Detection)
    assert isinstance(found, Detection)
    (change,) = found.changes
    rest = [(KeptSeries(series=quiet), still)] * (100 - len(p_values))
    slow = [replace(found, changes=(replace(change, p_anywhere=p_value),)) for p_value in p_values]
    judged = without_chance([*((KeptSeries(series=slower), each) for each in slow), *rest], newest)
    changes = [change for _, one in judged for change in one.changes]
    assert [change.confirmed for change in changes] == confirmed
    assert ["among so many series" in change.explain() for change in changes] == [
        not each for each in confirmed
    ]
    # What was reported as confirmed stays.
    kept = [(reported(KeptSeries(series=slower), each), each) for each in slow]
    stays = without_chance([*kept, *rest], newest)
    assert all(change.confirmed for _, one in stays for change in one.changes)


def test_dates_in_the_future_delete_nothing() -> None:
    nights = series(stepped(0, step=20))
    now = BEGUN + NIGHTS * DAY
    before = tuple(failed(night) for night in (30, 35))
    state = judge_history(history(nights, failures=before), state=HistoryState(), now=now).state
    wrong = replace(
        without(nights, 2),
        times=np.array([BEGUN + (NIGHTS - 1) * DAY, BEGUN + 27000 * DAY]),
    )
    for _ in range(2):  # twice, as the files of a wrong night stay
        study = judge_history(history(wrong, failures=(failed(27000),)), state=state, now=now)
        state = study.state
        assert state is not None
        assert [failure.time for failure in state.failures] == [
            each.time for each in (*before, failed(27000))
        ]
        (kept,) = state.series.values()
        assert kept.series.times.tolist() == [*nights.times.tolist(), BEGUN + 27000 * DAY]
        assert study.until == nights.times[-1]
        assert study.failed_cases().total() == 2  # those of nights 30 and 35


HASHES = [f"{night:040x}" for night in range(1, NIGHTS + 1)]


@pytest.mark.parametrize("suffix", ["", " with changes"])
def test_commits_are_short_and_full_where_one_asks(suffix: str) -> None:
    parts = tuple({"Albany": f"{each}{suffix}", "MPI": "4.1.2-2026-11-01"} for each in HASHES)
    texts = tuple(commits_text(part) for part in parts)
    slower = replace(series(stepped(0)), commits=texts, commit_parts=parts)
    study = judge_history(history(slower))
    (group,) = group_changes(study)
    assert HASHES[33] + suffix in group.full_commits
    assert f"{HASHES[33][:12]}{suffix}..{HASHES[34][:12]}{suffix}" in group.commits
    assert "MPI 4.1.2-2026-11-01" in group.commits
    message = compose(study, (group,))
    for kind in ("plain", "html"):
        body = message.get_body((kind,))
        assert body is not None
        text = str(body.get_content())
        assert HASHES[33][:12] in text
        assert HASHES[33] not in re.sub("title='[^']*'", "", text)
    assert HASHES[33] in text
    page = "".join(part_html(part) for part in events(study))
    assert HASHES[33] in page
    assert HASHES[33] not in re.sub('title="[^"]*"', "", page)


def test_addresses_of_series_are_those_of_the_page_s_scripts() -> None:
    name = SeriesName(machine="m 1", case="b.time_sort({}, 'a')!", timer="x/y*~")
    # What encodeURIComponent returns for each part.
    assert address_of(name) == "m%201/b.time_sort(%7B%7D%2C%20'a')!/x%2Fy*~"
