"""Joint findings of a history: one of many series, in the output, the JSON, mail and page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import day, history, series, write_nights

from hindmost.analysis.history.acknowledgements import Acknowledgement
from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.headline import headline
from hindmost.analysis.history.history_json import to_json
from hindmost.analysis.history.joint_findings import joint_lines
from hindmost.analysis.history.mail_message import compose
from hindmost.analysis.history.mail_plan import plan_mail
from hindmost.analysis.history.mail_record import MailRecord
from hindmost.analysis.history.page.overview import history_conclusions
from hindmost.analysis.history.selection import select_series
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.cli import main

NIGHTS, STEP, CASES, STEPPED = 70, 54, 16, 11
SEED = 9
"""Of noise in which no series shows the step alone."""


def logs(case: int, timer: int, by: float) -> NDArray[np.float64]:
    values = np.random.default_rng([SEED, case, timer]).normal(2.0, 0.012, NIGHTS)
    values[STEP:] += by if case < STEPPED else 0.0
    return values


def judged(by: float = 0.018, notes: tuple[Acknowledgement, ...] = ()) -> HistoryStudy:
    """Judge two timers of 16 cases, 11 of which change by so much on one night."""
    members = [
        series(np.exp(logs(case, place, by)), case=f"case {case:02d}", timer=timer)
        for case in range(CASES)
        for place, timer in enumerate(("Fill", "Solve"))
    ]
    return judge_history(history(*members), acknowledged=notes, last_days=20.0)


@pytest.fixture(scope="module")
def study() -> HistoryStudy:
    return judged()


def test_a_step_in_many_weak_series_is_one_finding(study: HistoryStudy) -> None:
    assert not any(each.detection.changes for each in study.judged)
    (joint,) = study.joint
    assert joint.date in {day(STEP + offset) for offset in (-1, 0, 1)}
    assert set(joint.timers) == {"Fill", "Solve"}
    assert joint.measured == 2 * CASES
    assert 18 <= len(joint.members) <= 26
    assert joint.effect == pytest.approx(0.018, abs=0.008)
    assert joint.commits[0].startswith("Albany a05")
    assert study.status() == "warn"
    assert "1 joint change of many series that is for the worse" in headline(study)
    (line, commits) = joint_lines(study.joint, study.since)
    assert f"slower together in {len(joint.members)} of 32 series on {joint.date}" in line
    assert commits.strip().startswith("between Albany a05")


def test_it_is_in_the_json_the_mail_and_the_page(study: HistoryStudy) -> None:
    (record,) = json.loads(json.dumps(to_json(study), allow_nan=False))["joint"]
    assert record["badge"] == "warn"
    assert record["measured"] == 2 * CASES
    assert record["own_changes"] == 0
    assert {"case", "timer", "own_change"} == set(record["series"][0])
    body = compose(study, group_changes(study)).get_body(("plain",))
    assert body is not None
    assert "slower together in" in body.get_content()
    assert any("together" in each.title for each in history_conclusions(study))


def test_it_is_mailed_once(study: HistoryStudy) -> None:
    first = plan_mail(study, MailRecord(), study.until)
    assert first.others == 1
    again = plan_mail(study, first.record, study.until + 86400.0)
    assert again.others == 0
    assert not again.is_due


def test_a_fall_passes_and_small_steps_are_left_alone() -> None:
    better = judged(-0.018)
    assert len(better.joint) == 1
    assert better.status() == "pass"
    assert not judged(0.0).joint


def test_an_acknowledgement_of_all_members_covers_it() -> None:
    note = Acknowledgement(date=day(STEP + 1), reason="new compiler")
    (joint,) = judged(notes=(note,)).joint
    assert joint.badge == "pass"
    assert joint.sentence().endswith("acknowledged: new compiler")
    (joint,) = judged(notes=(replace(note, timer="Fill"),)).joint
    assert joint.badge == "warn"


def test_a_selection_keeps_what_concerns_it(study: HistoryStudy) -> None:
    (joint,) = study.joint
    names = {each.series.name.case for each in joint.members}
    assert select_series(study, case=min(names)).joint == study.joint
    alone = replace(study, joint=(replace(joint, members=joint.members[:1]),))
    assert not select_series(alone, case="case 15").joint


def test_the_command_acknowledges_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "blake"
    cases = {f"case {case:02d}": {"Fill": np.exp(logs(case, 0, 0.018))} for case in range(CASES)}
    write_nights(folder, cases, range(NIGHTS))
    assert main(["history", str(folder), "--days", "20"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[1].startswith("warn: 1 joint change")
    assert "slower together in" in said
    assert main(["history", "ack", str(folder), "--date", day(STEP), "--reason", "compiler"]) == 0
    assert "joint: " in capsys.readouterr().out
    main(["history", str(folder), "--days", "20"])
    assert capsys.readouterr().out.splitlines()[1].startswith("pass: ")
