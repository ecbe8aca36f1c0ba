"""Laws with a fitted tail, against laws whose tails are known."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from hindmost.models.laws.tailed import TailedLaw, fit_tail, fit_together

SIZE = 20_000


def pareto(xi: float, random: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(np.expm1(-xi * np.log(random.random(SIZE))) / xi)


def law_of(values: NDArray[np.float64]) -> TailedLaw:
    (law,) = fit_together([values])
    return law


@pytest.mark.parametrize("xi", [-0.4, 0.2, 0.6, 1.5])
def test_the_tail_index_is_recovered(xi: float) -> None:
    found, sigma = fit_tail(np.sort(pareto(xi, np.random.default_rng(1))))
    assert found == pytest.approx(xi, abs=0.05)
    assert sigma == pytest.approx(1.0, rel=0.05)


def test_quantiles_are_those_of_the_sample_and_go_beyond_it() -> None:
    random = np.random.default_rng(2)
    laws = [law_of(random.exponential(size=SIZE)) for _ in range(25)]
    law, values = laws[0], random.exponential(size=SIZE)
    z = special.ndtri([0.1, 0.5, 0.9])
    assert law.at_normal(z) == pytest.approx(np.quantile(values, [0.1, 0.5, 0.9]), rel=0.05)
    # One in a million, where the sample has 20,000 values: -log(1e-6) = 13.8.
    at = np.array([-special.ndtri(1e-6)])
    assert np.median([law.at_normal(at) for law in laws]) == pytest.approx(13.8, rel=0.1)
    assert law.at_normal(at)[0] > law.largest


def test_rarer_tails_have_the_same_excesses() -> None:
    """One in 20 values is 100 to 101, the others are 0 to 1; then one in 200."""
    random = np.random.default_rng(4)
    law = law_of(np.where(random.random(SIZE) < 0.05, 100.0, 0.0) + random.random(SIZE))
    assert law.tail is not None
    drawn = law.rarer(0.1).at_normal(random.standard_normal(SIZE))
    assert (drawn > law.tail.threshold).mean() == pytest.approx(0.1 * law.tail.share, rel=0.2)
    assert drawn.max() < 102.0
    assert np.median(drawn) == pytest.approx(0.5, abs=0.05)
    assert law.rarer(1.0) is law


def test_a_mixture_has_the_tail_of_its_rare_part() -> None:
    """1 in 100 values is a detour of 100 to 101, the others are 0 to 1: the tail is bounded."""
    random = np.random.default_rng(3)
    values = random.random(SIZE) + np.where(random.random(SIZE) < 0.01, 100.0, 0.0)
    law = law_of(values)
    assert law.tail is not None
    assert law.tail.share <= 0.01
    assert law.at_normal(np.array([6.0]))[0] == pytest.approx(101.0, abs=1.0)


def test_sets_of_values_share_a_tail_each_with_its_own_share() -> None:
    """Detours of 100 to 101 hit one set three times as often as the other."""
    random = np.random.default_rng(6)
    often, seldom = (
        random.random(SIZE) + np.where(random.random(SIZE) < share, 100.0 + random.random(SIZE), 0)
        for share in (0.03, 0.01)
    )
    one, other = (law.tail for law in fit_together([often, seldom]))
    assert one is not None
    assert other is not None
    assert (one.threshold, one.sigma, one.xi) == (other.threshold, other.sigma, other.xi)
    assert one.share / other.share == pytest.approx(3.0, rel=0.3)


def test_few_or_equal_values_have_no_tail() -> None:
    assert law_of(np.arange(30.0)).tail is None
    same = law_of(np.full(1000, 2.5))
    assert np.ptp(same.x) == 0.0
    assert same.at_normal(np.array([-3.0, 0.0, 8.0])).tolist() == [2.5] * 3


def test_a_law_without_a_mean_is_found() -> None:
    heavy = law_of(pareto(1.6, np.random.default_rng(4)))
    assert heavy.tail is not None
    assert heavy.tail.xi >= 1.0
