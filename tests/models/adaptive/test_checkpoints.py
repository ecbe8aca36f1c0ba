from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import lambertw

from hindmost.errors import DataError
from hindmost.models.adaptive.checkpoints import (
    CheckpointCost,
    CheckpointPlan,
    best_plan,
    due,
    optimum_s,
    plan,
    plan_by_rule,
    young_s,
)
from hindmost.models.adaptive.machine import Machine
from hindmost.models.synthetic.cycles import CycleLaw, draw_cycles

DAY = 86_400.0


@pytest.mark.parametrize(
    ("delta", "mtbf", "young", "exact"),
    [
        (10, 600, 109.5, 102.98),
        (60, 600, 268.0, 229.9),
        (300, 3600, 1469.0, 1276.9),
        (10, DAY, 1314.5, 1307.9),
    ],
)
def test_intervals_of_the_facts(delta: float, mtbf: float, young: float, exact: float) -> None:
    assert young_s(delta, mtbf) == pytest.approx(young, abs=0.7 if young > 200 else 0.06)
    assert optimum_s(delta, mtbf) == pytest.approx(exact, abs=0.06)


def waste(tau_s: float, checkpoint_s: float, mtbf_s: float) -> float:
    return plan([tau_s], checkpoint_s, ()).expected_waste(mtbf_s)


def test_wastes_of_the_facts() -> None:
    assert 100 * waste(young_s(10, 600), 10, 600) == pytest.approx(20.76, abs=0.005)
    assert 100 * waste(optimum_s(10, 600), 10, 600) == pytest.approx(20.720, abs=5e-4)
    assert 100 * waste(young_s(60, 600), 60, 600) == pytest.approx(62.9, abs=0.06)
    assert 100 * waste(optimum_s(60, 600), 60, 600) == pytest.approx(62.12, abs=0.005)


@pytest.mark.parametrize("ratio", [1e-9, 1e-6, 1e-3, 0.0099, 0.0101, 0.1, 1.0, 5.0, 30.0])
def test_the_optimum_is_lambert_s(ratio: float) -> None:
    expected = 1.0 + float(lambertw(-math.exp(-1.0 - ratio)).real)
    # Near the branch point scipy's own argument has lost the digits that ratio had.
    tolerance = 1e-9 + 1e-15 / ratio
    assert optimum_s(ratio * 7.0, 7.0) == pytest.approx(7.0 * expected, rel=tolerance)
    if ratio < 1.0:
        tau = optimum_s(ratio, 1.0)
        assert math.exp(tau + ratio) * (1.0 - tau) == pytest.approx(1.0, rel=1e-12)


def test_rounding_down_makes_intervals_too_short() -> None:
    assert due(80.0, 40.0, 109.5, down=True)  # 120 would exceed it
    assert not due(80.0, 40.0, 109.5)  # but is nearer
    assert due(96.0, 40.0, 109.5)
    assert not due(0.0, 1000.0, 109.5)
    assert not due(0.0, 1000.0, 109.5, down=True)
    random = np.random.default_rng(1)
    cycles = random.uniform(15.0, 25.0, 20_000)
    for down, bias in ((False, 0.0), (True, -10.0)):
        made = plan_by_rule(cycles, cycles, 0.0, 1.0, lambda *_: 109.5, down=down)
        length = made.compute_s / (len(made.after) + 1)
        assert length - 109.5 == pytest.approx(bias, abs=1.0)


def test_the_best_plan_is_that_of_brute_force() -> None:
    random = np.random.default_rng(3)
    cycles, cost = random.uniform(10, 80, 9), random.uniform(5, 15, 9)
    found = best_plan(cycles, cost, 200.0)
    every = [
        plan(cycles, cost, tuple(k + 1 for k in range(8) if mask >> k & 1)) for mask in range(256)
    ]
    assert found.after == min(every, key=lambda one: one.expected_s(200.0)).after


def failing_runs(
    made: CheckpointPlan, mtbf_s: float, *, runs: int = 1000, seed: int = 0
) -> NDArray[np.float64]:
    """Draw runs with exponential failures and return their wall times.

    A failure throws the run back to the begin of its segment; each further attempt can
    fail as well.
    """
    random = np.random.default_rng(seed)
    shape = (runs, made.segments_s.size)
    first = np.broadcast_to(made.segments_s, shape)
    wall = np.zeros(shape)
    start = random.exponential(mtbf_s, shape)
    failed = start < first
    wall += np.where(failed, start, first)
    place = np.nonzero(failed)
    again = first[place]
    while again.size:
        lasts = random.exponential(mtbf_s, again.size)
        fails = lasts < again
        wall[place] += np.where(fails, lasts, again)
        place = tuple(axis[fails] for axis in place)
        again = again[fails]
    total: NDArray[np.float64] = wall.sum(axis=1)
    return total


@pytest.mark.parametrize("mtbf_s", [5.0, 20.0, 100.0])
@pytest.mark.parametrize("interval_s", [young_s, optimum_s])
def test_the_rule_wastes_within_half_a_point_of_the_optimum(
    mtbf_s: float, interval_s: Callable[[float, float], float]
) -> None:
    # Each cycle is predicted to take as long as the one before, and checkpoints grow with cells.
    # The optimum knows all cycles and where the run ends; in a long run the end matters little.
    drawn = draw_cycles(CycleLaw(cycles=3000, growth=3.0, wander=0.0), 1)
    cycles = drawn.seconds
    cost = 0.01 + 5e-6 * np.array([work.cells for work in drawn.work])
    predicted = np.concatenate([cycles[:1], cycles[:-1]])
    made = plan_by_rule(cycles, predicted, cost, mtbf_s, interval_s)
    best = best_plan(cycles, cost, mtbf_s)
    rule = failing_runs(made, mtbf_s, runs=4000, seed=1).mean() / made.compute_s - 1
    least = failing_runs(best, mtbf_s, runs=4000, seed=2).mean() / best.compute_s - 1
    assert abs(made.expected_waste(mtbf_s) - best.expected_waste(mtbf_s)) < 0.002
    assert abs(rule - least) < 0.005


def test_the_cost_of_a_checkpoint_is_learnt() -> None:
    random = np.random.default_rng(0)
    cost = CheckpointCost()
    assert cost.predict_s(5000, default_s=3.0) == 3.0
    cost.observe(0.2, 1000)
    assert cost.predict_s(2000) == pytest.approx(0.4)
    cost = CheckpointCost()
    for k, cells in enumerate(np.linspace(1000, 8000, 12)):
        slow = 5.0 if k == 5 else 1.0
        cost.observe(slow * 1e-5 * cells * (1 + 0.01 * random.standard_normal()), cells)
    assert cost.predict_s(20_000) == pytest.approx(0.2, rel=0.05)
    machine = Machine(
        name="x", ranks_per_node=1, checkpoint_latency_s=0.1, checkpoint_bytes_per_s=5e6
    )
    known = CheckpointCost.of_machine(machine, 50.0)
    assert known.predict_s(10_000) == pytest.approx(0.2)
    for _ in range(3):
        known.observe(0.4, 10_000)
    assert known.predict_s(20_000) == pytest.approx(0.6)


def test_plans_refuse_nonsense() -> None:
    with pytest.raises(DataError, match="above 0"):
        plan([1.0, 0.0], 1.0, ())
