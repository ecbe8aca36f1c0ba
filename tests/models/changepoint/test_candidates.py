"""P-values of candidates: those of scipy's t-test, at the moments of the algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import detect
from hindmost.models.changepoint.observations import check
from hindmost.models.changepoint.report.method import candidate_p_values


def steps() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return thirty nights with a step at the fifteenth."""
    values = np.random.default_rng(7).normal(10.0, 0.1, 30)
    values[15:] += 1.0
    return values


def test_p_values_of_algorithm_1_are_those_of_scipy() -> None:
    values = steps()
    logs = np.log(values)
    (found,) = candidate_p_values(check(values), algorithm=1)
    assert found.change == 15
    assert found.places.tolist() == list(range(1, 30))
    # The variances are those of populations, which scipy divides by one less.
    expected = [
        stats.ttest_ind_from_stats(a.mean(), a.std(), a.size, b.mean(), b.std(), b.size).pvalue
        for a, b in ((logs[:at], logs[at:]) for at in range(1, 30))
    ]
    np.testing.assert_allclose(found.p_values, expected, rtol=1e-6)


@pytest.mark.parametrize("algorithm", [2, 3])
def test_moments_are_those_of_the_detection(algorithm: int) -> None:
    values = np.concatenate([steps(), steps()])
    changes = detect(values, method="report", algorithm=algorithm)
    moments = candidate_p_values(check(values), algorithm=algorithm)
    assert [each.change for each in moments[:-1]] == [each.index for each in changes.changes]
    assert moments[-1].change is None
    for each in moments[:-1]:
        assert each.change in each.places
    assert moments[-1].places[-1] == values.size - 1


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(DataError, match="needs at least 3"):
        candidate_p_values(check([1.0, 2.0]))
    with pytest.raises(UsageError, match="algorithm 4"):
        candidate_p_values(check(steps()), algorithm=4)
