"""Raw folders that wait to be converted."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from hindmost.errors import DataError
from hindmost.files import matching
from hindmost.harness.attach.convert import convert
from hindmost.harness.attach.folder import Report, why_unusable
from hindmost.harness.attach.raw import SUFFIX, RawProgram, RawRank, read_program
from hindmost.processes import ENDED, STATE, stat_fields


def raw_folders(folder: Path) -> list[Path]:
    """Return the raw folders in a folder, or the folder itself if it is one."""
    if folder.name.endswith(SUFFIX) and folder.is_dir():
        return [folder]
    return [path for path in matching(folder, f"*{SUFFIX}") if path.is_dir()]


def runs_still(program: RawProgram) -> bool:
    """Tell whether a process of a program runs on this machine."""
    return any(
        raw.end is None and is_here(raw) and is_alive(raw.program.pid)
        for raw in program.ranks.values()
    )


def is_over(program: RawProgram) -> bool:
    """Tell whether all processes of a program are known to have ended."""
    return len(program.ranks) == program.size and all(
        raw.end or (is_here(raw) and not is_alive(raw.program.pid))
        for raw in program.ranks.values()
    )


def is_here(raw: RawRank) -> bool:
    """Tell whether a rank ran on this machine."""
    return raw.program.host == socket.gethostname()


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that has ended may wait for its parent."""
    try:
        fields = stat_fields(pid)
    except OSError:
        return False
    return bool(fields) and fields[STATE] not in ENDED


def convert_finished(folder: Path, report: Report) -> list[Path]:
    """Convert the raw folders in a folder whose programs have finished.

    Parameters
    ----------
    report : callable
        Takes a sentence on each that is left as it is, and on what is left out.

    Returns
    -------
    list of Path
        The new run files.
    """
    files: list[Path] = []
    for raw in raw_folders(folder):
        if why_unusable(raw):  # it was said when it was found
            continue
        try:
            program = read_program(raw)
            if not is_over(program):
                report(why_not(program))
                continue
            if not os.access(raw.parent, os.W_OK):
                report(f"{raw} is not converted: its folder cannot be written")
                continue
            files += convert(raw, raw.parent, report=report)
        except DataError as error:
            report(str(error))
    return files


def why_not(program: RawProgram) -> str:
    """Say why a raw folder is not converted by itself."""
    if runs_still(program):
        return f"{program.folder} is not converted: its program is still running"
    return (
        f"{program.folder} is not converted: some rank did not write its end. If the program "
        f"has ended: hindmost attach --convert {program.folder.parent}"
    )


def convert_all(
    folder: Path,
    out: Path,
    report: Report = lambda _: None,
    iterate_at: tuple[str, int] | None = None,
) -> tuple[Path, ...]:
    """Convert all raw folders in a folder, also those whose programs ended early.

    Raises
    ------
    DataError
        There is none, a program is still running, or nothing in a raw folder can be used.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; name the one that was given to --out.")
    raws = raw_folders(folder)
    if not raws:
        raise DataError(
            f"{folder} has no raw folder (NAME{SUFFIX}), so there is nothing to convert."
        )
    files: list[Path] = []
    first: DataError | None = None
    for raw in raws:
        try:
            if runs_still(read_program(raw)):
                raise DataError(f"{raw} cannot be converted: its program is still running.")
            files += convert(raw, out, report=report, iterate_at=iterate_at)
        except DataError as error:
            if len(raws) > 1:
                report(str(error))
            first = first or error
    if first is not None and not files:
        raise first
    return tuple(files)
