"""The system stack: the distribution's PETSc, petsc4py, mpi4py and Open MPI."""

from __future__ import annotations

import os
from pathlib import Path

from choice import (
    PROGRAM_PACKAGES,
    SLURM_ACCOUNT_PACKAGES,
    SLURM_PACKAGES,
    SYSTEM_PACKAGES,
    TEST_PACKAGES,
    SetupError,
    install_line,
    is_debian,
    may_install,
    missing,
    sudo,
)
from environment import Environment
from progress import run, say

PYTHON = Path("/usr/bin/python3")  # the one that the distribution's petsc4py is compiled for


def prepare(environment: Environment) -> None:
    """Install the distribution's packages and make an environment that sees them."""
    install_packages(environment, SYSTEM_PACKAGES, expected="about 20 s")
    environment.create(PYTHON, "--system-site-packages")
    environment.step("stack", lambda: connect(environment))


def prepare_tests(environment: Environment) -> None:
    """Install what tests start, such as a browser, if that may be done; else say how."""
    if environment.stack == "system":
        install_if_possible(
            environment,
            TEST_PACKAGES,
            expected="about 40 s",
            without="tests of Fortran, pages in a browser and SimGrid are skipped without",
        )


def prepare_slurm(environment: Environment, wanted: str) -> None:
    """Install the Slurm of which tests start one of their own, where that may be done.

    Without a configuration in ``/etc`` the distribution's own services of Slurm do not start.
    """
    packages = SLURM_PACKAGES + (SLURM_ACCOUNT_PACKAGES if wanted == "accounts" else ())
    without = "no Slurm for tests, which are skipped without"
    if missing(packages) and not is_debian():
        say(f"{without}; to have it: install Slurm 22.05 or later, and munge")
        return
    install_if_possible(environment, packages, expected="about 20 s", without=without)


def install_if_possible(
    environment: Environment, packages: tuple[str, ...], *, expected: str, without: str
) -> None:
    """Install packages that set-up can do without, or say what is lost and the line that helps."""
    if not missing(packages):
        return
    if not may_install():
        say(f"{without}; to have it: {install_line(packages)}")
        return
    try:
        install_packages(environment, packages, expected=expected)
    except SetupError as error:
        say(f"{without}: {error}")


def install_programs(environment: Environment) -> None:
    """Install programs for tests that record them: PETSc's examples, LAMMPS, FEniCSx."""
    version = find_petsc().parent.name.removeprefix("petsc")
    examples = f"libpetsc{version}-dev-examples"
    headers = f"libpetsc-real{version}-dev"
    install_packages(environment, (*PROGRAM_PACKAGES, examples, headers), expected="about 2 min")


def install_packages(environment: Environment, packages: tuple[str, ...], *, expected: str) -> None:
    """Install what is missing of the distribution's packages, or say the line that does."""
    absent = missing(packages)
    if not absent:
        return
    rights = sudo()
    if rights is None:
        raise SetupError(
            f"Packages of the distribution are missing ({', '.join(absent)}) and there are no "
            f"rights to install them.\nHave this run once, then start again:\n\n"
            f"  {install_line(packages)}\n"
        )
    say(f"missing from the distribution: {' '.join(absent)}")
    log = environment.path.with_name(f"{environment.stack}-apt.log")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run([*rights, "apt-get", "update"], what="reading the package lists", log=log, env=quiet)
    run(
        [*rights, "apt-get", "install", "-y", "--no-install-recommends", *absent],
        what="installing the distribution's packages",
        expected=expected,
        log=log,
        env=quiet,
    )


def connect(environment: Environment) -> None:
    """Let the environment find the distribution's petsc4py without any variable being set."""
    petsc_dir = find_petsc()
    modules = petsc_dir / "lib" / "python3" / "dist-packages"
    (environment.site_packages / "distribution-petsc4py.pth").write_text(f"{modules}\n")
    environment.record_stack(
        petsc_dir=str(petsc_dir), mpicc="/usr/bin/mpicc", mpiexec="/usr/bin/mpiexec"
    )
    # Open MPI refuses root unless told twice; elsewhere the settings do nothing.
    allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # hindmost itself warns of more ranks than cores, and says what that costs.
    settings = {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # its name from Open MPI 5 on
    }
    if os.geteuid() == 0:
        settings |= allow
    environment.write_mpiexec(Path("/usr/bin/mpiexec"), **settings)


def find_petsc() -> Path:
    """Return the folder of the distribution's newest PETSc for real scalars."""
    found = sorted(
        folder
        for folder in Path("/usr/lib/petscdir").glob("petsc*/*-real")
        if (folder / "lib/python3/dist-packages/petsc4py").is_dir()
    )
    if not found:
        raise SetupError(
            "No petsc4py of the distribution in /usr/lib/petscdir; "
            f"run: {install_line(SYSTEM_PACKAGES)} --reinstall"
        )
    return found[-1]
