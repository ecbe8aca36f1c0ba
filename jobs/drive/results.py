"""Where a run writes, and how its files move into the study's folder: whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hindmost.errors import DataError, MissingError
from hindmost.files import copy_atomically, sync_file, sync_folder
from hindmost.jobs.core.durable import PART
from hindmost.jobs.outcomes import PREFIX
from hindmost.text import counted

OUTPUT = "output.txt"
RUN_FILE = ".h5"
VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)
"""As `os.path.expandvars` finds them."""


def scratch_folder(scratch: str, run: Path, study: str, attempt: int) -> Path:
    """Create the folder that an attempt writes to.

    Parameters
    ----------
    scratch : str
        Of the machine; empty for a folder beside the run's files.
    run : Path
        The run's folder.

    Raises
    ------
    MissingError
        An environment variable is not set, or the path is not absolute.
    """
    if not scratch:
        folder = run / f"{PART}{attempt}"
    else:
        names = (plain or braced for plain, braced in VARIABLE.findall(scratch))
        if any(name not in os.environ for name in names):
            raise MissingError(
                f"The machine's scratch is '{scratch}', and a variable in it is not set. Set it in "
                "the machine's setup lines, or name a folder."
            )
        base = os.path.expanduser(os.path.expandvars(scratch))  # noqa: PTH111 - it may be no path
        if not base.startswith(os.sep):
            raise MissingError(
                f"The machine's scratch '{scratch}' is '{base}' here, which is not an absolute "
                "path. Set its variable in the machine's setup lines, or name a folder."
            )
        folder = Path(base) / f"hindmost-{study}-{run.name}-{attempt}-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def written_files(folder: Path) -> list[Path]:
    """Return the files that a run wrote, sorted by name.

    Raises
    ------
    DataError
        It wrote a folder, or a file with a name that the study's folder uses.
    """
    files = sorted(each for each in folder.iterdir() if not each.name.endswith(".part"))
    for each in files:
        if not each.is_file() or each.name == OUTPUT or each.name.startswith((PREFIX, ".")):
            raise DataError(
                f"The run wrote '{each.name}'; it may write only regular files that are not named "
                f"{OUTPUT}, {PREFIX}... or begin with a dot."
            )
    return files


def check_run_files(files: Iterable[Path], ranks: int) -> None:
    """Refuse run files that are damaged or have another number of ranks than planned.

    Some launchers silently start every rank as a separate run.

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
                    f"{file.name} has {counted(found, 'rank')}, planned were {ranks}: the "
                    "launcher does not match the MPI library. Choose another launcher."
                )


def publish(files: Iterable[Path], run: Path) -> tuple[str, ...]:
    """Move files into the folder of their run, synced to disk; return their names.

    They count only once an outcome names them.
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
    """Move a file, also between file systems; it never appears incomplete."""
    if file.stat().st_dev != target.parent.stat().st_dev:
        copy_atomically(file, target, part=target.with_name(f"{PART}{target.name}"))
        return
    sync_file(file)
    file.replace(target)


def sweep(run: Path) -> None:
    """Remove the unfinished files that a killed driver left in a run's folder."""
    for each in run.glob(f"{PART}*"):
        if each.is_dir():
            shutil.rmtree(each, ignore_errors=True)
        else:
            with suppress(OSError):
                each.unlink()
