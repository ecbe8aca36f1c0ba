"""Intervals hold as much as they say; what the order of repeats is worth."""

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.inference import (
    LEVEL,
    difference_interval,
    order_chance,
    ratio_of_samples,
    repeats_words,
    replica_interval,
    separated,
    student_reach,
)

LAWS = {
    "lognormal": lambda random, shape: np.exp(0.05 * random.standard_normal(shape)),
    "skewed": lambda random, shape: 1.0 + 0.1 * random.gamma(2.0, size=shape),
    "heavy": lambda random, shape: 1.0 + 0.01 * random.pareto(1.5, shape),
    "bounded": lambda random, shape: 1.0 + random.random(shape),
}


def coverage(drawn: NDArray[np.float64]) -> float:
    """Return the share of last values that lie in the interval of those before them, by row."""
    held = [low <= row[-1] <= high for row in drawn for low, high in [replica_interval(row[:-1])]]
    return float(np.mean(held))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [19, 20, 60])
def test_many_replicas_hold_further_ones_whatever_their_law(law: str, count: int) -> None:
    """The smallest and largest of 20 hold 19 of 21; of 60, the third ones hold 54 of 61."""
    drawn = LAWS[law](np.random.default_rng(count), (4000, count + 1))
    assert coverage(drawn) == pytest.approx(LEVEL, abs=0.025)


@pytest.mark.parametrize("count", [2, 5, 10])
def test_few_replicas_hold_further_ones_if_these_are_lognormal(count: int) -> None:
    drawn = LAWS["lognormal"](np.random.default_rng(count), (4000, count + 1))
    assert coverage(drawn) == pytest.approx(LEVEL, abs=0.025)


def test_one_replica_has_no_width() -> None:
    assert replica_interval(np.array([3.0])) == (3.0, 3.0)
    assert replica_interval(np.full(30, 2.0)) == (2.0, 2.0)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 2), (2, 3), (3, 3), (2, 5)])
def test_the_chance_of_an_order_is_its_share_of_all_orders(first: int, second: int) -> None:
    orders = list(permutations(range(first + second)))
    apart = sum(separated(order[:first], order[first:])[0] != 0 for order in orders)
    assert order_chance(first, second) == pytest.approx(apart / len(orders), rel=1e-12)


def test_two_repeats_decide_nothing_and_three_do() -> None:
    assert "by chance in 1 of 3" in repeats_words([1.0, 1.1], [2.0, 2.1])
    assert repeats_words([1.0, 1.1, 1.2], [2.0, 2.1, 2.2]) == ""
    assert repeats_words([1.0, 3.0, 1.2], [2.0, 2.1, 2.2]) == "the repeats overlap"
    assert repeats_words([1.0], [2.0]) == "there are no repeats"
    assert repeats_words([1.0], [2.0, 2.1]) == "one of the two has no repeats"


def test_ratio_and_difference_are_those_of_welch_s_test() -> None:
    from scipy import stats

    random = np.random.default_rng(3)
    first, second = 10.0 + random.standard_normal(5), 11.0 + 3.0 * random.standard_normal(8)
    welch = stats.ttest_ind(second, first, equal_var=False)
    expected = welch.confidence_interval(0.99)
    assert difference_interval(first, second) == pytest.approx((expected.low, expected.high))
    logs = stats.ttest_ind(np.log(second), np.log(first), equal_var=False)
    found, ends = ratio_of_samples(first, second), logs.confidence_interval(LEVEL)
    assert found.p_value == pytest.approx(logs.pvalue)
    assert found.interval == pytest.approx((np.exp(ends.low), np.exp(ends.high)))
    mean = stats.t.interval(LEVEL, 4, first.mean(), stats.sem(first))
    reach = student_reach(first, further=False)
    assert (first.mean() - reach, first.mean() + reach) == pytest.approx(mean)


def test_a_single_value_has_the_spread_of_the_others() -> None:
    many = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = difference_interval(many, np.array([10.0]))
    reach = student_reach(many, 0.99)  # of one more value
    assert (low, high) == pytest.approx((7.5 - reach, 7.5 + reach))
