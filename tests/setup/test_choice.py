"""Set-up's choice of a stack: pure decisions, on machines that are only pretended."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SETUP = Path(__file__).parent.parent.parent / "setup"


@pytest.fixture
def choice(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return set-up's module, on a machine that has nothing."""
    monkeypatch.syspath_prepend(str(SETUP))
    module = importlib.import_module("choice")
    monkeypatch.delenv("PETSC_DIR", raising=False)
    monkeypatch.setattr(module.shutil, "which", lambda *_args, **_: None)
    monkeypatch.setattr(module, "is_debian", lambda: False)
    monkeypatch.setattr(module, "unsupported", lambda: "")
    monkeypatch.setattr(module, "missing", lambda packages: list(packages))
    monkeypatch.setattr(module, "may_install", lambda: False)
    monkeypatch.setattr(module, "can_build", lambda: False)
    return module


def pretend(module: ModuleType, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
    for name, answer in answers.items():
        monkeypatch.setattr(module, name, lambda *_, answer=answer: answer)


def test_what_is_asked_for_is_taken(choice: ModuleType) -> None:
    for stack in choice.STACKS:
        chosen = choice.choose(stack, established="system")
        assert chosen.stack == stack
        assert "asked for" in chosen.why
    with pytest.raises(choice.SetupError, match="choose auto, site, system, source"):
        choice.choose("conda", None)


def test_what_stands_is_kept(choice: ModuleType) -> None:
    chosen = choice.choose("auto", established="source")
    assert (chosen.stack, "already" in chosen.why) == ("source", True)


def test_a_site_that_gives_petsc_and_mpicc(
    choice: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETSC_DIR", "/opt/petsc")
    pretend(choice, monkeypatch, is_debian=True, may_install=True)
    assert choice.choose("auto", None).stack == "system"  # no mpicc
    monkeypatch.setattr(choice.shutil, "which", lambda name, **_: f"/opt/bin/{name}")
    chosen = choice.choose("auto", None)
    assert (chosen.stack, "PETSC_DIR" in chosen.why) == ("site", True)


def test_debian_with_packages_or_rights(
    choice: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(choice, monkeypatch, is_debian=True, missing=[])
    assert "installed" in choice.choose("auto", None).why
    pretend(choice, monkeypatch, missing=["gcc"], may_install=True)
    chosen = choice.choose("auto", None)
    assert (chosen.stack, "quickest" in chosen.why) == ("system", True)


def test_debian_without_rights(choice: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(choice, monkeypatch, is_debian=True)
    line = "sudo apt-get install -y --no-install-recommends python3-petsc4py"
    with pytest.raises(choice.SetupError, match=line):
        choice.choose("auto", None)
    pretend(choice, monkeypatch, can_build=True)
    chosen = choice.choose("auto", None)
    assert chosen.stack == "source"
    assert line in chosen.why


def test_elsewhere_it_is_built(choice: ModuleType) -> None:
    assert choice.choose("auto", None).stack == "source"


def test_a_distribution_that_is_too_old(
    choice: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(choice, monkeypatch, is_debian=True, may_install=True, unsupported="it is too old")
    chosen = choice.choose("auto", None)
    assert (chosen.stack, chosen.why) == ("source", "it is too old")


def test_a_machine_without_dpkg_and_without_blas_is_told_what_to_install(
    tmp_path: Path,
) -> None:
    # No dpkg, no apt-get, and a compiler that cannot link BLAS.
    (tmp_path / "bin").mkdir()
    for name, text in (("cc", "#!/bin/sh\nexit 1\n"), ("make", "#!/bin/sh\nexit 0\n")):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(SETUP), "--stack", "source"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)},
    )
    assert done.returncode == 4, done.stderr
    assert "-llapack -lblas" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_step_is_done_once_until_its_inputs_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(SETUP))
    module = importlib.import_module("environment")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    made = module.Environment(stack="system")
    done: list[str] = []

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.step("wheels", interrupted, "input")
    for _ in range(2):
        made.step("wheels", lambda: done.append("first"), "input")
    made.step("wheels", lambda: done.append("second"), "other input")
    assert done == ["first", "second"]


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [(["--stack", "conda"], 4, "STACK=conda is unknown"), (["--stack", "site"], 4, "PETSC_DIR")],
)
def test_errors_are_one_message(arguments: list[str], status: int, word: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PETSC_DIR"}
    done = subprocess.run(
        [sys.executable, str(SETUP), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == status
    assert word in done.stderr
    assert "Traceback" not in done.stderr
