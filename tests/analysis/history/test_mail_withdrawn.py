"""A mailed change that later nights refute is told in the next mail, once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.analysis.history.planted import NIGHTS, STEP, noise, write_nights

from hindmost.analysis.history.mail_message import compose
from hindmost.analysis.history.mail_plan import plan_mail
from hindmost.analysis.history.mail_record import MailedItem, MailRecord
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.readers.read import read_history
from hindmost.models.changepoint import Event
from hindmost.models.changepoint.revisions import WITHDRAWN

DAY = 86400.0


def refuted(folder: Path) -> tuple[HistoryStudy, MailRecord, float]:
    """Return a quiet history whose log withdraws a change that was mailed as confirmed."""
    paths = write_nights(folder, {"ice": {"t": noise(0, NIGHTS)}}, range(NIGHTS))
    study = judge_history(read_history(paths))
    (judged,) = study.judged
    name, at = judged.series.name, float(judged.times[STEP])
    event = Event(
        kind=WITHDRAWN, time=at / DAY, changed=at / DAY, effect=0.25, reason="it is noise"
    )
    item = MailedItem(
        kind="change",
        name=name,
        first=at - DAY,
        last=at + DAY,
        rises=True,
        badge="fail",
        mailed=at,
    )
    now = study.until + DAY
    record = MailRecord(digest=now - DAY, items=(item,))
    return replace(study, judged=(replace(judged, log=(event,)),)), record, now


def test_a_withdrawn_change_is_mailed_once(tmp_path: Path) -> None:
    study, record, now = refuted(tmp_path)
    plan = plan_mail(study, record, now)
    (line,) = plan.withdrawn
    assert line.startswith("Withdrawn: ")
    assert "+25" in line
    assert line.endswith("it is noise")
    assert plan.is_due
    body = compose(study, (), plan=plan, now=now).get_body(("plain",))
    assert body is not None
    assert line in str(body.get_content())
    again = plan_mail(study, plan.record, now + 3600.0)
    assert not again.withdrawn
    assert not again.is_due


def test_what_was_never_confirmed_is_not_told(tmp_path: Path) -> None:
    study, record, now = refuted(tmp_path)
    warned = replace(record, items=tuple(replace(item, badge="warn") for item in record.items))
    assert not plan_mail(study, warned, now).withdrawn
