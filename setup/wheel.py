"""Build the wheel and the sdist, and try the wheel in an environment with nothing else in it."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path

from choice import SetupError
from environment import ROOT, Environment, base_python
from progress import run, say

DIST = ROOT / "dist"
ROOMS = ("analysis", "harness", "jobs", "models")


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
    try_wheel(wheel, log)
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


def try_wheel(wheel: Path, log: Path) -> None:
    """Install a wheel into an empty environment, and let its command model an experiment."""
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder) / "alone"
        run([base_python(), "-m", "venv", alone], what="making an empty environment", log=log)
        python = alone / "bin" / "python"
        outside = {"PYTHONPATH": "", "NUMBA_CACHE_DIR": str(Path(folder) / "numba")}
        run(
            [python, "-m", "pip", "install", wheel],
            what="installing the wheel",
            log=log,
            expected="about 1 min",
            env=outside,
        )
        experiment = Path(folder) / "experiment.txt"
        experiment.write_text(
            "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\n"
            + "".join(f"DATA {0.5 * ranks}\n" for ranks in (2, 4, 8, 16, 32))
        )
        run(
            [alone / "bin" / "hindmost", "scale", experiment],
            what="running it",
            log=log,
            cwd=Path(folder),
            env=outside,
        )
