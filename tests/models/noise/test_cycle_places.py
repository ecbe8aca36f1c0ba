from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hindmost.errors import DataError, UsageError
from hindmost.models.noise.cycle_places import fit_places
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import ModelKind

FIRST_S, STEP_S, DRAIN_S, LEAD_S = 100e-6, 7e-6, 30e-6, 1e-3


def pause_s(restart: int) -> float:
    return FIRST_S + 3e-6 * restart


def solve(
    iterations: int, restart: int, *, fill: int = 0, noise: float = 0.0, seed: int = 0
) -> SolveTimes:
    """Return a solve whose bodies grow by a step a place, as those of GMRES do."""
    random = np.random.default_rng(0)
    bodies, places, drains = [], [], []
    lengths = [restart] * (iterations // restart) + [iterations % restart] * (
        iterations % restart > 0
    )
    for length in lengths:
        count = length + fill
        for place in range(count):
            drain = fill > 0 and place == count - 1
            bodies.append(DRAIN_S if drain else FIRST_S + STEP_S * place)
            places.append(place)
            drains.append(drain)
    time = np.array(bodies) * random.lognormal(0.0, noise, len(bodies))
    durations = np.repeat(time[:, None], 2, axis=1)
    restarts = np.full(len(lengths) - 1, pause_s(restart))
    between = LEAD_S + restarts.sum()
    position = np.array(places, np.int32)
    none = np.empty(0, np.int32)
    return SolveTimes(
        durations=durations,
        work=durations,
        fill=(position < fill) & ~np.array(drains),
        position=position,
        between_s=float(between),
        restarts=restarts,
        edge_source=none,
        edge_target=none,
        synchronisation="blocking",
        lag=0,
        solve_time_s=float(time.sum() + between),
        restart=restart,
        solver_iterations=iterations,
        drain=np.array(drains),
    )


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("iterations", [1000, 4000, 777, 10])
def test_other_solves_are_put_together_exactly(fill: int, iterations: int) -> None:
    model = fit_places([solve(1000, 30, fill=fill)])
    later = solve(iterations, 30, fill=fill).solve_time_s
    assert model.predict(iterations).seconds == pytest.approx(later, rel=1e-9)
    assert model.kind is ModelKind.PREDICTS


def test_solves_without_cycles_go_on_as_their_second_half() -> None:
    plain = solve(400, 400)
    durations = np.full((400, 2), 1e-4)
    durations[:100] *= 3
    times = replace(plain, durations=durations, work=durations, restart=0)
    model = fit_places([times])
    assert model.predict().seconds == pytest.approx(LEAD_S + 0.06)
    assert model.predict(1400).seconds == pytest.approx(LEAD_S + 0.16)
    assert model.predict(50).seconds == pytest.approx(LEAD_S + 0.015)


def test_intervals_hold_later_solves() -> None:
    # Whole solves are 5 % apart, as on machines that others use.
    random = np.random.default_rng(1)
    held, rounds = 0, 300
    base = solve(90, 30)
    for _ in range(rounds):
        factors = random.lognormal(0.0, 0.05, 6)
        solves = [
            replace(
                base,
                durations=base.durations[:] * factor,
                between_s=base.between_s * factor,
                restarts=base.restarts * factor,
            )
            for factor in factors
        ]
        prediction = fit_places(solves[:5]).predict()
        later = base.solve_time_s * factors[5]
        held += prediction.low_s <= later <= prediction.high_s
    interval = stats.binomtest(held, rounds).proportion_ci(0.95)
    assert interval.high > 0.85
    assert interval.low < 0.95


def test_one_solve_takes_its_quarters_for_repeats() -> None:
    prediction = fit_places([solve(1000, 30, noise=0.2)]).predict()
    assert prediction.low_s < prediction.seconds < prediction.high_s
    assert prediction.high_s / prediction.low_s < 1.2


def test_what_cannot_be_predicted_is_refused() -> None:
    with pytest.raises(DataError, match="There is no earlier solve"):
        fit_places([])
    with pytest.raises(DataError, match="unlike restart"):
        fit_places([solve(100, 30), solve(100, 20)])
    with pytest.raises(UsageError, match="at least 1"):
        fit_places([solve(100, 30)]).predict(0)
    assert fit_places([solve(100, 30)]).explain().endswith(".")


def test_a_restart_that_was_never_seen_costs_a_first_body() -> None:
    model = fit_places([solve(20, 20)])
    one, two = model.predict(20).seconds, model.predict(40).seconds
    bodies = sum(FIRST_S + STEP_S * place for place in range(20))
    assert two - one == pytest.approx(bodies + FIRST_S)
    # Whatever is asked is answered at once, and in finite memory.
    assert np.isfinite(model.predict(10**11).seconds)


def test_ranks_that_do_not_meet_last_as_long_as_the_slowest() -> None:
    random = np.random.default_rng(5)
    own = np.array([5e-3, 10e-3]) * random.lognormal(0.0, 0.01, (120, 2))
    alike = solve(120, 30)
    times = replace(
        alike,
        durations=own,
        work=own,
        restart=0,
        restarts=np.empty(0),
        position=np.arange(120, dtype=np.int32),
        between_s=1e-4,
        solve_time_s=float(own.sum(axis=0).max() + 1e-4),
    )
    model = fit_places([times])
    said = model.predict()
    assert said.seconds == pytest.approx(times.solve_time_s, rel=1e-6)
    assert said.low_s < times.solve_time_s < said.high_s
    assert said.high_s < 1.1 * said.seconds
    assert "slowest rank" in model.explain()
    assert model.own_miss == ""
    assert (
        "took 1.4 times" in fit_places([replace(times, solve_time_s=1.4 * said.seconds)]).own_miss
    )
