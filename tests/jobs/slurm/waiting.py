"""Submitting scripts to the Slurm of a test, and waiting for what becomes of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.jobs import live_jobs

from hindmost.jobs.schedulers.slurm import SLURM

wait = partial(live_jobs.wait, SLURM)


def submit(folder: Path, command: str, *directives: str) -> str:
    """Submit a script of one command, and return the id of its job."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"{len(list(folder.iterdir()))}.sh"
    lines = [f"#SBATCH {each}" for each in (f"--output={folder}/%j.out", *directives)]
    path.write_text("\n".join(("#!/bin/bash", *lines, command, "")))
    return SLURM.submit(path)
