"""The iterations of a loop without marks are found in the sequence of its calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hindmost.harness.attach.period import Calls, Period, UnsureError, borders, find_period
from hindmost.harness.attach.ranks import on_ranks

NAMES = ("MPI_Bcast", "MPI_Sendrecv", "MPI_Allreduce", "MPI_Barrier", "MPI_Comm_dup")
CLASSES = ("meets_at_root", "exchanges", "meets", "meets", "frees")
SET_UP, END = [4, 0, 0, 3, 2], [3, 0, 0]
STEP = [1, 2, 1, 2, 2]
"""An iteration of two exchanges and three reductions."""


def calls_of(numbers: Sequence[int], work_ns: Sequence[int] | None = None) -> Calls:
    """Return calls of 10 ns each, after 90 ns of work or what is given."""
    gaps = np.full(len(numbers), 90) if work_ns is None else np.array(work_ns)
    end = np.cumsum(gaps + 10)
    whole = np.ones(len(numbers), np.bool_)
    return Calls(number=np.array(numbers), whole=whole, begin_ns=end - 10, end_ns=end)


def found_in(*ranks: Calls) -> tuple[Period, tuple[Period, ...]]:
    """Return what the ranks find, which is the same on all."""
    found = on_ranks(
        len(ranks),
        lambda comm: find_period(
            ranks[comm.rank], NAMES, CLASSES, ranks[comm.rank].end_ns[-1] * 1e-9, comm
        ),
    )
    assert len(set(found)) == 1
    return found[0]


def test_set_up_and_end_belong_to_no_iteration() -> None:
    calls = calls_of([*SET_UP, *STEP * 200, *END])
    period, _ = found_in(calls, calls)
    assert (period.call, period.every, period.alike) == ("MPI_Allreduce", 3, 1.0)
    assert 199 <= period.periods <= 200
    assert period.share > 0.95
    assert period.option == "MPI_Allreduce:3"
    bounds = borders(calls, NAMES, period)
    assert bounds.size == period.periods + 1
    assert (np.diff(bounds) == 5 * 100).all()
    assert bounds[0] >= len(SET_UP) * 100
    assert bounds[-1] <= (len(SET_UP) + 5 * 200) * 100


def test_some_iterations_may_do_more() -> None:
    steps = [each for step in range(300) for each in (*STEP, *([3] * (step % 20 == 19)))]
    period, _ = found_in(calls_of([*SET_UP, *steps]))
    assert (period.call, period.every) == ("MPI_Allreduce", 3)
    assert period.alike == pytest.approx(0.95, abs=0.01)


def test_calls_of_one_rank_only_end_no_iteration() -> None:
    first = calls_of([0, 1, 2] * 100)
    second = calls_of([0, 1, 1, 2] * 100)
    period, _ = found_in(first, second)
    assert (period.call, period.every, period.alike) == ("MPI_Allreduce", 1, 1.0)


def test_the_same_calls_with_different_work_are_parts_of_an_iteration() -> None:
    rng = np.random.default_rng(1)
    work = np.tile([1000, 5000, 300, 1000, 700, 2000], 200) * rng.uniform(0.9, 1.1, 1200)
    calls = calls_of([1, 3] * 600, np.rint(work).astype(int).tolist())
    period, others = found_in(calls)
    assert (period.call, period.every) == ("MPI_Barrier", 3)
    assert any(each.option == "MPI_Barrier" for each in others)


def test_noise_does_not_double_the_period() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        work = np.tile([10000, 300, 2000], 100) * rng.lognormal(0.0, 0.5, 300)
        work *= np.repeat(np.tile([1.0, 1.3], 50), 3)  # the load of another process
        period, others = found_in(calls_of([2] * 300, np.rint(work).astype(int).tolist()))
        assert (period.call, period.every) == ("MPI_Allreduce", 3)
        assert any(each.option == "MPI_Allreduce" for each in others)


def test_what_is_not_sure_is_refused_with_its_candidates() -> None:
    rng = np.random.default_rng(2)
    with pytest.raises(UnsureError, match=r"Candidates: --iterate-at MPI_\w+.*% alike, .* of the"):
        found_in(calls_of(rng.integers(0, 4, 3000).tolist()))
    with pytest.raises(UnsureError, match=r"often enough .* \(MPI_\w+ 3, .*over 10\)"):
        found_in(calls_of([0, 1, 2] * 3))
    # One call in a row is alike by chance.
    often = [each for n in rng.integers(10, 30, 200) for each in (*[2] * int(n), 3)]
    with pytest.raises(UnsureError, match="no period of the MPI calls is sure"):
        found_in(calls_of(often))


def test_a_short_loop_of_set_up_is_not_the_program() -> None:
    period, _ = found_in(calls_of([*[0, 3] * 30, *STEP * 100]))
    assert period.call == "MPI_Allreduce"
