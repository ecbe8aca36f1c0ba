from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hindmost.errors import DataError
from hindmost.models.laws.johnsonsu import JohnsonSU, fit_johnsonsu
from hindmost.models.laws.law import log_likelihood
from hindmost.models.laws.maximum import maximum_moments
from hindmost.models.laws.sample import Sample, exact_sample
from hindmost.records import to_document

LAWS = {
    "johnson su": stats.johnsonsu(-2.0, 1.3, loc=4e-4, scale=2e-5),
    "normal": stats.norm(5e-4, 1e-5),
    "lognormal": stats.lognorm(0.8, loc=3e-4, scale=1e-5),
    "student": stats.t(3, loc=2e-4, scale=3e-6),
    "gamma": stats.gamma(2.5, loc=1e-4, scale=2e-5),
    "two groups": None,
    "detours": None,
}


def sample_of(name: str, size: int) -> NDArray[np.float64]:
    random = np.random.default_rng(7)
    if name == "detours":
        late = np.where(random.random(size) < 0.01, random.exponential(1e-4, size), 0.0)
        return np.asarray(random.gamma(9.0, 4e-7, size) + late)
    if LAWS[name] is None:
        fast = random.normal(4e-4, 5e-6, size)
        return np.where(random.random(size) < 0.1, fast + 2e-4, fast)
    return np.asarray(LAWS[name].rvs(size, random_state=random))


def negative_log_likelihood(law: JohnsonSU, sample: NDArray[np.float64]) -> float:
    return float(-np.mean(stats.johnsonsu.logpdf(sample, law.a, law.b, law.loc, law.scale)))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # scipy's own search overflows
def test_reaches_the_likelihood_of_scipy(name: str) -> None:
    sample = sample_of(name, 2000)
    unit = np.median(sample)  # scipy's search does not cope with data of 1e-4
    scipys = -np.mean(stats.johnsonsu.logpdf(sample / unit, *stats.johnsonsu.fit(sample / unit)))
    ours = negative_log_likelihood(fit_johnsonsu(sample / unit), sample / unit)
    assert ours <= scipys + 1e-9


@pytest.mark.parametrize("name", LAWS)
def test_bins_of_many_values_cost_no_likelihood(name: str) -> None:
    sample = sample_of(name, 200_000)
    assert Sample.of(sample).point.size < sample.size
    binned, exact = fit_johnsonsu(sample), fit_johnsonsu(exact_sample(sample))
    ours = negative_log_likelihood(binned, sample)
    assert ours == pytest.approx(negative_log_likelihood(exact, sample), abs=1e-9)
    # What the bins say the likelihood is.
    assert -log_likelihood(binned, sample) == pytest.approx(ours, abs=1e-9)


def test_recovers_the_law_that_it_was_drawn_from() -> None:
    law = fit_johnsonsu(sample_of("johnson su", 200_000))
    assert law.a == pytest.approx(-2.0, rel=0.05)
    assert law.b == pytest.approx(1.3, rel=0.03)
    assert law.mean == pytest.approx(LAWS["johnson su"].mean(), rel=1e-3)


def test_density_and_quantiles_are_those_of_scipy() -> None:
    law = JohnsonSU(a=0.7, b=1.9, loc=3.0, scale=0.2)
    scipys = stats.johnsonsu(0.7, 1.9, loc=3.0, scale=0.2)
    x = np.linspace(2, 4, 50)
    np.testing.assert_allclose(law.pdf(x), scipys.pdf(x), rtol=1e-12)
    z = np.linspace(-3, 3, 20)
    np.testing.assert_allclose(law.at_normal(z), scipys.ppf(stats.norm.cdf(z)), rtol=1e-10)
    assert law.mean == pytest.approx(scipys.mean(), rel=1e-12)
    assert law.variance == pytest.approx(scipys.var(), rel=1e-10)
    assert to_document(law) == {"family": "johnsonsu", "a": 0.7, "b": 1.9, "loc": 3.0, "scale": 0.2}


@pytest.mark.parametrize("sample", [np.full(100, 3e-4), np.array([1.0, 2.0, 3.0])])
def test_refuses_what_has_no_law(sample: NDArray[np.float64]) -> None:
    with pytest.raises(DataError):
        fit_johnsonsu(sample)


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


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_many_equal_times_do_not_lead_astray(share: float) -> None:
    random = np.random.default_rng(1)
    times = np.where(random.random(1000) < share, 3e-6, random.gamma(9.0, 4e-7, 1000))
    try:
        law = fit_johnsonsu(times)
    except DataError:
        return
    assert abs(law.mean - times.mean()) < times.std()
    assert maximum_moments(law.at_normal, 2)[0] < 2 * times.max()
