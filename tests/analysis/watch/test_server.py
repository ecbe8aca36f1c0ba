"""The server of a live page: who gets what."""

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from tests.analysis.watch.notes import note, watched_use, windows_of

from hindmost.analysis.watch.program import WatchedFolder
from hindmost.analysis.watch.server import WatchServer

PATIENCE_S = 20.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchServer]:
    show(tmp_path, 5)
    with WatchServer(WatchedFolder(tmp_path)) as started:
        yield started


def show(folder: Path, windows: int, *, run: int = 1) -> None:
    use = watched_use(1, 2, iterations=100 * windows, total=100_000)
    work = windows_of(np.tile([0.4, 0.8], (windows, 1)))
    note(folder, replace(use, run=run, runs=2), windows=work, name="<b>büro-0")


def ask(server: WatchServer, request: bytes) -> bytes:
    with socket.socket() as client:
        client.settimeout(PATIENCE_S)
        client.connect(server.server_address)
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while got := client.recv(1 << 16):
            answer += got
        return answer


def request(
    path: str, *more: str, verb: str = "GET", host: str = "localhost:1", body: str = ""
) -> bytes:
    lines = [f"{verb} {path} HTTP/1.1", f"Host: {host}", *more]
    if body:
        lines.append(f"Content-Length: {len(body.encode())}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def place(server: WatchServer) -> str:
    return urlsplit(server.address()).path


class Page:
    """What the page asks for, one time after the other."""

    def __init__(self, server: WatchServer) -> None:
        self.server, self.have, self.phase = server, "", "local"

    def last_iteration(self) -> float | None:
        """Return the iteration at which the charts that it is sent end; None if it is sent none."""
        path = f"{place(self.server)}news?have={self.have}&phase={self.phase}"
        content: dict[str, Any] = json.loads(
            ask(self.server, request(path)).partition(b"\r\n\r\n")[2]
        )
        self.have = content["have"]
        if content["charts"] is None:
            return None
        return float(content["charts"]["chart-2"]["data"]["x"]["limits"][1])


def test_the_page_asks_nothing_of_anybody_else(server: WatchServer) -> None:
    answer = ask(server, request(place(server))).decode()
    assert status(answer.encode()) == 200
    page = answer.split("\r\n\r\n", 1)[1]
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page
    assert "<b>büro" not in page
    assert "connect-src 'self'" in page
    token = place(server).strip("/")
    assert token not in answer
    for header in ("Cache-Control: no-store", "Referrer-Policy: no-referrer", "nosniff"):
        assert header in answer


def test_without_the_token_everything_is_refused_in_the_same_words(server: WatchServer) -> None:
    token = place(server).strip("/")
    near = [f"/{token[:-1]}/", f"/{token}x/", f"/{token.upper()}/", f"/%2e%2e/{token}/"]
    assert server.server_address[0] == "127.0.0.1"
    base = place(server)
    for path in ("../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "news/../..", "..\\..", "\0"):
        assert status(ask(server, request(base + path))) in (400, 403, 404), path
    wrong = ["/", "/favicon.ico", "/../", "/news", "/\xe4\xf6/", f"/{'a' * 9000}/", *near]
    answers = {ask(server, request(path)).split(b"Date")[0] for path in wrong}
    bodies = {ask(server, request(path)).split(b"\r\n\r\n")[1] for path in wrong}
    assert len(answers) == 1
    assert bodies == {b"403\n"}


def test_other_hosts_are_refused_but_not_the_end_of_a_tunnel(server: WatchServer) -> None:
    for host in ("evil.example", "evil.example:80", "", "127.0.0.1.evil.example", "[::2]"):
        assert status(ask(server, request(place(server), host=host))) == 403, host
    for host in ("localhost:9000", "127.0.0.1:8765", "localhost", "[::1]:80"):
        assert status(ask(server, request(place(server), host=host))) == 200, host


def test_malformed_requests_end_in_an_error_and_nothing_else(server: WatchServer) -> None:
    base = place(server)
    malformed = [
        b"",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET " + base.encode() + b"\r\n\r\n",
        b"POST " + base.encode() + b"control HTTP/1.1\r\n\r\n",
        *(request(base, verb=verb) for verb in ("PUT", "<script>", "HEAD")),
    ]
    for each in malformed:
        answer = ask(server, each)
        assert b"script" not in answer
        said = answer.split(b" ", 2)[1] if answer.startswith(b"HTTP/") else answer or b"400"
        assert int(said) >= 400, each[:40]  # HTTP 0.9 has no first line
    assert status(ask(server, request(base))) == 200


def test_nothing_can_be_changed(server: WatchServer) -> None:
    base = place(server)
    for path in (base, base + "control", base + "news"):
        assert status(ask(server, request(path, verb="POST", body="{}"))) == 403


def test_a_page_gets_the_history_then_the_news(server: WatchServer, tmp_path: Path) -> None:
    early = Page(server)
    assert early.last_iteration() == 500.0
    assert early.last_iteration() is None
    show(tmp_path, 25)
    assert early.last_iteration() == 2500.0
    late = Page(server)
    assert late.last_iteration() == 2500.0
    show(tmp_path, 26)
    assert early.last_iteration() == late.last_iteration() == 2600.0
    early.phase = "wait"
    assert early.last_iteration() == 2600.0  # another map
    show(tmp_path, 2, run=2)
    assert early.last_iteration() == 200.0  # of the next solve


def test_unknown_phases_stand_for_own_work(server: WatchServer) -> None:
    page = Page(server)
    page.phase = "..%2F%3Cscript%3E"
    assert page.last_iteration() == 500.0
    assert page.have.startswith("local.")
