"""Processes of a private Slurm: started in a folder of their own, found again and ended by it.

Whatever a daemon starts has its folder in the environment (``SLURM_CONF``), so that nobody else's
process is ever taken for one of ours.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.jobs import two_nodes

# On the nodes of a namespace no process outside is seen: all that is there would pass for orphans.
_PLACE = two_nodes.HOME if two_nodes.INSIDE in os.environ else Path(tempfile.gettempdir())
ROOT = _PLACE / f"hindmost-slurm-{os.geteuid()}"
PATH = os.environ.get("HINDMOST_TEST_SLURM_PATH") or f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
"""Where Slurm's programs are looked for; a test looks elsewhere."""

STOP_LIMIT_S = 10.0


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of everything that belongs to a Slurm."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    return {**kept, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}


def spawn(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a daemon in the foreground of a session of its own."""
    with (folder / "log" / f"{Path(words[0]).name}.out").open("ab") as sink:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            env=environment(folder),
            start_new_session=True,
            cwd=folder,
        )


def processes(folder: Path) -> Iterator[tuple[int, str]]:
    """Return numbers and names of the processes that belong to the Slurm of a folder."""
    mark = f"SLURM_CONF={folder / 'slurm.conf'}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        if int(path.name) == os.getpid():
            continue
        with suppress(OSError):  # not ours, or gone
            if mark in (path / "environ").read_bytes().split(b"\0"):
                yield int(path.name), (path / "comm").read_text().strip()


def stop(folder: Path) -> None:
    """End every process of a Slurm, its jobs among them, and remove its folder.

    None of them has anything to keep, so none is asked.
    """
    end = time.monotonic() + STOP_LIMIT_S
    while (pids := [pid for pid, _ in processes(folder)]) and time.monotonic() < end:
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


def stop_orphans() -> None:
    """End what earlier test runs left that were killed."""
    for folder in ROOT.glob("*"):
        with suppress(OSError, ValueError):
            pid, start = (folder / "owner").read_text().split()
            if start_of(int(pid)) != start:
                stop(folder)


def start_of(pid: int) -> str:
    """Return when a process began, so that another one of its number is not taken for it."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    return ""


def guard(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that ends a Slurm when this one is gone, however it went."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__, folder],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.buffer.read()  # ends when the test run does
    stop(Path(sys.argv[1]))
