"""The probe of the memory's levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.probes import memory
from hindmost.harness.probes.memory import LENGTH, MEMORY, QUICK_FOOTPRINTS, add_all
from hindmost.harness.probes.sections.contract import ProbeSetting
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


def test_a_machine_that_is_slow_for_a_while_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mpi4py import MPI

    sizes, asked = (1000, 2000, 4000), list[int]()

    def readings(_: object, footprint: int) -> NDArray[np.float64]:
        asked.append(footprint)
        slow = 2.4 if len(asked) <= len(sizes) else 1.0  # the whole first round
        return slow * footprint * np.array([1.5, 1.0, 7.0])

    monkeypatch.setattr(memory, "readings_of", readings)
    assert memory.measure_memory(MPI.COMM_SELF, sizes, 2) == sizes
    assert asked == [*sizes, *sizes]


@pytest.mark.parametrize("field", ["bytes", "seconds_per_byte"])
def test_times_of_no_memory_are_refused(field: str) -> None:
    point = {"ranks_per_node": 2, "bytes": 1000, "seconds_per_byte": 1e-10, field: 0}
    with pytest.raises(DataError, match=field):
        Machine.from_json({**EMPTY, "memory": [point]})
