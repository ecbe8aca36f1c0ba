"""The probe of the memory's levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hindmost.errors import DataError
from hindmost.harness.probes.memory import LENGTH, QUICK_FOOTPRINTS, add_all
from hindmost.harness.probes.sections.contract import ProbeSetting
from hindmost.harness.probes.sections.memory import MEMORY
from hindmost.models.adaptive.machine import Machine

EMPTY = {"schema": "hindmost-machine", "version": 1, "name": "here", "ranks_per_node": 2}


def test_the_kernel_reads_every_vector() -> None:
    vectors, sums = np.arange(3.0 * LENGTH).reshape(3, LENGTH), np.zeros(LENGTH)
    add_all(vectors, sums, 2)
    assert sums == pytest.approx(2e-9 * vectors.sum(axis=0))


def test_a_quick_probe_fills_its_section(tmp_path: Path) -> None:
    from mpi4py import MPI

    setting = ProbeSetting(
        communicator=MPI.COMM_SELF,
        nodes=(0,),
        quick=True,
        seed=0,
        folder=tmp_path,
        cells=(),
        kernel="",
    )
    found = MEMORY.take(setting)
    assert found is not None
    points = found.changes["memory"]
    assert [each.bytes for each in points] == list(QUICK_FOOTPRINTS)
    machine = Machine(name="here", ranks_per_node=1, memory=points)
    assert Machine.from_json(machine.to_json()) == machine


@pytest.mark.parametrize("field", ["bytes", "seconds_per_byte"])
def test_times_of_no_memory_are_refused(field: str) -> None:
    point = {"ranks_per_node": 2, "bytes": 1000, "seconds_per_byte": 1e-10, field: 0}
    with pytest.raises(DataError, match=field):
        Machine.from_json({**EMPTY, "memory": [point]})
