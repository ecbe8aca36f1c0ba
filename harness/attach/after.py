"""After a program has ended: what it left is converted, and what is said of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindmost.errors import DataError, HindmostError
from hindmost.harness.attach.convert import convert
from hindmost.harness.attach.folder import BusyError, UnusableError
from hindmost.harness.attach.header import KIND, LOOP
from hindmost.harness.attach.outcome import Recorded
from hindmost.harness.attach.settings import iteration_call
from hindmost.harness.runfile.reader import open_run
from hindmost.output import warn, warn_lines
from hindmost.printable import shell_word
from hindmost.text import counted

MOST_NAMED = 4
"""Other loops of a program that are named when it was recorded."""
PUT_OFF = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put off the signals with which a launcher ends the ranks of a program that fails.

    Open MPI kills all of them as soon as one has ended.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, PUT_OFF)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def convert_ended(process: Recorded, out: Path, iterate_at: str, *, over: bool) -> None:
    """Convert what a program left and say what was recorded, or why it is not.

    Parameters
    ----------
    process : Recorded
        Its first rank.
    iterate_at : str
        As `AttachRequest` has it.
    over : bool
        Whether all of its ranks are known to have ended: their launcher has.
    """
    with undisturbed():
        if not process.finished:
            later = (
                f" The first command on this machine that reads {out} when all ranks have ended "
                f"writes its run files, or: hindmost attach --convert {shell_word(out)}"
            )
            warn(f"The program ended without MPI_Finalize.{'' if over else later}")
            if not over:  # other ranks may still write
                return
        is_loop = iterate_at and not iterate_at.startswith("MPI_")
        call = iteration_call(iterate_at) if is_loop else None
        try:
            files = convert(process.folder, out, report=warn, iterate_at=call)
        except BusyError:
            return
        except UnusableError as error:
            warn(str(error))
            return
        except HindmostError as error:
            if process.folder.exists():
                warn(f"{process.folder} is kept, but no run file was written: {error}")
            return
    for file in files:
        tell_recorded(file)


def tell_recorded(file: Path) -> None:
    """Name a run file, what it contains, and why it is incomplete if it is."""
    try:
        run = open_run(file)
    except DataError as error:
        warn(str(error))
        return
    said, header = run.header.spec[KIND], run.header
    bodies = counted(header.iterations, "iteration")
    what = (
        ", ".join(filter(None, (bodies, header.iteration_is)))
        if header.solver == LOOP
        else f"{counted(said['solves'], 'solve')}, {bodies}"
    )
    warn_lines(f"hindmost: recorded {file}: {what}")
    others = header.loops()
    if others:
        warn(f"Other loops: {'; '.join(others[:MOST_NAMED])}.")
    if not header.complete:
        warn(f"{file} is INCOMPLETE: {header.spec.get('failure', 'records were lost')}")
