"""Submitting scripts to the OpenPBS of a test, and waiting for what becomes of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.jobs import live_jobs

from hindmost.jobs.schedulers.pbs import PBS

wait = partial(live_jobs.wait, PBS)


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
