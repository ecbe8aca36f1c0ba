"""Records of jobs without a scheduler: a folder for each, on the machine that runs them.

::

    ~/.local/state/hindmost/jobs/HOST/    or below XDG_STATE_HOME
        lock                              held by the running job
        20261121T195153.123456/           a job; its name is its id, and later ids sort later
            submitted.json                the script, and the keeper process of the job
            started.json                  the process of the script
            ended.json                    its exit status
"""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hindmost.errors import MissingError
from hindmost.files import read_text, user_folder, write_atomically
from hindmost.parsing import parse_json
from hindmost.processes import ENDED, START, STATE, stat_fields
from hindmost.records import from_document, to_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process, distinguished from a later one with the same number.

    Attributes
    ----------
    pid : int
    start : int
        Clock ticks from the boot of the machine to the start of the process.
    boot : str
        The machine's boot id.
    """

    pid: int
    start: int
    boot: str

    @property
    def alive(self) -> bool:
        """Whether this process, and not a later one, is running."""
        return process(self.pid) == self

    @property
    def machine_rebooted(self) -> bool:
        """Whether the machine was rebooted since."""
        return boot_id() != self.boot


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def process(pid: int) -> Process | None:
    """Return the process with a number; None if it does not exist or has ended."""
    try:
        fields = stat_fields(pid)
    except OSError:
        return None
    if fields[STATE] in ENDED:
        return None
    return Process(pid=pid, start=int(fields[START]), boot=boot_id())


def processes_of(id: str) -> list[int]:
    """Return the numbers of this user's processes of a job, found by their environment.

    Ranks may have left the driver's session, but they keep the variable.
    """
    mark = f"HINDMOST_JOB_ID={id}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # not ours, or gone
            continue
    return found


def state_folder() -> Path:
    """Return the folder of all jobs of this user on this machine."""
    root = user_folder("XDG_STATE_HOME", ".local", "state")
    return root / "hindmost" / "jobs" / socket.gethostname()


def new_job() -> Path:
    """Create and return the folder of a new job."""
    while True:
        folder = state_folder() / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise MissingError(
                f"{folder} cannot be created ({error.strerror}); set XDG_STATE_HOME to a folder "
                "that can be written."
            ) from None
        return folder


def write(folder: Path, name: str, **values: object) -> None:
    """Record an event of a job."""
    write_atomically(folder / f"{name}.json", json.dumps(values) + "\n")


def read(folder: Path, name: str) -> dict[str, object] | None:
    """Return an event of a job; None if it has not happened."""
    try:
        told = parse_json(read_text(folder / f"{name}.json"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def write_process(folder: Path, name: str, pid: int, **values: object) -> None:
    """Record an event of a job and its process."""
    found = process(pid)
    write(folder, name, process=to_document(found) if found else None, **values)


def read_process(folder: Path, name: str) -> Process | None:
    """Return the process of an event; None if it has not happened."""
    told = (read(folder, name) or {}).get("process")
    try:
        return from_document(Process, told)
    except ValueError:
        return None


def pending(folder: Path) -> bool:
    """Tell whether a job is waiting to start."""
    if read(folder, "started") or read(folder, "ended"):
        return False
    keeper = read_process(folder, "submitted")
    return keeper is not None and keeper.alive
