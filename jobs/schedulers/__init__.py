"""Schedulers: they queue the scripts of a study."""

from __future__ import annotations

from hindmost.jobs.schedulers.local import LOCAL
from hindmost.jobs.schedulers.pbs import PBS
from hindmost.jobs.schedulers.scheduler import Scheduler
from hindmost.jobs.schedulers.slurm import SLURM
from hindmost.registry import Registry

SCHEDULERS: Registry[Scheduler] = Registry(
    "scheduler", (LOCAL, SLURM, PBS), group="hindmost.schedulers", kind=Scheduler
)
"""Every scheduler that a study can name."""
