"""Solves of another length are put together from recorded cycles."""

from dataclasses import replace

import numpy as np
import pytest
from tests.models.simulation.programs import played

from hindmost.errors import UsageError
from hindmost.models.events import EventKind
from hindmost.models.simulation.change import Change, Detours
from hindmost.models.simulation.length import SolveShape
from hindmost.models.simulation.program import Program, Times
from hindmost.models.simulation.rerun import what_if

FIRST_S, STEP_S, DRAIN_S, LEAD_S, AFTER_S = 100e-6, 7e-6, 30e-6, 1e-3, 2e-4
RANKS = 2


def pause_s(restart: int) -> float:
    return FIRST_S + 3e-6 * restart


def solve(iterations: int, restart: int, *, fill: int = 0, noise: Times | None = None) -> Program:
    """Return a solve whose bodies grow by a step a place, as those of GMRES do."""
    lengths = [restart] * (iterations // restart) + [iterations % restart] * (
        iterations % restart > 0
    )
    places = np.concatenate([np.arange(length + fill) for length in lengths]).astype(np.int32)
    drain = np.zeros(places.size, np.bool_)
    if fill:
        drain[np.cumsum([length + fill for length in lengths]) - 1] = True
    work = np.where(drain, DRAIN_S, FIRST_S + STEP_S * places)[:, None] * np.ones(RANKS)
    work = work if noise is None else work + noise
    begins = places == 0
    gaps = np.full((int(begins.sum()), RANKS), pause_s(restart))
    gaps[0] = LEAD_S
    shape = SolveShape(
        solver="gmres", iterations=iterations, restart=restart, drain=drain, extra=fill
    )
    kind = np.full((places.size, 1), EventKind.REDUCE, np.uint8)
    return played(
        kind,
        work[:, :, None],
        begins=begins,
        gaps=gaps,
        after_s=AFTER_S,
        shape=shape,
        injected=noise,
    )


def time_s(program: Program, change: Change) -> float:
    return what_if(program, change).predicted_s


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("iterations", [1000, 4000, 777, 10])
def test_other_solves_are_put_together_exactly(fill: int, iterations: int) -> None:
    recorded, other = solve(1000, 30, fill=fill), solve(iterations, 30, fill=fill)
    found = what_if(recorded, Change(iterations=iterations))
    assert found.predicted_s == pytest.approx(time_s(other, Change()), rel=1e-9)
    # It is on record that the recorded time comes back.
    assert found.recorded.total_s == pytest.approx(time_s(recorded, Change()), rel=1e-12)


def test_a_restart_that_was_never_seen_costs_a_first_body() -> None:
    recorded = solve(20, 20)
    one, two = (time_s(recorded, Change(iterations=each)) for each in (20, 40))
    bodies = sum(FIRST_S + STEP_S * place for place in range(20))
    assert two - one == pytest.approx(bodies + FIRST_S)


def test_solvers_without_cycles_go_on_as_their_second_half() -> None:
    slow_first = np.zeros((400, RANKS))
    slow_first[:200] = 1e-3
    plain = solve(400, 400, noise=slow_first)
    assert plain.shape is not None
    program = replace(plain, shape=replace(plain.shape, restart=0))
    base, longer, shorter = (time_s(program, Change(iterations=at)) for at in (400, 1000, 100))
    late_s = float(plain.block.work[200:, 0, 0].mean())
    assert longer - base == pytest.approx(600 * late_s)
    assert shorter == pytest.approx(LEAD_S + AFTER_S + plain.block.work[:100, 0, 0].sum())


def test_changes_are_combined() -> None:
    # The noise of a longer solve is that of the shorter one, as often as its cycles.
    law = Detours(exponential=True, length_s=1e-4)
    recorded, other = solve(300, 30), solve(1200, 30)
    found = what_if(recorded, Change(iterations=1200, detours=law))
    true = what_if(other, Change(detours=law))
    assert found.predicted_s == pytest.approx(true.predicted_s, rel=0.02)
    width, right = found.high_s - found.low_s, true.high_s - true.low_s
    assert 0.4 * right < width < 2.5 * right


def test_noise_is_added_once_an_iteration() -> None:
    # A pipelined solve has bodies that fill and drain its pipeline, which are no iterations.
    law = Detours(length_s=1e-3, probability=1.0)
    for recorded in (solve(300, 30), solve(300, 30, fill=2), solve(300, 30, fill=1)):
        for change in (Change(), Change(iterations=710)):
            more = time_s(recorded, replace(change, detours=law)) - time_s(recorded, change)
            assert more == pytest.approx((change.iterations or 300) * 1e-3)


def test_a_cold_first_body_does_not_make_restarts_longer() -> None:
    cold = np.zeros((300, RANKS))
    cold[0] = 2e-3
    found = time_s(solve(300, 30, noise=cold), Change(iterations=450))
    # The ten recorded cycles count one and a half times each.
    assert found == pytest.approx(time_s(solve(450, 30), Change()) + 1.5 * 2e-3)


def test_injected_noise_is_removed_and_the_rest_stays() -> None:
    random = np.random.default_rng(3)
    noise = random.exponential(1e-4, (300, RANKS))
    clean, noisy = solve(300, 30), solve(300, 30, noise=noise)
    assert time_s(noisy, Change()) > 1.5 * time_s(clean, Change())
    assert time_s(noisy, Change(uninjected=True)) == pytest.approx(time_s(clean, Change()))
    # Noise in every body is part of its median.
    assert time_s(noisy, Change(noise=0.0)) == pytest.approx(time_s(clean, Change()))
    with pytest.raises(UsageError, match="No noise was injected"):
        time_s(clean, Change(uninjected=True))


def test_lengths_of_no_solve_are_refused() -> None:
    program = solve(90, 30)
    with pytest.raises(UsageError, match="not of one solve"):
        time_s(replace(program, shape=None), Change(iterations=20))
    assert program.shape is not None
    several = replace(program, shape=replace(program.shape, solves=2))
    with pytest.raises(UsageError, match="not of one solve"):
        time_s(several, Change(iterations=20))
