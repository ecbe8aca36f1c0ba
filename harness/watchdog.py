"""A time limit for a run: when it passes, every rank writes where it is, and the run ends.

A deadlock leaves no trace of its cause. At the limit each rank writes its stack into the folder of
the run files. The first rank that can says so and ends its process; the launcher, or their own
watchdogs, end the others.

A Python thread does this. If a rank holds Python's lock in C code, as in a PETSc solve, no thread
runs: then `faulthandler` writes the stack to stderr and ends the process.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.harness.rank_failures import LAUNCHER_S, LONGEST_STAGGER_S, await_turn
from hindmost.output import warn
from hindmost.statuses import TIME_IS_UP

GRACE_S = 1.0
"""For the other ranks to write their stacks, before the first one speaks."""


def add_most_seconds(parser: Any) -> None:
    """Declare the option."""
    parser.add_argument(
        "--most-seconds",
        type=float,
        metavar="S",
        help="end the run on all ranks after S seconds, and write the stack of every rank into the "
        f"folder of --out; exit status {TIME_IS_UP} (no limit)",
    )


def checked(most_s: float | None) -> float | None:
    """Return a limit in seconds; raises a UsageError if it is invalid."""
    if most_s is not None and not 0.0 < most_s < 1e9:
        raise UsageError(f"--most-seconds {most_s:g}: it must be above 0 and below 1e9.")
    return most_s


@contextmanager
def watching(rank: int, folder: Path, most_s: float | None) -> Iterator[None]:
    """End the process if the context takes too long.

    Parameters
    ----------
    rank : int
    folder : Path
        For the stacks.
    most_s : float or None
        Seconds; None for no limit.
    """
    if most_s is None:
        yield
        return
    timer = threading.Timer(most_s, end, (rank, folder, most_s))
    timer.daemon = True
    timer.start()
    last_s = most_s + GRACE_S + LAUNCHER_S + LONGEST_STAGGER_S + GRACE_S
    with suppress(OSError, ValueError):  # a stderr that is no file, as in a notebook
        faulthandler.dump_traceback_later(last_s, exit=True, file=sys.__stderr__ or 2)
    try:
        yield
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()


def end(rank: int, folder: Path, most_s: float) -> None:
    """Write the stacks of this process, speak, and end it."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"stopped-rank-{rank}.txt").open("w") as file:
            faulthandler.dump_traceback(file)
    # When rank 0 has spoken, the launcher ends the others before it is their turn.
    time.sleep(GRACE_S + (LAUNCHER_S if rank > 0 else 0.0))
    await_turn(rank)
    warn(
        f"rank {rank}: --most-seconds {most_s:g} have passed. Where every rank was: "
        f"stopped-rank-*.txt in {folder}; a rank without a file has ended, or runs C code."
    )
    os._exit(TIME_IS_UP)
