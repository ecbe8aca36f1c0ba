"""Systems of another size: work grows, and more where vectors leave a cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.models.simulation.test_length import AFTER_S, LEAD_S, RANKS, pause_s, solve, time_s

from hindmost.errors import UsageError
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.memory import OTHERS, MemoryLevels
from hindmost.models.simulation.program import Program, Times
from hindmost.models.simulation.rerun import what_if
from hindmost.models.simulation.size import MATRIX

SIZE = 1000


def sized(noise: Times | None = None, memory: MemoryLevels | None = None) -> Program:
    program = solve(300, 30, noise=noise)
    assert program.shape is not None
    shape = replace(program.shape, unknowns=SIZE, vector_bytes=4.0 * SIZE, memory=memory)
    return replace(program, shape=shape)


def test_all_own_time_grows_with_the_unknowns() -> None:
    program = sized()
    assert time_s(program, Change(unknowns=4 * SIZE)) == pytest.approx(
        4.0 * time_s(program, Change())
    )
    assert time_s(program, Change(unknowns=SIZE)) == pytest.approx(time_s(program, Change()))


def test_injected_noise_does_not_grow() -> None:
    noise = np.random.default_rng(2).exponential(2e-4, (300, RANKS))
    clean = time_s(sized(), Change())
    detours = time_s(sized(noise), Change()) - clean
    found = time_s(sized(noise), Change(unknowns=3 * SIZE))
    assert found == pytest.approx(3.0 * clean + detours, rel=0.01)


def test_vectors_that_leave_a_cache_cost_more() -> None:
    # All places leave it at the other size, which takes twice the time per byte.
    cache = 4.0 * SIZE * (30 + OTHERS + MATRIX) + 1.0
    levels = MemoryLevels(bytes=(1.0, cache, 1.01 * cache), seconds_per_byte=(1.0, 1.0, 2.0))
    found = what_if(sized(memory=levels), Change(unknowns=8 * SIZE))
    between = LEAD_S + AFTER_S + 9 * pause_s(30)
    bodies = time_s(sized(), Change()) - between
    place = np.arange(30) + 1.0 + OTHERS + MATRIX
    assert (8 * 4.0 * SIZE * place).min() > 1.01 * cache
    assert found.predicted_s == pytest.approx(8.0 * (2.0 * bodies + between))
    # The interval has the case that the cache does not matter.
    assert found.low_s < 8.2 * (bodies + between)


def test_a_size_must_be_known_and_in_range() -> None:
    with pytest.raises(UsageError, match="does not say how many unknowns"):
        time_s(solve(90, 30), Change(unknowns=10))
    for size in (0, -5, 10**10):
        with pytest.raises(UsageError, match=f"--unknowns {size:,}: the run has 1,000"):
            time_s(sized(), Change(unknowns=size))
