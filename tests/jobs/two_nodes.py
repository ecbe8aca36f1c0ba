"""Two nodes on one machine: network and host names of their own, and a link that can be made slow.

    unshare --net --uts --mount --pid --fork --mount-proc python -m tests.jobs.two_nodes COMMAND...

Only inside that ``unshare``: this process is on the first node, and everything ends with it. The
link is a relay between two virtual Ethernet devices (TAP),
so ranks on both nodes talk over TCP.
"""

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ADDRESSES = {"n0": "10.77.0.1", "n1": "10.77.0.2"}
"""No loopback addresses, which OpenPBS refuses; these exist in the namespaces only."""
HOME = Path("/srv")
"""Where servers keep their files: memory, mounted here in this namespace only."""

INSIDE = "HINDMOST_TEST_NODES"
"""The variable that says that a command is on the first node."""
COMMAND_LIMIT_S = 60.0
DELAY_LOOK_S = 0.1
SLICE_S, SLICES_A_LOOK = 0.001, 50
NETWORK = "/proc/self/ns/net"
_TUNSETIFF, _TAP, _WITHOUT_HEADER = 0x400454CA, 0x0002, 0x1000


class CommandError(Exception):
    """A command of a node failed; the message is what it said."""


def run(*words: str | Path, on: str = "n0", environment: dict[str, str] | None = None) -> str:
    """Run a command on a node, and return what it printed."""
    done = subprocess.run(
        [*enter(on), *map(str, words)],
        env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        timeout=COMMAND_LIMIT_S,
    )  # fmt: skip
    if done.returncode:
        raise CommandError(f"{words[0]}: {done.stdout}{done.stderr}")
    return done.stdout


def enter(node: str) -> list[str]:
    """Return the words before a command that let it run on a node."""
    if node == "n0":
        return []
    return ["nsenter", "--net", "--uts", "--target", (HOME / f"{node}.pid").read_text()]


def core(node: str) -> str:
    """Return the core of a node: one each, so that ranks on both do not share one."""
    cores = sorted(os.sched_getaffinity(1))  # of this namespace's first process: never bound
    return str(cores[list(ADDRESSES).index(node) % len(cores)])


def begin() -> None:
    """Make the nodes; this process is on the first."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "nodes", HOME], check=True)
    hosts = HOME / "hosts"
    named = "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
    hosts.write_text(f"127.0.0.1 localhost\n{named}")
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
    second = subprocess.Popen(["unshare", "--net", "--uts", "sleep", "infinity"])
    (HOME / "n1.pid").write_text(str(second.pid))
    end = time.monotonic() + COMMAND_LIMIT_S
    ours, theirs = Path("/proc/self/ns/net"), Path(f"/proc/{second.pid}/ns/net")
    while theirs.readlink() == ours.readlink():
        if time.monotonic() > end:
            raise CommandError("unshare made no second node")
        time.sleep(0.01)
    start_relay()
    run("ip", "link", "set", "n1", "netns", str(second.pid))
    for name, address in ADDRESSES.items():
        run("hostname", name, on=name)
        run("ip", "addr", "add", f"{address}/24", "dev", name, on=name)
        run("ip", "link", "set", name, "up", on=name)
        run("ip", "link", "set", "lo", "up", on=name)


def delay_link(seconds: float) -> None:
    """Let every packet between the nodes take this much longer, in either direction."""
    (HOME / "delay").write_text(str(seconds))
    time.sleep(2 * DELAY_LOOK_S)


@contextmanager
def slowed(node: str, program: str) -> Iterator[None]:
    """Let the processes of a program on a node run a quarter of the time, as cpulimit does."""
    end = threading.Event()
    theirs = run("readlink", NETWORK, on=node).strip()

    def here(process: Path) -> bool:
        with suppress(OSError):
            name = (process / "comm").read_text().strip()
            return name == program and str((process / "ns" / "net").readlink()) == theirs
        return False

    def send(what: signal.Signals, pids: list[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, what)

    def limit() -> None:
        while not end.is_set():
            pids = [int(path.name) for path in Path("/proc").glob("[0-9]*") if here(path)]
            for _ in range(SLICES_A_LOOK):
                send(signal.SIGSTOP, pids)
                time.sleep(3 * SLICE_S)
                send(signal.SIGCONT, pids)
                time.sleep(SLICE_S)

    limiter = threading.Thread(target=limit)
    limiter.start()
    try:
        yield
    finally:
        end.set()
        limiter.join()


def start_relay() -> None:
    """Make a device for each node, and start the process that carries packets between them."""
    (HOME / "delay").write_text("0")
    ends = [os.open("/dev/net/tun", os.O_RDWR) for _ in ADDRESSES]
    for end, name in zip(ends, ADDRESSES, strict=True):
        fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH", name.encode(), _TAP | _WITHOUT_HEADER))
    if os.fork() == 0:
        relay(ends)
    for end in ends:
        os.close(end)


def relay(ends: list[int]) -> None:
    """Carry packets from each end to the other, late by the delay of the moment; never return."""
    with suppress(PermissionError):
        os.nice(-20)  # it must not wait for the core of a rank
    waiting: deque[tuple[float, int, bytes]] = deque()
    delay_s, looked = 0.0, 0.0
    while True:
        now = time.monotonic()
        if now - looked > DELAY_LOOK_S:
            delay_s, looked = float((HOME / "delay").read_text() or 0.0), now
        patience = waiting[0][0] - now if waiting else DELAY_LOOK_S
        for end in select.select(ends, [], [], max(patience, 0.0))[0]:
            other = ends[1 - ends.index(end)]
            waiting.append((time.monotonic() + delay_s, other, os.read(end, 1 << 16)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, other, packet = waiting.popleft()
            with suppress(OSError):  # the device is down
                os.write(other, packet)


if __name__ == "__main__":
    begin()
    inside = {**os.environ, INSIDE: "1"}
    raise SystemExit(subprocess.run(sys.argv[1:], env=inside, check=False).returncode)
