"""The examples are scripts that import one another by bare names, as Python finds them when run."""

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import ROOT

CASES = ROOT / "examples" / "scaling"
DATA = CASES / "data"

Run = Callable[..., str]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Return what imports one of the examples."""
    monkeypatch.syspath_prepend(str(CASES))
    return importlib.import_module


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return what runs one of the examples in a folder of its own, and returns what it prints."""

    def start(name: str, *words: str, before: tuple[str, ...] = ()) -> str:
        done = subprocess.run(
            [*before, sys.executable, str(CASES / name), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start
