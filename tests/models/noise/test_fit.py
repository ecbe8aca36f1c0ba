from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from hindmost.errors import DataError
from hindmost.models.laws.law import fit_johnsonsu
from hindmost.models.noise.fit import fit_models
from hindmost.models.noise.moments import bertsimas_bound, cramer_bound
from hindmost.models.noise.times import SolveTimes
from hindmost.models.noise.uniform import fit_nonstationary
from hindmost.models.results import ModelKind


def solve_times(**changes: Any) -> SolveTimes:
    """Return times of 4 ranks that meet after each body, with a latency of 2 us."""
    work = np.random.default_rng(2).gamma(4.0, 1e-5, (600, 4))
    durations = np.repeat(work.max(axis=1, keepdims=True) + 2e-6, 4, axis=1)
    given = SolveTimes(
        durations=durations,
        work=work,
        fill=np.zeros(600, bool),
        position=np.arange(600, dtype=np.int32) % 30,
        between_s=1e-3,
        edge_source=np.array([0, 1], np.int32),
        edge_target=np.array([1, 0], np.int32),
        synchronisation="blocking",
        lag=0,
        solve_time_s=float(durations[:, 0].sum()) + 1e-3,
    )
    return replace(given, **changes)


def test_max_plus_gives_the_time_of_a_run_that_does_what_it_says() -> None:
    times = solve_times()
    fits = {model.name: model for model in fit_models(times, families=False).models}
    assert set(fits) == {
        "max-plus",
        "max-plus-no-halo",
        "stationary-johnsonsu",
        "stationary-nct",
        "nonstationary-uniform",
        "mean-work",
        "cramer",
        "bertsimas",
    }
    error = fits["max-plus"].predict().error_percent(times.solve_time_s)
    assert error == pytest.approx(0, abs=1e-9)
    assert fits["max-plus"].parameters()["latency_s"] == pytest.approx(2e-6)
    # Bodies tile the solve: their mean is the solve time less what lies between.
    assert fits["mean-work"].predict().seconds == pytest.approx(times.solve_time_s - 1e-3)
    assert {model.kind for model in fits.values()} == {
        ModelKind.EXPLAINS,
        ModelKind.IDENTITY,
        ModelKind.BOUND,
    }


def test_intervals_hold_their_predictions() -> None:
    for model in fit_models(solve_times(), families=False).models:
        prediction = model.predict()
        assert prediction.low_s <= prediction.seconds <= prediction.high_s
        assert model.explain().endswith(".")


def test_pipelined_solvers_have_no_bounds_on_the_slowest() -> None:
    fits = fit_models(solve_times(synchronisation="pipelined", lag=1), families=False)
    assert not {"cramer", "bertsimas"} & {model.name for model in fits.models}


def test_nonstationary_closed_form_is_equation_7() -> None:
    ranks = 4
    durations = np.random.default_rng(1).uniform(1.0, 2.0, (5, ranks))
    least, span = durations.min(axis=1), np.ptp(durations, axis=1)
    expected = 0.0
    for a, s in zip(least, span, strict=True):
        value, _ = integrate.quad(
            lambda x, a=a, s=s: x * ((x - a) / s) ** (ranks - 1) / s, a, a + s
        )
        expected += ranks * value
    times = solve_times(
        durations=durations,
        work=durations,
        fill=np.zeros(5, bool),
        position=np.zeros(5, np.int32),
    )
    assert fit_nonstationary(times).predict().seconds == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("count", [1, 2, 50])
def test_bounds_hold_and_are_ordered(count: int) -> None:
    sample = np.random.default_rng(4).exponential(1.0, (20_000, count)).max(axis=1)
    cramer, bertsimas = cramer_bound(1.0, 1.0, count), bertsimas_bound(1.0, 1.0, count)
    assert sample.mean() <= cramer + 0.03 <= bertsimas + 0.06


def test_constant_times_refuse_only_the_models_that_need_a_spread() -> None:
    flat = np.full((600, 4), 1e-4)
    fits = fit_models(solve_times(durations=flat, work=flat), families=False)
    refused = {"stationary-johnsonsu", "stationary-nct", "redrawn-uniform"}
    assert set(fits.refused) == refused
    assert "equal" in fits.refused["stationary-johnsonsu"]


def test_times_without_a_law_are_not_said_to_be_few_or_equal() -> None:
    random = np.random.default_rng(1)
    times = np.append(random.normal(1.0, 1e-3, 900), random.exponential(50.0, 300))
    with pytest.raises(DataError, match=r"has another mean \(1200 values, 1200 different\)"):
        fit_johnsonsu(times)


def test_one_rank_and_one_iteration_are_answered() -> None:
    one = np.array([[1e-4]])
    fits = fit_models(
        solve_times(
            durations=one,
            work=one,
            fill=np.zeros(1, bool),
            position=np.zeros(1, np.int32),
            edge_source=np.empty(0, np.int32),
            edge_target=np.empty(0, np.int32),
        ),
        families=False,
    )
    assert {model.name: round(model.predict().seconds, 9) for model in fits.models} == {
        "max-plus": 1.1e-3,
        "max-plus-no-halo": 1.1e-3,
        "nonstationary-uniform": 1e-4,
        "mean-work": 1e-4,
        "cramer": 1e-4,
        "bertsimas": 1e-4,
    }


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"durations": np.full((600, 4), np.nan)}, "not a number"),
        ({"durations": np.full((600, 4), -1.0)}, "lasts"),
        ({"durations": np.zeros((600, 4))}, "lasts"),
        ({"durations": np.empty((0, 4))}, "shape"),
        ({"work": np.zeros((600, 3))}, "Work of shape"),
    ],
)
def test_impossible_times_are_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(DataError, match=word):
        solve_times(**changes)


def test_the_best_of_the_families_is_a_model_and_is_ranked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All of them are fitted in test_families.py; that takes seconds.
    few = ["cauchy", "gamma", "gumbel_r", "norm"]
    monkeypatch.setattr("hindmost.models.laws.families.scipys_families", lambda: few)
    fits = fit_models(solve_times())
    ranked = {candidate.law.name for candidate in fits.laws}
    assert {"johnsonsu", "nct", *few} <= ranked
    model = next(model for model in fits.models if model.name == "stationary-best")
    assert abs(model.predict().error_percent(solve_times().solve_time_s)) < 60


def test_nodes_are_drawn_instead_of_ranks() -> None:
    ranks = {m.name: m for m in fit_models(solve_times(), families=False).models}
    nodes = {
        m.name: m for m in fit_models(solve_times(nodes=2, by_node=True), families=False).models
    }
    for name in ("stationary-johnsonsu", "cramer"):
        assert nodes[name].predict().seconds < ranks[name].predict().seconds
    assert nodes["max-plus"].predict() == ranks["max-plus"].predict()


def test_one_body_has_no_second_half() -> None:
    one = np.array([[1e-4, 2e-4]])
    times = solve_times(
        durations=one, work=one, fill=np.zeros(1, bool), position=np.zeros(1, np.int32)
    )
    model = fit_models(times, families=False).models[0]
    assert model.parameters()["second_half_error_percent"] is None
    assert "second" not in model.explain()
