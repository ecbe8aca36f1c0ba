"""The mail reads as one, and a real mail server takes it."""

from __future__ import annotations

import email
import email.policy
import socketserver
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import cast

import pytest
from tests.analysis.history.planted import (
    FIRST,
    NIGHTS,
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
from hindmost.analysis.history.mail_server import mail_server, send
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.history import FailedRun
from hindmost.cli import main
from hindmost.errors import MissingError, UsageError


class Conversation(socketserver.StreamRequestHandler):
    """One client's talk with a mail server (RFC 5321, section 4.1.1)."""

    def handle(self) -> None:
        server = cast(MailServer, self.server)
        self.reply("220 localhost")
        for line in iter(self.rfile.readline, b""):
            words = line.decode("utf-8").strip()
            verb = words.split(" ", 1)[0].split(":")[0].upper()
            if verb == "DATA":
                self.reply("354 go on")
                server.mails.append(self.body())
                self.reply("250 taken")
            elif verb == "QUIT":
                self.reply("221 bye")
                return
            elif verb == "RCPT" and "nobody@" in words:
                self.reply("550 no such user")
            else:
                server.envelope.append(words)
                self.reply("250 localhost")

    def body(self) -> bytes:
        lines: list[bytes] = []
        for line in iter(self.rfile.readline, b".\r\n"):
            assert line.endswith(b"\r\n")
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def reply(self, words: str) -> None:
        self.wfile.write(f"{words}\r\n".encode())


class MailServer(socketserver.ThreadingTCPServer):
    """A mail server on this machine, and what it was given."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.mails: list[bytes] = []
        self.envelope: list[str] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


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
    return str(body.get_content()).replace("\r\n", "\n")  # as SMTP has them


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


def test_a_mail_server_takes_it_whole(server: MailServer) -> None:
    message = mail(sender="nightly@example.org", recipients=["a@example.org", "b@example.org"])
    send(message, mail_server(server.address))
    (given,) = server.mails
    read = email.message_from_bytes(given, policy=email.policy.default)
    assert read["To"] == "a@example.org, b@example.org"
    assert part(read, "plain") == part(message, "plain")
    assert part(read, "html") == part(message, "html")
    assert [words.split()[0] for words in server.envelope[1:]] == ["mail", "rcpt", "rcpt"]
    assert "<b@example.org>" in server.envelope[-1].lower()


def test_the_verb_sends_it(server: MailServer, tmp_path: Path) -> None:
    write_nights(tmp_path / "nights", {"ice": {"t": stepped(0)}}, range(NIGHTS))
    words = [
        "history",
        str(tmp_path / "nights"),
        "--to",
        "a@example.org",
        "--from",
        "n@example.org",
    ]
    assert main([*words, "--smtp", server.address]) == 1
    assert b"Subject: hindmost: fail: 1 slowdown" in server.mails[0]


def test_a_refused_address_is_told(server: MailServer) -> None:
    message = mail(sender="n@example.org", recipients=["a@example.org", "nobody@example.org"])
    with pytest.raises(MissingError, match="refused nobody"):
        send(message, mail_server(server.address))
    assert len(server.mails) == 1


def test_a_server_that_is_not_there_is_told(server: MailServer) -> None:
    address = server.address
    server.server_close()
    with pytest.raises(MissingError, match="did not accept the mail"):
        send(mail(sender="n@example.org", recipients=["a@example.org"]), mail_server(address))


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
