import numpy as np
import pytest
from benchmarks.synthetic.scaling import two_functions
from numpy.typing import NDArray

from hindmost.models.pmnf.noise import NoiseKind, from_kernels, from_repetitions
from hindmost.models.pmnf.observations import DOUBT, join_repetitions, observe
from hindmost.models.pmnf.segments.one_behaviour import inside, measured, outside

GRIDS = [np.arange(1.0, 11.0), 2.0 ** np.arange(1, 11)]


@pytest.mark.parametrize("points", GRIDS, ids=["lines", "powers"])
@pytest.mark.parametrize("kind", [NoiseKind.ADDITIVE, NoiseKind.MULTIPLICATIVE])
@pytest.mark.parametrize("level", [0.005, 0.15])
def test_kernels_together_tell_the_kind_though_some_are_segmented(
    points: NDArray[np.float64], kind: NoiseKind, level: float
) -> None:
    told = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        truth = [inside(random, points, 15), outside(random, points, 10)]
        truth.append(two_functions(random, points, 15, first=5))
        values = measured(random, np.concatenate(truth), noise=level, kind=kind)[..., 0]
        noise = from_kernels(points, values, np.ones_like(values))
        told.append(noise.kind if noise else None)
    assert told.count(kind) >= 9
    assert set(told) <= {kind, None}


@pytest.mark.parametrize("kind", list(NoiseKind))
def test_repetitions_tell_the_kind(kind: NoiseKind) -> None:
    told = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = inside(random, GRIDS[1], 8)
        values = measured(random, truth, noise=0.05, kind=kind, repetitions=3, outliers=0.05)
        noise = from_repetitions(values)
        assert noise is not None
        told.append(noise.kind)
    assert told.count(kind) >= 18


@pytest.mark.parametrize("kind", list(NoiseKind))
def test_five_repetitions_of_two_kernels_settle_the_kind(kind: NoiseKind) -> None:
    """The smallest gap between repetitions settles 31 to 34 of them."""
    settled = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        truth = inside(random, GRIDS[1][:8], 2)
        noise = from_repetitions(measured(random, truth, noise=0.05, kind=kind, repetitions=5))
        assert noise is not None
        settled += noise.known and noise.kind is kind
    assert settled >= 36


def test_while_the_kind_is_open_tests_hold_under_those_that_differ_most() -> None:
    """Root and multiplicative noise are alike over a small range."""
    values = np.repeat(np.geomspace(1.0, 100.0, 9)[None, :, None], 3, axis=2)
    values[..., 0] -= 0.01 * values[..., 1] ** 0.75
    values[..., 2] += 0.01 * values[..., 1] ** 0.75
    noise = from_repetitions(values)
    assert noise is not None
    assert not noise.known
    assert noise.tested == (NoiseKind.MULTIPLICATIVE, NoiseKind.ADDITIVE)
    assert noise.gammas == (1.0, 0.0)


def test_a_lone_series_leaves_the_kind_open() -> None:
    random = np.random.default_rng(1)
    values = measured(random, inside(random, GRIDS[0], 1), noise=0.05)
    noise = observe(GRIDS[0], values).noise
    assert not noise.known
    assert set(noise.gammas) == {0.0, 1.0}


def test_repetitions_that_are_all_equal_tell_nothing() -> None:
    values = np.repeat(inside(np.random.default_rng(1), GRIDS[0], 3)[..., None], 3, axis=2)
    assert from_repetitions(values) is None


def test_values_below_zero_are_additive() -> None:
    values = np.array([-1.0, 2.0, 3.0, 4.0, 5.0])
    assert observe(GRIDS[0][:5], values).noise.kind is NoiseKind.ADDITIVE


def test_outliers_among_repetitions_are_left_out() -> None:
    random = np.random.default_rng(2)
    clean = measured(random, np.full((20, 10), 4.0), noise=0.01, repetitions=3)
    disturbed = clean.copy()
    disturbed[3, 5, 1] *= 3.0
    values, shares = join_repetitions(disturbed, NoiseKind.MULTIPLICATIVE)
    assert values[3, 5] == pytest.approx(clean[3, 5, [0, 2]].mean())
    assert shares[3, 5] == pytest.approx(2.0 / 3.0)
    others = np.ones((20, 10), bool)
    others[3, 5] = False
    np.testing.assert_allclose(values[others], clean.mean(axis=2)[others])


def test_a_point_whose_repetitions_disagree_weighs_next_to_nothing() -> None:
    random = np.random.default_rng(3)
    values = measured(random, np.full((20, 10), 4.0), noise=0.01, repetitions=3)
    values[3, 5, 1:] *= 3.0  # two of three: the median is disturbed
    _, shares = join_repetitions(values, NoiseKind.MULTIPLICATIVE)
    assert shares[3, 5] == pytest.approx(DOUBT)
    assert (np.delete(shares.ravel(), 35) == 1.0).sum() == shares.size - 1 or shares[3, 5] < 0.02


def test_missing_repetitions_weigh_less() -> None:
    values = np.full((1, 6, 3), 2.0)
    values[0, 2, 1:] = np.nan
    one, shares = join_repetitions(values, NoiseKind.MULTIPLICATIVE)
    np.testing.assert_allclose(one, 2.0)
    assert shares[0, 2] == pytest.approx(shares[0, 0] / 3.0)


def test_repetitions_that_follow_a_kind_exactly_tell_it() -> None:
    """Without noise in the noise, the scatter of the right kind is 0, whose logarithm is none."""
    level = np.array([1.0, 2.0, 4.0, 8.0, 16.0])[None, :, None]
    apart = np.array([-1.0, 0.0, 1.0])
    for kind, values in (
        (NoiseKind.MULTIPLICATIVE, level * (1.0 + 0.125 * apart)),
        (NoiseKind.ADDITIVE, level + 0.125 * apart),
    ):
        noise = from_repetitions(values)
        assert noise is not None
        assert (noise.kind, noise.known) == (kind, True)


def test_exact_counts_do_not_tell_the_kind_of_noise() -> None:
    """60 counts of functions of the search space beside 25 times with noise, and alone."""
    points = GRIDS[1]
    random = np.random.default_rng(2)
    times = measured(random, inside(random, points, 25), noise=0.05, kind=NoiseKind.ADDITIVE)
    counts = np.stack([(1.0 + k) * points ** (0.5 * (k % 6)) for k in range(60)])
    both = np.concatenate([times[..., 0], counts])
    alone, beside = (
        from_kernels(points, each, np.ones_like(each)) for each in (times[..., 0], both)
    )
    assert alone is not None
    assert beside is not None
    assert beside.kind == alone.kind == NoiseKind.ADDITIVE
    assert from_kernels(points, counts, np.ones_like(counts)) is None
