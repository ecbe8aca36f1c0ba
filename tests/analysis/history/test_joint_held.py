"""Joint findings stay from night to night, with a state file and without one, until refuted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.history.planted import FIRST, day, history, series

from hindmost.analysis.history import joint_findings, joint_reviews
from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.history_json import to_json
from hindmost.analysis.history.joint_findings import joint_lines, open_joint_lines
from hindmost.analysis.history.joint_memory import JointMemory
from hindmost.analysis.history.joint_withdrawn import withdrawn_joint_lines
from hindmost.analysis.history.mail_message import compose
from hindmost.analysis.history.mail_plan import plan_mail
from hindmost.analysis.history.mail_record import MailRecord
from hindmost.analysis.history.page.overview import history_conclusions
from hindmost.analysis.history.selection import select_series
from hindmost.analysis.history.state import HistoryState
from hindmost.analysis.history.state_file import read_state, write_state
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.readers.history import History
from hindmost.analysis.runs.conclusion import worth_saying

NIGHTS, STEP, CASES, STEPPED = 70, 54, 16, 11
HELD, NEXT = 63, 68
"""Nights with which the step is held, and those with which the next reading is due."""
SEED = 9


def nights(count: int, shift: float = 0.018) -> History:
    """Return the first nights of one timer of 16 cases, 11 of which change on one night."""
    members = []
    for case in range(CASES):
        logs = np.random.default_rng([SEED, case, 0]).normal(2.0, 0.012, NIGHTS)
        logs[STEP:] += shift if case < STEPPED else 0.0
        members.append(series(np.exp(logs[:count]), case=f"case {case:02d}", timer="Fill"))
    return history(*members)


def state_of(study: HistoryStudy) -> HistoryState:
    assert study.state is not None
    return study.state


@pytest.fixture(scope="module")
def held() -> HistoryState:
    return state_of(judge_history(nights(HELD), state=HistoryState()))


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no reading find a joint change any more."""
    for module in (joint_findings, joint_reviews):
        monkeypatch.setattr(module, "find_joint_changes", lambda panel: ())


def test_night_by_night_is_the_whole_history(tmp_path: Path) -> None:
    path = tmp_path / "state"
    for count in (60, 61, 62, HELD, 66, NEXT):
        state = read_state(path)
        study = judge_history(nights(count), state=state, last_days=20.0)
        write_state(path, state_of(study))
        whole = judge_history(nights(count), last_days=20.0)
        for key in ("joint", "joint_open", "joint_withdrawn"):
            assert to_json(study)[key] == to_json(whole)[key]
        (joint,) = study.joint
        assert (joint.since is not None) == (count > 62)
        assert joint.sentence().endswith("; not confirmed yet") == (count <= 62)
        assert state_of(study).joint.reviewed is not None
    first, last = 60, NEXT
    assert state_of(judge_history(nights(first), state=HistoryState())).joint.panels == ()
    assert (
        state_of(judge_history(nights(last), state=HistoryState())).joint == read_state(path).joint
    )


def test_the_file_keeps_what_is_held(held: HistoryState, tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, held)
    assert held.joint.panels[0].held
    assert read_state(path) == held
    # A file of an older hindmost has none: the last nights are read again.
    record = json.loads(path.read_text())
    del record["joint"]
    path.write_text(json.dumps(record))
    older = read_state(path)
    assert older.joint == JointMemory()
    assert state_of(judge_history(nights(HELD), state=older)).joint == held.joint


@pytest.mark.usefixtures("unseen")
def test_what_is_held_is_told_with_what_the_last_nights_show(held: HistoryState) -> None:
    study = judge_history(nights(NIGHTS), state=held, last_days=20.0)
    (joint,) = study.joint
    assert not joint.found
    assert study.status() == "warn"
    (line, _) = joint_lines(study.joint, study.since)
    assert f"slower together in {len(joint.members)} of 16 series on {joint.date}" in line
    assert f"; held since {day(61)}, the last 10 nights are +" in line
    assert line.endswith("from those before it")
    (record,) = to_json(study)["joint"]
    assert record["confirmed"]
    assert not record["found"]
    assert record["held_since"] == day(61)
    assert 0.5 < record["now_percent"] < 3.5
    assert not judge_history(nights(NIGHTS)).joint


