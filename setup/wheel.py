"""Build the wheel and the sdist, and try them in environments with nothing else in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from choice import SetupError
from environment import ROOT, Environment, base_python
from progress import run, say

DIST = ROOT / "dist"
ROOMS = ("analysis", "harness", "jobs", "models")
SUPPORTED = range(11, 15)
"""Minor versions of Python that are tried where they are at hand."""


def make_wheel() -> None:
    """Build both into ``dist``, let twine check them, and run the installed command once.

    Raises
    ------
    SetupError
        A step failed, or the wheel lacks a file of the project.
    """
    environment = Environment(stack="wheel")
    environment.create(base_python())
    environment.step(
        "build",
        lambda: environment.pip_install("build", "twine", title="installing build and twine"),
        environment.constraints,
    )
    shutil.rmtree(DIST, ignore_errors=True)
    log = environment.logs / "wheel.log"
    run(
        [environment.python, "-m", "build", "--outdir", DIST, ROOT],
        what="building the wheel and the sdist",
        log=log,
        expected="about 1 min",
    )
    built = sorted(DIST.iterdir())
    run([environment.python, "-m", "twine", "check", "--strict", *built], what="checking", log=log)
    wheel = next(DIST.glob("*.whl"))
    if lacking := missing_files(wheel):
        raise SetupError(
            f"The wheel lacks {', '.join(lacking)}: add the pattern to package-data "
            "in pyproject.toml."
        )
    for trial in trials(wheel, next(DIST.glob("*.tar.gz"))):
        try_installed(trial, log)
    say(f"dist: {', '.join(each.name for each in built)}")


def missing_files(wheel: Path) -> list[str]:
    """Return the files of the project's rooms that a wheel lacks."""
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*") if path.is_file()]
    files += [path for path in (ROOT / "src" / "hindmost").glob("*") if path.is_file()]
    names = {
        path: path.relative_to(ROOT / "src").as_posix()
        if path.is_relative_to(ROOT / "src")
        else f"hindmost/{path.relative_to(ROOT).as_posix()}"
        for path in files
        if "__pycache__" not in path.parts
    }
    return sorted(name for name in names.values() if name not in inside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One installation: with which Python, of what, and with which versions of what it needs."""

    python: Path
    package: Path
    constraints: Path | None
    title: str


def trials(wheel: Path, sdist: Path) -> list[Trial]:
    """Return the installations to try: every Python at hand, the oldest versions, the sdist."""
    wanted = [f"python3.{minor}" for minor in SUPPORTED]
    pythons = {name: Path(path) for name in wanted if (path := shutil.which(name)) and runs(path)}
    missing = [name for name in wanted if name not in pythons]
    if missing:
        say(f"not tried, for they are not on PATH: {', '.join(missing)}")
    base = base_python()
    pythons = pythons or {base.name: base}
    oldest = ROOT / "setup" / "constraints" / "oldest.txt"
    first = next(iter(pythons.values()))
    return [
        *(
            Trial(python=python, package=wheel, constraints=None, title=f"the wheel, {name}")
            for name, python in pythons.items()
        ),
        Trial(python=first, package=wheel, constraints=oldest, title="the wheel, oldest versions"),
        Trial(python=first, package=sdist, constraints=None, title="the sdist"),
    ]


def runs(python: str) -> bool:
    """Tell whether a Python starts: what is on PATH may only stand for one that is elsewhere."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def try_installed(trial: Trial, log: Path) -> None:
    """Install into an empty environment; model an experiment, record a program if MPI is there."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        commands = folder / "alone" / "bin"
        outside = {
            "PYTHONPATH": "",
            "NUMBA_CACHE_DIR": str(folder / "numba"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PATH": f"{commands}:{os.environ['PATH']}",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
        }

        def step(what: str, *command: str | Path, expected: str = "") -> None:
            title = f"{what} ({trial.title})"
            run(list(command), what=title, log=log, cwd=folder, env=outside, expected=expected)

        step("making an empty environment", trial.python, "-m", "venv", folder / "alone")
        install = [str(commands / "python"), "-m", "pip", "install", f"{trial.package}[loops]"]
        if trial.constraints:
            install += ["--constraint", str(trial.constraints)]
        step("installing", *install, expected="about 1 min")
        step("checking what it needs", commands / "python", "-m", "pip", "check")
        experiment = folder / "experiment.txt"
        experiment.write_text(
            "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\n"
            + "".join(f"DATA {0.5 * ranks}\n" for ranks in (2, 4, 8, 16, 32))
        )
        step("modelling", commands / "hindmost", "scale", experiment)
        if shutil.which("mpicc") and shutil.which("mpiexec"):
            step("recording", "sh", ROOT / "packaging" / "smoke-test.sh")
