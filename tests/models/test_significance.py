"""What the order of repeats is worth."""

from __future__ import annotations

from itertools import permutations

import pytest

from hindmost.models.significance import order_chance, repeats_words, separated


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 2), (2, 3), (3, 3), (2, 5)])
def test_the_chance_of_an_order_is_its_share_of_all_orders(first: int, second: int) -> None:
    orders = list(permutations(range(first + second)))
    apart = sum(separated(order[:first], order[first:])[0] != 0 for order in orders)
    assert order_chance(first, second) == pytest.approx(apart / len(orders), rel=1e-12)


def test_two_repeats_decide_nothing_and_three_do() -> None:
    assert "by chance in 1 of 3" in repeats_words([1.0, 1.1], [2.0, 2.1])
    assert repeats_words([1.0, 1.1, 1.2], [2.0, 2.1, 2.2]) == ""
    assert repeats_words([1.0, 3.0, 1.2], [2.0, 2.1, 2.2]) == "the repeats overlap"
    assert repeats_words([1.0], [2.0, 2.1]) == "there are no repeats"
