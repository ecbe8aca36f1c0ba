"""One attempt at a run: its folder, its processes, its files, and last of all its outcome.

Files move into the study's folder whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from hindmost.errors import DataError, HindmostError, MissingError
from hindmost.files import copy_atomically, sync_file, sync_folder
from hindmost.jobs.core.durable import PART
from hindmost.jobs.core.plan import PlannedRun
from hindmost.jobs.drive.process import (
    LINES,
    MARKS,
    ProcessEnd,
    Signals,
    cause_of,
    end_processes,
    error_message,
    lines_of,
    perform,
    says_full,
    told_to_stop,
)
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.launchers import Launcher
from hindmost.jobs.outcomes import PREFIX, Cause, RunOutcome, write_outcome
from hindmost.text import counted

COMMAND = "hindmost"
OUT = "{out}"
OUTPUT = "output.txt"
RUN_FILE = ".h5"


class DiskFullError(OSError):
    """The disk is full; no run starts until there is room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverContext:
    """The context that all attempts of a driver share.

    Attributes
    ----------
    study : StudyFolder
    allocation, job : str
    nodes : tuple of str
    script_sha256 : str
        Of the allocation's script; empty if there is none.
    launcher : Launcher
    end_s : float
        When the scheduler ends the allocation, on this process's monotonic clock.
    signals : Signals
    grace_s : float
        Between TERM and KILL.
    """

    study: StudyFolder
    allocation: str
    job: str
    nodes: tuple[str, ...]
    script_sha256: str
    launcher: Launcher
    end_s: float
    signals: Signals
    grace_s: float

    @property
    def left_s(self) -> float:
        """Seconds until the end of the allocation."""
        return self.end_s - time.monotonic()


def attempt(run: PlannedRun, number: int, here: DriverContext) -> RunOutcome:
    """Attempt a run once.

    Parameters
    ----------
    number : int
        Of the attempt, from 1.

    Raises
    ------
    DiskFullError
        The disk is full; the outcome of the run is written if there was room for it.
    """
    study, machine = here.study, here.study.plan.machine
    home = study.run(run.id)
    home.mkdir(parents=True, exist_ok=True)
    sweep(home)
    place = scratch_folder(machine.scratch, home, study)
    out, output = place / "out", place / OUTPUT
    out.mkdir()
    begun = RunOutcome(
        run=run.id, cause=Cause.RUNNING, status=0, attempt=number, seconds=0.0,
        allocation=here.allocation, job=here.job, nodes=here.nodes, files=(), message="",
    )  # fmt: skip
    write_outcome(home, begun)
    try:
        ended = perform(
            command_of(run, out, here),
            folder=place,
            environment=environment_of(run, number, here),
            output=output,
            limit_s=run.limit_s,
            left_s=here.left_s - here.grace_s,
            grace_s=here.grace_s,
            signals=here.signals,
        )
        outcome = conclude(run, begun, ended, here, out, output)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return outcome


def conclude(
    run: PlannedRun,
    begun: RunOutcome,
    ended: ProcessEnd,
    here: DriverContext,
    out: Path,
    output: Path,
) -> RunOutcome:
    """Move an attempt's files into the study's folder and write its outcome."""
    home = here.study.run(run.id)
    lines = lines_of(output)
    cause = cause_of(ended, said="\n".join(lines[-LINES:]))
    said = error_message(lines, cause)
    files: tuple[str, ...] = ()
    if cause is Cause.DONE:
        try:
            written = written_files(out)
            check_run_files(written, run.ranks)
            files = publish(written, home)
            if not files and any(OUT in word for word in run.command):
                cause = Cause.FAILED
                said = f"{said}\nThe run ended with status 0 but wrote no file.".strip()
        except HindmostError as error:
            cause, said = Cause.FAILED, str(error)
    if cause is Cause.FAILED and ended.status == 0 and told_to_stop(here.signals):
        cause = Cause.STOPPED  # a launcher stopped by a scheduler may end with any status, even 0
    full = cause in (Cause.FAILED, Cause.CRASHED) and says_full(said)
    if full:
        cause = Cause.STOPPED
    with suppress(FileNotFoundError):
        move(output, home / OUTPUT)
    sync_folder(home)
    shutil.rmtree(out.parent, ignore_errors=True)  # nothing cleans up after the outcome
    outcome = replace(
        begun,
        cause=cause,
        status=ended.status,
        seconds=ended.seconds,
        files=files,
        message="" if cause is Cause.DONE else said,
    )
    write_outcome(home, outcome)
    if full:
        raise DiskFullError(f"No room on the disk: {said}")
    return outcome


