"""Fits of Johnson SU and the non-central t, and laws of any family, against scipy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special, stats

from hindmost.errors import DataError
from hindmost.models.laws.law import (
    Law,
    fit_johnsonsu,
    fit_nct,
    law_of,
    log_density,
    log_likelihood,
)
from hindmost.models.laws.quantiles import maximum_moments, tabulate
from hindmost.models.laws.sample import Sample, exact_sample

FITS: dict[str, Callable[[NDArray[np.float64] | Sample], Law]] = {
    "johnsonsu": fit_johnsonsu,
    "nct": fit_nct,
}
TRUTH = {
    "johnsonsu": stats.johnsonsu(-2.0, 1.3, loc=4e-4, scale=2e-5),
    "nct": stats.nct(4.0, 1.5, loc=1e-4, scale=1e-5),
    "normal": stats.norm(5e-4, 1e-5),
    "gamma": stats.gamma(2.5, loc=1e-4, scale=2e-5),
}
NAMES = [*TRUTH, "two groups", "detours"]


def sample_of(name: str, size: int) -> NDArray[np.float64]:
    random = np.random.default_rng(3)
    if name in TRUTH:
        return np.asarray(TRUTH[name].rvs(size, random_state=random))
    if name == "two groups":
        fast = random.normal(4e-4, 5e-6, size)
        return np.where(random.random(size) < 0.1, fast + 2e-4, fast)
    late = np.where(random.random(size) < 0.01, random.exponential(1e-4, size), 0.0)
    return np.asarray(random.gamma(9.0, 4e-7, size) + late)


@pytest.mark.parametrize("df", [0.3, 1.0, 4.5, 30.0])
@pytest.mark.parametrize("nc", [-4.0, 0.0, 0.2, 9.0])
def test_density_of_the_non_central_t_is_that_of_scipy(df: float, nc: float) -> None:
    y = np.linspace(-6.0, 25.0, 60)
    scipys = stats.nct.pdf(y, df, nc)
    told = scipys > 1e-13  # below, scipy loses its digits
    assert told.sum() > 20
    ours = log_density(y, df, nc)
    np.testing.assert_allclose(np.exp(ours[told]), scipys[told], rtol=1e-7)
    if nc == 0.0:
        np.testing.assert_allclose(ours, stats.t.logpdf(y, df), rtol=1e-11)


def test_far_tails_of_the_non_central_t_have_no_holes() -> None:
    y = np.concatenate([-np.geomspace(1e-3, 1e200, 400)[::-1], np.geomspace(1e-3, 1e200, 400)])
    with np.errstate(all="raise", under="ignore"):
        value = log_density(y, 2.5, 30.0)
    assert np.isfinite(value).all()
    # Both tails fall like distance^-(df + 1).
    for end in (value[:50][::-1], value[-50:]):
        steps = np.diff(end) / np.log(np.geomspace(1e-3, 1e200, 400)[1] / 1e-3)
        np.testing.assert_allclose(steps, -3.5, rtol=1e-6)


@pytest.mark.parametrize("family", FITS)
@pytest.mark.parametrize("name", NAMES)
def test_a_step_in_any_direction_is_a_step_down(family: str, name: str) -> None:
    """Scipy's density says so as well, where it has its digits."""
    values = sample_of(name, 1500)
    x = values / float(np.median(values))
    law = FITS[family](x)
    ours = log_likelihood(law, x)
    if family == "johnsonsu" or law.shape[0] < 50.0:
        scipys = np.log(getattr(stats, family).pdf(x, *law.parameters)).mean()
        assert ours == pytest.approx(scipys, abs=1e-8)
    for change in (1e-3, -1e-3):
        for which in range(4):
            given = list(law.parameters)
            given[which] += change * (law.scale if which > 1 else given[which])
            if family == "johnsonsu" or abs(given[1]) <= 60.0:  # a bound of the search
                assert log_likelihood(law_of(family, *given), x) <= ours + 1e-9


@pytest.mark.parametrize("family", FITS)
def test_reaches_the_likelihood_of_scipy(family: str) -> None:
    x = sample_of(family, 400) / 1e-4
    start = TRUTH[family].args
    scipys = law_of(family, *getattr(stats, family).fit(x, *start, loc=1.0, scale=0.1))
    assert log_likelihood(FITS[family](x), x) >= log_likelihood(scipys, x) - 1e-9


@pytest.mark.parametrize("family", FITS)
def test_recovers_the_law_that_it_was_drawn_from(family: str) -> None:
    law = FITS[family](sample_of(family, 300_000))
    assert law.shape == pytest.approx(TRUTH[family].args, rel=0.05)
    assert law.mean == pytest.approx(TRUTH[family].mean(), rel=1e-3)


@pytest.mark.parametrize("family", FITS)
@pytest.mark.parametrize(
    "name", ["nct", *(pytest.param(each, marks=pytest.mark.slow) for each in ("gamma", "detours"))]
)
def test_bins_of_many_values_cost_no_likelihood(family: str, name: str) -> None:
    values = sample_of(name, 100_000)
    assert Sample.of(values).point.size < values.size
    everywhere = exact_sample(values)
    binned, exact = (
        log_likelihood(FITS[family](each), everywhere) for each in (values, everywhere)
    )
    assert binned == pytest.approx(exact, abs=1e-9)
    assert log_likelihood(FITS[family](values), values) == pytest.approx(binned, abs=1e-9)


LAWS = {
    "johnsonsu": (0.7, 1.9, 3.0, 0.2),
    "nct": (4.0, 1.5, 1e-4, 1e-5),
    "burr12": (2.0, 3.0, 1e-4, 2e-5),
}


