"""Programs that tests record, and the compiler for those in Fortran."""

import importlib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from tests.conftest import ROOT


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "setup"))
    return importlib.import_module("source")


def test_only_the_examples_of_petsc_stay(
    source: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unpack(_: object, name: str, folder: Path, __: object) -> None:
        assert name == "petsc"
        for path in (*source.EXAMPLES, "ksp/ksp/tutorials/ex1.c"):
            (folder / "src" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "src" / path).touch()

    monkeypatch.setattr(source, "unpack", unpack)
    source.fetch_examples(SimpleNamespace(path=tmp_path))
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(kept) == [
        tmp_path / "petsc-examples" / "src" / path for path in sorted(source.EXAMPLES)
    ]
