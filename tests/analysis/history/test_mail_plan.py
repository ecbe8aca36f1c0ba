"""A finding is mailed once, then in a weekly digest until it is acknowledged or undone."""

from __future__ import annotations

import email
import email.policy
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import FIRST, NIGHTS, STEP, day, noise, stepped, write_nights

from hindmost.analysis.history.mail_record import MailRecord, is_digest_due
from hindmost.analysis.history.state_file import read_state
from hindmost.cli import main

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
    # The first mail counts as a digest. Seen after three nights, confirmed after two more; digests
    # are due 7 and 14 days after the first mail, also if they leave some minutes earlier.
    assert told == [STEP + 2, STEP + 4, STEP + 7, STEP + 14]
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