@pytest.mark.parametrize("name", LAWS)
def test_density_quantiles_and_moments_are_those_of_scipy(name: str) -> None:
    law, scipys = law_of(name, *LAWS[name]), getattr(stats, name)(*LAWS[name])
    x = scipys.ppf(np.linspace(0.02, 0.98, 40))
    np.testing.assert_allclose(law.pdf(x), scipys.pdf(x), rtol=1e-9)
    z = np.array([-3.0, -1.0, 0.0, 2.0])
    np.testing.assert_allclose(special.ndtri(scipys.cdf(law.at_normal(z))), z, atol=1e-7)
    assert law.mean == pytest.approx(scipys.mean(), rel=1e-9)
    assert law.variance == pytest.approx(scipys.var(), rel=1e-5)
    mass, _ = integrate.quad(lambda at: float(law.pdf(np.array(at))), *x[[0, -1]], limit=200)
    assert mass == pytest.approx(0.96, rel=1e-6)
    assert maximum_moments(law.at_normal, 1)[0] == pytest.approx(law.mean, rel=1e-9)


def test_mean_and_variance_may_be_infinite() -> None:
    law = law_of("nct", 1.5, 1.0, 0.0, 1.0)
    assert np.isfinite(law.mean)
    for heavy in (law, law_of("burr12", 2.0, 0.7, 0.0, 1.0)):
        assert heavy.variance == np.inf
    for heavier in (law_of("nct", 0.9, 1.0, 0.0, 1.0), law_of("cauchy", 0.0, 1.0)):
        assert heavier.mean == np.inf


@pytest.mark.parametrize("family", FITS)
@pytest.mark.parametrize("values", [np.full(100, 3e-4), np.array([1.0, 2.0, 3.0])])
def test_refuses_what_has_no_law(family: str, values: NDArray[np.float64]) -> None:
    with pytest.raises(DataError):
        FITS[family](values)


def test_the_non_central_t_refuses_to_shrink_around_equal_values() -> None:
    with pytest.raises(DataError, match="shrinks around equal values"):
        fit_nct(np.where(np.arange(900) % 3 > 0, 3e-6, np.linspace(1e-6, 1e-2, 900)))


@pytest.mark.parametrize("resolution", [1e-9, 4e-8, 2.5e-7])
@pytest.mark.parametrize("size", [5, 20, 800])
def test_rounded_times_have_a_sensible_law_or_none(resolution: float, size: int) -> None:
    random = np.random.default_rng(size)
    times = np.round(random.gamma(9.0, 4e-7, size) / resolution) * resolution
    try:
        law = fit_johnsonsu(times)
    except DataError:
        return
    mean, variance = maximum_moments(law.at_normal, 2)
    assert times.min() < mean < 3 * times.max()
    assert np.isfinite(variance)


RANKS = [1, 2, 3, 64, 8192, 10**6]


@pytest.mark.parametrize("ranks", RANKS)
def test_maximum_of_exponentials_is_the_harmonic_number(ranks: int) -> None:
    mean, variance = maximum_moments(lambda z: -special.log_ndtr(-z), ranks)
    k = np.arange(1, ranks + 1)
    assert mean == pytest.approx(np.sum(1.0 / k), rel=1e-11)
    assert variance == pytest.approx(np.sum(1.0 / k**2), rel=1e-9)


SCIPYS: dict[str, Any] = {
    "normal": stats.norm(3.0, 0.5),
    "exponential": stats.expon(1.0, 2.0),
    "gamma with a pole": stats.gamma(0.5, loc=1.0, scale=0.1),
    "lognormal": stats.lognorm(1.2, loc=-1.0),
    "gumbel": stats.gumbel_r(2.0, 0.3),
    "pareto": stats.pareto(2.2),
    "student": stats.t(3.5),
    "weibull": stats.weibull_min(2.0, scale=1e-4),
    "beta": stats.beta(2.0, 3.0, loc=5.0, scale=2.0),
    "cauchy": stats.cauchy(),
}


@pytest.mark.parametrize("name", SCIPYS)
def test_quantiles_are_those_of_scipy_in_both_far_tails(name: str) -> None:
    law = SCIPYS[name]
    low, middle, high = law.ppf([0.25, 0.5, 0.75])
    table = tabulate(law.logpdf, support=law.support(), centre=middle, unit=high - low)
    z = np.array([-5.0, -2.0, -0.3, 0.0, 1.0, 4.0, 7.5, 12.0, 25.0])
    expected = np.where(z > 0, law.isf(special.ndtr(-z)), law.ppf(special.ndtr(z)))
    ours = table.at_normal(z)
    # In units of the law, which may be far from 0.
    ours_far, far = (ours - middle) / (high - low), (expected - middle) / (high - low)
    np.testing.assert_allclose(ours_far, far, rtol=1e-6, atol=1e-7)


def test_tail_index_tells_power_laws_from_the_rest() -> None:
    indices = {}
    for name, law in SCIPYS.items():
        low, middle, high = law.ppf([0.25, 0.5, 0.75])
        table = tabulate(law.logpdf, support=law.support(), centre=middle, unit=high - low)
        indices[name] = table.tail_index
    assert indices["pareto"] == pytest.approx(2.2, rel=1e-3)
    assert indices["student"] == pytest.approx(3.5, rel=1e-3)
    assert indices["cauchy"] == pytest.approx(1.0, rel=1e-3)
    assert indices["normal"] == indices["exponential"] == indices["beta"] == np.inf
    assert indices["lognormal"] > 10.0


def test_what_is_no_density_is_refused() -> None:
    with pytest.raises(DataError, match="integrates to 2"):
        tabulate(
            lambda x: stats.norm.logpdf(x) + np.log(2.0),
            support=(-np.inf, np.inf),
            centre=0.0,
            unit=1.0,
        )
