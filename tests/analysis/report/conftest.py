"""Runs whose ranks do the same."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.report.first_screens import ITERATIONS, RANKS

from hindmost.harness.runfile.contents import Header


@pytest.fixture
def alike() -> NDArray[np.float64]:
    """Return equal work of all ranks, with 1 % of noise: shape (iteration, rank), seconds."""
    random = np.random.default_rng(0)
    return 1e-4 * random.normal(1.0, 0.001, (ITERATIONS, RANKS))


@pytest.fixture
def own(header: Header) -> Header:
    """Return the header of a loop: no restarts."""
    made = replace(header, ranks=RANKS, iterations=ITERATIONS, restart=0, solver="loop")
    machine = {"host": "büro", "cores": RANKS}
    return replace(
        made, petsc_options={}, spec={"mpi_seen": True}, environment={"machine": machine}
    )
