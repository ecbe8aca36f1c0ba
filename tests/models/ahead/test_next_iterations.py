"""The bound of the next iterations, and jobs that stop by it."""

import math
from functools import partial

import numpy as np
import pytest
from benchmarks.synthetic.iteration_times import HELD_OUT, LAWS, draw
from benchmarks.time_left import replay

from hindmost.models.ahead.next_iterations import (
    LONGEST_SUM,
    LargestSums,
    NextIterations,
    time_left,
)


def observed(times: list[float]) -> NextIterations:
    iterations = NextIterations()
    for time_s in times:
        iterations.observe(time_s)
    return iterations


def test_jobs_stop_in_time_and_waste_little() -> None:
    random, overruns, unused = np.random.default_rng(3), 0, []
    for law in (*LAWS.values(), *HELD_OUT.values()):
        score = replay(partial(draw, law, 700, random), 40, random)["hindmost"]
        overruns += score.overruns
        unused.append(np.mean(score.unused))
    assert overruns <= 1  # of 680
    assert np.mean(unused) <= 0.01


@pytest.mark.parametrize("k", [1, 2, 7, LONGEST_SUM])
def test_largest_sums_are_those_of_brute_force(k: int) -> None:
    times = np.random.default_rng(4).exponential(size=300)
    sums = LargestSums()
    for time_s in times:
        sums.observe(float(time_s))
    rows = np.lib.stride_tricks.sliding_window_view(times, k).sum(axis=1)
    assert sums.of(k) == pytest.approx(rows.max())


def test_more_in_a_row_than_are_kept_are_bounded_from_above() -> None:
    times = np.random.default_rng(5).exponential(size=300)
    sums = LargestSums()
    for time_s in times:
        sums.observe(float(time_s))
    for k in (LONGEST_SUM + 1, 3 * LONGEST_SUM, 100):
        rows = np.lib.stride_tricks.sliding_window_view(times, k).sum(axis=1)
        assert rows.max() <= sums.of(k) <= k * times.max()


def test_time_for_output_is_kept_free_only_where_it_may_come() -> None:
    cycle = [1.0] * 9 + [5.0]
    soon, later = observed(cycle * 6 + [1.0] * 8), observed(cycle * 6 + [1.0] * 3)
    assert soon.bound_s(1) == pytest.approx(1.25 * 5.0)
    assert later.bound_s(1) == pytest.approx(1.25)
    assert later.bound_s(6) == pytest.approx(1.25 * (6 + 4))


def test_stalls_that_are_not_even_are_always_expected() -> None:
    times = [1.0] * 200
    for place in (20, 37, 90, 101, 160):
        times[place] = 8.0
    assert observed(times).bound_s(1) == pytest.approx(10.0)


def test_what_a_model_expects_scales_the_bound() -> None:
    iterations = NextIterations()
    for cells in (100.0, 400.0, 200.0, 300.0):
        iterations.observe(1e-3 * cells, 1e-3 * cells)
    assert iterations.bound_s(1, 2.0) == pytest.approx(2.5)


def test_an_iteration_of_which_nothing_is_known_needs_what_it_may_take() -> None:
    nothing = NextIterations()
    assert time_left(nothing, left_s=2.1, reserved_s=2.0)
    stop = time_left(nothing, left_s=2.1, reserved_s=2.0, unknown_s=5.0)
    assert (stop.start, stop.known, stop.needed_s) == (False, False, 7.0)
    assert stop.explain() == (
        "Stop: 2.10 s left; the time of an iteration is not known yet, so one starts only with "
        "more than 7.00 s left."
    )
    assert not time_left(observed([1.0]), left_s=2.1, expected_s=math.nan, unknown_s=5.0)


def test_a_model_is_believed_before_the_first_iteration() -> None:
    assert time_left(NextIterations(), left_s=1.26, expected_s=1.0, unknown_s=math.inf)
    stop = time_left(NextIterations(), left_s=1.24, expected_s=1.0)
    assert (stop.start, stop.known) == (False, True)


def test_iterations_that_begin_before_the_program_stops_have_time() -> None:
    iterations = observed([1.0] * 50)
    assert time_left(iterations, left_s=2.6, lag=1)
    stop = time_left(iterations, left_s=2.4, lag=1)
    assert stop.explain() == (
        "Stop: 2.40 s left; the next iteration, with what follows it, may take 2.50 s."
    )
