"""Samples are drawn from programs whose functions and extra work are known."""

from dataclasses import replace

import numpy as np
import pytest

from hindmost.models.ranks.attribution import Sampled, attribute

GRADIENT, FLUX, UPDATE, STEP, MAIN = range(5)
"""Functions; `STEP` calls the first three in turn, `MAIN` calls it."""
LINES = np.array([GRADIENT, FLUX, FLUX, UPDATE, STEP, MAIN])
"""The function of each place: `FLUX` has two lines."""
STACKS = ((0, 4, 5), (1, 4, 5), (2, 4, 5), (3, 4, 5))
USUAL_S = np.array([0.3, 0.1, 0.23, 0.37])
"""Processor time in each of these stacks on the other ranks."""


def drawn(
    extra_s: tuple[float, ...], samples: int, seed: int, *, ranks: int = 1, exact: bool = True
) -> Sampled:
    """Draw samples of a rank with some extra time in each stack."""
    random = np.random.default_rng(seed)
    own_s = USUAL_S + np.array(extra_s)
    rate = samples / USUAL_S.sum()
    return Sampled(
        own=random.poisson(own_s * rate).astype(np.int64),
        others=random.poisson(ranks * USUAL_S * rate).astype(np.int64),
        own_s=float(own_s.sum()) if exact else np.nan,
        others_s=float(USUAL_S.sum()) if exact else np.nan,
        ranks=ranks,
        end=np.cumsum([len(stack) for stack in STACKS]),
        place=np.concatenate(STACKS),
        function=LINES,
    )


@pytest.mark.parametrize(
    ("extra", "samples", "exact"),
    [(0.2, 800, True), (0.1, 2000, True), (0.05, 7000, True), (0.2, 1500, False)],
)
def test_extra_work_is_found_in_its_function_and_line(
    extra: float, samples: int, exact: bool
) -> None:
    found = [
        attribute(drawn((0.0, 0.0, extra, 0.0), samples, seed, exact=exact)) for seed in range(60)
    ]
    named = [each for each in found if each.sure]
    assert len(named) >= 55
    assert {each.function for each in named} == {FLUX}
    assert sum(each.place == 2 for each in named) >= 0.95 * len(named)
    assert not any(each.is_alike for each in named)
    covered = sum(each.interval[0] <= 1.0 <= each.interval[1] + 1e-9 for each in named)
    assert covered >= 0.9 * len(named)


def test_nothing_is_named_where_the_ranks_do_the_same() -> None:
    """Their times differ by chance only: less than a hundredth."""
    for seed in range(100):
        same = drawn((0.0, 0.0, 0.0, 0.0), 5000, seed)
        slower = replace(same, own_s=1.005)
        for each in (attribute(same), attribute(slower)):
            assert not each.sure or each.function in (STEP, MAIN)


def test_a_rank_on_which_all_functions_take_longer_has_no_culprit_among_them() -> None:
    for seed in range(30):
        found = attribute(drawn(tuple(0.2 * USUAL_S), 5000, seed))
        assert found.function == STEP
        assert found.is_alike


def test_few_samples_tell_how_many_are_needed() -> None:
    """As many are then enough."""
    found = attribute(drawn((0.0, 0.0, 0.05, 0.0), 300, 3))
    assert not found.sure
    assert found.samples < found.needed < 20_000
    again = [attribute(drawn((0.0, 0.0, 0.05, 0.0), found.needed, seed)) for seed in range(40)]
    assert sum(each.sure for each in again) >= 0.9 * len(again)


@pytest.mark.parametrize("rest_s", [np.nan, 1.1])
def test_a_slower_core_names_no_function_that_has_most_of_the_stretch(rest_s: float) -> None:
    """Its share of the extra time is three quarters and more, as of the time."""
    usual_s = np.array([0.1, 0.3, 0.5, 0.1])
    own = np.random.default_rng(7).poisson(1.1 * usual_s * 40_000)
    others = np.random.default_rng(8).poisson(usual_s * 40_000)
    same = drawn((0.0, 0.0, 0.0, 0.0), 1000, 1)
    same = replace(same, own=own, others=others, own_s=1.1, others_rest_s=1.0)
    found = attribute(replace(same, rest_s=rest_s))
    assert not found.sure or found.is_alike
    assert not found.same_core
    named = attribute(replace(same, rest_s=1.0))
    assert (named.function, named.sure, named.same_core) == (FLUX, True, True)


def test_two_functions_with_extra_work_are_named_by_the_one_that_calls_both() -> None:
    found = attribute(drawn((0.1, 0.0, 0.1, 0.0), 6000, 1))
    assert found.sure
    assert found.function == STEP


def test_many_ranks_need_fewer_samples() -> None:
    one, many = (attribute(drawn((0.0, 0.0, 0.1, 0.0), 9000, 5, ranks=ranks)) for ranks in (1, 63))
    assert one.function == many.function == FLUX
    assert many.deviation < 0.8 * one.deviation


def test_samples_that_are_not_there_name_nothing() -> None:
    empty = drawn((0.0, 0.0, 0.0, 0.0), 0, 0)
    assert attribute(empty).function == -1
    assert attribute(replace(empty, own_s=np.nan)).function == -1
    less = drawn((-0.1, 0.0, 0.0, 0.0), 4000, 1)
    assert not attribute(less).sure
