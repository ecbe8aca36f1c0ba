"""Submitting scripts to the OpenPBS of a test, and waiting for what becomes of them."""

import time
from collections.abc import Sequence
from pathlib import Path

from hindmost.jobs.schedulers.pbs import PBS
from hindmost.jobs.schedulers.scheduler import Job, JobState

GOING_ON = frozenset({JobState.PENDING, JobState.RUNNING})


def submit(folder: Path, command: str, *directives: str) -> str:
    """Submit a script of one command, and return the id of its job."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"{len(list(folder.glob('*.sh')))}.sh"
    lines = [f"#PBS {each}" for each in (f"-o {folder}/", "-j oe", "-r n", *directives)]
    path.write_text("\n".join(("#!/bin/bash", *lines, command, "")))
    return PBS.submit(path)


def output(folder: Path, id: str) -> str:
    """Return what a job printed."""
    return (folder / f"{id}.OU").read_text(errors="replace")


def wait(
    ids: Sequence[str], limit_s: float = 60.0, *, while_in: frozenset[JobState] = GOING_ON
) -> dict[str, Job]:
    """Return the jobs when none is in those states any longer."""
    end = time.monotonic() + limit_s
    while True:
        jobs = PBS.query(ids)
        if not any(job.state in while_in for job in jobs.values()) or time.monotonic() > end:
            return jobs
        time.sleep(0.2)
