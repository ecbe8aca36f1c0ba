"""Uniform laws of iterations, and whether times follow them."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal, stats

from hindmost.errors import DataError
from hindmost.models.laws.law import Law, law_of
from hindmost.models.noise.kolmogorov import (
    compare_ranks,
    critical_distance,
)
from hindmost.models.noise.stationary import (
    RedrawnUniform,
    fit_redrawn_uniform,
)
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind, Prediction
from hindmost.output import strict_json

LEAST = law_of("johnsonsu", -1.2, 1.6, 4e-4, 3e-5)
SPAN = law_of("johnsonsu", -2.0, 1.9, 6e-5, 2e-5)


def solve_times(durations: NDArray[np.float64], **changes: Any) -> SolveTimes:
    iterations = durations.shape[0]
    given = SolveTimes(
        durations=durations,
        work=durations,
        fill=np.zeros(iterations, bool),
        position=np.arange(iterations, dtype=np.int32) % 30,
        between_s=0.0,
        edge_source=np.empty(0, np.int32),
        edge_target=np.empty(0, np.int32),
        synchronisation="blocking",
        lag=0,
        solve_time_s=float(durations.max(axis=1).sum()),
    )
    return replace(given, **changes)


def uniform_run(iterations: int, ranks: int, seed: int) -> NDArray[np.float64]:
    """Return times whose laws are drawn from LEAST and SPAN; the ends are a rank's each."""
    random = np.random.default_rng(seed)
    least = LEAST.at_normal(random.standard_normal((iterations, 1)))
    span = SPAN.at_normal(random.standard_normal((iterations, 1)))
    place = random.random((iterations, ranks))
    place[:, 0], place[:, 1] = 0.0, 1.0
    return np.asarray(random.permuted(least + span * place, axis=1))


def printed_law(printed: dict[str, float]) -> Law:
    """Return the law with the parameters that were printed, under scipy's names."""
    return law_of("johnsonsu", printed["a"], printed["b"], printed["loc"], printed["scale"])


def test_recovers_the_laws_it_was_drawn_from() -> None:
    times = uniform_run(20_000, 4, seed=1)
    model = fit_redrawn_uniform(solve_times(times))
    for fitted, true in ((model.least, LEAST), (model.span, SPAN)):
        sample = true.at_normal(np.random.default_rng(2).standard_normal(1000))
        a, b, loc, scale = fitted.parameters
        normal = a + b * np.arcsinh((sample - loc) / scale)
        assert stats.kstest(normal, "norm").pvalue > 0.01
        assert fitted.mean == pytest.approx(true.mean, rel=2e-3)


@pytest.mark.parametrize("blocking", [True, False])
def test_repetitions_of_section_6_tend_to_the_prediction(blocking: bool) -> None:
    model = RedrawnUniform(
        bodies=500, ranks=16, blocking=blocking, least=LEAST, span=SPAN, fill_s=0.01
    )
    random = np.random.default_rng(1)
    least, span = (
        stats.johnsonsu(*law.parameters).rvs((4000, 500), random_state=random)
        for law in (LEAST, SPAN)
    )
    place = random.random((4000, 500))
    body = least + span * (place ** (1 / 16) if blocking else place)  # the maximum of 16 draws
    solves = 0.01 + body.sum(axis=1)
    prediction = model.predict()
    assert prediction.seconds == pytest.approx(solves.mean(), abs=4 * solves.std() / 4000**0.5)
    low, high = np.quantile(solves, (0.05, 0.95))
    assert prediction.low_s == pytest.approx(low, abs=0.15 * solves.std())
    assert prediction.high_s == pytest.approx(high, abs=0.15 * solves.std())


@pytest.mark.parametrize("synchronisation", ["blocking", "pipelined"])
def test_printed_parameters_simulate_the_printed_time(synchronisation: str) -> None:
    times = solve_times(uniform_run(3000, 8, seed=3), synchronisation=synchronisation)
    model = fit_redrawn_uniform(times)
    printed = json.loads(strict_json(model.parameters()))
    inputs = {name: printed[name] for name in ("bodies", "ranks", "blocking", "fill_s")}
    least, span = (printed_law(printed["laws"][name]) for name in ("least", "span"))
    fitted = printed["laws"]["fitted_iterations"]
    again = RedrawnUniform(**inputs, least=least, span=span, fitted=fitted)
    assert again == model
    low, said, high = model.predict().low_s, model.predict().seconds, model.predict().high_s
    assert low < said < high
    assert (model.name, model.kind) == ("redrawn-uniform", ModelKind.EXPLAINS)
    assert model.explain().endswith(".")


def test_bodies_that_fill_a_pipeline_are_in_no_fit_but_in_the_time() -> None:
    durations = uniform_run(640, 4, seed=5)
    fill = np.arange(640) % 32 < 2
    durations[fill] = 1e-6
    times = solve_times(durations, fill=fill, synchronisation="pipelined", lag=1)
    model = fit_redrawn_uniform(times)
    assert model.bodies == model.fitted == 600
    assert model.fill_s == pytest.approx(40e-6)
    mean = durations[~fill].min(axis=1).mean() + 0.5 * np.ptp(durations[~fill], axis=1).mean()
    assert model.predict().seconds == pytest.approx(600 * mean + 40e-6, rel=5e-3)


