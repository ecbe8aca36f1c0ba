from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hindmost.errors import DataError
from hindmost.models.laws.law import Law, law_of
from hindmost.models.noise.times import SolveTimes
from hindmost.models.noise.uniform import (
    RedrawnUniform,
    UniformLaws,
    fit_redrawn_uniform,
    fit_uniforms,
)
from hindmost.models.results import ModelKind
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
    laws = fit_uniforms(times.min(axis=1), times.max(axis=1), 4)
    for fitted, true in ((laws.least, LEAST), (laws.span, SPAN)):
        sample = true.at_normal(np.random.default_rng(2).standard_normal(1000))
        a, b, loc, scale = fitted.parameters
        normal = a + b * np.arcsinh((sample - loc) / scale)
        assert stats.kstest(normal, "norm").pvalue > 0.01
        assert fitted.mean == pytest.approx(true.mean, rel=2e-3)


@pytest.mark.parametrize("blocking", [True, False])
def test_repetitions_of_section_6_tend_to_the_prediction(blocking: bool) -> None:
    laws = UniformLaws(least=LEAST, span=SPAN)
    model = RedrawnUniform(bodies=500, ranks=16, blocking=blocking, laws=laws, fill_s=0.01)
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
    again = RedrawnUniform(**inputs, laws=UniformLaws(least=least, span=span, fitted=fitted))
    assert again == model
    low, said, high = model.predict().low_s, model.predict().seconds, model.predict().high_s
    assert low < said < high
    assert (model.name, model.kind) == ("redrawn-uniform", ModelKind.EXPLAINS)
    assert model.explain().endswith(".")


def test_blocking_redraw_gives_the_time_of_such_a_run() -> None:
    times = solve_times(uniform_run(4000, 64, seed=4))
    # All 64 lie between the ends, so the ends are those of 62 more ranks: P / (P + 1) is short.
    assert fit_redrawn_uniform(times).predict().error_percent(times.solve_time_s) == pytest.approx(
        0.0, abs=1.0
    )


TABLE_2 = {
    "ex23 gmres": ((-5.86e-01, 3.35, 3.97e-04, 1.07e-21), (-7.40e-01, 3.21, 8.06e-04, 1.86e-23)),
    "ex23 pgmres": ((2.84, 6.74, 3.10e-04, 2.26e-19), (-6.18e-02, 2.42, 2.21e-03, 6.47e-19)),
    "ex48 gmres": ((6.74e-01, 2.09, 2.22e-02, 2.24e-24), (6.69e-01, 2.10, 1.71e-03, 9.23e-26)),
    "ex48 pgmres": ((-6.02e-01, 3.34, 4.07e-04, 3.05e-23), (1.24, 1.84, 1.36e-02, 1.66e-18)),
}
"""a, b, loc, scale of a_k and of s_k, as printed."""


@pytest.mark.parametrize(
    ("run", "table_3_s", "given_s"),
    [
        ("ex23 gmres", 2.416, 5.98),
        ("ex23 pgmres", 1.908, 7.08),
        ("ex48 gmres", 3.14, 119.5),
        ("ex48 pgmres", 2.482, 36.0),
    ],
)
def test_table_2_of_the_paper_does_not_give_its_table_3(
    run: str, table_3_s: float, given_s: float
) -> None:
    # The printed scales are so small that every draw equals loc; P_hat is 8192 / 64.
    least, span = (law_of("johnsonsu", a, b, loc, scale) for a, b, loc, scale in TABLE_2[run])
    model = RedrawnUniform(
        bodies=5000,
        ranks=128,
        blocking=not run.endswith("pgmres"),
        laws=UniformLaws(least=least, span=span),
    )
    said = model.predict()
    assert said.seconds == pytest.approx(given_s, rel=2e-3)
    assert said.seconds > 2.4 * table_3_s


def test_bodies_that_fill_a_pipeline_are_in_no_fit_but_in_the_time() -> None:
    durations = uniform_run(640, 4, seed=5)
    fill = np.arange(640) % 32 < 2
    durations[fill] = 1e-6
    times = solve_times(durations, fill=fill, synchronisation="pipelined", lag=1)
    model = fit_redrawn_uniform(times)
    assert model.bodies == model.laws.fitted == 600
    assert model.fill_s == pytest.approx(40e-6)
    mean = durations[~fill].min(axis=1).mean() + 0.5 * np.ptp(durations[~fill], axis=1).mean()
    assert model.predict().seconds == pytest.approx(600 * mean + 40e-6, rel=5e-3)


def test_nodes_can_stand_for_ranks() -> None:
    times = solve_times(uniform_run(500, 16, seed=6), nodes=4)
    nodes, ranks = (fit_redrawn_uniform(replace(times, by_node=each)) for each in (True, False))
    assert (nodes.ranks, ranks.ranks) == (4, 16)
    assert nodes.predict().seconds < ranks.predict().seconds


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
    laws = UniformLaws(least=LEAST, span=replace(SPAN, scale=2e-3), fitted=1)
    said = RedrawnUniform(bodies=10**4, ranks=2, blocking=True, laws=laws).predict()
    assert 0.0 == said.low_s < said.seconds < said.high_s
