"""The real Slurm of these tests, and what is said where there is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.jobs.slurm.cluster import CannotStartError, Cluster, lacking

INSTALL = (
    "sudo apt-get install --no-install-recommends slurmctld slurmd slurm-client munge "
    "slurm-wlm-basic-plugins"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process start the Slurm of all tests, where tests run in several processes."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("slurm"))


def start(**choices: bool | int) -> Cluster:
    """Start a Slurm, or skip; in CI a Slurm that does not start is a failure."""
    ci = os.environ.get("CI", "").lower() in ("true", "1")
    missing = lacking()
    if missing and not ci:
        pytest.skip(f"a real Slurm is not installed (no {missing[0]}); to get it: {INSTALL}")
    if missing:
        pytest.fail(f"CI wants a real Slurm, and there is no {', '.join(missing)}: {INSTALL}")
    try:
        return Cluster(**choices)  # type: ignore[arg-type]
    except CannotStartError as error:
        if ci or os.geteuid() == 0:
            pytest.fail(f"Slurm does not start: {error}")
        pytest.skip(f"Slurm does not start without root: {str(error).splitlines()[0]}")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Return a Slurm of two nodes, without accounts."""
    started = start()
    yield started
    started.stop()


@pytest.fixture
def slurm(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Return the Slurm that this test's commands talk to."""
    monkeypatch.setenv("SLURM_CONF", str(cluster.folder / "slurm.conf"))
    return cluster
