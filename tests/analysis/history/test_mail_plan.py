"""A finding is mailed once, then in a weekly digest until it is acknowledged or undone."""

import email
import email.policy
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
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
from hindmost.analysis.history.mail_message import compose, plan_mail, write
from hindmost.analysis.history.state import MailedItem, MailRecord, is_digest_due
from hindmost.analysis.history.state_file import read_state
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.readers.history import FailedRun
from hindmost.analysis.readers.read import read_history
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.models.changepoint import Event
from hindmost.models.changepoint.revisions import WITHDRAWN, EventKind

LONG = NIGHTS + 20
VERB = "hindmost.analysis.verbs.history.time.time"


class Nightly:
    """Nights that are judged and mailed one after the other, at a time that is given."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, **cases: NDArray[np.float64]):
        self.folder, self.patch = folder, patch
        self.paths = write_nights(
            folder / "nights", {case: {"t": values} for case, values in cases.items()}, range(LONG)
        )
        self.state = folder / "state"

    def night(self, night: int, *more: str, minutes: int = 0) -> EmailMessage:
        """Do what a night does, with all results so far, and return its mail."""
        at = FIRST + timedelta(days=night, minutes=minutes)
        self.patch.setattr(VERB, at.timestamp)
        mail = self.folder / "mail"
        mail.unlink(missing_ok=True)
        main(
            [
                "history",
                *map(str, self.paths[: night + 1]),
                *("--state", str(self.state), "--mail", str(mail), *more),
            ]
        )
        message = email.message_from_bytes(mail.read_bytes(), policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        return message


def text(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def is_told(message: EmailMessage) -> bool:
    if not message["Subject"]:
        return False
    page = message.get_body(("html",))
    assert page is not None
    told = "blake" in text(message) or " s -> " in text(message)
    assert ("s -&gt; " in str(page.get_content())) == told
    return told


def test_a_finding_is_mailed_once_and_then_weekly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly = Nightly(tmp_path, monkeypatch, ice=stepped(0, nights=LONG))
    subjects = {}
    told = []
    for night in range(STEP, STEP + 19):
        message = nightly.night(night, minutes=-3 * night)
        subjects[night] = str(message["Subject"])
        if is_told(message):
            told.append(night)
    # The first mail counts as a digest. Seen on the first night, confirmed after five; digests are
    # due 7 and 14 days after the first mail, also if they leave some minutes earlier.
    assert told == [STEP, STEP + 4, STEP + 7, STEP + 14]
    assert "1 new finding" in subjects[STEP + 4]
    assert subjects[STEP + 5] == "None"
    assert "weekly digest" in subjects[STEP + 7]
    # It is still told when it is older than the last days.
    assert "weekly digest" in subjects[STEP + 14]


def test_what_is_acknowledged_leaves_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly = Nightly(tmp_path, monkeypatch, ice=stepped(0, nights=LONG))
    assert is_told(nightly.night(STEP + 5))
    folder = str(tmp_path / "nights")
    assert main(["history", "ack", folder, "--date", day(STEP), "--reason", "compiler"]) == 0
    assert not is_told(nightly.night(STEP + 12))


def test_a_mail_that_nobody_read_does_not_count(tmp_path: Path) -> None:
    write_nights(tmp_path / "nights", {"ice": {"t": stepped(0)}}, range(NIGHTS))
    reader, writer = os.pipe()
    os.close(reader)  # as where sendmail is not there
    words = ["history", str(tmp_path / "nights"), "--state", str(tmp_path / "state"), "--mail", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "hindmost", *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.returncode not in (0, 1)
    kept = read_state(tmp_path / "state")
    assert kept.mailed == MailRecord()
    assert len(kept.series) == 1


def test_a_second_change_is_news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = stepped(0, nights=LONG)
    values[STEP + 8 :] *= 1.3
    nightly = Nightly(tmp_path, monkeypatch, ice=values, sea=noise(1, LONG))
    assert is_told(nightly.night(STEP + 6))
    message = nightly.night(STEP + 12)
    assert "1 new finding, 1 still open" in message["Subject"]
    assert text(message).count(" s -> ") == 1


def test_the_first_mail_lists_what_is_open_from_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly = Nightly(tmp_path, monkeypatch, ice=stepped(0, nights=LONG))
    message = nightly.night(STEP + 20)
    assert "nothing new, 1 still open, weekly digest" in message["Subject"]
    assert text(message).count(" s -> ") == 1
    assert not is_told(nightly.night(STEP + 21))


def test_a_change_that_is_found_late_is_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"ice": noise(0, LONG), "sea": noise(1, LONG)}
    nightly = Nightly(tmp_path, monkeypatch, **values)
    assert not is_told(nightly.night(STEP + 15))
    for path in nightly.paths:  # the files of a node that was away come in
        night = json.loads(path.read_text())
        slow = 1.2 if nightly.paths.index(path) >= STEP else 1.0
        night["late"] = {**night["ice"], "case": "late"}
        night["late"]["timers"] = {"t": slow * night["ice"]["timers"]["t"]}
        path.write_text(json.dumps(night))
    message = nightly.night(STEP + 16)
    assert "1 new finding" in message["Subject"]
    assert "late, t" in text(message)


def test_without_a_state_everything_is_mailed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_nights(tmp_path / "nights", {"ice": {"t": stepped(0)}}, range(NIGHTS))
    for _ in range(2):
        assert main(["history", *map(str, paths), "--mail", str(tmp_path / "mail")]) == 1
        assert " s -> " in (tmp_path / "mail").read_text()


@pytest.mark.parametrize(
    ("last", "now", "due"),
    [
        ("2026-03-01T05:30", "2026-03-07T23:59", False),
        ("2026-03-01T05:30", "2026-03-08T05:29", True),
        ("2026-03-01T23:59", "2026-03-08T00:01", True),
        ("2026-03-27T00:30", "2026-04-02T23:30", False),  # a change of clocks lies between
        ("2026-12-30T05:30", "2027-01-06T05:30", True),
        ("2030-01-01T05:30", "2026-03-01T05:30", True),  # that clock was wrong
    ],
)
def test_digests_are_due_by_dates(last: str, now: str, due: bool) -> None:
    at = [datetime.fromisoformat(each).replace(tzinfo=UTC).timestamp() for each in (last, now)]
    assert is_digest_due(at[0], at[1]) == due


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
    event = Event(kind=WITHDRAWN, time=at, changed=at, effect=0.25, reason="it is noise")
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


@pytest.mark.parametrize("kind", ["seen", "moved"])
def test_what_was_found_again_or_moved_is_not_withdrawn(tmp_path: Path, kind: EventKind) -> None:
    study, record, now = refuted(tmp_path / "nights")
    (judged,) = study.judged
    (withdrawn,) = judged.log
    moved = withdrawn.changed + 30 * DAY if kind == "moved" else withdrawn.changed
    later = replace(withdrawn, kind=kind, changed=moved, was=withdrawn.changed, reason="")
    again = replace(judged, log=(withdrawn, later))
    assert plan_mail(study, record, now).withdrawn
    assert not plan_mail(replace(study, judged=(again,)), record, now).withdrawn
