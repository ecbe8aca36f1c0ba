"""What is asked of ``hindmost run collectives``, before there are ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hindmost.errors import UsageError
from hindmost.harness.collectives.experiment import MOST_A_RANK, CollectivesExperiment, check_memory
from hindmost.harness.collectives.operations import OPERATIONS, pattern, summed

PLAN = CollectivesExperiment(
    operations=("allreduce", "barrier", "alltoall"),
    sizes=(8, 1024),
    calls=10,
    repeats=3,
    warmup=1,
    seed=7,
)
ONCE = {"allreduce-8B", "allreduce-1024B", "barrier", "alltoall-8B", "alltoall-1024B"}
GIB = 2**30


def test_each_repeat_holds_each_collective_and_size_once() -> None:
    order = PLAN.order()
    assert [planned.repeat for planned in order] == [0] * 5 + [1] * 5 + [2] * 5
    for repeat in range(3):
        assert {planned.case.name for planned in order[5 * repeat : 5 * repeat + 5]} == ONCE
    assert order == PLAN.order()
    orders = {tuple(p.case.name for p in replace(PLAN, seed=seed).order()) for seed in range(10)}
    assert len(orders) > 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (
            {"operations": ("allredux",)},
            "'allredux'; did you mean allreduce? choose allreduce, reduce, bcast",
        ),
        ({"operations": ()}, "--operations names no collective; choose allreduce"),
        ({"operations": ("bcast", "bcast")}, "--operations: a duplicate"),
        ({"sizes": ()}, "--bytes names no size"),
        ({"sizes": (8, 8)}, "--bytes: a duplicate"),
        ({"sizes": (8, 12)}, "--bytes 12: a size must be a positive multiple of 8"),
        ({"sizes": (0,)}, "--bytes 0: "),
        ({"sizes": (-8,)}, "--bytes -8: "),
        ({"sizes": (2**31,)}, "at most 2,147,483,640"),
        ({"calls": 0}, "--calls 0: it must be at least 1"),
        ({"repeats": 0}, "--repeats 0: it must be at least 1"),
        ({"warmup": -1}, "--warmup -1: it must be at least 0"),
    ],
)
def test_what_cannot_be_run(change: dict[str, object], word: str) -> None:
    with pytest.raises(UsageError) as refused:
        replace(PLAN, **change).check()  # type: ignore[arg-type]  # what tests break on purpose
    assert word in str(refused.value)


def test_a_barrier_needs_no_size() -> None:
    replace(PLAN, operations=("barrier",), sizes=()).check()


@pytest.mark.parametrize("name", ["alltoall", "allgather", "gather", "reduce_scatter"])
def test_the_size_that_a_refusal_offers_is_the_largest_that_fits(name: str) -> None:
    collective = OPERATIONS[name]
    with pytest.raises(UsageError) as refused:
        check_memory(collective, 2**20, 4096, ranks_here=64, memory_bytes=64 * GIB)
    text = str(refused.value)
    assert "4096 ranks" in text
    offered = int(text.partition("at most ")[2].partition(",")[0])
    assert offered % 8 == 0
    check_memory(collective, offered, 4096, ranks_here=64, memory_bytes=64 * GIB)
    with pytest.raises(UsageError):
        check_memory(collective, offered + 8, 4096, ranks_here=64, memory_bytes=64 * GIB)


def test_what_does_not_grow_with_ranks_fits() -> None:
    check_memory(OPERATIONS["allreduce"], 2**20, 10**6, ranks_here=64, memory_bytes=64 * GIB)
    check_memory(OPERATIONS["barrier"], 0, 10**6, ranks_here=64, memory_bytes=GIB)


def test_a_rank_s_own_limit_holds_on_large_nodes() -> None:
    with pytest.raises(UsageError, match=f"{MOST_A_RANK:,} are allowed"):
        check_memory(OPERATIONS["alltoall"], 2**20, 4096, ranks_here=1, memory_bytes=2**50)


def test_no_size_fits_where_none_does() -> None:
    with pytest.raises(UsageError, match="no size fits"):
        check_memory(OPERATIONS["alltoall"], 8, 10**6, ranks_here=64, memory_bytes=GIB)


@pytest.mark.parametrize("ranks", [1, 2, 7])
def test_the_expected_sum_is_the_sum(ranks: int) -> None:
    total = np.sum([pattern(3000, 5 + rank) for rank in range(ranks)], axis=0)
    np.testing.assert_array_equal(summed(ranks, 3000, 5), total)
