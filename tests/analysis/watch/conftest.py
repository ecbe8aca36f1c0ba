"""A feed that is being written."""

from pathlib import Path

import pytest
from tests.analysis.watch.feeds import Feed


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    begun = Feed(tmp_path)
    begun.solve()
    begun.frames(5)
    return begun
