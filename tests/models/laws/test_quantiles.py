from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from hindmost.errors import DataError
from hindmost.models.laws.quantiles import tabulate

LAWS: dict[str, Any] = {
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


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_are_those_of_scipy_in_both_far_tails(name: str) -> None:
    law = LAWS[name]
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
    for name, law in LAWS.items():
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
