from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.models.noise.test_fit import solve_times

from hindmost.errors import DataError
from hindmost.models.laws import families
from hindmost.models.laws.law import Candidate, law_of
from hindmost.models.noise.maxplus import Replay
from hindmost.models.noise.stationary import (
    Stationary,
    fit_stationary,
    fit_stationary_nct,
    stationary_of_best,
)
from hindmost.models.noise.times import SolveTimes
from hindmost.models.simulation.blocks import whole_bodies
from hindmost.models.simulation.event_simulator import reductions_alike


def fit_stationary_best(times: SolveTimes) -> Stationary:
    digest = times.digest()
    return stationary_of_best(families.fit_families(digest.sample), times, digest)


FITS = {
    "stationary-johnsonsu": fit_stationary,
    "stationary-nct": fit_stationary_nct,
    "stationary-best": fit_stationary_best,
}


@pytest.fixture(autouse=True)
def few_families(monkeypatch: pytest.MonkeyPatch) -> None:
    # All of them are fitted in test_families.py; that takes seconds.
    where = "hindmost.models.laws.families.scipys_families"
    monkeypatch.setattr(where, lambda: ["cauchy", "gamma", "gumbel_r", "norm"])


def times_of(durations: Any, **changes: Any) -> SolveTimes:
    count = durations.shape[0]
    return solve_times(
        durations=durations,
        work=durations,
        fill=np.zeros(count, bool),
        position=np.arange(count, dtype=np.int32) % 30,
        **changes,
    )


@pytest.mark.parametrize("name", FITS)
def test_printed_parameters_simulate_the_prediction_again(name: str) -> None:
    durations = np.random.default_rng(6).gamma(4.0, 1e-5, (500, 16)) + 1e-4
    model = FITS[name](times_of(durations))
    assert model.name == name
    printed = model.parameters()
    family: Any = getattr(stats, printed.pop("family"))
    draws = family(**printed).rvs((20_000, 16), random_state=np.random.default_rng(1))
    simulated = 500 * draws.max(axis=1).mean()
    prediction = model.predict()
    assert prediction.seconds == pytest.approx(simulated, rel=3e-3)
    # And that is what such bodies take.
    assert prediction.seconds == pytest.approx(durations.max(axis=1).sum(), rel=0.02)
    half = 1.645 * np.sqrt(500) * draws.max(axis=1).std()
    assert model.fit_deviation_s > 0
    exact = replace(model, fit_deviation_s=0.0).predict()
    assert exact.high_s - exact.seconds == pytest.approx(half, rel=0.05)
    assert prediction.high_s > exact.high_s
    assert model.explain().endswith(".")


@pytest.mark.parametrize("name", ["stationary-johnsonsu", "stationary-nct"])
def test_pipelined_bodies_take_the_mean(name: str) -> None:
    durations = np.random.default_rng(6).gamma(4.0, 1e-5, (500, 16)) + 1e-4
    model = FITS[name](times_of(durations, synchronisation="pipelined", lag=1))
    assert model.predict().seconds == pytest.approx(500 * durations.mean(), rel=2e-3)


def test_a_law_without_variance_predicts_nothing() -> None:
    durations = 1e-3 + 1e-5 * stats.nct.rvs(1.2, 1.0, size=(400, 8), random_state=3)
    durations = np.abs(durations) + 1e-6
    with pytest.raises(DataError, match="no finite variance"):
        fit_stationary_nct(times_of(durations))


def test_laws_that_predict_nothing_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    durations = np.random.default_rng(6).gamma(4.0, 1e-5, (500, 16)) + 1e-4
    laws = (
        law_of("cauchy", 1.4e-4, 1e-5),  # no mean
        law_of("t", 1.5, 1.4e-4, 1e-5),  # no variance
        law_of("norm", 1.6e-4, 1e-5),  # another mean
        law_of("norm", 1.41e-4, 2e-5),
        law_of("norm", 1.40e-4, 2e-5),
    )

    def ranked(upto: int) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(law=law, squared_error=float(i), log_likelihood=0.0)
            for i, law in enumerate(laws[:upto])
        )

    where = "hindmost.models.laws.families.fit_families"
    monkeypatch.setattr(where, lambda _: ranked(5))
    assert fit_stationary_best(times_of(durations)).law is laws[3]
    monkeypatch.setattr(where, lambda _: ranked(3))
    with pytest.raises(DataError, match="No family"):
        fit_stationary_best(times_of(durations))


@pytest.mark.parametrize("name", FITS)
def test_equal_times_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="equal"):
        FITS[name](times_of(np.full((50, 4), 1e-4)))


NO_EDGES = np.empty(0, np.int32)


def line(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    pairs = [(p, q) for p in range(ranks) for q in range(ranks) if abs(p - q) == 1]
    source, target = np.array(pairs, np.int32).T
    return source, target


def brute_force(
    work: NDArray[np.float64],
    latency: float,
    lag: int,
    starts: list[int],
    edges: list[tuple[int, int]],
) -> float:
    """Walk the dependencies one by one, as the module's docstring states them."""
    iterations, ranks = work.shape
    total = 0.0
    for first, last in zip(starts, [*starts[1:], iterations], strict=True):
        ended = np.zeros((last - first, ranks))
        for k in range(last - first):
            for p in range(ranks):
                waits_for = [0.0]
                if k > 0:
                    waits_for.append(ended[k - 1, p])
                    waits_for += [ended[k - 1, s] for s, t in edges if t == p]
                if k - 1 - lag >= 0:
                    waits_for.append(ended[k - 1 - lag].max() + latency)
                ended[k, p] = max(waits_for) + work[first + k, p]
        total += ended[-1].max() + latency
    return total


def max_plus_time(
    work: NDArray[np.float64],
    latency_s: float,
    *,
    lag: int,
    cycle_starts: NDArray[np.intp],
    edge_source: NDArray[np.int32],
    edge_target: NDArray[np.int32],
) -> float:
    """Walk from body to body over a matrix of work."""
    begins = np.zeros(len(work), np.bool_)
    begins[cycle_starts] = True
    block = whole_bodies(work, lag, begins)
    latencies = reductions_alike(block.kind.shape[1], latency_s)
    replay = Replay(
        work.shape[1], latencies, edge_source, edge_target, lag=lag, pending_s=latency_s
    )
    replay.advance(block)
    return replay.elapsed_s


@pytest.mark.parametrize("lag", [0, 1, 2, 5])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_agrees_with_walking_the_dependencies(lag: int, halo: bool, ranks: int) -> None:
    work = np.random.default_rng(lag).exponential(1.0, (37, ranks))
    source, target = line(ranks) if halo and ranks > 1 else (NO_EDGES, NO_EDGES)
    starts = [0, 12, 30]
    ours = max_plus_time(
        work,
        0.3,
        lag=lag,
        cycle_starts=np.array(starts),
        edge_source=source,
        edge_target=target,
    )
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    assert ours == pytest.approx(brute_force(work, 0.3, lag, starts, edges), rel=1e-13)
