"""One message and an exit status for any exception of the command."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from hindmost.errors import DataError, HindmostError
from hindmost.output import warn_lines
from hindmost.printable import one_line
from hindmost.statuses import BROKEN_PIPE, DEFECT, INTERRUPTED

TRACEBACK = "HINDMOST_TRACEBACK"
"""Environment variable: 1 prints the traceback of a failure."""
PACKAGE = Path(__file__).parent


def describe(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit status for an exception; no message for a broken pipe."""
    if isinstance(error, HindmostError):
        return str(error), error.exit_status
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return "", BROKEN_PIPE
    if isinstance(error, OSError):
        where = error.filename if error.filename is not None else "output"
        why = error.strerror or next(iter(str(error).splitlines()), "") or type(error).__name__
        return f"{one_line(os.fsdecode(where))}: {why}", DataError.exit_status
    report = f"Set {TRACEBACK}=1 to see the traceback, and report it as a defect of hindmost."
    if isinstance(error, MemoryError):
        said = f" ({error})" if str(error) else ""
        return f"out of memory{said}, {place_of(error)}. {report}", DEFECT
    said = " ".join(str(error).split())
    return (
        f"internal error, {place_of(error)}: {type(error).__name__}{': ' if said else ''}{said}. "
        f"{report}",
        DEFECT,
    )


def place_of(error: BaseException) -> str:
    """Return where in hindmost an exception was raised, as ``at harness/launch.py:41``."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            return f"at {path.relative_to(PACKAGE)}:{line}"
    return "outside hindmost"


def show_traceback(error: BaseException) -> None:
    """Print the traceback of an exception, if requested."""
    if os.environ.get(TRACEBACK) == "1":
        warn_lines(*"".join(traceback.format_exception(error)).splitlines())
