"""The server of a live page: who gets what, and that nobody holds up anybody."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.analysis.watch.feeds import Feed, head

from hindmost.analysis.watch import server as room
from hindmost.analysis.watch.server import WatchServer
from hindmost.harness.runfile.feed import control_file

PATIENCE_S = 20.0


@pytest.fixture
def server(feed: Feed) -> Iterator[WatchServer]:
    with WatchServer(feed.path) as started:
        yield started


CLIENTS: list[socket.socket] = []


@pytest.fixture(autouse=True)
def clients_closed() -> Iterator[None]:
    # A test before may have started PETSc, which catches what Python ignores: broken pipes.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    yield
    while CLIENTS:
        CLIENTS.pop().close()


def connect(server: WatchServer, window: int = 0) -> socket.socket:
    client = socket.socket()
    CLIENTS.append(client)
    if window:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    client.settimeout(PATIENCE_S)
    client.connect(server.server_address)
    return client


def ask(server: WatchServer, request: bytes) -> bytes:
    with connect(server) as client:
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


class Events:
    """The events of one viewer."""

    def __init__(self, server: WatchServer, *, window: int = 0) -> None:
        self.client = connect(server, window)
        self.client.sendall(request(place(server) + "events"))
        self.rest = b""

    def next(self) -> tuple[str, dict[str, object]]:
        while True:
            while b"\n\n" not in self.rest:
                got = self.client.recv(1 << 16)
                if not got:
                    raise EOFError
                self.rest += got
            text, self.rest = self.rest.split(b"\n\n", 1)
            lines = dict(each.split(": ", 1) for each in text.decode().split("\n") if ": " in each)
            if "event" in lines:
                return lines["event"], json.loads(lines["data"])

    def exhaust(self) -> None:
        """Read until the server ends it."""
        while True:
            self.next()

    def frames(self, count: int) -> list[int]:
        """Return the numbers of the frames until there are so many."""
        seen: list[int] = []
        while len(seen) < count:
            event, content = self.next()
            lines = content["frames"] if event == "history" else content["lines"]
            assert isinstance(lines, list)
            seen += [line["frame"] for line in lines if line["kind"] == "frame"]
        return seen


def test_it_listens_on_loopback_alone(server: WatchServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


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
    wrong = ["/", "/favicon.ico", "/../", "/events", "/\xe4\xf6/", f"/{'a' * 9000}/", *near]
    answers = {ask(server, request(path)).split(b"Date")[0] for path in wrong}
    bodies = {ask(server, request(path)).split(b"\r\n\r\n")[1] for path in wrong}
    assert len(answers) == 1
    assert bodies == {b"403\n"}


def test_no_file_can_be_reached(server: WatchServer, feed: Feed) -> None:
    base = place(server)
    for path in ("../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", feed.path.name, "events/../..",
                 "/etc/passwd", "..\\..", "page.css", "control", "events/", "\0"):  # fmt: skip
        assert status(ask(server, request(base + path))) in (400, 403, 404), path


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example", "[::2]"]
)
def test_other_hosts_are_refused(server: WatchServer, host: str) -> None:
    assert status(ask(server, request(place(server), host=host))) == 403


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:8765", "localhost", "[::1]:80"])
def test_the_end_of_a_tunnel_is_not(server: WatchServer, host: str) -> None:
    assert status(ask(server, request(place(server), host=host))) == 200


def test_malformed_requests_end_in_an_error_and_nothing_else(server: WatchServer) -> None:
    base = place(server)
    malformed = [
        b"",
        b"\r\n",
        b"\0" * 1000,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"x" * 70_000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
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


def test_control_takes_what_the_lists_hold(server: WatchServer, feed: Feed) -> None:
    json_kind = "Content-Type: application/json"
    wanted = json.dumps({"period_s": 1.0, "metric": "wait"})
    path = place(server) + "control"
    wrong = request(f"/{'x' * 43}/control", json_kind, verb="POST", body=wanted)
    assert status(ask(server, wrong)) == 403
    asked = control_file(feed.path)
    bad = [
        *("", "{}", "[]", "null", "1", "x", "[" * 500, '{"period_s": NaN, "metric": "wait"}'),
        json.dumps({"period_s": 3, "metric": "wait"}),
        json.dumps({"period_s": 1.0, "metric": "../../x"}),
        json.dumps({"period_s": [], "metric": {}}),
        json.dumps({"period_s": 1.0, "metric": "wait", "x": "y" * 600}),
    ]
    for body in bad:
        assert status(ask(server, request(path, json_kind, verb="POST", body=body))) == 400, body
    plain = request(path, "Content-Type: text/plain", verb="POST", body=wanted)
    assert status(ask(server, plain)) == 400
    assert not asked.exists()
    assert status(ask(server, request(path, json_kind, verb="POST", body=wanted))) == 204
    assert asked.read_text() == "3 2\n"
    assert '<select id="metric">' in ask(server, request(place(server))).decode()


def test_late_viewers_see_the_history_then_the_news(server: WatchServer, feed: Feed) -> None:
    early = Events(server)
    assert early.frames(5) == list(range(5))
    feed.frames(20)
    assert early.frames(20) == list(range(5, 25))
    late = Events(server)
    assert late.frames(25) == list(range(25))
    feed.frames(1)
    assert early.frames(1) == late.frames(1) == [25]


def test_viewers_are_told_when_the_run_ends_or_dies(tmp_path: Path) -> None:
    for number, how in enumerate(("done", "failed", "died")):
        feed = Feed(tmp_path, head())
        feed.solve()
        feed.frames(2)
        with WatchServer(feed.path) as server:
            viewer = Events(server)
            viewer.frames(2)
            if how == "died":
                feed.die()
            else:
                feed.end(how, "no convergence")
            _, content = viewer.next()
            state = content["state"]
            assert isinstance(state, dict)
            assert state["end"]["status"] == how, number


def test_200_viewers_see_every_frame(server: WatchServer, feed: Feed) -> None:
    viewers = [Events(server) for _ in range(200)]
    assert all(viewer.frames(5) == list(range(5)) for viewer in viewers)
    for _ in range(10):
        feed.frames(2)
        time.sleep(0.02)
    assert all(viewer.frames(20) == list(range(5, 25)) for viewer in viewers)
    assert server.hub.viewers == 200


def test_a_slow_reader_is_dropped_and_holds_up_nobody(
    server: WatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "TIMEOUT_S", 0.5)
    wide = Feed(tmp_path, head(256, 256))
    wide.solve(10**7)
    with WatchServer(wide.path) as own:
        slow, fast = Events(own, window=4096), Events(own)
        seen: list[int] = []
        end = time.monotonic() + PATIENCE_S
        while own.hub.viewers != 1 or len(seen) < 100:
            assert time.monotonic() < end
            wide.frames(20, ranks=256, columns=256)
            seen += fast.frames(20)
            time.sleep(0.05)
        assert seen == list(range(len(seen)))
        with pytest.raises((EOFError, ConnectionError)):
            slow.exhaust()
        # It may come back, to the history.
        assert len(Events(own).frames(1)) > 1


def test_a_slow_link_gets_the_whole_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "TIMEOUT_S", 0.5)
    wide = Feed(tmp_path, head(256, 256))
    wide.solve(10**7)
    wide.frames(600, ranks=256, columns=256)
    with WatchServer(wide.path) as own:
        slow = Events(own, window=4096)
        began = time.monotonic()
        while b"\n\n" not in slow.rest.partition(b"event: history")[2]:
            got = slow.client.recv(1 << 15)
            assert got, f"cut off after {len(slow.rest)} bytes"
            slow.rest += got
            time.sleep(0.04)
        # The whole takes longer than a piece may.
        assert time.monotonic() > began + room.TIMEOUT_S
        assert len(slow.frames(600)) == 600


def test_the_address_without_its_last_slash_leads_to_the_page(server: WatchServer) -> None:
    answer = ask(server, request(place(server).removesuffix("/")))
    assert status(answer) == 308
    assert f"Location: {place(server)}\r\n".encode() in answer
    assert status(ask(server, request("/wrong"))) == 403


def test_a_connection_that_says_nothing_is_cut_off(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room.Viewer, "timeout", 0.5)
    with WatchServer(feed.path) as server:
        assert connect(server).recv(1) == b""
        viewer = Events(server)  # a viewer whose request is whole stays longer than that
        assert viewer.frames(5) == list(range(5))
        time.sleep(0.8)
        feed.frames(1)
        assert viewer.frames(1) == [5]
