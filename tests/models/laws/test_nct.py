from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from hindmost.errors import DataError
from hindmost.models.laws.law import log_likelihood
from hindmost.models.laws.maximum import maximum_moments
from hindmost.models.laws.nct import NonCentralT, fit_nct, log_density
from hindmost.models.laws.sample import Sample, exact_sample

TRUTH = stats.nct(4.0, 1.5, loc=1e-4, scale=1e-5)


def sample_of(name: str, size: int) -> NDArray[np.float64]:
    random = np.random.default_rng(3)
    if name == "nct":
        return np.asarray(TRUTH.rvs(size, random_state=random))
    if name == "normal":
        return random.normal(5e-4, 1e-5, size)
    if name == "gamma":
        return random.gamma(2.5, 2e-5, size)
    if name == "two groups":
        fast = random.normal(4e-4, 5e-6, size)
        return np.where(random.random(size) < 0.1, fast + 2e-4, fast)
    late = np.where(random.random(size) < 0.01, random.exponential(1e-4, size), 0.0)
    return np.asarray(random.gamma(9.0, 4e-7, size) + late)


NAMES = ["nct", "normal", "gamma", "two groups", "detours"]


@pytest.mark.parametrize("df", [0.3, 1.0, 4.5, 30.0])
@pytest.mark.parametrize("nc", [-4.0, 0.0, 0.2, 9.0])
def test_density_is_that_of_scipy(df: float, nc: float) -> None:
    y = np.linspace(-6.0, 25.0, 60)
    scipys = stats.nct.pdf(y, df, nc)
    told = scipys > 1e-13  # below, scipy loses its digits
    assert told.sum() > 20
    ours = log_density(y, df, nc)
    np.testing.assert_allclose(np.exp(ours[told]), scipys[told], rtol=1e-7)
    if nc == 0.0:
        np.testing.assert_allclose(ours, stats.t.logpdf(y, df), rtol=1e-11)


def test_far_tails_have_no_holes() -> None:
    y = np.concatenate([-np.geomspace(1e-3, 1e200, 400)[::-1], np.geomspace(1e-3, 1e200, 400)])
    with np.errstate(all="raise", under="ignore"):
        value = log_density(y, 2.5, 30.0)
    assert np.isfinite(value).all()
    # Both tails fall like distance^-(df + 1).
    for end in (value[:50][::-1], value[-50:]):
        steps = np.diff(end) / np.log(np.geomspace(1e-3, 1e200, 400)[1] / 1e-3)
        np.testing.assert_allclose(steps, -3.5, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_no_search_of_scipys_density_finds_more(name: str) -> None:
    values = sample_of(name, 1500)
    unit = float(np.median(values))
    x = values / unit
    law = fit_nct(x)
    ours = log_likelihood(law, x)
    if law.df < 50.0:  # scipy's density overflows with more
        scipys = np.log(stats.nct.pdf(x, law.df, law.nc, law.loc, law.scale)).mean()
        assert ours == pytest.approx(scipys, abs=1e-8)
    # A step in any direction is a step down, unless a bound of the search is in the way.
    for change in (1e-3, -1e-3):
        for which in ("df", "nc", "loc", "scale"):
            given = {"df": law.df, "nc": law.nc, "loc": law.loc, "scale": law.scale}
            given[which] += change * (law.scale if which in {"loc", "scale"} else given[which])
            if abs(given["nc"]) <= 60.0:
                assert log_likelihood(NonCentralT(**given), x) <= ours + 1e-9


def test_reaches_the_likelihood_of_scipy() -> None:
    x = sample_of("nct", 400) / 1e-4
    scipys = stats.nct.logpdf(x, *stats.nct.fit(x, 4.0, 1.5, loc=1.0, scale=0.1)).mean()
    assert log_likelihood(fit_nct(x), x) >= scipys - 1e-9


def test_recovers_the_law_that_it_was_drawn_from() -> None:
    law = fit_nct(sample_of("nct", 300_000))
    assert law.df == pytest.approx(4.0, rel=0.03)
    assert law.nc == pytest.approx(1.5, rel=0.03)
    assert law.mean == pytest.approx(TRUTH.mean(), rel=1e-3)


@pytest.mark.parametrize(
    "name",
    [
        NAMES[0],
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in NAMES[1:]
            if each != "normal"  # df has no end
        ),
    ],
)
def test_bins_of_many_values_cost_no_likelihood(name: str) -> None:
    values = sample_of(name, 100_000)
    binned = fit_nct(values)
    exact = fit_nct(exact_sample(values))
    assert Sample.of(values).point.size < values.size
    everywhere = exact_sample(values)
    assert log_likelihood(binned, everywhere) == pytest.approx(
        log_likelihood(exact, everywhere), abs=1e-9
    )


def test_probabilities_quantiles_and_moments_are_those_of_scipy() -> None:
    law = NonCentralT(df=4.0, nc=1.5, loc=1e-4, scale=1e-5)
    x = np.linspace(8e-5, 3e-4, 40)
    np.testing.assert_allclose(law.pdf(x), TRUTH.pdf(x), rtol=1e-9)
    z = np.array([-3.0, -1.0, 0.0, 2.0, 6.0])
    np.testing.assert_allclose(special.ndtri(TRUTH.cdf(law.at_normal(z[:4]))), z[:4], atol=1e-7)
    # Far out the law is C / y^4: sf(10 y) = 1e-4 sf(y).
    far = law.at_normal(-special.ndtri_exp(np.log(np.array([1e-150, 1e-154]))))
    assert (far[1] - law.loc) / (far[0] - law.loc) == pytest.approx(10.0, rel=1e-6)
    assert law.mean == pytest.approx(TRUTH.mean(), rel=1e-12)
    assert law.variance == pytest.approx(TRUTH.var(), rel=1e-9)
    mean, _ = maximum_moments(law.at_normal, 1)
    assert mean == pytest.approx(law.mean, rel=1e-9)


def test_mean_and_variance_may_be_infinite() -> None:
    law = NonCentralT(df=1.5, nc=1.0, loc=0.0, scale=1.0)
    assert np.isfinite(law.mean)
    assert law.variance == np.inf
    assert NonCentralT(df=0.9, nc=1.0, loc=0.0, scale=1.0).mean == np.inf


@pytest.mark.parametrize(
    "values",
    [
        np.full(100, 3e-4),
        np.array([1.0, 2.0, 3.0]),
        np.where(np.arange(900) % 3 > 0, 3e-6, np.linspace(1e-6, 1e-2, 900)),
    ],
)
def test_refuses_what_has_no_law(values: NDArray[np.float64]) -> None:
    with pytest.raises(DataError):
        fit_nct(values)
