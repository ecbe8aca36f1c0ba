"""Models of reduced solves, held against the same models of the complete ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.noise.cycle_places import fit_places
from hindmost.models.noise.digest import AllRanks, Digest
from hindmost.models.noise.fit import MODELS, NoiseModel, fit_models
from hindmost.models.noise.moments import fit_bertsimas, fit_cramer, fit_mean_work
from hindmost.models.noise.stationary import fit_stationary
from hindmost.models.noise.times import SolveTimes
from hindmost.models.noise.uniform import fit_nonstationary
from hindmost.models.ranks.body_extremes import digest_of_ranks
from hindmost.models.synthetic.solves import line_of_ranks, synthetic_solve

BODIES, RANKS = 240, 40


def work_of(seed: int, *parts: int) -> NDArray[np.float64]:
    """Return skewed work of ranks of unlike level, in seconds."""
    random = np.random.default_rng(seed)
    level = 1.0 + 0.05 * random.random(RANKS).reshape(RANKS, *(1 for _ in parts))
    return 1e-4 * level * (1.0 + 0.1 * random.gamma(1.0, 1.0, (BODIES, RANKS, *parts)))


def reduced_solve(times: SolveTimes, *kept: int) -> SolveTimes:
    """Return a solve with the columns of some ranks, and what is reduced of all."""
    columns = list(kept)
    every = AllRanks(
        ranks=times.columns,
        kept=np.array(columns),
        total_s=times.durations[:].sum(axis=0),
        digest=digest_of_ranks(times.durations[:], times.fill),
    )
    none = np.empty(0, np.int32)
    return replace(
        times,
        durations=times.durations[:][:, columns],
        work=times.work[:][:, columns],
        edge_source=none,
        edge_target=none,
        all_ranks=every,
    )


@pytest.mark.parametrize("lag", [0, 2])
def test_models_of_whole_bodies_are_those_of_the_complete_solve(lag: int) -> None:
    times = synthetic_solve(
        work_of(1), lag=lag, latency_s=2e-6, restart=30, edges=line_of_ranks(RANKS)
    )
    reduced = reduced_solve(times, 3, 7, 8, 30)
    assert (reduced.columns, reduced.ranks) == (4, RANKS)
    digests = Digest.of(times), Digest.of(reduced)
    for fit in (fit_stationary, fit_nonstationary, fit_mean_work, fit_cramer, fit_bertsimas):
        complete, found = fit(times, digests[0]).predict(), fit(reduced, digests[1]).predict()
        assert found.seconds == pytest.approx(complete.seconds, rel=1e-6), fit
        assert found.high_s == pytest.approx(complete.high_s, rel=1e-6), fit


def with_few_models(monkeypatch: pytest.MonkeyPatch, *more: NoiseModel) -> None:
    """Leave models of laws out, which take long to fit."""
    few = {"mean-work": MODELS["mean-work"], **{model.name: model for model in more}}
    monkeypatch.setattr(MODELS, "_members", few)


def test_a_model_that_reads_bodies_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_few_models(monkeypatch, NoiseModel(name="own", fit=fit_nonstationary))
    times = synthetic_solve(work_of(1), lag=0, latency_s=2e-6, restart=30)
    reduced = reduced_solve(times, 3, 7, 8, 30)
    assert "own" not in fit_models(times, families=False).refused
    fits = fit_models(reduced, families=False)
    for name in ("own", "max-plus"):
        assert "reads the iterations of every rank" in fits.refused[name]
    assert {model.name for model in fits.models} == {"mean-work"}


def test_a_later_solve_is_predicted_as_from_all_ranks() -> None:
    times = synthetic_solve(work_of(6), lag=2, latency_s=2e-6, restart=30)
    reduced = reduced_solve(times, 3, 7, 8, 30)
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
    kept = reduced_solve(times, 3, RANKS - 1)
    assert fit_places([kept]).predict().seconds == fit_places([times]).predict().seconds
    with pytest.raises(DataError, match="rank 39, which has no full records"):
        fit_places([reduced_solve(times, 3, 4)])
