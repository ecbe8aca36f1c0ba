"""Models of reduced solves, held against the same models of the complete ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.noise.cycle_places import fit_places
from hindmost.models.noise.digest import Digest
from hindmost.models.noise.fit import MODELS, NoiseModel, fit_models
from hindmost.models.noise.last_rank import fit_last_rank
from hindmost.models.noise.maxplus import fit_both
from hindmost.models.noise.moments import fit_bertsimas, fit_cramer, fit_mean_work
from hindmost.models.noise.nonstationary import fit_nonstationary
from hindmost.models.noise.stationary import fit_stationary
from hindmost.models.noise.times import SolveTimes
from hindmost.models.synthetic.reduced import reduced_solve, solve_with_halos, with_columns
from hindmost.models.synthetic.solves import line_of_ranks, synthetic_solve

BODIES, RANKS = 240, 40


def work_of(seed: int, *parts: int) -> NDArray[np.float64]:
    """Return skewed work of ranks of unlike level, in seconds."""
    random = np.random.default_rng(seed)
    level = 1.0 + 0.05 * random.random(RANKS).reshape(RANKS, *(1 for _ in parts))
    return 1e-4 * level * (1.0 + 0.1 * random.gamma(1.0, 1.0, (BODIES, RANKS, *parts)))


def with_halos() -> SolveTimes:
    return solve_with_halos(
        work_of(3, 3), line_of_ranks(RANKS), transfer_s=2e-6, latency_s=3e-6, restart=30
    )


@pytest.mark.parametrize("lag", [0, 2])
def test_models_of_whole_bodies_are_those_of_the_complete_solve(lag: int) -> None:
    times = synthetic_solve(
        work_of(1), lag=lag, latency_s=2e-6, restart=30, edges=line_of_ranks(RANKS)
    )
    reduced, chosen = reduced_solve(times, 0.1)
    assert (reduced.columns, reduced.ranks) == (4, RANKS)
    assert chosen.kept.sum() == 4
    digests = Digest.of(times), Digest.of(reduced)
    for fit in (fit_stationary, fit_nonstationary, fit_mean_work, fit_cramer, fit_bertsimas):
        complete, found = fit(times, digests[0]).predict(), fit(reduced, digests[1]).predict()
        assert found.seconds == pytest.approx(complete.seconds, rel=1e-6), fit
        assert found.high_s == pytest.approx(complete.high_s, rel=1e-6), fit


def test_blocking_reductions_without_halos_need_the_last_rank_only() -> None:
    times = synthetic_solve(work_of(2), lag=0, latency_s=2e-6, restart=30)
    reduced, _ = reduced_solve(times, 0.05)
    for found, true in zip(fit_last_rank(reduced)[0], fit_both(times), strict=True):
        assert found.bodies_s == pytest.approx(true.bodies_s, rel=1e-12)
        assert found.predict().seconds == pytest.approx(times.solve_time_s, rel=1e-9)
        assert found.latency_s == pytest.approx(2e-6)
    # The kept ranks alone hide the work of the others in the latency of the reduction.
    assert fit_both(replace(reduced, all_ranks=None))[0].latency_s > 4e-6


def test_events_without_halos_are_exact_and_with_them_are_refused() -> None:
    times = with_halos()
    reduced, _ = reduced_solve(times, 0.1)
    (found,), refused = fit_last_rank(reduced)
    assert found.name == "max-plus-no-halo"
    assert found.bodies_s == pytest.approx(fit_both(times)[1].bodies_s, rel=1e-9)
    assert "Run without --keep" in refused["max-plus"]


@pytest.mark.parametrize("lag", [1, 4])
def test_pipelined_reductions_are_refused(lag: int) -> None:
    times = synthetic_solve(work_of(4), lag=lag, latency_s=2e-6, restart=30)
    reduced, _ = reduced_solve(times, 0.2)
    with pytest.raises(DataError, match="pipelined reductions"):
        fit_last_rank(reduced)


def with_few_models(monkeypatch: pytest.MonkeyPatch, *more: NoiseModel) -> None:
    """Leave models of laws out, which take long to fit."""
    few = {"mean-work": MODELS["mean-work"], **{model.name: model for model in more}}
    monkeypatch.setattr(MODELS, "_members", few)


def test_events_that_differ_between_ranks_allow_no_max_plus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reduced, _ = reduced_solve(with_halos(), 0.1)
    assert reduced.all_ranks is not None
    unknown = replace(reduced, all_ranks=replace(reduced.all_ranks, events=None))
    with_few_models(monkeypatch)
    fits = fit_models(unknown, families=False)
    assert "did not have the same events" in fits.refused["max-plus"]
    assert not any(model.name.startswith("max-plus") for model in fits.models)
    assert "mean-work" in {model.name for model in fits.models}


def test_a_model_that_reads_bodies_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_few_models(monkeypatch, NoiseModel(name="own", fit=fit_nonstationary))
    times = synthetic_solve(work_of(1), lag=0, latency_s=2e-6, restart=30)
    reduced, _ = reduced_solve(times, 0.1)
    assert "own" not in fit_models(times, families=False).refused
    refused = fit_models(reduced, families=False).refused
    assert "reads the iterations of every rank" in refused["own"]


def test_a_later_solve_is_predicted_as_from_all_ranks() -> None:
    times = synthetic_solve(work_of(6), lag=2, latency_s=2e-6, restart=30)
    reduced, _ = reduced_solve(times, 0.1)
    true, found = (fit_places([each]).predict(480) for each in (times, reduced))
    assert found.seconds == pytest.approx(true.seconds, rel=1e-12)
    assert found.high_s == pytest.approx(true.high_s, rel=1e-9)


def test_ranks_that_do_not_meet_are_predicted_by_the_slowest_if_it_was_kept() -> None:
    durations = np.tile(np.linspace(1e-4, 2e-4, RANKS), (BODIES, 1))
    times = replace(
        synthetic_solve(work_of(6), lag=2, latency_s=2e-6, restart=30),
        durations=durations,
        work=durations,
    )
    kept = with_columns(times, np.array([3, RANKS - 1]))
    assert fit_places([kept]).predict().seconds == fit_places([times]).predict().seconds
    with pytest.raises(DataError, match="rank 39, which has no full records"):
        fit_places([with_columns(times, np.array([3, 4]))])
