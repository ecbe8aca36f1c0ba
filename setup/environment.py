"""The virtual environment of a stack: where it is, what stands in it, what was done to it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from choice import SetupError
from progress import run, say

ROOT = Path(__file__).resolve().parent.parent
LINK = ROOT / ".venv"
FIRST_ROOMS = ("noise", "ranks", "simulation")
"""Of the models: those whose loops the demo, ``attach``, ``show``, ``check``, ``report`` call."""
COMPILE_RECORDER = (
    "from hindmost.harness.recorder.build import recorder_library; recorder_library()"
)
SETUP_FILES = sorted(Path(__file__).parent.glob("*.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The virtual environment of a stack, ``.venvs/STACK``; ``.venv`` is a link to one of them."""

    stack: str

    @property
    def path(self) -> Path:
        """The environment's own folder."""
        return ROOT / ".venvs" / self.stack

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.path / "bin" / "python"

    @property
    def logs(self) -> Path:
        """Where the output of its set-up is kept."""
        return self.path / "setup-logs"

    @property
    def site_packages(self) -> Path:
        """Where its packages are."""
        return next((self.path / "lib").glob("python3*/site-packages"))

    @property
    def constraints(self) -> Path:
        """The pinned versions of this stack."""
        return ROOT / "setup" / "constraints" / f"{self.stack}.txt"

    def create(self, base_python: Path, *options: str) -> None:
        """Make the environment with an interpreter of the machine, or take what is there whole."""
        version = subprocess.run(
            [base_python, "--version"], capture_output=True, text=True, check=True
        ).stdout
        stamp = self.path / "setup-venv"
        if stamp.exists() and stamp.read_text() == version:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        run(
            [base_python, "-m", "venv", *options, self.path],
            what=f"making the environment .venvs/{self.stack}",
            log=ROOT / ".venvs" / f"{self.stack}-venv.log",
        )
        stamp.write_text(version)

    def pip_install(self, *what: str, title: str, expected: str = "") -> None:
        """Install packages at this stack's pinned versions."""
        run(
            [self.python, "-m", "pip", "install", "--constraint", self.constraints, *what],
            what=title,
            expected=expected,
            log=self.logs / "pip.log",
            env={"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )

    def record_stack(self, **facts: str) -> None:
        """Write down what hindmost needs to know of the stack that it runs on."""
        record = {"stack": self.stack, **facts}
        (self.path / "hindmost-stack.json").write_text(json.dumps(record, indent=2) + "\n")

    def write_mpiexec(self, launcher: Path, **settings: str) -> None:
        """Put an ``mpiexec`` into the environment that starts ranks of this stack's MPI."""
        lines = ["#!/bin/sh", f"# Starts ranks of the {self.stack} stack's MPI."]
        lines += [f'export {name}="${{{name}:-{value}}}"' for name, value in settings.items()]
        lines.append(f"exec '{launcher}' \"$@\"")
        script = self.path / "bin" / "mpiexec"
        script.unlink(missing_ok=True)
        script.write_text("\n".join(lines) + "\n")
        script.chmod(0o755)

    def make_current(self) -> None:
        """Let ``.venv`` stand for this environment."""
        if LINK.is_dir() and not LINK.is_symlink():
            raise SetupError(f"{LINK} is a folder, not made by this set-up; move it away first.")
        new = LINK.with_name(".venv.new")
        new.unlink(missing_ok=True)
        new.symlink_to(self.path.relative_to(ROOT))
        new.replace(LINK)

    def step(self, name: str, action: Callable[[], None], *depends: Path | str) -> None:
        """Do a step of the set-up unless it was finished before with the same inputs.

        Parameters
        ----------
        depends : Path or str
            Files or words on which the step's result rests, beside the set-up's own code.
        """
        digest = hashlib.sha256(sys.version.encode())
        for item in (*SETUP_FILES, *depends):
            digest.update(item.read_bytes() if isinstance(item, Path) else item.encode())
        stamp = self.path / "setup-done" / name
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        action()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest.hexdigest())


def established() -> str | None:
    """Tell which stack ``.venv`` stands for, None if there is none yet."""
    if not LINK.is_symlink() or not (LINK / "bin" / "python").exists():
        return None
    return LINK.resolve().name


def base_python() -> Path:
    """Return the interpreter that runs this set-up, outside any environment."""
    found = getattr(sys, "_base_executable", None) or sys.executable
    return Path(os.path.realpath(found))


def prepare_docs() -> None:
    """Make the environment that builds the documentation: no MPI, no PETSc; .venv stays."""
    environment = Environment(stack="docs")
    environment.create(base_python())
    environment.step(
        "sphinx",
        lambda: environment.pip_install(
            "--editable",
            f"{ROOT}[docs]",
            title="installing Sphinx and hindmost",
            expected="about 1 min",
        ),
        ROOT / "pyproject.toml",
        environment.constraints,
    )


def install_hindmost(environment: Environment, extras: str) -> None:
    """Install the project itself, editable, with the extras that a purpose needs."""
    environment.step(
        f"hindmost-{extras.replace(',', '-')}",
        lambda: environment.pip_install(
            "--editable",
            f"{ROOT}[{extras}]",
            title=f"installing hindmost with {extras}",
            expected="about 1 min",
        ),
        ROOT / "pyproject.toml",
        environment.constraints,
    )
    # Tests call every loop, from several processes at once; other loops wait for their first use.
    tests = "dev" in extras.split(",")
    rooms = () if tests else FIRST_ROOMS
    environment.step(
        "compiled-loops" if tests else "first-loops",
        lambda: run(
            [environment.path / "bin" / "hindmost", "doctor", "--compile", *rooms],
            what="compiling the numerical loops",
            expected="about 1 min" if tests else "about 20 s",
            log=environment.logs / "compile.log",
        ),
        *sorted((ROOT / "models").rglob("*.py")),
        *sorted((ROOT / "harness" / "adaptive").rglob("*.py")),
        *sorted((ROOT / "harness" / "probes").rglob("*.py")),
    )
    environment.step(
        "recorder",
        lambda: run(
            [environment.path / "bin" / "python", "-c", COMPILE_RECORDER],
            what="compiling the recorder",
            expected="about 10 s",
            log=environment.logs / "recorder.log",
        ),
        *sorted((ROOT / "harness" / "recorder").glob("*.*")),
    )
    say(f"{environment.stack} stack ready in .venv")
