"""Launchers: they start ranks inside an allocation."""

from __future__ import annotations

from hindmost.jobs.launchers.launcher import Launcher
from hindmost.jobs.launchers.mpiexec import MPIEXEC
from hindmost.jobs.launchers.srun import SRUN
from hindmost.jobs.launchers.template import TEMPLATE
from hindmost.registry import Registry

LAUNCHERS: Registry[Launcher] = Registry(
    "launcher", (MPIEXEC, SRUN, TEMPLATE), group="hindmost.launchers", kind=Launcher
)
"""Every launcher that a machine can name."""
