from fractions import Fraction

import numpy as np
import pytest

from hindmost.errors import DataError, UsageError
from hindmost.models.pmnf import fit_segments
from hindmost.models.pmnf.fit import fit
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import draw_terms, measured, outside
from hindmost.models.pmnf.space import PAPER, SEARCH_SPACES, search_space

POINTS = 2.0 ** np.arange(1, 11)


@pytest.mark.parametrize("space", list(SEARCH_SPACES))
def test_without_noise_every_term_is_found(space: str) -> None:
    truth, term = draw_terms(np.random.default_rng(1), POINTS, 300, search_space(space))
    models = fit(POINTS, truth, space=space, noise="multiplicative")
    assert (models.hypotheses.terms[:, 0].max(axis=(1, 2)) == term + 1).mean() > 0.99
    np.testing.assert_allclose(models.predict(POINTS), truth, rtol=1e-6)


@pytest.mark.parametrize(
    ("noise", "kind", "least"), [(0.05, "multiplicative", 0.92), (0.05, "additive", 0.92)]
)
def test_leading_terms_are_found_under_noise(noise: float, kind: str, least: float) -> None:
    random = np.random.default_rng(2)
    truth, term = draw_terms(random, POINTS, 1000, PAPER)
    values = measured(random, truth, noise=noise, kind=NoiseKind(kind))
    models = fit(POINTS, values)  # the kind is found from all kernels together
    assert models.observations.noise.kind == kind
    seen = np.ptp(truth, axis=1) > 3.0 * noise * truth[:, 0]
    assert (models.hypotheses.terms[:, 0].max(axis=(1, 2)) == term + 1)[seen].mean() > least


def test_figure_1_of_the_paper_without_segments() -> None:
    points = np.arange(1.0, 11.0)
    values = np.where(points < 6, points**2, 30.0 + points)
    model = fit_segments(points, values, method="paper")[0].whole
    assert model.expression() == "1.649 + 3.971 * log2(p)^2"
    far = float(model.predict(1024.0)[0])
    assert 1.0 - far / (30.0 + 1024.0) == pytest.approx(0.62, abs=0.005)


def test_strong_scaling_is_found_and_said() -> None:
    model = fit(POINTS, 3.0 + 100.0 / POINTS)[0]
    assert model.form.leading == ((Fraction(-1), Fraction(0)),)
    assert model.expression() == "3 + 100 * p^(-1)"
    assert model.explain().startswith("falls like p^(-1)")


def test_what_approaches_a_bound_is_found_and_said() -> None:
    model = fit(POINTS, 100.0 * (1.0 - 1.0 / POINTS))[0]
    assert model.expression() == "100 - 100 * p^(-1)"
    assert model.explain().startswith("approaches 100 like p^(-1)")
    assert float(model.predict(1e9)[0]) == pytest.approx(100.0)


def test_two_terms_are_found_where_both_are_seen() -> None:
    model = fit(POINTS, 5.0 + 2.0 * POINTS**2 + 700.0 * np.log2(POINTS))[0]
    leading = [(Fraction(0), Fraction(1)), (Fraction(2), Fraction(0))]
    assert [term.exponents[0] for term in model.form.terms] == leading
    np.testing.assert_allclose(model.form.coefficients, [700.0, 2.0], rtol=1e-6)


def test_constants_stay_constant() -> None:
    random = np.random.default_rng(5)
    values = measured(random, np.full((1000, POINTS.size), 7.0), noise=0.1)
    grown = (~fit(POINTS, values, noise="multiplicative").hypotheses.constant).mean()
    assert grown < 0.08


@pytest.mark.parametrize("kind", ["multiplicative", "additive"])
@pytest.mark.parametrize("largest", [10.0, 1024.0])
def test_intervals_hold_new_measurements(kind: str, largest: float) -> None:
    random = np.random.default_rng(6)
    points = np.arange(1.0, 11.0) if largest == 10.0 else POINTS
    further = np.append(points, 4.0 * largest)
    truth = np.concatenate(
        [draw_terms(random, further, 150, PAPER)[0], outside(random, further, 150)]
    )
    values = measured(random, truth[:, :-1], noise=0.1, kind=NoiseKind(kind))
    off = 0.1 * random.uniform(-1.0, 1.0, 300)
    size = truth[:, -1] if kind == "multiplicative" else truth[:, :-1].mean(axis=1)
    low, high = fit(points, values, noise=kind).interval(further[-1:])
    new = truth[:, -1] + off * size
    assert 0.84 < ((low[:, 0] <= new) & (new <= high[:, 0])).mean() < 0.96


def test_an_interval_of_one_model_is_that_of_all() -> None:
    random = np.random.default_rng(7)
    values = measured(random, outside(random, POINTS, 5), noise=0.05)
    models = fit(POINTS, values, noise="multiplicative")
    low, high = models.interval(np.array([2048.0, 4096.0]), level=0.8)
    one = models[3].interval(np.array([2048.0, 4096.0]), level=0.8)
    np.testing.assert_array_equal(np.array(one), np.array([low[3], high[3]]))
    assert (models[3].interval(4096.0, level=0.5)[1] < models[3].interval(4096.0)[1]).all()