@pytest.mark.usefixtures("unseen")
def test_an_older_one_stays_open_and_does_not_fail(held: HistoryState) -> None:
    study = judge_history(nights(NIGHTS), state=held, last_days=10.0)
    (joint,) = study.joint
    assert study.status() == "pass"
    assert not list(joint_lines(study.joint, study.since))
    (line,) = open_joint_lines(study.joint, study.since)
    assert line == f"joint: open  {joint.sentence()}"
    assert len(to_json(study)["joint_open"]) == 1
    assert any("together" in each.title for each in worth_saying(history_conclusions(study)))
    first = plan_mail(study, MailRecord(), study.until)
    again = plan_mail(study, first.record, study.until)
    assert (first.others, again.others) == (1, 0)  # held first in the last days: news
    assert plan_mail(replace(study, last_days=5.0), MailRecord(), study.until).others == 0
    for plan, told in ((None, True), (first, True), (again, False)):
        body = compose(study, group_changes(study), plan=plan).get_body(("plain",))
        assert body is not None
        assert (line in body.get_content()) == told
    better = judge_history(nights(NIGHTS, shift=-0.018), state=None, last_days=10.0)
    assert not list(open_joint_lines(better.joint, better.since))


@pytest.mark.usefixtures("unseen")
def test_a_withdrawn_one_is_mailed_once_with_the_reason(held: HistoryState) -> None:
    before = judge_history(nights(HELD), state=held)
    mailed = plan_mail(before, MailRecord(), before.until).record
    (panel,) = held.joint.panels
    large = replace(panel, held=tuple(replace(each, shift=0.1) for each in panel.held))
    doubted = replace(held, joint=replace(held.joint, panels=(large,)), mailed=mailed)
    study = judge_history(nights(NEXT), state=doubted)
    assert not study.joint
    (gone,) = study.joint_withdrawn
    told = (
        f"blake, Fill: the joint change of +10.5 % on {day(STEP)} was withdrawn on {day(66)}: the "
        "nights after it differ by +"
    )
    assert gone.sentence().startswith(told)
    assert list(withdrawn_joint_lines(study.joint_withdrawn, study.since)) == [
        f"joint: withdrawn  {gone.sentence()}"
    ]
    assert "was withdrawn on" in "".join(
        each.text for each in worth_saying(history_conclusions(study))
    )
    plan = plan_mail(study, mailed, study.until)
    assert plan.withdrawn == (f"Withdrawn: {gone.sentence()}",)
    assert plan.is_due
    assert not plan_mail(study, plan.record, study.until).withdrawn
    (record,) = to_json(study)["joint_withdrawn"]
    assert record["withdrawn"] == day(66)
    assert "when it was found, by +10.5 %" in record["reason"]
    assert len(select_series(study, case="case 0*").joint_withdrawn) == 1
    others = {f"case {case:02d}" for case in range(CASES)} - set(gone.cases)
    assert not select_series(study, case=min(others)).joint_withdrawn
    # Known to the next state, and no longer told in later days.
    assert state_of(study).joint.panels[0].withdrawn
    later = judge_history(nights(NIGHTS), state=state_of(study), last_days=1.0)
    assert not list(withdrawn_joint_lines(later.joint_withdrawn, later.since))
    assert later.joint_withdrawn == (gone,)


def test_days_are_read_when_they_are_over() -> None:
    few = nights(HELD).series
    first = int(FIRST.timestamp() // 86400.0)
    days = joint_reviews.review_days(JointMemory(), few)
    assert days == tuple(first + night for night in (36, 41, 46, 51, 56, 61))
    assert joint_reviews.review_days(JointMemory(reviewed=days[-2]), few) == days[-1:]
    assert not joint_reviews.review_days(JointMemory(reviewed=days[-1]), few)
    day_before = joint_reviews.review_days(JointMemory(), nights(HELD - 1).series)
    assert day_before == (first + 31, *days[:-1])
