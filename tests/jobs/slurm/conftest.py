"""The real Slurm of these tests, and what is said where there is none."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.jobs import two_nodes
from tests.jobs.slurm.cluster import CannotStartError, Cluster, lacking

collect_ignore = [] if two_nodes.INSIDE in os.environ else ["test_two_nodes.py"]
"""That needs two hosts around it: `make test-slurm` makes them."""

# The packages as in setup/choice.py.
INSTALL = (
    "sudo apt-get install --no-install-recommends slurmctld slurmd slurm-client munge "
    "slurm-wlm-basic-plugins"
)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let the process that starts ranks start the Slurm of all tests, where there are several."""
    if item.config.pluginmanager.hasplugin("xdist"):
        item.add_marker(pytest.mark.xdist_group("ranks"))


@pytest.hookimpl(trylast=True)  # after the choice of tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let one test say for all that there is no Slurm."""
    here = str(Path(__file__).parent) + os.sep
    ours = [item for item in items if str(item.path).startswith(here)]
    if ours and lacking() and not in_ci():
        reason = f"a real Slurm is not installed (for {len(ours)} tests); to get it: {INSTALL}"
        ours[0].add_marker(pytest.mark.skip(reason=reason))
        silent = set(ours[1:])
        items[:] = [item for item in items if item not in silent]
        config.hook.pytest_deselected(items=ours[1:])


def in_ci() -> bool:
    """Tell whether a Slurm that does not start is a failure."""
    return os.environ.get("CI", "").lower() in ("true", "1")


def start(**choices: bool | int) -> Cluster:
    """Start a Slurm, or skip; in CI a Slurm that does not start is a failure."""
    if missing := lacking():
        pytest.fail(f"CI wants a real Slurm, and there is no {', '.join(missing)}: {INSTALL}")
    try:
        return Cluster(**choices)  # type: ignore[arg-type]
    except CannotStartError as error:
        if in_ci() or os.geteuid() == 0:
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
