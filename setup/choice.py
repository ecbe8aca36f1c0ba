"""Which of the three stacks this machine gets, and why."""

from __future__ import annotations

import os
import re
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
SLURM_PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurm-client",
    "munge",
    "slurm-wlm-basic-plugins",
)
SLURM_ACCOUNT_PACKAGES = ("slurmdbd", "mariadb-server")
PROGRAM_PACKAGES = ("gfortran", "lammps", "lammps-examples", "python3-dolfinx")
TEST_PACKAGES = (
    "gfortran",
    "chromium",
    "cmake",
    "libsimgrid-dev",
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
    reason = unsupported() if is_debian() else "no PETSC_DIR with mpicc, and not Debian or Ubuntu"
    if not reason:
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
    return Choice(stack="source", why=reason)


def is_debian() -> bool:
    """Tell whether this is Debian, Ubuntu or a relative of theirs."""
    release = Path("/etc/os-release")
    if not release.exists() or not shutil.which("apt-get"):
        return False
    lines = dict(line.split("=", 1) for line in release.read_text().splitlines() if "=" in line)
    family = f"{lines.get('ID', '')} {lines.get('ID_LIKE', '')}".replace('"', "").split()
    return "debian" in family or "ubuntu" in family


def missing(packages: tuple[str, ...]) -> list[str]:
    """Tell which of the distribution's packages are not installed; all, where it has no dpkg."""
    if not shutil.which("dpkg-query"):
        return list(packages)
    asked = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package} ${Status}\n", *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    present = {
        line.split()[0]
        for line in asked.stdout.splitlines()
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
    """Tell whether what the source stack needs is here: make, and a compiler that links BLAS."""
    if not shutil.which("cc") or not shutil.which("make"):
        return False
    command = ["cc", "-x", "c", "-", "-o", os.devnull, "-llapack", "-lblas"]
    program = b"int main(void) { return 0; }"
    linked = subprocess.run(command, input=program, capture_output=True, check=False)
    return linked.returncode == 0


def unsupported() -> str:
    """Say why the distribution's own Python and PETSc will not do; empty if they will."""
    version = answer("/usr/bin/python3", "-c", "import sys; print(*sys.version_info[:2])").split()
    if version and tuple(map(int, version)) < (3, 11):
        return f"the distribution's Python is {'.'.join(version)}, and hindmost needs 3.11"
    offered = answer("apt-cache", "show", "--no-all-versions", "python3-petsc4py")
    found = re.search(r"^Version: (?:\d+:)?(\d+)\.(\d+)", offered, re.MULTILINE)
    if found and (int(found[1]), int(found[2])) < (3, 18):
        return f"the distribution's PETSc is {found[1]}.{found[2]}, and hindmost needs 3.18"
    return ""


def answer(*question: str) -> str:
    """Return what a command prints, nothing if it fails or is not there."""
    try:
        return subprocess.run(question, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def install_line(packages: tuple[str, ...]) -> str:
    """Write the one line that a person with rights runs."""
    return f"sudo apt-get install -y --no-install-recommends {' '.join(packages)}"
