"""What tests of the recorder share: a program with the recorder and an MPI that does nothing."""

from pathlib import Path

import pytest
from benchmarks.terms import compiled_stub


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_stub(tmp_path_factory.mktemp("stub"), "-O0")
