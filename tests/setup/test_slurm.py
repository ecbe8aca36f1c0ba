"""Set-up's Slurm for tests: installed where that may be done, else one line says how to get it."""

import importlib
from types import ModuleType
from typing import Any

import pytest
from tests.conftest import ROOT


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "setup"))
    return importlib.import_module("system")


def prepare(slurm: ModuleType, monkeypatch: pytest.MonkeyPatch, wanted: str, **answers: Any) -> Any:
    """Return the packages that were installed, on a machine that is only pretended."""
    installed: list[str] = []
    for name, answer in {"is_debian": True, "missing": ["munge"], **answers}.items():
        monkeypatch.setattr(slurm, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(
        slurm, "install_packages", lambda _, packages, **__: installed.extend(packages)
    )
    slurm.prepare_slurm(None, wanted)
    return installed


def test_what_is_installed(
    slurm: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare(slurm, monkeypatch, "if-possible", may_install=True, missing=[]) == []
    assert capsys.readouterr().out == ""
    assert "slurmctld" in prepare(slurm, monkeypatch, "if-possible", may_install=True)
    assert "slurmdbd" in prepare(slurm, monkeypatch, "accounts", may_install=True)


def test_without_rights_one_line_says_how(
    slurm: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare(slurm, monkeypatch, "if-possible", may_install=False) == []
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "sudo apt-get install -y --no-install-recommends slurmctld slurmd" in said
