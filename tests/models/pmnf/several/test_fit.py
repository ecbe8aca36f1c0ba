from fractions import Fraction

import numpy as np
import pytest
from benchmarks.synthetic.scaling_grids import (
    AXES,
    FAMILIES,
    Drawn,
    balanced,
    cross,
    draw,
    grid,
)
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import measured
from hindmost.models.pmnf.several import fit_parameters
from hindmost.models.pmnf.space import ABSENT, PAPER, Exponents

GRID = grid(*AXES[:2])
P, N = GRID.T
NAMES = ("p", "n", "q", "r")


def pair(power: str, of_logarithm: str = "0") -> Exponents:
    return Fraction(power), Fraction(of_logarithm)


def right(models: ScalingModels, drawn: Drawn) -> int:
    """Count the kernels with the right growth of every parameter."""
    none = (ABSENT,) * len(models.parameters)
    return sum((models[k].form.leading or none) == drawn.leading(k) for k in range(len(models)))


CASES = {
    "product": (2.0 + 0.5 * P * N, (pair("1"), pair("1"))),
    "sum": (5.0 + 3.0 * P + 0.25 * N * np.log2(N), (pair("1"), pair("1", "1"))),
    "mixed": (1.0 + 0.01 * P * N**2 + 4.0 * np.log2(P), (pair("1"), pair("2"))),
    "shared": (7.0 + 2.0 * N**1.5 + 0.3 * N**1.5 * np.log2(P), (pair("0", "1"), pair("3/2"))),
    "strong": (0.5 + 40.0 * N / P, (pair("-1"), pair("1"))),
    "irrelevant p": (1.0 + 0.2 * N**2, (ABSENT, pair("2"))),
    "irrelevant n": (1.0 + 0.2 * np.sqrt(P), (pair("1/2"), ABSENT)),
    "constant": (np.full(25, 3.5), ()),
}


@pytest.mark.parametrize("name", CASES)
def test_exact_data_give_the_function_back(name: str) -> None:
    values, leading = CASES[name]
    model = fit_parameters(GRID, values, noise="multiplicative")[0]
    assert model.form.leading == leading
    np.testing.assert_allclose(model.form(GRID), values, rtol=1e-9)


def test_expressions_name_all_parameters() -> None:
    values = 5.0 + 3.0 * P + 0.25 * N * np.log2(N)
    model = fit_parameters(GRID, values, parameters=("ranks", "cells"))[0]
    assert model.expression() == "5 + 3 * ranks + 0.25 * cells * log2(cells)"


def test_the_order_of_points_does_not_matter() -> None:
    values = measured(np.random.default_rng(2), CASES["mixed"][0][None], noise=0.05)[0, :, 0]
    order = np.random.default_rng(1).permutation(25)
    one, other = (fit_parameters(GRID[o], values[o])[0] for o in (np.arange(25), order))
    assert one.form.terms == other.form.terms
    np.testing.assert_allclose(one.form.coefficients, other.form.coefficients, rtol=1e-8)


def test_coefficients_are_those_of_weighted_least_squares() -> None:
    random = np.random.default_rng(5)
    drawn = balanced(random, draw(random, "mixed", 20), GRID)
    models = fit_parameters(GRID, measured(random, drawn(GRID), noise=0.1))
    for k in range(20):
        form = models[k].form
        root = np.sqrt(models.hypotheses.weights[k])
        columns = np.stack([np.ones(25), *(term(GRID) for term in form.terms)], axis=1)
        wanted = np.linalg.lstsq(columns * root[:, None], models[k].values * root, rcond=None)[0]
        np.testing.assert_allclose((form.constant, *form.coefficients), wanted, rtol=1e-6)


def test_predictions_of_the_batch_are_those_of_its_members() -> None:
    random = np.random.default_rng(6)
    drawn = draw(random, "additive", 8, parameters=3)
    points = cross(*AXES[:3])
    models = fit_parameters(points, drawn(points), parameters=NAMES[:3])
    at = points[-2:] * 4.0
    together = models.predict(at)
    low, high = models.interval(at, level=0.8)
    for k in range(8):
        np.testing.assert_allclose(models[k].predict(at), together[k])
        np.testing.assert_allclose(models[k].interval(at, level=0.8), (low[k], high[k]))


