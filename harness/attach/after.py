"""After a program has ended: what it left is converted, and what is said of it."""

from __future__ import annotations

from pathlib import Path

from hindmost.errors import DataError, HindmostError
from hindmost.harness.attach.convert import convert
from hindmost.harness.attach.folder import BusyError, UnusableError
from hindmost.harness.attach.header import KIND
from hindmost.harness.attach.outcome import Recorded
from hindmost.harness.attach.raw_json import LOOP
from hindmost.harness.attach.settings import iteration_call
from hindmost.harness.runfile.reader import open_run
from hindmost.output import warn, warn_lines
from hindmost.text import counted, first_of


def convert_ended(process: Recorded, out: Path, iterate_at: str) -> None:
    """Convert what a program left and say what was recorded, or why it is not.

    Parameters
    ----------
    process : Recorded
        Its first rank.
    iterate_at : str
        As `AttachRequest` has it.
    """
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
        warn(f"Other loops: {first_of(others, '; ')}.")  # 'show --loops' has all
    if not header.complete:
        warn(f"{file} is INCOMPLETE: {header.spec.get('failure', 'records were lost')}")
