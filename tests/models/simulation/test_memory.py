"""The growth of work over the places of a cycle changes where vectors leave a cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.models.simulation.test_length import solve, time_s

from hindmost.models.simulation.change import Change
from hindmost.models.simulation.length import growth_of_vectors
from hindmost.models.simulation.memory import OTHERS, MemoryLevels, VectorGrowth
from hindmost.models.simulation.program import Program

VECTOR, MIB = 4e5, 2.0**20
LEVELS = MemoryLevels(
    bytes=(1e5, 40.0 * VECTOR, 40.01 * VECTOR, 1e9), seconds_per_byte=(1.0, 1.0, 2.0, 2.0)
)
"""A cache for 40 vectors, beyond which they take twice the time."""


def with_memory(program: Program) -> Program:
    assert program.shape is not None
    return replace(program, shape=replace(program.shape, memory=LEVELS, vector_bytes=VECTOR))


def test_vectors_cost_more_where_the_probe_says() -> None:
    growth = VectorGrowth(levels=LEVELS, vector_bytes=VECTOR, last=29.0)
    fits = int(40 - 1 - OTHERS)
    assert growth.ratio(np.array([0.0, 29.0, fits, fits + 1.0])) == pytest.approx([1, 1, 1, 2])
    assert growth.change(60) == fits + 1
    assert growth.change(30) is None
    assert growth(np.array([9.0, 49.0])) == pytest.approx([10.0, 100.0])


def test_a_longer_cycle_takes_the_time_of_the_next_level() -> None:
    program = solve(600, 30)
    line = time_s(program, Change(restart=60))
    change = time_s(with_memory(program), Change(restart=60))
    # Places 37 to 59 take 7 us more per vector: once more what they take as a line.
    more = 10 * sum(7e-6 * (place + 1) for place in range(37, 60))
    assert change - line == pytest.approx(more, rel=1e-6)
    # What was recorded, or is shorter, stays.
    assert time_s(with_memory(program), Change(restart=20)) == time_s(program, Change(restart=20))


def test_without_a_probe_or_restarts_the_growth_is_a_line() -> None:
    program = solve(600, 30)
    assert program.shape is not None
    assert growth_of_vectors(program.shape, program.position) is None
    known = with_memory(program).shape
    assert known is not None
    assert growth_of_vectors(known, program.position) is not None
    assert growth_of_vectors(replace(known, vector_bytes=0.0), program.position) is None
    assert growth_of_vectors(replace(known, restart=0), program.position) is None


@pytest.mark.parametrize(
    ("probed", "taken"),
    [
        ([1.0, 1.2, 0.9, 1.0], [0.9, 0.9, 0.9, 1.0]),
        ([1.0, 30.0, 1.1, 2.0], [1.0, 1.1, 1.1, 2.0]),  # no larger size takes as long
        ([1.0, 1.0, 2.0, 2.2], [1.0, 1.0, 2.0, 2.2]),
    ],
)
def test_noise_of_a_probe_makes_no_level(probed: list[float], taken: list[float]) -> None:
    sizes = (MIB, 2 * MIB, 4 * MIB, 8 * MIB)
    levels = MemoryLevels(bytes=sizes, seconds_per_byte=tuple(probed))
    assert levels.per_byte_s(np.array([*sizes, 99 * MIB])) == pytest.approx([*taken, taken[-1]])
