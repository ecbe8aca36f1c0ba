from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.pmnf.search import ABSENT, penalties, search
from hindmost.models.pmnf.segments.one_behaviour import inside, measured, two_terms
from hindmost.models.pmnf.space import PAPER, Term, columns

POINTS = 2.0 ** np.arange(1, 9)


def brute_force(
    values: NDArray[np.float64], weights: NDArray[np.float64], price: NDArray[np.float64]
) -> tuple[float, set[int]]:
    """Try every hypothesis with numpy's least squares; terms that grow are not subtracted."""
    terms = columns(PAPER.exponents, POINTS)
    root, best = np.sqrt(weights / weights.sum()), (np.inf, set[int]())
    for size in range(3):
        for chosen in combinations(range(len(terms)), size):
            design = np.column_stack([np.ones(POINTS.size), *terms[list(chosen)]])
            scale = np.abs(design * root[:, None]).max(axis=0)
            factors = np.linalg.lstsq(design * root[:, None] / scale, values * root, rcond=1e-14)[0]
            falls = size == 1 and terms[chosen[0]][0] > terms[chosen[0]][-1]
            if (factors[1:] <= 0.0).any() and not falls:
                continue
            rss = float(((values - design @ (factors / scale)) ** 2 * root**2).sum())
            criterion = POINTS.size * np.log(rss) + price[size]
            if criterion < best[0]:
                best = (criterion, set(chosen))
    return best


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_the_best_hypothesis_is_that_of_a_search_with_numpy(gamma: float) -> None:
    random = np.random.default_rng(3)
    truth = np.concatenate([inside(random, POINTS, 6), two_terms(random, POINTS, 6)])
    values = measured(random, truth, noise=0.05)[..., 0]
    price = penalties(POINTS.size, 17)
    found = search(
        values, np.ones_like(values), columns(PAPER.exponents, POINTS), gamma=gamma, penalties=price
    )
    for kernel, each in enumerate(values):
        # Against the same final weights, which the search gives.
        criterion, chosen = brute_force(each, found.weights[kernel], price)
        assert set(found.terms[kernel, 0, :, 0].tolist()) - {ABSENT} == {at + 1 for at in chosen}
        assert found.criterion[kernel, 0] == pytest.approx(criterion, abs=1e-5)


def test_hypotheses_come_best_first_and_once() -> None:
    random = np.random.default_rng(4)
    values = measured(random, inside(random, POINTS, 50), noise=0.05)[..., 0]
    terms = columns(PAPER.exponents, POINTS)
    price = penalties(POINTS.size, 17)
    found = search(values, np.ones_like(values), terms, gamma=1.0, penalties=price)
    assert (np.diff(found.criterion, axis=1) >= 0.0).all()
    for term in found.terms:
        assert len({frozenset(pair) for pair in term[..., 0].tolist()}) == len(term)


def test_shares_of_zero_leave_points_out() -> None:
    values = 3.0 + 2.0 * POINTS
    values[4] = 1e6
    shares = np.ones_like(values)
    shares[4] = 0.0
    found = search(
        values[None],
        shares[None],
        columns(PAPER.exponents, POINTS),
        gamma=1.0,
        penalties=penalties(POINTS.size, 17),
    )
    term = PAPER.exponents[found.terms[0, 0, 0, 0] - 1]
    assert term == (Fraction(1), Fraction(0))
    np.testing.assert_allclose(found.coefficients[0, 0, :2], [3.0, 2.0], rtol=1e-9)


def test_few_points_pay_for_no_second_term() -> None:
    assert np.isinf(penalties(5, 17)[2])
    assert np.isfinite(penalties(7, 17)).all()
    assert np.isfinite(penalties(3, 17)[1])  # provisional
    assert np.isinf(penalties(2, 17)[1])


def test_a_term_is_a_product_over_parameters() -> None:
    term = Term(exponents=((Fraction(1, 2), Fraction(1)), (Fraction(-1), Fraction(0))))
    points = np.array([[4.0, 5.0], [16.0, 2.0]])
    np.testing.assert_allclose(term(points), [2.0 * 2.0 / 5.0, 4.0 * 4.0 / 2.0])


def test_logarithms_to_broken_powers_are_zero_below_one() -> None:
    values = columns([(Fraction(0), Fraction(1, 2)), (Fraction(0), Fraction(1))], np.array([0.5]))
    np.testing.assert_allclose(values[:, 0], [0.0, -1.0])
