"""The real OpenPBS of these tests, which `make test-pbs` starts around them."""

import os
from pathlib import Path

import pytest
from tests.jobs.pbs.server import INSTALLED


@pytest.hookimpl(trylast=True)  # after the choice of tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out where no server runs around them."""
    here = str(Path(__file__).parent) + os.sep
    ours = [item for item in items if str(item.path).startswith(here)]
    if ours and INSTALLED not in os.environ:
        left_out = set(ours)
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=ours)
