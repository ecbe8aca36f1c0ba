import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hindmost.errors import DataError
from hindmost.models.laws.families import SKIPPED, fit_families, fit_family
from hindmost.models.laws.law import Candidate
from hindmost.models.laws.sample import Sample
from hindmost.records import to_document


def detours(size: int) -> NDArray[np.float64]:
    random = np.random.default_rng(5)
    late = np.where(random.random(size) < 0.01, random.exponential(1e-4, size), 0.0)
    return np.asarray(random.gamma(9.0, 4e-7, size) + late)


ALIKE = {"gamma", "chi2", "pearson3", "gengamma", "exponweib", "ncx2", "f"}
"""Families that contain the gamma law, the last two as limits."""
OTHERS = ("norm", "lognorm", "weibull_min", "genextreme", "expon", "invgauss", "uniform")


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.slow)])
def of_gamma(request: pytest.FixtureRequest) -> tuple[Candidate, ...]:
    values = np.random.default_rng(2).gamma(2.5, 2e-5, 100_000) + 1e-4
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("error")
        if request.param == "some":
            some = [*ALIKE, *OTHERS]
            patch.setattr("hindmost.models.laws.families.scipys_families", lambda: some)
        return fit_families(values)


def test_the_family_that_was_drawn_from_comes_first(of_gamma: tuple[Candidate, ...]) -> None:
    assert of_gamma[0].law.name in ALIKE
    found = {one.law.name: one for one in of_gamma}["gamma"]
    assert found.log_likelihood > max(one.log_likelihood for one in of_gamma) - 1e-3
    truth = stats.gamma(2.5, loc=1e-4, scale=2e-5)
    parameters = to_document(found.law)
    assert parameters["a"] == pytest.approx(2.5, rel=0.05)
    assert parameters["loc"] == pytest.approx(1e-4, rel=0.01)
    # The entropy is what the mean of the logarithm of the density comes to.
    assert found.log_likelihood == pytest.approx(-truth.entropy(), abs=0.01)
    assert found.law.mean == pytest.approx(truth.mean(), rel=1e-3)


@pytest.mark.slow
def test_most_families_are_ranked_in_order() -> None:
    best = fit_families(detours(70_000))
    errors = [one.squared_error for one in best]
    assert errors == sorted(errors)
    names = {one.law.name for one in best}
    assert {"johnsonsu", "nct", "uniform"} <= names
    assert len(names) > 30
    assert not names & set(SKIPPED)


def test_squared_error_is_the_one_that_numpys_histogram_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = detours(70_000)
    few = ["gamma", "genextreme", "lognorm", "norm", "weibull_min"]
    monkeypatch.setattr("hindmost.models.laws.families.scipys_families", lambda: few)
    best = fit_families(values)
    ends = (float(values.min()), float(np.quantile(values, 0.995)))
    density, edges = np.histogram(values, bins=100, range=ends)
    middle, width = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    unit = np.subtract(*np.quantile(values, (0.75, 0.25)))
    for candidate in best[:3]:
        difference = unit * (candidate.law.pdf(middle) - density / (values.size * width))
        assert candidate.squared_error == pytest.approx(np.mean(difference**2), rel=0.02)


@pytest.mark.parametrize("name", ["lognorm", "weibull_min", "genextreme", "exponnorm", "norm"])
def test_finds_no_less_than_scipys_own_fit(name: str) -> None:
    values = np.sort(np.random.default_rng(8).lognormal(0.0, 0.5, 120))
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    x = (values - middle) / (high - low)
    family: Any = getattr(stats, name)
    law = fit_family(name, Sample.of(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scipys = family.logpdf(x, *family.fit(x)).mean()
    assert law.log_pdf(x).mean() >= scipys - 1e-3


@pytest.mark.parametrize("name", ["irwinhall", "loguniform"])
def test_what_scipy_cannot_fit_is_told(name: str) -> None:
    with pytest.raises(DataError, match="Scipy fails"):
        fit_family(name, Sample.of(np.random.default_rng(0).normal(size=100)))


@pytest.mark.parametrize("values", [np.full(100, 1e-4), np.arange(4.0)])
def test_what_has_no_law_is_refused(values: NDArray[np.float64]) -> None:
    with pytest.raises(DataError):
        fit_families(values)
