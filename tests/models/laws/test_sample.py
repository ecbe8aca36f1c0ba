from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.sample import EXACT, Sample

SIZE = 400_000


def many(name: str) -> NDArray[np.float64]:
    random = np.random.default_rng(11)
    values: NDArray[np.float64]
    if name == "johnson su":
        values = 4e-4 + 2e-5 * np.sinh((random.standard_normal(SIZE) + 2.0) / 1.3)
    elif name == "wide":
        values = np.exp(random.normal(0.0, 2.0, SIZE))
    elif name == "two groups":
        narrow = random.random(SIZE) < 0.4
        values = np.where(narrow, random.normal(4e-4, 1e-7, SIZE), random.normal(7e-4, 1e-4, SIZE))
    else:
        late = np.where(random.random(SIZE) < 1e-3, random.exponential(1e-3, SIZE), 0.0)
        values = random.gamma(9.0, 4e-7, SIZE) + late
    return values


NAMES = ["johnson su", "wide", "two groups", "detours"]


def test_few_values_are_all_kept() -> None:
    values = np.random.default_rng(0).gamma(2.0, 1e-5, (50, 8))
    sample = Sample.of(values)
    np.testing.assert_array_equal(sample.point, np.sort(values, axis=None))
    assert sample.size == 400
    assert not sample.variance.any()
    shares = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    np.testing.assert_allclose(sample.quantile(shares), np.quantile(values, shares), rtol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_bins_keep_the_moments_the_ends_and_the_quantiles(name: str) -> None:
    values = many(name)
    sample = Sample.of(values.reshape(-1, 16))
    assert sample.size == SIZE
    assert sample.point.size < 70_000
    assert (np.diff(sample.point) >= 0).all()
    assert sample.mean == pytest.approx(values.mean(), rel=1e-12)
    assert sample.std == pytest.approx(values.std(), rel=1e-12)
    assert (sample.smallest, sample.largest) == (values.min(), values.max())
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    np.testing.assert_allclose(
        sample.quantile(np.array([0.25, 0.5, 0.75])), [low, middle, high], atol=1e-3 * (high - low)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1.0, 0.1, 0.02])
def test_means_of_functions_are_those_over_all_values(name: str, scale: float) -> None:
    # The three functions of which a Johnson SU law's likelihood is made, at several places.
    values = many(name)
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    point, weight = Sample.of(values).nodes()
    for loc in (low, middle, high):
        inside, everywhere = ((x - loc) / (scale * (high - low)) for x in (point, values))
        for function in (lambda y: np.log1p(y * y), np.arcsinh, lambda y: np.arcsinh(y) ** 2):
            exact = function(everywhere).mean()
            assert np.dot(weight, function(inside)) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_coarser_bins_keep_the_moments_and_the_likelihood_almost(name: str) -> None:
    values = many(name)
    sample = Sample.of(values)
    coarse = sample.coarser(2000)
    assert coarse.point.size <= 2000
    assert coarse.size == SIZE
    assert coarse.mean == pytest.approx(sample.mean, rel=1e-12)
    assert coarse.std == pytest.approx(sample.std, rel=1e-9)
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    point, weight = coarse.nodes()
    y = (point - middle) / (0.1 * (high - low))
    exact = np.log1p(((values - middle) / (0.1 * (high - low))) ** 2).mean()
    assert np.dot(weight, np.log1p(y * y)) == pytest.approx(exact, abs=1e-8)


def test_blocks_may_reuse_their_memory_and_come_in_any_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = many("detours")

    def blocks() -> Iterator[NDArray[np.float64]]:
        memory = np.empty(30_011)
        for begin in range(0, SIZE, memory.size):
            piece = values[begin : begin + memory.size]
            memory[: piece.size] = piece
            yield memory[: piece.size]

    sample = Sample.from_blocks(blocks())
    assert sample.size == SIZE
    assert sample.mean == pytest.approx(values.mean(), rel=1e-12)
    assert sample.std == pytest.approx(values.std(), rel=1e-12)
    monkeypatch.setattr("hindmost.models.laws.sample.PIECE", SIZE // 7)
    merged = Sample.from_blocks(blocks())
    assert merged.size == SIZE
    assert merged.std == pytest.approx(values.std(), rel=1e-12)
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    point, weight = merged.nodes()
    inside, everywhere = ((x - middle) / (0.1 * (high - low)) for x in (point, values))
    exact = np.log1p(everywhere**2).mean()
    assert np.dot(weight, np.log1p(inside**2)) == pytest.approx(exact, abs=1e-9)
    few = Sample.from_blocks(iter([values[:10], values[10:30]]))
    np.testing.assert_array_equal(few.point, np.sort(values[:30]))


def test_what_the_first_values_do_not_show_is_binned_all_the_same() -> None:
    # All equal at first; then two hundred octaves.
    values = np.full(3 * EXACT, 2e-6)
    values[2 * EXACT :] = np.geomspace(1e-9, 1e50, EXACT)
    sample = Sample.from_blocks([values[: 2 * EXACT], values[2 * EXACT :]])
    assert sample.size == values.size
    assert sample.mean == pytest.approx(values.mean(), rel=1e-9)
    assert sample.largest == values.max()


@pytest.mark.parametrize("size", [100, 4 * EXACT])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(size: int, wrong: float) -> None:
    values = np.random.default_rng(0).normal(size=size)
    values[-2] = wrong
    with pytest.raises(DataError, match="infinite or NaN"):
        Sample.of(values)


@pytest.mark.parametrize("nothing", [[], [np.empty(0)]])
def test_nothing_is_refused(nothing: list[NDArray[np.float64]]) -> None:
    with pytest.raises(DataError, match="no values"):
        Sample.from_blocks(nothing)
