from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hindmost.errors import DataError
from hindmost.models.laws.law import log_likelihood
from hindmost.models.laws.maximum import maximum_moments
from hindmost.models.laws.uniform import Uniform, fit_uniform


@pytest.mark.parametrize("seed", range(20))
def test_lies_between_the_ends_of_the_sample(seed: int) -> None:
    values = np.random.default_rng(seed).uniform(1e-4, 3e-4, 100)
    law = fit_uniform(values)
    assert law.loc == values.min()
    assert law.loc + law.scale == pytest.approx(values.max(), rel=1e-15)
    # No value may fall outside by rounding.
    assert log_likelihood(law, values) == pytest.approx(-np.log(np.ptp(values)), rel=1e-12)


def test_is_that_of_scipy() -> None:
    law, scipys = Uniform(loc=2.0, scale=3.0), stats.uniform(2.0, 3.0)
    x = np.array([1.0, 2.0, 2.5, 5.0, 5.1])
    np.testing.assert_allclose(law.pdf(x), scipys.pdf(x))
    assert (law.mean, law.variance) == pytest.approx((3.5, 0.75))
    assert maximum_moments(law.at_normal, 4)[0] == pytest.approx(2.0 + 3.0 * 4 / 5)
    assert law.to_json() == {"family": "uniform", "loc": 2.0, "scale": 3.0}


@pytest.mark.parametrize("values", [np.full(9, 1e-4), np.array([1.0])])
def test_refuses_what_has_no_width(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    with pytest.raises(DataError):
        fit_uniform(values)
