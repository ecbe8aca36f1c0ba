"""Ranks as threads of one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hindmost.harness.attach.ranks import on_ranks


@pytest.mark.parametrize("size", [1, 2, 5])
def test_collectives(size: int) -> None:
    def work(comm: Any) -> tuple[Any, ...]:
        whole = np.zeros((size, 2)) if comm.rank == 0 else None
        comm.Gather(np.full(2, comm.rank), whole)
        comm.Barrier()
        return (
            comm.allgather(comm.rank * 10),
            comm.gather(comm.rank),
            comm.bcast(f"of {comm.rank}"),
            comm.scatter([10 * n for n in range(size)] if comm.rank == 0 else None),
            comm.allreduce(comm.rank + 1),
            None if whole is None else whole.tolist(),
        )

    ranks = list(range(size))
    for rank, found in enumerate(on_ranks(size, work)):
        assert found == (
            [10 * each for each in ranks],
            ranks if rank == 0 else None,
            "of 0",
            10 * rank,
            sum(ranks) + size,
            [[each, each] for each in ranks] if rank == 0 else None,
        )


def test_one_rank_runs_at_a_time_in_the_order_of_ranks() -> None:
    steps: list[tuple[int, int]] = []

    def work(comm: Any) -> None:
        for step in range(3):
            steps.append((step, comm.rank))
            comm.Barrier()

    on_ranks(4, work)
    assert steps == [(step, rank) for step in range(3) for rank in range(4)]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_the_error_of_one_rank_ends_all(failing: int) -> None:
    after: list[int] = []

    def work(comm: Any) -> None:
        comm.Barrier()
        if comm.rank == failing:
            raise ValueError(f"rank {failing}")
        comm.Barrier()
        after.append(comm.rank)

    with pytest.raises(ValueError, match=f"rank {failing}"):
        on_ranks(3, work)
    assert after == []


@pytest.mark.parametrize("leaving", [0, 1, 2])
def test_a_rank_that_leaves_too_early_hangs_nobody(leaving: int) -> None:
    def work(comm: Any) -> None:
        comm.Barrier()
        if comm.rank != leaving:
            comm.Barrier()

    with pytest.raises(RuntimeError, match="a rank ended"):
        on_ranks(3, work)
