import numpy as np
import pytest
from benchmarks.synthetic.scaling import two_functions
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf import detect_segments, fit_segments
from hindmost.models.pmnf.evidence import LEAST, candidates, evidence
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import (
    FAMILIES,
    inside,
    measured,
    outside,
    two_terms,
)
from hindmost.models.pmnf.segments.segmentation import SegmentVerdict
from hindmost.models.pmnf.space import FINE, PAPER, columns

LINE, POWERS = np.arange(1.0, 11.0), 2.0 ** np.arange(1, 11)
GRIDS = pytest.mark.parametrize("points", [LINE, POWERS], ids=["lines", "powers"])
SOME = np.random.default_rng(0).choice(np.arange(1.0, 2000.0), 20, replace=False)
SETS = 1000


def least_residual(
    values: NDArray[np.float64], weights: NDArray[np.float64], designs: list[NDArray[np.float64]]
) -> float:
    """Fit designs with numpy; terms are not below 0."""
    root, found = np.sqrt(weights), [np.inf]
    for terms in designs:
        design = np.column_stack([np.ones(values.size), *terms])
        scale = np.abs(design * root[:, None]).max(axis=0)
        factors = np.linalg.lstsq(design * root[:, None] / scale, values * root, rcond=1e-13)[0]
        if (factors[1:] >= 0.0).all():
            found.append(float(((values - design @ (factors / scale)) ** 2 * weights).sum()))
    return min(found)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_the_evidence_is_that_of_least_squares_with_numpy(gamma: float) -> None:
    points = LINE[:7]
    random = np.random.default_rng(1)
    values = measured(random, two_functions(random, points, 1, first=3), noise=0.05)[..., 0]
    found = evidence(points, values, np.ones_like(values), gamma)[0][0]
    level = np.abs(values).mean()
    weights = (np.abs(values) ** (-2.0 * gamma) * level ** (2.0 * gamma - 2.0))[0]
    fine, coarse = columns(FINE.exponents, points), columns(PAPER.exponents, points)

    def one(stretch: slice) -> float:
        designs = [fine[:0, stretch], *([term[stretch]] for term in fine)]
        return least_residual(values[0, stretch], weights[stretch], designs)  # type: ignore[arg-type]

    pairs = [coarse[[q, r]] for q in range(len(coarse)) for r in range(q)]
    subtracted = [sign * column[None] for column in candidates(points)[1].T for sign in (1.0, -1.0)]
    whole = min(one(slice(0, 7)), least_residual(values[0], weights, [*pairs, *subtracted]))
    for split, floors in enumerate(found):
        first = split + LEAST
        two = one(slice(0, first)) + one(slice(first, 7))
        granted = 7.0 * np.array([0.005, 0.05]) ** 2
        expected = 3.5 * np.log((whole + granted) / (two + granted))
        np.testing.assert_allclose(floors, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize("family", ["inside", "strong", "two-terms", "saturating"])
def test_families_that_models_contain_make_no_evidence_without_noise(
    family: str, gamma: float
) -> None:
    for points in (LINE, POWERS, np.sort(SOME)):
        random = np.random.default_rng([7, list(FAMILIES).index(family), 0])
        values = FAMILIES[family](random, points, 1600)[:200]
        assert evidence(points, values, np.ones_like(values), gamma)[0].max() < 1.5


@GRIDS
@pytest.mark.parametrize(
    "kind", [NoiseKind.MULTIPLICATIVE, pytest.param(NoiseKind.ADDITIVE, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("noise", [0.0, pytest.param(0.05, marks=pytest.mark.slow), 0.15])
def test_one_behaviour_is_rarely_taken_for_two(
    points: NDArray[np.float64], kind: NoiseKind, noise: float
) -> None:
    random = np.random.default_rng(2)
    for draw in FAMILIES.values():
        values = measured(random, draw(random, points, SETS), noise=noise, kind=kind)
        # 1 % is meant; 20 of 1000 happen by chance once in 500 times.
        assert detect_segments(points, values, noise=kind).segmented.mean() <= 0.02


@GRIDS
@pytest.mark.parametrize(("noise", "found", "right"), [(0.0, 0.98, 0.96), (0.05, 0.94, 0.91)])
def test_two_functions_are_found_where_they_meet(
    points: NDArray[np.float64], noise: float, found: float, right: float
) -> None:
    random = np.random.default_rng(3)
    truth = [
        two_functions(random, points, SETS, first=5, family=each) for each in (inside, outside)
    ]
    values = measured(random, np.concatenate(truth), noise=noise)
    verdicts = detect_segments(points, values, noise="multiplicative")
    assert verdicts.segmented.mean() > found
    assert verdicts.between(points[4], points[5]).mean() > right


def test_six_points_are_enough() -> None:
    points = LINE[:6]
    random = np.random.default_rng(4)
    values = measured(random, two_functions(random, points, SETS, first=3), noise=0.15)
    verdicts = detect_segments(points, values, noise="multiplicative")
    assert verdicts.segmented.mean() > 0.90
    assert verdicts.between(3.0, 4.0).mean() > 0.83


@GRIDS
def test_outliers_among_repetitions_are_no_change(points: NDArray[np.float64]) -> None:
    random = np.random.default_rng(5)
    truth = np.concatenate([inside(random, points, SETS), outside(random, points, SETS)])
    values = measured(random, truth, noise=0.05, repetitions=3, outliers=0.05)
    assert detect_segments(points, values).segmented.mean() <= 0.02


def test_repetitions_tell_noise_that_makes_evidence() -> None:
    """Of normal noise of 30 % a third of such series were taken for segmented."""
    random = np.random.default_rng(12)
    truth = two_terms(random, POWERS[:8], 300)[..., None]
    noise = 0.3 * random.standard_normal((*truth.shape[:2], 2))
    assert detect_segments(POWERS[:8], truth * np.exp(noise)).segmented.mean() <= 0.02


@pytest.mark.parametrize("kind", [NoiseKind.MULTIPLICATIVE, NoiseKind.ADDITIVE])
def test_kernels_without_repetitions_tell_noise_that_makes_evidence(kind: NoiseKind) -> None:
    """Of normal noise of 15 % one in twenty of such series were taken for segmented."""
    random = np.random.default_rng(14)
    truth = two_terms(random, POWERS, 400)
    level = truth.mean(axis=1, keepdims=True) ** (1.0 - kind.gamma) * truth**kind.gamma
    values = truth + 0.15 * level * random.standard_normal(truth.shape)
    values = values[(values > 0.0).all(axis=1)]
    assert detect_segments(POWERS, values, noise=kind).segmented.mean() <= 0.02


def test_changes_under_the_noise_of_the_thresholds_are_found_without_repetitions() -> None:
    random = np.random.default_rng(15)
    truth = two_functions(random, POWERS, 400, first=5)
    values = measured(random, truth, noise=0.15)
    assert detect_segments(POWERS, values, noise="multiplicative").segmented.mean() > 0.93


@pytest.mark.parametrize("repetitions", [1, 3])
def test_noise_of_the_large_values_is_no_change_among_the_small_ones(repetitions: int) -> None:
    """Of additive noise of 5 % of the mean, the first thirds of a series may be all noise."""
    random, points = np.random.default_rng(16), 2.0 ** np.arange(1, 13)
    truth = inside(random, points, 300)
    values = measured(random, truth, noise=0.05, kind=NoiseKind.ADDITIVE, repetitions=repetitions)
    assert detect_segments(points, values, noise="additive").segmented.mean() <= 0.02


def test_additive_noise_of_large_kernels_is_no_outlier_beside_small_ones() -> None:
    random = np.random.default_rng(17)
    truth = two_functions(random, LINE, 200, first=5)
    values = measured(random, truth, noise=0.05, kind=NoiseKind.ADDITIVE, repetitions=3)
    assert detect_segments(LINE, values, noise="additive").segmented.mean() > 0.92


def test_a_change_among_few_kernels_of_one_behaviour_is_found() -> None:
    """Of a tenfold growth after the change, additive noise hides all of what is before it."""
    points = 2.0 ** np.arange(2, 10)
    smooth = [2.0 + 0.01 * points, 1.0 + 0.3 * points**0.5, np.full(8, 5.0), 0.1 + 200.0 / points]
    changed = np.where(points < 64.0, 1.0 + 0.05 * np.log2(points), 0.06 * points)
    truth = np.array([*smooth, 1.0 + 0.5 * np.log2(points), changed])[..., None]
    for seed in range(10):
        noise = 0.02 * np.random.default_rng(seed).standard_normal((*truth.shape[:2], 5))
        verdicts = detect_segments(points, truth * (1.0 + noise))
        assert verdicts.between(32.0, 64.0).tolist() == [False] * 5 + [True]


def test_a_lone_series_is_judged_under_both_kinds_of_noise() -> None:
    random = np.random.default_rng(6)
    truth = inside(random, LINE, 100)
    for kind in (NoiseKind.ADDITIVE, NoiseKind.MULTIPLICATIVE):
        values = measured(random, truth, noise=0.1, kind=kind)
        alone = [detect_segments(LINE, value[:, 0]).segmented[0] for value in values]
        assert sum(alone) <= 4
    values = measured(random, two_functions(random, LINE, 50, first=5), noise=0.02)
    assert sum(bool(detect_segments(LINE, value[:, 0]).segmented[0]) for value in values) > 40


def test_three_behaviours_have_two_changes() -> None:
    points = np.arange(1.0, 19.0)
    random = np.random.default_rng(8)
    parts = [np.full(6, 3.0), 10.0 + 2.0 * points[6:12], 900.0 / points[12:]]
    values = measured(random, np.tile(np.concatenate(parts), (60, 1)), noise=0.01)
    verdicts = detect_segments(points, values, noise="multiplicative")
    assert (verdicts.between(6.0, 7.0) & verdicts.between(12.0, 13.0)).mean() > 0.95
    assert np.mean([len(verdicts[kernel].changes) == 2 for kernel in range(60)]) > 0.9


def test_changes_that_mask_each_other_are_found() -> None:
    points = 2.0 ** np.arange(3, 23)
    random = np.random.default_rng(10)
    # A message: latency, a handshake from 4096 on, and memory from 2^20 on.
    truth = 0.65 + 1e-4 * points + 2.4 * (points >= 4096) + 1e-4 * points * (points >= 2.0**20)
    values = measured(random, np.tile(truth, (40, 1)), noise=0.03)
    verdicts = detect_segments(points, values, noise="multiplicative")
    assert verdicts.between(2048.0, 4096.0).mean() > 0.95
    single = measured(random, outside(random, points, SETS), noise=0.03)
    assert detect_segments(points, single, noise="multiplicative").segmented.mean() <= 0.02


def test_the_place_is_in_its_interval_as_often_as_said() -> None:
    random = np.random.default_rng(11)
    values = measured(random, two_functions(random, POWERS, SETS, first=6), noise=0.15)
    verdicts = detect_segments(POWERS, values, noise="multiplicative")
    held = [
        change.likely[0] <= POWERS[5] and POWERS[6] <= change.likely[1]
        for kernel in np.flatnonzero(verdicts.segmented)
        for change in verdicts[int(kernel)].changes[:1]
    ]
    assert np.mean(held) > 0.88


def test_each_side_gets_its_model_and_predictions_come_from_their_side() -> None:
    points = np.array(
        [
            600,
            1176,
            2400,
            4056,
            7776,
            11616,
            13824,
            14406,
            15000,
            16224,
            23814,
            31974,
            43350,
            54150.0,
        ]
    )
    values = np.where(points <= 15000, 49.36, 20.8 + 2.3e-7 * points**2)
    model = fit_segments(points, values)[0]
    (change,) = model.segmentation.changes
    assert (change.low, change.high) == (15000.0, 16224.0)
    sides = [part.model.expression() for part in model.segments if part.model]
    assert sides == ["49.36", "20.8 + 2.3e-7 * p^2"]
    np.testing.assert_allclose(
        model.evaluate(np.array([1000.0, 1e5])), [49.36, 20.8 + 2300.0], rtol=1e-6
    )
    low, high = model.interval(np.array([1000.0, 1e5]))
    assert (low <= model.evaluate(np.array([1000.0, 1e5])) + 1e-6).all()
    assert (high >= model.evaluate(np.array([1000.0, 1e5])) - 1e-6).all()
    assert "between 15000 and 16224" in model.explain()
    assert "15612" in model.advice()


def test_short_sides_are_provisional_and_the_advice_says_what_they_lack() -> None:
    points = 2.0 ** np.arange(4, 10)
    values = np.array([1.0, 1.0, 1.0, 9.0, 18.0, 36.0])
    model = fit_segments(points, values, noise="multiplicative")[0]
    assert [part.points for part in model.segments] == [3, 3]
    assert all(part.provisional for part in model.segments)
    assert "p = 1024, 2048 for a model on that side" in model.advice()
    assert "at or below p = 64" in model.advice()
    assert "p = 91 to narrow" in model.advice()


def test_five_points_are_too_few_for_a_verdict() -> None:
    verdict = detect_segments(LINE[:5], np.array([1, 1, 9, 9, 9.0]))[0]
    assert verdict.verdict is SegmentVerdict.TOO_FEW
    assert not verdict.segmented
    assert "6" in verdict.explain()
    model = fit_segments(LINE[:5], np.array([1, 1, 9, 9, 9.0]))[0]
    assert model.advice() == "measure p = 6"


def test_missing_points_are_judged_on_what_is_there() -> None:
    random = np.random.default_rng(9)
    values = measured(random, two_functions(random, LINE, 40, first=5), noise=0.01)[..., 0]
    holes = values.copy()
    holes[::2, 7] = np.nan
    whole = detect_segments(LINE, values, noise="multiplicative")
    found = detect_segments(LINE, holes, noise="multiplicative")
    for kernel in range(1, 40, 2):
        assert found[kernel].changes == whole[kernel].changes
    assert found.between(5.0, 6.0)[::2].mean() > 0.85
    assert 8.0 not in found[0].points


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(UsageError, match="likelihood, paper"):
        detect_segments(LINE, LINE, method="guess")


@pytest.mark.parametrize(
    ("grows", "begins"),
    [
        (lambda p: 1e-9 * p**4, []),
        (lambda p: 1e-9 * p**3.5, []),
        (lambda p: 1.01**p, []),
        (lambda p: 1e-9 * np.where(p > 64.0, 2.0, 1.0) * p, [6]),
    ],
    ids=["p^4", "p^3.5", "1.01^p", "a step"],
)
def test_one_growth_that_no_term_is_as_steep_as_is_no_change(grows, begins: list[int]) -> None:  # type: ignore[no-untyped-def]
    random = np.random.default_rng(3)
    noise = np.exp(0.01 * random.standard_normal((1, POWERS.size, 5)))
    found = detect_segments(POWERS, grows(POWERS)[None, :, None] * noise)[0]
    assert [change.first for change in found.changes] == begins
