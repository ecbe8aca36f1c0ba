"""What is written down of jobs without a scheduler: a folder each, on the machine that runs them.

::

    ~/.local/state/hindmost/jobs/HOST/    or below XDG_STATE_HOME
        lock                              held by the job that runs
        20261121T195153.123456/           a job; its name is its id, and later ids sort later
            submitted.json                the script, and the process that keeps the job
            started.json                  the process of the script
            ended.json                    its exit status
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from hindmost.errors import MissingError


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process that can be told from a later one of the same number.

    Attributes
    ----------
    pid : int
    start : int
        Clock ticks from the machine's start to that of the process.
    boot : str
        The machine's id since its start.
    """

    pid: int
    start: int
    boot: str

    @property
    def alive(self) -> bool:
        """Whether it is this very process that runs."""
        return process(self.pid) == self

    @property
    def machine_started_anew(self) -> bool:
        """Whether the machine went down since."""
        return boot_id() != self.boot


def boot_id() -> str:
    """Return what the kernel calls the time since this machine's start."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def process(pid: int) -> Process | None:
    """Return the process of a number; None if there is none, or only its remains."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in "ZX":
        return None
    return Process(pid=pid, start=int(fields[19]), boot=boot_id())


def processes_of(id: str) -> list[int]:
    """Return the numbers of this user's processes that a job started, from their environment.

    Ranks may have left the driver's session; the variable goes with them.
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
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(root) / "hindmost" / "jobs" / socket.gethostname()


def new_job() -> Path:
    """Make the folder of a new job, and return it."""
    while True:
        folder = state_folder() / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise MissingError(
                f"{folder} cannot be made ({error.strerror}); let XDG_STATE_HOME name a folder "
                "that can be written."
            ) from None
        return folder


def write(folder: Path, name: str, **values: object) -> None:
    """Write down an event of a job: whole or not at all."""
    part = folder / f"{name}.part"
    part.write_text(json.dumps(values) + "\n")
    part.replace(folder / f"{name}.json")


def read(folder: Path, name: str) -> dict[str, object] | None:
    """Return an event of a job; None if it did not happen."""
    try:
        told = json.loads((folder / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def write_process(folder: Path, name: str, pid: int, **values: object) -> None:
    """Write down an event of a job and the process that it is about."""
    found = process(pid)
    write(folder, name, process=asdict(found) if found else None, **values)


def read_process(folder: Path, name: str) -> Process | None:
    """Return the process that an event is about; None if it did not happen."""
    told = (read(folder, name) or {}).get("process")
    return Process(**told) if isinstance(told, dict) else None


def pending(folder: Path) -> bool:
    """Tell whether a job waits for its turn."""
    if read(folder, "started") or read(folder, "ended"):
        return False
    keeper = read_process(folder, "submitted")
    return keeper is not None and keeper.alive
