"""Each candidate is exact for the growth that it assumes."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from hindmost.models.pmnf.forecast.candidates import (
    REACH,
    Candidate,
    hold_out,
    one_term,
    three_parts,
)

POINTS = np.array([3.0, 6.0, 10.0, 24.0, 40.0, 96.0])
AT = 200.0

Growth = Callable[[NDArray[np.float64]], NDArray[np.float64]]

EXACT: dict[Candidate, Growth] = {
    Candidate.SAME: lambda p: 7.0 + 0.0 * p,
    Candidate.LINE: lambda p: 80.0 + 2.0 * p,
    Candidate.POWER: lambda p: 3e-6 * p**1.7,
    Candidate.PARTS: lambda p: 5.0 + 700.0 / p + 0.3 * np.sqrt(p),
    Candidate.FORM: lambda p: 40.0 + 0.7 * p * np.log2(p) ** 2,
}


@pytest.mark.parametrize("candidate", Candidate)
def test_a_candidate_is_exact_for_its_own_growth(candidate: Candidate) -> None:
    growth = EXACT[candidate]
    trials = hold_out(POINTS, growth(POINTS)[None], AT)
    number = list(Candidate).index(candidate)
    assert np.exp(trials.predicted[0, number]) == pytest.approx(float(growth(np.array(AT))))
    # So are the held-out points.
    there = np.isfinite(trials.errors[0, :, number]) & (trials.distance[0] > 0.0)
    assert there.sum() == (2 if candidate is Candidate.FORM else 3)
    np.testing.assert_allclose(trials.errors[0, there, number], 0.0, atol=1e-9)


def test_a_form_of_noise_is_a_constant() -> None:
    """A term that follows the noise of few points would grow beyond all bounds."""
    random = np.random.default_rng(6)
    values = 400.0 * np.exp(0.01 * random.standard_normal((200, POINTS.size)))
    grown = one_term(POINTS, values, 100.0 * POINTS[-1]) + np.log(values[:, -1] / 400.0)
    assert np.percentile(np.abs(grown), 97) < 0.02
    assert np.isnan(one_term(POINTS[:3], values[:, :3], AT)).all()


def test_parts_are_those_of_non_negative_least_squares() -> None:
    """Against scipy's, of relative errors, for series that rise, fall, do both, or are erratic."""
    random = np.random.default_rng(3)
    shapes = np.stack(
        [POINTS, 900.0 / POINTS, 50.0 / POINTS + POINTS**0.5, POINTS**2, np.ones_like(POINTS)]
    )
    values = np.repeat(shapes, 20, axis=0) * np.exp(0.5 * random.normal(size=(100, POINTS.size)))
    x = np.append(POINTS, AT) / POINTS[-1]
    parts = np.column_stack([np.ones_like(x), 1.0 / x, np.sqrt(x)])
    for row, grown in zip(values, three_parts(POINTS, values, AT), strict=True):
        factors, _ = nnls(parts[:-1] / row[:, None], np.ones(POINTS.size))
        ends = parts[[-1, -2]] @ factors
        assert grown == pytest.approx(np.log(ends[0] / ends[1]), abs=1e-6)


@pytest.mark.parametrize(
    "candidate", [each for each in Candidate if REACH[list(Candidate).index(each)] < np.inf]
)
def test_a_candidate_continues_no_more_points_than_it_says(candidate: Candidate) -> None:
    number = list(Candidate).index(candidate)
    values = 0.5 * POINTS**0.8
    changed = values.copy()
    changed[: POINTS.size - int(REACH[number])] *= 9.0
    one, other = hold_out(POINTS, values[None], AT), hold_out(POINTS, changed[None], AT)
    assert one.predicted[0, number] == pytest.approx(other.predicted[0, number], abs=1e-12)


def test_held_out_points_are_as_far_ahead_as_the_target() -> None:
    points = 2.0 ** np.arange(8)
    trials = hold_out(points, points[None] + 3.0, 4.0 * points[-1])
    there = trials.distance[0] > 0.0
    # Without the last point none is two steps ahead: the nearest distance is one step.
    assert trials.distance[0, there] == pytest.approx(np.log([2.0, 4.0, 4.0, 4.0, 4.0]))
    assert there.tolist() == [True] * 5 + [False] * 5
    assert trials.ahead[0] == pytest.approx(np.log(4.0))


def test_a_missing_point_is_as_if_it_were_not_there() -> None:
    values = np.array([5.0, 9.0, 13.0, 26.0, 41.0, 99.0])
    gap = np.where(POINTS == 24.0, np.nan, values)
    there = np.isfinite(gap)
    one = hold_out(POINTS, np.stack([values, gap]), AT)
    other = hold_out(POINTS[there], values[None, there], AT)
    np.testing.assert_allclose(one.predicted[1], other.predicted[0])
    np.testing.assert_allclose(one.errors[1], other.errors[0], atol=1e-12)


def test_what_was_before_the_last_behaviour_is_left_out() -> None:
    points = 2.0 ** np.arange(9)
    values = np.where(points < 16.0, 100.0 * points**2, 3.0 * points)[None]
    whole, last = (
        hold_out(points, values, 1024.0),
        hold_out(points, values, 1024.0, np.array([5.0])),
    )
    alone = hold_out(points[4:], values[:, 4:], 1024.0)
    np.testing.assert_allclose(last.predicted, alone.predicted)
    assert not np.allclose(whole.predicted, alone.predicted)
