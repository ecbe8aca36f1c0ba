"""The models of the method ``paper``: those that Extra-P 4.2.5 gives for the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.pmnf import fit_segments
from hindmost.models.pmnf.left_out import left_out_error, line

POWERS = [4, 8, 16, 32, 64, 128]
HOMME = [600, 1176, 2400, 4056, 7776, 11616, 13824]
# Means of repetitions, and what Extra-P's basic modeler made of them: constant, coefficient, i, j.
KNOWN = {
    "strong scaling taken for a falling logarithm": (
        POWERS,
        [28.233333333333, 15.833333333333, 9.29, 6.2466666666667, 4.5633333333333, 3.8066666666667],
        (31.770031746032, -4.542476190476, 0.0, 1.0),
    ),
    "p log p with noise": (
        POWERS,
        [2.6066666666667, 5.9766666666667, 13.766666666667, 33.833333333333, 79.733333333333,
         177.666666666667],
        (1.923123162529, 0.09445542353, 0.75, 2.0),
    ),
    "a change": (
        POWERS,
        [16.5, 62.133333333333, 258.333333333333, 993.666666666667, 11933.333333333333,
         48966.666666666667],
        (-26.162009994257, 0.894164139245, 2.25, 0.0),
    ),
    "p^2": (
        HOMME,
        [1.1e6, 4.13e6, 1.7e7, 4.88e7, 180333333.333333, 4.03e8, 568333333.333333],
        (48760.935400447, 2.978051610953, 2.0, 0.0),
    ),
    "a constant": (
        HOMME,
        [48.8, 50.033333333333, 49.733333333333, 51.033333333333, 49.566666666667, 49.833333333333,
         49.566666666667],
        (49.795238095238, 0.0, 0.0, 0.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_the_model_of_all_points_is_that_of_extrap(name: str) -> None:
    points, means, (constant, coefficient, power, of_logarithm) = KNOWN[name]
    spread = np.array([-0.01, 0.0, 0.01])  # the mean counts, whatever the repetitions
    values = np.array(means)[:, None] * (1.0 + spread)
    form = fit_segments(np.array(points, float), values[None], method="paper", space="extrap")[
        0
    ].whole.form
    assert form.constant == pytest.approx(constant, rel=1e-9)
    assert len(form.terms) == (1 if coefficient else 0)
    if coefficient:
        assert form.coefficients[0] == pytest.approx(coefficient, rel=1e-9)
        assert [float(each) for each in form.terms[0].exponents[0]] == [power, of_logarithm]


def test_outlying_repetitions_count_as_extrap_counts_them() -> None:
    points = np.array(POWERS, float)
    values = np.repeat(points[None, :, None], 4, axis=2)
    values[0, 2, 0] = 100.0
    whole = fit_segments(points, values, method="paper", space="extrap")[0].whole
    np.testing.assert_allclose(whole.values, values[0].mean(axis=1))


def test_errors_are_those_of_fits_without_the_point() -> None:
    random = np.random.default_rng(1)
    column = np.log2(np.array(HOMME, float))
    values = 5.0 + column + random.uniform(-0.5, 0.5, (3, column.size))
    wanted = np.zeros(3)
    for out in range(column.size):
        rest = np.delete(np.arange(column.size), out)
        for kernel in range(3):
            slope, constant = np.polyfit(column[rest], values[kernel, rest], 1)
            foretold = constant + slope * column[out]
            off = abs(foretold - values[kernel, out])
            wanted[kernel] += 200.0 * off / (foretold + values[kernel, out]) / column.size
    np.testing.assert_allclose(left_out_error(column, values), wanted, rtol=1e-9)


def test_a_column_that_does_not_vary_has_no_slope() -> None:
    values: NDArray[np.float64] = np.array([[1.0, 2.0, 3.0]])
    constant, slope = line(np.ones(3), values)
    assert (float(constant[0]), float(slope[0])) == (2.0, 0.0)
