"""The distribution's Slurm for tests, which start one of their own and stop it again.

Without a configuration in ``/etc`` the distribution's own services of Slurm do not start.
"""

from __future__ import annotations

from choice import (
    SLURM_ACCOUNT_PACKAGES,
    SLURM_PACKAGES,
    SetupError,
    install_line,
    is_debian,
    may_install,
    missing,
)
from environment import Environment
from progress import say
from system import install_packages

CHOICES = ("no", "if-possible", "accounts")


def prepare(environment: Environment, wanted: str) -> None:
    """Install what tests on a real Slurm need, where that may be done; else say how to get it."""
    if wanted == "no":
        return
    packages = SLURM_PACKAGES + (SLURM_ACCOUNT_PACKAGES if wanted == "accounts" else ())
    if not missing(packages):
        return
    if not is_debian() or not may_install():
        line = install_line(packages) if is_debian() else "install Slurm 22.05 or later, and munge"
        say(f"no Slurm for tests, which are skipped without; to have it: {line}")
        return
    try:
        install_packages(environment, packages, expected="about 20 s")
    except SetupError as error:
        say(f"no Slurm for tests, which are skipped without: {error}")