def test_scores_are_those_of_their_definitions() -> None:
    random = np.random.default_rng(8)
    values = measured(random, outside(random, POINTS, 1), noise=0.1)[0, :, 0]
    model = fit(POINTS, values, noise="multiplicative")[0]
    fitted = model.predict(POINTS)
    free = POINTS.size - 1 - len(model.form.terms)
    rest = ((values - fitted) ** 2).sum() / free
    assert model.adjusted_r2 == pytest.approx(1.0 - rest / values.var(ddof=1))
    half = (np.abs(values) + np.abs(fitted)) / 2.0
    assert model.smape == pytest.approx(100.0 * (np.abs(values - fitted) / half).mean())


def test_missing_points_are_left_out_of_their_kernel_only() -> None:
    truth = np.array([2.0 * POINTS, 3.0 * POINTS, 5.0 * POINTS])
    holes = truth.copy()
    holes[1, 3] = np.nan
    models = fit(POINTS, holes, noise="multiplicative")
    np.testing.assert_allclose(models.predict(POINTS), truth, rtol=1e-9, atol=1e-9)
    assert models[1].points.shape == (POINTS.size - 1, 1)
    assert models.hypotheses.weights[1, 3] == 0.0
    low, high = models.interval(np.array([4096.0]))
    np.testing.assert_allclose(low, high, rtol=1e-6)


def test_runners_up_are_told_where_the_choice_is_open() -> None:
    points = np.arange(4.0, 10.0)
    random = np.random.default_rng(9)
    values = measured(random, np.sqrt(points)[None], noise=0.1)[0, :, 0]
    model = fit(points, values, noise="multiplicative")[0]
    assert 0.0 <= model.runners_up[0].behind < 2.0
    assert model.explain().endswith("fits as well")


@pytest.mark.parametrize(
    ("points", "values", "how", "error", "words"),
    [
        ([1, 2, 4, 8], [1, 2, 3, 4], {}, DataError, "a model needs 5"),
        ([1, 2, 4, 8, 8], [1, 2, 3, 4, 5], {}, DataError, "twice"),
        ([1, 2, 8, 4, 16], [1, 2, 3, 4, 5], {}, DataError, "ascending"),
        ([0, 2, 4, 8, 16], [1, 2, 3, 4, 5], {}, DataError, "not above 0"),
        ([1, 2, 4, 8, 16], [1, 2, 3, 4], {}, DataError, "as many points"),
        ([1, 2, 4, 8, 16], [1, 2, np.inf, 4, 5], {}, DataError, "infinite"),
        (
            [1, 2, 4, 8, 16],
            [1e-300, 2e-300, 3e-300, 4e-300, 5e-300],
            {},
            DataError,
            "Values from 1e-300 to 5e-300 at",
        ),
        ([1, 2, 4, 8, 16], [1, 2, -3, 4, 5], {"noise": "root"}, DataError, "additive"),
        ([1, 2, 4, 8, 16], [1, 2, 3, 4, 5], {"noise": "pink"}, UsageError, "root"),
        ([1, 2, 4, 8, 16], [1, 2, 3, 4, 5], {"space": "all"}, UsageError, "extrap"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    points: list[float], values: list[float], how: dict[str, str], error: type, words: str
) -> None:
    with pytest.raises(error, match=words):
        fit(np.array(points, float), np.array(values, float), **how)


def test_a_level_is_a_probability() -> None:
    models = fit(POINTS, POINTS)
    with pytest.raises(UsageError, match="between 0 and 1"):
        models.interval(POINTS, level=90.0)


def test_logarithms_of_points_below_one_are_no_terms() -> None:
    """They would fall and grow again."""
    points = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.8])
    noise = np.random.default_rng(6).standard_normal((60, points.size))
    models = fit(points, (0.2 + points**0.7) * np.exp(0.1 * noise), noise="multiplicative")
    logs = [term.exponents[0][1] for k in range(len(models)) for term in models[k].form.terms]
    assert logs
    assert set(logs) == {0}


@pytest.mark.parametrize("method", ["likelihood", "paper"])
@pytest.mark.parametrize("repetitions", [1, 3])
def test_a_kernel_of_zeros_stays_zero(method: str, repetitions: int) -> None:
    """Beside one that grows; no logarithm of 0 and no division by it is warned of."""
    values = np.stack([0.0 * POINTS, 3.0 + POINTS])[..., None].repeat(repetitions, axis=2)
    models = fit_segments(POINTS, values, method=method)
    ahead = models.predict(4096.0)
    assert ahead.predicted[0] == ahead.low[0] == ahead.high[0] == 0.0
    assert models[0].explain()
