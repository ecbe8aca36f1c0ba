"""Which of the three stacks this machine gets, and why."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

STACKS = ("site", "system", "source")

SYSTEM_PACKAGES = (
    "python3-petsc4py",
    "python3-mpi4py",
    "openmpi-bin",
    "libopenmpi-dev",
    "python3-venv",
    "gcc",
)
SOURCE_PACKAGES = ("build-essential", "libopenblas-dev")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A stack and the reason for it, in words for a person."""

    stack: str
    why: str


class SetupError(Exception):
    """Set-up cannot go on; the message says what to do."""


def choose(asked: str, established: str | None) -> Choice:
    """Choose a stack.

    Parameters
    ----------
    asked : str
        ``auto`` or the name of a stack.
    established : str or None
        The stack that ``.venv`` already stands for.
    """
    if asked in STACKS:
        return Choice(stack=asked, why="asked for with STACK")
    if asked != "auto":
        raise SetupError(f"STACK={asked} is unknown; choose auto, {', '.join(STACKS)}.")
    if established is not None:
        return Choice(stack=established, why="already set up; STACK=... chooses another")
    if os.environ.get("PETSC_DIR") and shutil.which("mpicc"):
        return Choice(stack="site", why="PETSC_DIR is set and mpicc is on PATH")
    if is_debian():
        if not missing(SYSTEM_PACKAGES):
            return Choice(stack="system", why="the distribution's PETSc and MPI are installed")
        if may_install():
            return Choice(
                stack="system",
                why="the distribution has PETSc and MPI, and packages may be installed: "
                "the quickest way",
            )
        if can_build():
            return Choice(
                stack="source",
                why="a compiler and BLAS are here, and packages may not be installed; with rights, "
                f"the distribution's are quicker: {install_line(SYSTEM_PACKAGES)}",
            )
        raise SetupError(
            "The distribution has PETSc and MPI, but there are no rights to install packages.\n"
            f"Have this run once, then start again:\n\n  {install_line(SYSTEM_PACKAGES)}\n"
        )
    return Choice(stack="source", why="neither PETSC_DIR with mpicc, nor Debian or Ubuntu")


def is_debian() -> bool:
    """Tell whether this is Debian, Ubuntu or a relative of theirs."""
    release = Path("/etc/os-release")
    if not release.exists() or not shutil.which("apt-get"):
        return False
    lines = dict(line.split("=", 1) for line in release.read_text().splitlines() if "=" in line)
    family = f"{lines.get('ID', '')} {lines.get('ID_LIKE', '')}".replace('"', "").split()
    return "debian" in family or "ubuntu" in family


def missing(packages: tuple[str, ...]) -> list[str]:
    """Tell which of the distribution's packages are not installed."""
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package} ${Status}\n", *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    present = {
        line.split()[0]
        for line in answer.stdout.splitlines()
        if line.endswith("install ok installed")
    }
    return [name for name in packages if name not in present]


def may_install() -> bool:
    """Tell whether packages may be installed without asking anybody."""
    return os.geteuid() == 0 or sudo() is not None


def sudo() -> list[str] | None:
    """Return the words before a command that needs rights; None where there is no way to them."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def can_build() -> bool:
    """Tell whether what the source stack needs from the distribution is here."""
    return all(shutil.which(tool) for tool in ("cc", "make")) and not missing(SOURCE_PACKAGES[1:])


def install_line(packages: tuple[str, ...]) -> str:
    """Write the one line that a person with rights runs."""
    return f"sudo apt-get install -y --no-install-recommends {' '.join(packages)}"