def settle(
    study: StudyFolder, runs: Iterable[str], ends: Mapping[str, tuple[Cause, str]] | None = None
) -> bool:
    """Write how runs ended whose driver was killed; tell whether there are any.

    Their remaining processes on this machine are killed first.

    Parameters
    ----------
    ends : dict of str to (Cause, str)
        By job, how it ended its run, and the message; the others were stopped.
    """
    found = [record.running for record in study.records(tuple(runs)).values()]
    for running in filter(None, found):
        end_processes(dict(zip(MARKS, (running.run, running.job), strict=True)))
        stopped = (Cause.STOPPED, "The driver was killed.")
        cause, message = (ends or {}).get(running.job, stopped)
        ended = replace(running, cause=cause, status=-9, message=message)
        write_outcome(study.run(running.run), ended)
    return any(found)


def command_of(run: PlannedRun, out: Path, here: DriverContext) -> list[str]:
    """Return the command line of a run: the launcher's words, then its command."""
    launching = here.launcher.prefix(
        here.study.plan.machine,
        ranks=run.ranks,
        ranks_per_node=run.ranks_per_node,
        nodes=run.nodes,
    )
    # The hindmost of this driver: it need not be on PATH where the ranks start.
    ours = run.command[0] == COMMAND
    first = (sys.executable, "-P", "-m", COMMAND) if ours else run.command[:1]
    return [*launching, *first, *(word.replace(OUT, str(out)) for word in run.command[1:])]


def environment_of(run: PlannedRun, number: int, here: DriverContext) -> dict[str, str]:
    """Return the environment of a run; its run files record the variables of the study."""
    plan = here.study.plan
    return {
        "OMP_NUM_THREADS": "1",
        **os.environ,
        **plan.machine.environment,
        "HINDMOST_STUDY": plan.study,
        "HINDMOST_STUDY_SHA256": plan.study_sha256,
        "HINDMOST_SCRIPT_SHA256": here.script_sha256,
        "HINDMOST_ALLOCATION": here.allocation,
        "HINDMOST_JOB_ID": here.job,
        "HINDMOST_NODES": ",".join(here.nodes),
        "HINDMOST_RUN_ID": run.id,
        "HINDMOST_CONFIGURATION": json.dumps(run.configuration),
        "HINDMOST_BLOCK": str(run.block),
        "HINDMOST_ATTEMPT": str(number),
    }


def scratch_folder(scratch: str, run: Path, study: StudyFolder) -> Path:
    """Create the folder that an attempt writes to, in place of what a killed one left there.

    Parameters
    ----------
    scratch : str
        Of the machine; empty for a folder beside the run's files.
    run : Path
        The run's folder.
    study : StudyFolder
        In another folder, the same study writes elsewhere.
    """
    if not scratch:
        folder = run / f"{PART}run"
    else:
        base = os.path.expanduser(os.path.expandvars(scratch))  # noqa: PTH111 - it may be no path
        if not base.startswith(os.sep):  # a variable that is not set stays as it is
            raise MissingError(
                f"The machine's scratch '{scratch}' is '{base}' here, which is not an absolute "
                "path. Set its variable in the machine's setup lines, or name a folder."
            )
        own = sha256(os.fsencode(study.path)).hexdigest()[:8]
        folder = Path(base) / f"hindmost-{study.plan.study}-{run.name}-{own}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def written_files(folder: Path) -> list[Path]:
    """Return the files that a run wrote, sorted by name."""
    files = sorted(path for path in folder.iterdir() if not path.name.endswith(".part"))
    for file in files:
        if not file.is_file() or file.name == OUTPUT or file.name.startswith((PREFIX, ".")):
            raise DataError(
                f"The run wrote '{file.name}'; it may write only regular files that are not named "
                f"{OUTPUT}, {PREFIX}... or begin with a dot."
            )
    return files


def check_run_files(files: Iterable[Path], ranks: int) -> None:
    """Refuse run files that are damaged or have another number of ranks than planned.

    Some launchers silently start every rank as a separate run.
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
    for path in run.glob(f"{PART}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