@pytest.mark.parametrize("parameters", [2, 3, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_without_noise_terms_are_those_of_the_generator(family: str, parameters: int) -> None:
    random = np.random.default_rng(7)
    points = grid(*AXES[:parameters]) if parameters < 4 else cross(*AXES)
    drawn = balanced(random, draw(random, family, 12, parameters=parameters), points)
    models = fit_parameters(
        points, drawn(points), noise="multiplicative", parameters=NAMES[:parameters]
    )
    assert right(models, drawn) >= 12


@pytest.mark.parametrize(("family", "bound"), [("multiplicative", 52), ("irrelevant", 38)])
def test_noise_of_5_percent_hides_few_terms(family: str, bound: int) -> None:
    random = np.random.default_rng(8)
    drawn = draw(random, family, 60)
    models = fit_parameters(GRID, measured(random, drawn(GRID), noise=0.05))
    assert models.observations.noise.source == "40 kernels together"
    assert models.observations.noise.kind == "multiplicative"
    assert right(models, drawn) >= bound


def test_kernels_tell_additive_noise_together() -> None:
    random = np.random.default_rng(9)
    drawn = balanced(random, draw(random, "multiplicative", 40), GRID)
    values = measured(random, drawn(GRID), noise=0.02, kind=NoiseKind.ADDITIVE)
    # Values that grow much would fall below 0, which says it all.
    models = fit_parameters(GRID, values[(values > 0.0).all(axis=(1, 2))])
    assert models.observations.noise.kind == "additive"


def test_missing_points_are_left_out() -> None:
    values = np.repeat(CASES["mixed"][0][None], 3, axis=0)
    values[1, [3, 7, 8, 21]] = np.nan
    models = fit_parameters(GRID, values)
    assert models[1].points.shape == (21, 2)
    assert models[1].form.terms == models[0].form.terms
    assert (models.hypotheses.weights[1, [3, 7, 8, 21]] == 0.0).all()
    np.testing.assert_allclose(models[1].form(GRID), values[0], rtol=1e-9)


@pytest.mark.parametrize("name", ["product", "sum", "strong", "irrelevant n", "constant"])
def test_lines_and_one_point_are_enough(name: str) -> None:
    sparse = np.array(
        [np.flatnonzero((point == GRID).all(axis=1))[0] for point in cross(*AXES[:2])]
    )
    values, leading = CASES[name]
    model = fit_parameters(GRID[sparse], values[sparse])[0]
    assert model.form.leading == leading
    np.testing.assert_allclose(model.form(GRID), values, rtol=1e-8)


@pytest.mark.parametrize("name", ["product", "sum", "irrelevant p", "constant"])
def test_scattered_points_are_enough(name: str) -> None:
    random = np.random.default_rng(10)
    points = np.stack([random.uniform(axis[0], axis[-1], 30) for axis in AXES[:2]], axis=1)
    leading = CASES[name][1]
    truth = fit_parameters(GRID, CASES[name][0])[0].form
    model = fit_parameters(points, truth(points))[0]
    assert model.form.leading == leading


def outlying() -> NDArray[np.float64]:
    values = measured(
        np.random.default_rng(11), CASES["product"][0][None], noise=0.02, repetitions=5
    )
    values[0, 24, 2] *= 3.0
    return values


def test_repetitions_tell_outliers() -> None:
    model = fit_parameters(GRID, outlying())[0]
    assert model.form.leading == CASES["product"][1]
    assert model.values[24] == pytest.approx(CASES["product"][0][24], rel=0.03)


@pytest.mark.parametrize(
    ("points", "parameters", "error", "said"),
    [
        (grid(AXES[0], (10.0,)), ("p", "n"), DataError, r"n has one value only, 10; leave it out"),
        (grid(AXES[0], AXES[1][:4]), ("p", "n"), DataError, r"n has 4 values \(10, 20, 30, 40\)"),
        (grid(AXES[0], AXES[1]), ("p", "n", "q"), UsageError, "a column for each"),
        (grid(AXES[0], AXES[1]), ("p", "p"), UsageError, "names must differ"),
        (np.arange(1.0, 7.0)[:, None] + np.zeros(5), tuple("abcde"), UsageError, "2 to 4"),
        (np.concatenate([GRID, GRID[:1]]), ("p", "n"), DataError, "there twice"),
        (-GRID, ("p", "n"), DataError, "not above 0"),
    ],
)
def test_refusals_say_what_to_do(
    points: NDArray[np.float64], parameters: tuple[str, ...], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        fit_parameters(points, np.ones(points.shape[0]), parameters=parameters)


def test_a_kernel_that_misses_too_much_is_named() -> None:
    values = np.ones((3, 25))
    values[2, N == 30.0] = np.nan
    with pytest.raises(DataError, match=r"Kernel 2, .* Parameter n has 4 values"):
        fit_parameters(GRID, values)


def test_targets_of_other_parameters_are_refused() -> None:
    models = fit_parameters(GRID, CASES["product"][0])
    with pytest.raises(UsageError, match="target, parameter"):
        models.predict(np.ones((2, 3)))
    with pytest.raises(UsageError, match="between 0 and 1"):
        models.interval(GRID[:1], level=90.0)


def test_the_space_bounds_the_exponents() -> None:
    values = 1.0 + P**0.75 * N
    assert pair("3/4") not in PAPER.exponents
    model = fit_parameters(GRID, values, space="extrap")[0]
    assert model.form.leading == (pair("3/4"), pair("1"))


def widths(noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points of ranks and a width, and values of cells of that width shared by ranks."""
    points = np.array([(p, h) for p in 2.0 ** np.arange(5) for h in (0.1, 0.2, 0.3, 0.4, 0.5)])
    truth = np.log2(2.0 * points[:, 0]) ** 2 * points[:, 1] ** -3.0
    random = np.random.default_rng(4)
    return points, truth * np.exp(noise * random.standard_normal((40, truth.size)))


def test_what_falls_with_a_parameter_stays_above_zero() -> None:
    """Where a term falls to nothing the constant remains."""
    points, values = widths(0.05)
    models = fit_parameters(points, values)
    forms = [models[kernel].form for kernel in range(len(models))]
    falling = [
        any(power < 0 for term in form.terms for power, _ in term.exponents) for form in forms
    ]
    assert all(falling)
    assert min(form.constant for form in forms) >= 0.0
    assert (models.predict(np.array([[16.0, 2.0], [1.0, 100.0]])) >= 0.0).all()
    # The truth is found as well: 5 % of noise, foretold at half the smallest width.
    off = models.predict(np.array([[32.0, 0.05]]))[:, 0] / (36.0 * 8000.0) - 1.0
    assert np.median(np.abs(off)) < 0.1


def test_logarithms_of_widths_below_one_are_no_terms() -> None:
    """They would fall and grow again."""
    points, values = widths(0.3)
    models = fit_parameters(points, values)
    logs = [term.exponents[1][1] for k in range(len(models)) for term in models[k].form.terms]
    assert set(logs) == {0}


@pytest.mark.parametrize("kind", list(NoiseKind))
def test_points_that_alone_fix_a_coefficient_do_not_tell_the_noise(kind: NoiseKind) -> None:
    """40 kernels on two lines. The plain likelihood takes root noise for additive noise."""
    random = np.random.default_rng(500)
    points = cross(*AXES[:2])
    values = [
        measured(
            random,
            balanced(random, draw(random, family, 10), points)(points),
            noise=0.05,
            kind=kind,
        )[..., 0]
        for family in FAMILIES
    ]
    noise = fit_parameters(points, np.concatenate(values)).observations.noise
    assert noise.kind is kind or not noise.known
