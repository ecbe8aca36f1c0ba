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
from hindmost.models.simulation.size import MATRIX, outruns_probe

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


def test_memory_that_was_not_probed_widens_the_interval() -> None:
    program = sized()
    clean_s = time_s(program, Change())
    for factor, low, high in ((4.0, 4.0, 8.0), (1.1, 1.1, 1.21), (0.25, 0.125, 0.25)):
        found = what_if(program, Change(unknowns=round(factor * SIZE)))
        assert found.predicted_s == pytest.approx(factor * clean_s)
        between_s = LEAD_S + AFTER_S + 9 * pause_s(30)
        bodies_s = clean_s - between_s
        assert found.low_s == pytest.approx(low * bodies_s + factor * between_s, rel=0.05)
        assert found.high_s == pytest.approx(high * bodies_s + factor * between_s, rel=0.05)


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


def test_only_the_bytes_cost_more_beyond_a_cache() -> None:
    # GMRES moves 2 (k + 1) vectors of the basis, 6 others, 3 for Jacobi and the product's.
    matrix, place = 75.0, np.arange(30.0)
    moved = 4.0 * SIZE * (2.0 * (place + 1.0) + 6.0 + 3.0 + 2.0 + matrix)
    first, beyond = 4.0 * SIZE * (30 + OTHERS + matrix) + 1.0, 1e12
    levels = MemoryLevels(
        bytes=(1.0, first, 1.01 * first, beyond), seconds_per_byte=(1e-11, 1e-11, 1e-10, 1e-10)
    )
    program = sized(memory=levels)
    assert program.shape is not None
    known = replace(program.shape, matrix=matrix, preconditioner=3.0)
    found = what_if(replace(program, shape=known), Change(unknowns=8 * SIZE))
    plain_s = 8.0 * time_s(sized(), Change())
    assert found.predicted_s == pytest.approx(plain_s + 8.0 * 10 * 9e-11 * moved.sum())
    # In the interval nothing grows beyond the size, or all work by the factor of 10.
    assert found.low_s < 1.01 * plain_s
    assert found.high_s > 5.0 * found.predicted_s
    # With the sparsest matrix in place of the known one, all fits into the cache at the other size.
    sparse = replace(program.shape, preconditioner=3.0)
    missed = what_if(replace(program, shape=sparse), Change(unknowns=2 * SIZE))
    assert missed.predicted_s == pytest.approx(2.0 * time_s(sized(), Change()))


def test_a_run_may_be_faster_than_the_memory_that_was_probed() -> None:
    def levels(per_byte_s: float) -> MemoryLevels:
        return MemoryLevels(bytes=(1.0, 1e12), seconds_per_byte=(per_byte_s, per_byte_s))

    assert not outruns_probe(sized())  # nothing was probed
    assert not outruns_probe(sized(memory=levels(1e-12)))
    assert outruns_probe(sized(memory=levels(1e-6)))


def test_a_size_must_be_known_and_in_range() -> None:
    with pytest.raises(UsageError, match="does not say how many unknowns"):
        time_s(solve(90, 30), Change(unknowns=10))
    for size in (0, -5, 10**10):
        with pytest.raises(UsageError, match=f"--unknowns {size:,}: the run has 1,000"):
            time_s(sized(), Change(unknowns=size))
