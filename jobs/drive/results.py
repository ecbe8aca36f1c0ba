"""Where a run writes, and how its files come home: whole, or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hindmost.errors import DataError, MissingError
from hindmost.harness.runfile.disk import sync_folder
from hindmost.jobs.durable import PART
from hindmost.jobs.outcomes import PREFIX

OUTPUT = "output.txt"
RUN_FILE = ".h5"
VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)
"""As `os.path.expandvars` finds them."""


def scratch_folder(scratch: str, run: Path, study: str, attempt: int) -> Path:
    """Make the folder that an attempt writes to.

    Parameters
    ----------
    scratch : str
        The machine's; empty for a place beside the run's files.
    run : Path
        The run's folder.

    Raises
    ------
    MissingError
        A variable of the environment is not set here, or the path that it makes is not a whole one.
    """
    if not scratch:
        folder = run / f"{PART}{attempt}"
    else:
        names = (plain or braced for plain, braced in VARIABLE.findall(scratch))
        if any(name not in os.environ for name in names):
            raise MissingError(
                f"The machine's scratch is '{scratch}', and a variable in it is not set here. "
                "Set it in the machine's setup lines, or name a folder."
            )
        base = os.path.expanduser(os.path.expandvars(scratch))  # noqa: PTH111 - it may be no path
        if not base.startswith(os.sep):
            raise MissingError(
                f"The machine's scratch is '{scratch}', which is '{base}' here and no whole path. "
                "Set its variable to one in the machine's setup lines, or name a folder."
            )
        folder = Path(base) / f"hindmost-{study}-{run.name}-{attempt}-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def written_files(folder: Path) -> list[Path]:
    """Return what a run left in its folder, in the order of names.

    Raises
    ------
    DataError
        It left a folder, or a name that the study's folder uses itself.
    """
    files = sorted(each for each in folder.iterdir() if not each.name.endswith(".part"))
    for each in files:
        if not each.is_file() or each.name == OUTPUT or each.name.startswith((PREFIX, ".")):
            raise DataError(
                f"The run left '{each.name}', which cannot stand beside its outcome: "
                f"it may leave plain files, not named {OUTPUT} or {PREFIX}... ."
            )
    return files


def check_run_files(files: Iterable[Path], ranks: int) -> None:
    """Refuse run files that are damaged, or of more or fewer ranks than were planned.

    Some launchers start every rank as a run of its own, and say nothing.

    Raises
    ------
    DataError
    """
    for file in files:
        if file.suffix == RUN_FILE:
            from hindmost.harness.runfile.reader import open_run

            found = open_run(file).header.ranks
            if found != ranks:
                raise DataError(
                    f"{file.name} is of {found} rank{'s' if found > 1 else ''}, planned were "
                    f"{ranks}: the launcher and MPI do not fit together."
                )


def publish(files: Iterable[Path], run: Path) -> tuple[str, ...]:
    """Move files into the folder of their run, safe on the disk; returns their names.

    They count once the outcome that names them is written.
    """
    moved: list[Path] = []
    try:
        for file in files:
            target = run / file.name
            moved.append(target)
            move(file, target)
        sync_folder(run)
    except OSError:
        for target in moved:
            with suppress(OSError):
                target.unlink()
        raise
    return tuple(target.name for target in moved)


def move(file: Path, target: Path) -> None:
    """Move a file, from another file system if need be; it is never seen in parts."""
    if file.stat().st_dev != target.parent.stat().st_dev:
        part = target.with_name(f"{PART}{target.name}")
        try:
            shutil.copyfile(file, part)
        except OSError:
            with suppress(OSError):
                part.unlink()
            raise
        file = part
    handle = os.open(file, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    file.replace(target)


def sweep(run: Path) -> None:
    """Remove what a driver that was killed left unfinished in a run's folder."""
    for each in run.glob(f"{PART}*"):
        if each.is_dir():
            shutil.rmtree(each, ignore_errors=True)
        else:
            with suppress(OSError):
                each.unlink()