@pytest.mark.parametrize(
    ("durations", "word"),
    [
        (np.random.default_rng(0).random((100, 1)) + 1, "it needs 2"),
        (np.random.default_rng(0).random((100, 1)) + np.array([1.0, 1.5]), "spans s_k"),
        (np.ones((100, 1)) + np.random.default_rng(0).random((100, 2)) * [0, 1], "fastest ranks"),
        (np.random.default_rng(0).random((4, 3)) + 1, "too few"),
    ],
)
def test_what_has_no_law_is_refused(durations: NDArray[np.float64], word: str) -> None:
    with pytest.raises(DataError, match=word):
        fit_redrawn_uniform(solve_times(durations))


def test_only_fill_bodies_are_refused() -> None:
    times = solve_times(uniform_run(10, 2, seed=7), fill=np.ones(10, bool))
    with pytest.raises(DataError, match="only fill a pipeline"):
        fit_redrawn_uniform(times)


def test_a_solve_takes_no_less_than_nothing() -> None:
    span = replace(SPAN, scale=2e-3)
    model = RedrawnUniform(bodies=10**4, ranks=2, blocking=True, least=LEAST, span=span, fitted=1)
    said = model.predict()
    assert 0.0 == said.low_s < said.seconds < said.high_s


def correlated(phi: float, shape: tuple[int, int], seed: int) -> NDArray[np.float64]:
    """Return lognormal times (iteration, rank) whose logs are AR(1) series of one law."""
    noise = np.random.default_rng(seed).standard_normal((shape[0] + 200, shape[1]))
    logs = signal.lfilter([1.0], [1.0, -phi], noise, axis=0)[200:] * np.sqrt(1.0 - phi**2)
    return np.asarray(1e-4 * np.exp(0.2 * logs))


@pytest.mark.parametrize("resolution", [0.0, 0.05, 1.0])
def test_distances_are_those_of_scipy(resolution: float) -> None:
    times = np.random.default_rng(1).gamma(2.0, 1.0, (300, 7))
    times[:, 3] *= 1.3
    if resolution:
        times = np.round(times / resolution) * resolution
    comparison = compare_ranks(times)
    assert comparison.pairs == comparison.possible == 21
    for p, q, distance in zip(
        comparison.first, comparison.second, comparison.distance, strict=True
    ):
        scipys = stats.ks_2samp(times[:, p], times[:, q], method="asymp").statistic
        assert distance == pytest.approx(scipys, abs=1e-12)


def test_critical_distance_is_the_limit_law_of_kolmogorov() -> None:
    # The paper prints 0.024 and 0.023, which are those of alpha = 0.10.
    assert critical_distance(0.05, 5000, 5000) == pytest.approx(0.0272, abs=5e-5)
    assert critical_distance(0.05, 5334, 5334) == pytest.approx(0.0263, abs=5e-5)
    assert critical_distance(0.10, 5000, 5000) == pytest.approx(0.0245, abs=5e-5)
    for alpha in (0.001, 0.05, 0.1):
        c = critical_distance(alpha, 1.0, 1.0) / np.sqrt(2.0)
        assert stats.kstwobign.sf(c) == pytest.approx(alpha, rel=1e-3)


@pytest.mark.parametrize("phi", [0.5, 0.7, 0.9])
def test_serial_correlation_is_allowed_for(phi: float) -> None:
    # No rank is in two pairs, so the tests are independent.
    pairs = 400
    times = correlated(phi, (2000, 2 * pairs), seed=int(10 * phi)).reshape(2000, pairs, 2)
    found = [compare_ranks(times[:, pair]) for pair in range(pairs)]
    plain, corrected = (
        sum(each.rejected for each in found),
        int(sum(each.rejected_corrected for each in found)),
    )
    assert plain > 0.15 * pairs
    # Seldom at one law, and not never.
    assert stats.binomtest(corrected, pairs, 0.05, alternative="greater").pvalue > 0.01
    assert corrected > 0


def test_ranks_of_unlike_law_are_told_apart_in_spite_of_correlation() -> None:
    times = correlated(0.7, (5000, 20), seed=5)
    times[:, 7] *= 1.1  # half a standard deviation
    comparison = compare_ranks(times)
    differs = comparison.distance > comparison.corrected
    with_7 = (comparison.first == 7) | (comparison.second == 7)
    assert differs[with_7].all()
    assert differs[~with_7].mean() < 0.1


def test_of_many_ranks_some_are_compared_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hindmost.models.noise.kolmogorov.MAX_VALUES", 50 * 50 * 49 // 2)
    times = correlated(0.0, (50, 400), seed=6)
    comparison = compare_ranks(times)
    assert comparison.pairs == 49 * 48 // 2
    assert comparison.possible == 400 * 399 // 2
    assert {0, 399} < {*comparison.first.tolist(), *comparison.second.tolist()}
    assert "1,176 pairs of ranks, a sample of 79,800" in comparison.explain()


def test_constant_and_equal_ranks_are_alike() -> None:
    comparison = compare_ranks(np.full((40, 3), 1e-4))
    assert comparison.rejected == comparison.rejected_corrected == 0.0
    assert comparison.explain().endswith(".")
    figures = json.loads(json.dumps(comparison.to_json(), allow_nan=False))
    assert figures["distance_largest"] == 0.0


@pytest.mark.parametrize(
    ("times", "word"),
    [
        (np.ones((5, 1)), "at least 2"),
        (np.ones(5), "at least 2"),
        (np.full((5, 2), np.nan), "not a number"),
    ],
)
def test_what_cannot_be_tested_is_refused(times: NDArray[np.float64], word: str) -> None:
    with pytest.raises(DataError, match=word):
        compare_ranks(times)


def test_an_interval_around_a_time_ends_at_0() -> None:
    assert Prediction.around(1.0, 3.0) == Prediction(seconds=1.0, low_s=0.0, high_s=4.0)
