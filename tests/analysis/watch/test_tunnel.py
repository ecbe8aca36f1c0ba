"""The page through a real SSH tunnel, as docs/live.md has it."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, NoReturn
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from tests.analysis.watch.feeds import Feed

from hindmost.analysis.watch.server import WatchServer

PATIENCE_S = 120.0
PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


def program(name: str) -> str:
    found = shutil.which(name, path=PLACES)
    if found is None:
        absent(f"no {name} here: install the server and the client of OpenSSH")
    return found


def absent(reason: str) -> NoReturn:
    """Skip the test; in CI, where set-up has installed OpenSSH, it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait for a process to listen on a port; tell whether it does."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.05)
    return False


def ended(process: subprocess.Popen[bytes], log: Path) -> str:
    process.terminate()
    process.wait(timeout=PATIENCE_S)
    return log.read_text().strip()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[list[str]]:
    """Start an SSH server of one's own; return the words that name it."""
    sshd, keygen = program("sshd"), program("ssh-keygen")
    if os.geteuid() == 0:
        # Debian's sshd insists on this folder, which only the service makes.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    for name in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    port = free_port()
    (tmp_path / "settings").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nPidFile none\n"
        f"AuthorizedKeysFile {tmp_path}/user.pub\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\n"
    )
    log = tmp_path / "sshd.log"
    with log.open("wb") as said:
        server = subprocess.Popen([sshd, "-D", "-e", "-f", tmp_path / "settings"], stderr=said)
    try:
        if not answers(port, server):
            absent(f"sshd does not run for this user: {ended(server, log)}")
        known = f"UserKnownHostsFile={tmp_path}/known"
        yield [
            *("-F", "none", "-i", str(tmp_path / "user"), "-p", str(port), "-o", known),
            *("-o", "StrictHostKeyChecking=accept-new", "-o", "IdentitiesOnly=yes"),
            *("-o", "BatchMode=yes", f"{getpass.getuser()}@127.0.0.1"),
        ]
    finally:
        ended(server, log)


def lines_of(event: IO[bytes]) -> list[int]:
    """Return the numbers of the frames of the next event that has some."""
    while True:
        text = event.readline()
        if not text:
            raise EOFError
        if text.startswith(b"data: "):
            content = json.loads(text[6:])
            told = content.get("frames", content.get("lines"))
            return [line["frame"] for line in told if line["kind"] == "frame"]


def test_page_and_events_come_through_a_tunnel(
    feed: Feed, there: list[str], tmp_path: Path
) -> None:
    here = free_port()
    log = tmp_path / "ssh.log"
    with WatchServer(feed.path) as server:
        away, place = server.server_address[1], urlsplit(server.address()).path
        words = ["-N", "-o", "ExitOnForwardFailure=yes", "-L", f"{here}:127.0.0.1:{away}"]
        with log.open("wb") as said:
            tunnel = subprocess.Popen([program("ssh"), *words, *there], stderr=said)
        try:
            if not answers(here, tunnel):
                absent(f"ssh opens no tunnel for this user: {ended(tunnel, log)}")
            with urlopen(f"http://localhost:{here}{place}", timeout=PATIENCE_S) as page:
                assert b"laplacian-1d, live" in page.read()
            address = f"http://127.0.0.1:{here}{place}events"
            with urlopen(address, timeout=PATIENCE_S) as events:
                assert lines_of(events) == [0, 1, 2, 3, 4]
                for first in (5, 8):
                    feed.frames(3)
                    assert lines_of(events) == [first, first + 1, first + 2]
        finally:
            ended(tunnel, log)
