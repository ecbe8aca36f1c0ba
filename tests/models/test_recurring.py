"""Iterations that come back longer, in work with known ones, and in noise without."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.recurring import Rule, as_by_clock, find_recurring, ordinal
from hindmost.text import p_number, p_words

FloatArray = NDArray[np.float64]


def noisy(random: np.random.Generator, iterations: int, ranks: int = 2) -> FloatArray:
    """Return work of 1 ms with a heavy tail and slow stretches."""
    work = 1e-3 * (1.0 + 0.02 * random.standard_exponential((iterations, ranks)))
    work += 1e-3 * random.pareto(1.5, work.shape) * (random.random(work.shape) < 0.05)
    for begin in random.integers(0, iterations, 4):
        work[begin : begin + int(random.integers(10, 40))] *= 2.0
    return work


def correlated(random: np.random.Generator, iterations: int) -> FloatArray:
    """Return work whose logarithm is AR(1) with 0.9 a lag."""
    shocks, level = random.normal(size=iterations), np.zeros(iterations)
    for at in range(1, iterations):
        level[at] = 0.9 * level[at - 1] + shocks[at]
    return np.asarray(np.exp(level)[:, None])


def everywhere(iterations: int) -> NDArray[np.int64]:
    return np.zeros(iterations, np.int64)


@pytest.mark.parametrize(("every", "first"), [(100, 98), (7, 0), (2, 1), (250, 13)])
def test_a_checkpoint_is_found_among_noise(every: int, first: int) -> None:
    random = np.random.default_rng(1)
    work = noisy(random, 3000)
    work *= np.linspace(1.0, 1.7, 3000)[:, None]  # work that grows
    rows = np.arange(first, 3000, every)
    missing = np.arange(rows.size) % 12 == 5
    work[rows[~missing], 1] += 40e-3 * random.uniform(0.9, 1.1, int((~missing).sum()))
    work[random.integers(0, 3000, 20), 1] += 60e-3  # longer ones that do not recur
    (found,) = find_recurring(work, everywhere(3000))
    assert (found.rule, found.columns, found.count) == (Rule(every, first), (1,), rows.size)
    assert found.longer_s[0] == pytest.approx(40e-3, rel=0.1)


def test_output_and_checkpoints_of_several_ranks() -> None:
    work = noisy(np.random.default_rng(2), 2000, 24)
    work[9::10] += 5e-3
    work[99::100, :3] += 50e-3
    found = {each.rule: each for each in find_recurring(work, everywhere(2000))}
    assert found.keys() == {Rule(10, 9), Rule(100, 99)}
    assert found[Rule(10, 9)].columns == tuple(range(24))
    assert found[Rule(100, 99)].columns == (0, 1, 2)


def test_noise_has_no_rule() -> None:
    """Of 300 series; the bound is 1 in 10,000."""
    random = np.random.default_rng(3)
    for number in range(300):
        n = int(random.integers(100, 700))
        work = correlated(random, n) if number % 2 else noisy(random, n, 1)
        assert not find_recurring(work, everywhere(n))


def test_a_clock_that_is_no_whole_number_of_iterations_is_no_rule() -> None:
    work = noisy(np.random.default_rng(4), 2000, 1)
    begins = np.floor(np.arange(0.0, 2000.0, 33.4)).astype(int)
    work[begins] += 30e-3
    assert not find_recurring(work, everywhere(2000))


def test_a_clock_that_slips_by_an_iteration_is_no_rule() -> None:
    work = noisy(np.random.default_rng(6), 3000, 1)
    rows = 35 + 99 * np.arange(30)
    rows[5:] += 1
    work[rows] += 30e-3
    assert not find_recurring(work, everywhere(3000))


def test_the_restart_cycle_is_no_rule() -> None:
    place = np.arange(1200) % 30
    work = 1e-3 * (1.0 + place[:, None] + 0.01 * np.random.default_rng(5).random((1200, 2)))
    assert not find_recurring(work, place)


@pytest.mark.parametrize("work", [np.zeros((600, 2)), np.ones((600, 2)), np.ones((5, 1))])
def test_equal_or_few_iterations_have_none(work: FloatArray) -> None:
    assert not find_recurring(work, everywhere(len(work)))


def test_even_iterations_do_not_tell_a_clock_from_a_count() -> None:
    even = np.full(1000, 1e-3)
    even[49::50] += 5e-3
    start = np.concatenate(([0.0], np.cumsum(even)[:-1]))
    assert as_by_clock(start, Rule(50, 49)) == pytest.approx(55e-3)
    grown = np.cumsum(even * np.linspace(1.0, 2.0, 1000))
    assert as_by_clock(grown, Rule(50, 49)) is None


def test_words() -> None:
    assert Rule(100, 98).explain(1499) == "every 100th iteration (98, 198, … 1498)"
    assert [ordinal(each) for each in (2, 3, 11, 12, 21, 113, 1002)] == [
        "2nd",
        "3rd",
        "11th",
        "12th",
        "21st",
        "113th",
        "1,002nd",
    ]


@pytest.mark.parametrize(
    ("p_value", "told"),
    [(0.0, "p < 1e-15"), (1e-300, "p < 1e-15"), (2e-15, "p = 2e-15"), (0.0213, "p = 0.021")],
)
def test_no_p_value_is_told_to_be_zero(p_value: float, told: str) -> None:
    assert p_words(p_value) == told


def test_digits_are_those_asked_for() -> None:
    assert p_number(0.0213, 1) == "0.02"
