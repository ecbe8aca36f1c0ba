"""What the kernel says of a process, in ``/proc/PID/stat``, and how one has ended."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

STATE, PARENT, START, CPU = 0, 1, 19, 36
"""Places in `stat_fields`; START counts clock ticks since the boot of the machine."""
ENDED = frozenset("ZXx")
"""States of a process that has ended; it may wait for its parent."""


def stat_fields(pid: int | str = "self") -> list[str]:
    """Return what the kernel says of a process, from its state on.

    The name before it is left out: it may have any bytes, blanks and brackets among them.

    Raises
    ------
    OSError
        There is no such process.
    """
    text = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2]
    return text.decode("ascii", "replace").split()


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that has ended may wait for its parent."""
    try:
        fields = stat_fields(pid)
    except OSError:
        return False
    return bool(fields) and fields[STATE] not in ENDED


def how_ended(status: int) -> str:
    """Say how a process ended: by its status, the negative number of a signal if one ended it."""
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"
