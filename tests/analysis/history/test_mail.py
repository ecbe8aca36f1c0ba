"""The mail reads as one."""

from __future__ import annotations

import email
import email.policy
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest
from tests.analysis.history.planted import (
    FIRST,
    NIGHTS,
    STEP,
    day,
    hierarchy,
    history,
    noise,
    series,
    stepped,
    write_nights,
)

from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.mail_message import compose, write
from hindmost.analysis.history.mail_plan import plan_mail
from hindmost.analysis.history.mail_record import MailedItem, MailRecord
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.readers.history import FailedRun
from hindmost.analysis.readers.read import read_history
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.models.changepoint import Event
from hindmost.models.changepoint.revisions import WITHDRAWN


def mail(**addresses: object) -> EmailMessage:
    failure = FailedRun(
        time=FIRST.timestamp() + (NIGHTS - 2) * 86400,
        machine="blake",
        case="sea",
        reason="",
        file="",
    )
    study = judge_history(
        history(
            *hierarchy(case="<ice>"),
            series(noise(5, NIGHTS), case="wärm"),
            series(stepped(6, step=NIGHTS - 3), case="fire"),
            failures=(failure,),
        )
    )
    return compose(study, group_changes(study), **addresses)  # type: ignore[arg-type]


def part(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    assert body is not None
    return str(body.get_content())


def test_both_parts_tell_cases_by_verdict() -> None:
    message = mail()
    assert message["Subject"].startswith("hindmost: fail: 2 slowdowns confirmed in 1 case")
    assert day(NIGHTS - 1) in message["Subject"]
    assert message.get_content_type() == "multipart/alternative"
    text, page = part(message, "plain"), part(message, "html")
    for badge, case in (("fail", "<ice>"), ("pass", "wärm")):
        assert f"{badge}: 1 case\n  blake, {case}\n" in text
    # One has a slowdown that is seen, the other a run that failed.
    assert "warn: 2 cases\n  blake, fire\n  blake, sea\n" in text
    assert "1 failed run in 1 case" in message["Subject"]
    assert "1 run failed in the last 10 days: blake, sea (1)" in text
    assert "&lt;ice&gt;" in page
    assert "<ice>" not in page
    assert "src=" not in page
    assert "href=" not in page


def test_what_could_not_be_read_is_in_the_mail(tmp_path: Path) -> None:
    nights = write_nights(tmp_path / "nights", {"ice": {"t": noise(0, NIGHTS)}}, range(NIGHTS))
    nights[-1].write_text(nights[-1].read_text()[:-20])
    assert main(["history", str(tmp_path / "nights"), "--mail", str(tmp_path / "mail")]) == 0
    data = (tmp_path / "mail").read_bytes()
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    for kind in ("plain", "html"):
        assert f"Data: {nights[-1]}" in part(message, kind)
        assert "left out" in part(message, kind)


def test_a_file_can_be_piped_to_sendmail(tmp_path: Path) -> None:
    message = mail(recipients=["team@example.org"])
    write(message, tmp_path / "mail")
    read = email.message_from_bytes((tmp_path / "mail").read_bytes(), policy=email.policy.default)
    assert read["To"] == "team@example.org"
    assert part(read, "plain") == part(message, "plain")


@pytest.mark.parametrize("address", ["a@b\nBcc: all@example.org", "not an address", "@", ""])
def test_addresses_that_are_none_are_refused(address: str) -> None:
    with pytest.raises(UsageError):
        mail(recipients=[address])


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
