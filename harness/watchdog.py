"""A time limit for a run: when it passes, every rank reports where it is, and the run ends.

A deadlock leaves no trace of its cause. At the limit each rank writes its stack into the folder of
the run files. The first rank that can names the location of every rank in one message and ends its
process; the launcher, or their own watchdogs, end the others.

A Python thread does this. If a rank holds Python's lock in C code, as in a PETSc solve, no thread
runs: then `faulthandler` writes the stack to stderr, and a signal ends the process.
"""

from __future__ import annotations

import faulthandler
import os
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.files import write_atomically
from hindmost.harness.rank_failures import LAUNCHER_S, LONGEST_STAGGER_S, STAGGER_S
from hindmost.output import warn
from hindmost.statuses import TIME_IS_UP
from hindmost.text import plural

GRACE_S = 1.0
"""For the other ranks to write their stacks, before the first one speaks."""
MOST_PLACES = 8
PACKAGE = Path(__file__).parent.parent


def add_most_seconds(parser: Any) -> None:
    """Declare the option."""
    parser.add_argument(
        "--most-seconds",
        type=float,
        metavar="S",
        help="end the run on all ranks after S seconds, and write the stack of every rank into the "
        f"folder of --out; exit status {TIME_IS_UP} (no limit)",
    )


@contextmanager
def watching(communicator: Any, folder: Path, most_s: float | None) -> Iterator[None]:
    """End the process if the context takes too long; collective.

    Parameters
    ----------
    communicator : MPI.Intracomm
        All ranks.
    folder : Path
        For the stacks, on a file system that all ranks see.
    most_s : float or None
        Seconds; None for no limit.
    """
    if most_s is None:
        yield
        return
    word = communicator.bcast(secrets.token_hex(4) if communicator.rank == 0 else None)
    done = threading.Event()
    watchdog = threading.Thread(
        target=watch,
        args=(done, communicator.rank, communicator.size, folder / f"stopped-{word}", most_s),
        daemon=True,
    )
    watchdog.start()
    last = most_s + GRACE_S + LAUNCHER_S + LONGEST_STAGGER_S + GRACE_S
    with suppress(OSError, ValueError):  # a stderr that is no file, as in a notebook
        faulthandler.dump_traceback_later(last, file=sys.__stderr__ or 2)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, last + GRACE_S)
    try:
        yield
    finally:
        done.set()
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def checked(most_s: float | None) -> float | None:
    """Return a limit in seconds; raises a UsageError if it is invalid."""
    if most_s is not None and not 0.0 < most_s < 1e9:
        raise UsageError(f"--most-seconds {most_s:g}: it must be above 0 and below 1e9.")
    return most_s


def watch(done: threading.Event, rank: int, size: int, stem: Path, most_s: float) -> None:
    """Wait in a thread; at the limit write the stack, speak and end the process."""
    if done.wait(most_s):
        return
    with suppress(OSError):
        stem.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(stack_file(stem, rank), "".join(traceback.format_stack(main_frame())))
    # When rank 0 has spoken, the launcher ends the others before it is their turn.
    turn_s = LAUNCHER_S + min(STAGGER_S * rank, LONGEST_STAGGER_S) if rank > 0 else 0.0
    time.sleep(GRACE_S + turn_s)
    if done.is_set():
        return
    warn(
        f"--most-seconds {most_s:g} have passed. {places(stem, rank, size)}. "
        f"Stacks: {stem.name}-rank-*.txt in {stem.parent}"
    )
    os._exit(TIME_IS_UP)


def stack_file(stem: Path, rank: int) -> Path:
    """Return the file of a rank's stack."""
    return stem.with_name(f"{stem.name}-rank-{rank}.txt")


def main_frame() -> Any:
    """Return where the main thread of this process is."""
    return sys._current_frames()[threading.main_thread().ident or 0]


def places(stem: Path, rank: int, size: int) -> str:
    """Say where every rank is, with ranks at the same location together."""
    ranks: dict[str, list[int]] = {}
    for each in range(size):
        ranks.setdefault(place_of(stem, each), []).append(each)
    said = [
        f"{plural(len(members), 'rank')} {', '.join(map(str, members[:MOST_PLACES]))}"
        f"{' ...' if len(members) > MOST_PLACES else ''} {place}"
        for place, members in sorted(ranks.items(), key=lambda item: len(item[1]))
    ]
    return "; ".join(said[:MOST_PLACES]) + (" ..." if len(said) > MOST_PLACES else "")


def place_of(stem: Path, rank: int) -> str:
    """Say where a rank is: the innermost line of its stack, and the innermost of hindmost."""
    try:
        lines = stack_file(stem, rank).read_text(encoding="utf-8").splitlines()
    except OSError:
        return "did not answer: it has ended, or runs C code"
    at = [line.strip() for line in lines if line.startswith('  File "')]
    code = [line.strip() for line in lines if line.startswith("    ")]
    here = [each for each in at if str(PACKAGE) in each]
    where = (here or at or ["an unknown place"])[-1].replace(f"{PACKAGE}{os.sep}", "")
    return f"at {where.removeprefix('File ')}" + (f" ({code[-1]})" if code else "")
