"""A mail goes to a server with TLS and a login; no password goes anywhere else."""

from __future__ import annotations

import base64
import shutil
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import cast

import pytest
from tests.analysis.history.planted import NIGHTS, stepped, write_nights

from hindmost.analysis.history.mail_server import PASSWORD, mail_server, password_for, send
from hindmost.cli import main
from hindmost.errors import MissingError, UsageError

USER, SECRET = "nightly@example.org", "s3cr3t-of-tests"


class Talk(socketserver.StreamRequestHandler):
    """A talk with STARTTLS (RFC 3207) and AUTH PLAIN (RFC 4616)."""

    def handle(self) -> None:
        server = cast(TlsServer, self.server)
        secure = server.begins_secure
        if secure and not self.secured():
            return
        self.reply("220 localhost")
        while line := self.rfile.readline():  # another file after STARTTLS
            words = line.decode().strip()
            server.heard.append((secure, words))
            verb = words.split(" ", 1)[0].upper()
            if verb == "EHLO":
                offers = ["AUTH PLAIN"] if secure else ["STARTTLS"] if server.offers else []
                for each in ["localhost", *offers][:-1]:
                    self.reply(f"250-{each}")
                self.reply(f"250 {['localhost', *offers][-1]}")
            elif verb == "STARTTLS":
                self.reply("220 go on")
                if not self.secured():
                    return
                secure = True
            elif verb == "AUTH":
                given = base64.b64decode(words.split()[-1]).decode()
                good = given == f"\0{USER}\0{SECRET}"
                self.reply("235 welcome" if good else "535 who is that")
            elif verb == "DATA":
                self.reply("354 go on")
                server.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                self.reply("250 taken")
            elif verb == "QUIT":
                self.reply("221 bye")
                return
            else:
                self.reply("250 well")

    def secured(self) -> bool:
        """Go on with TLS; tell whether the client agreed."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cast(TlsServer, self.server).certificate)
        try:
            self.connection = context.wrap_socket(self.request, server_side=True)
        except (ssl.SSLError, OSError):
            return False
        self.request = self.connection
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)
        return True

    def finish(self) -> None:
        self.rfile.close()
        self.wfile.close()
        self.connection.close()

    def reply(self, words: str) -> None:
        self.wfile.write(f"{words}\r\n".encode())


class TlsServer(socketserver.ThreadingTCPServer):
    """A mail server with a certificate that it signed itself, and what it was told."""

    daemon_threads = True

    def __init__(self, certificate: Path, *, begins_secure: bool, offers: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), Talk)
        self.certificate, self.begins_secure, self.offers = certificate, begins_secure, offers
        self.mails: list[bytes] = []
        self.heard: list[tuple[bool, str]] = []

    def name(self, scheme: str, user: str = USER) -> str:
        return f"{scheme}://{f'{user}@' if user else ''}localhost:{self.server_address[1]}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the command openssl, for a certificate")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    key = path.with_name("key.pem")
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext"),
            *("subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(path)),
        ],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + key.read_text())
    return path


def running(server: TlsServer) -> Iterator[TlsServer]:
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def secure(certificate: Path) -> Iterator[TlsServer]:
    yield from running(TlsServer(certificate, begins_secure=True))


@pytest.fixture
def upgrading(certificate: Path) -> Iterator[TlsServer]:
    yield from running(TlsServer(certificate, begins_secure=False))


@pytest.fixture
def bare(certificate: Path) -> Iterator[TlsServer]:
    yield from running(TlsServer(certificate, begins_secure=False, offers=False))


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


def message() -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = USER, "team@example.org", "nights"
    made.set_content("all well")
    return made


@pytest.mark.usefixtures("trusted")
def test_a_login_over_tls(secure: TlsServer) -> None:
    send(message(), mail_server(secure.name("smtps")), SECRET)
    assert b"all well" in secure.mails[0]
    assert any(words.startswith("AUTH") for _, words in secure.heard)


@pytest.mark.usefixtures("trusted")
def test_a_login_after_starttls(upgrading: TlsServer) -> None:
    send(message(), mail_server(upgrading.name("smtp+starttls")), SECRET)
    assert b"all well" in upgrading.mails[0]
    plain = [words.split()[0].upper() for secure, words in upgrading.heard if not secure]
    assert plain == ["EHLO", "STARTTLS"]


@pytest.mark.usefixtures("trusted")
def test_a_server_without_starttls_gets_neither_login_nor_mail(bare: TlsServer) -> None:
    with pytest.raises(MissingError, match="STARTTLS"):
        send(message(), mail_server(bare.name("smtp+starttls")), SECRET)
    assert not bare.mails
    assert not any("AUTH" in words for _, words in bare.heard)


@pytest.mark.parametrize("scheme", ["smtps", "smtp+starttls"])
def test_a_certificate_that_nobody_knows_is_refused(
    scheme: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("secure" if scheme == "smtps" else "upgrading")
    with pytest.raises(MissingError, match="SSL_CERT_FILE"):
        send(message(), mail_server(server.name(scheme)), SECRET)
    assert not server.mails
    assert not any("AUTH" in words for _, words in server.heard)


@pytest.mark.usefixtures("trusted")
def test_a_wrong_password_is_told_and_not_shown(secure: TlsServer) -> None:
    for wrong in ("wrong-one", "pässword"):
        with pytest.raises(MissingError, match=r"refused the login of|outside of ASCII") as caught:
            send(message(), mail_server(secure.name("smtps")), wrong)
        assert wrong not in str(caught.value)
    assert not secure.mails


@pytest.mark.usefixtures("trusted")
def test_the_verb_takes_the_password_from_where_no_one_looks(
    secure: TlsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_nights(tmp_path / "nights", {"ice": {"t": stepped(0)}}, range(NIGHTS))
    words = ["history", str(tmp_path / "nights"), "--to", "a@example.org", "--from", USER]
    words += ["--smtp", secure.name("smtps")]
    monkeypatch.setenv(PASSWORD, SECRET)
    assert main(words) == 1
    assert b"Subject: hindmost: fail: 1 slowdown" in secure.mails[0]


def test_passwords_that_are_missing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD, raising=False)
    with pytest.raises(UsageError, match=PASSWORD):
        password_for(mail_server("smtps://me@mail.example.org"))
    assert password_for(mail_server("mail.example.org")) == ""


@pytest.mark.parametrize(
    ("words", "host", "port", "user"),
    [
        ("mail.example.org", "mail.example.org", 25, ""),
        ("localhost:1025", "localhost", 1025, ""),
        ("[::1]:25", "::1", 25, ""),
        ("[::1]", "::1", 25, ""),
        ("smtp://localhost", "localhost", 25, ""),
        ("smtps://me@mail.example.org", "mail.example.org", 465, "me"),
        (
            "smtps://me@here.org@mail.example.org:4650",
            "mail.example.org",
            4650,
            "me@here.org",
        ),
        ("smtp+starttls://me@[::1]", "::1", 587, "me"),
    ],
)
def test_names_of_servers(words: str, host: str, port: int, user: str) -> None:
    server = mail_server(words)
    assert (server.host, server.port, server.user) == (host, port, user)


@pytest.mark.parametrize(
    "words",
    [
        *("", ":25", "host:", "host:x", "host:0", "host:70000", "ftp://host", "smtps://@host"),
        *("smtps://me:secret@host", "smtp://me@host", "me@host"),
    ],
)
def test_names_that_are_none_are_refused(words: str) -> None:
    with pytest.raises(UsageError) as caught:
        mail_server(words)
    assert "secret" not in str(caught.value)
