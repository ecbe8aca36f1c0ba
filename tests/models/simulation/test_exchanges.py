"""Exchanges that last until the neighbours come to theirs: told from the times, and replayed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.simulation.cases import RECEIVE, REDUCE, SEND

from hindmost.models.simulation.blocks import EventBlock
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.program import Program, recorded_program
from hindmost.models.simulation.rerun import what_if

Times = NDArray[np.float64]
BODIES = 300
LATENCY_S = 1e-6
PAIR = np.array([0, 1], np.int32), np.array([1, 0], np.int32)


def solve(*, meet: bool, injected: Times | None = None, disturbed: float = 0.0) -> Program:
    """Return a solve of two ranks: a reduction, then a halo behind which a product hides.

    Parameters
    ----------
    meet : bool
        Whether halos arrive once the sender comes to its own receipt, or once it has sent.
    injected : float64 array, shape (iteration, rank), seconds, optional
        Detours before the halo is sent.
    disturbed : float
        Share of the receipts that follow the other rule.
    """
    random = np.random.default_rng(7)
    kinds = [REDUCE, SEND, RECEIVE]
    work = 1e-6 * random.uniform([5.0, 5.0, 40.0], [6.0, 6.0, 60.0], (BODIES, 2, 3))
    rest = np.full((BODIES, 2), 1e-6)
    if injected is not None:
        work[:, :, 1] += injected
    other = random.random(BODIES) < disturbed
    start, duration = np.empty((BODIES, 2)), np.zeros((BODIES, 2, 3))
    clock = np.zeros(2)
    for body in range(BODIES):
        start[body] = clock
        together = (clock + work[body, :, 0]).max() + LATENCY_S
        duration[body, :, 0] = together - clock - work[body, :, 0]
        sent = together + work[body, :, 1]
        come = sent + work[body, :, 2]
        halo = come if meet != other[body] else sent
        leave = np.maximum(come, halo[::-1] + LATENCY_S)
        duration[body, :, 2] = leave - come
        clock = leave + rest[body]
    block = EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (BODIES, 1)),
        work=work,
        duration=duration,
        rest=rest,
        cycle_begins=np.arange(BODIES) == 0,
    )
    place = np.arange(BODIES, dtype=np.int32)
    return recorded_program(start, block, place, np.zeros(2), *PAIR, injected=injected)


def detours() -> Times:
    """Return detours of a rank in every other body, on average: (iteration, rank), seconds."""
    random = np.random.default_rng(8)
    return np.where(random.random((BODIES, 2)) < 0.5, 70e-6, 0.0)


@pytest.mark.parametrize("meet", [True, False])
def test_the_rule_is_told_from_the_times(meet: bool) -> None:
    assert solve(meet=meet).exchanges_meet == meet
    assert solve(meet=meet, injected=detours()).exchanges_meet == meet
    assert solve(meet=meet, injected=detours(), disturbed=0.1).exchanges_meet == meet


@pytest.mark.parametrize("meet", [True, False])
def test_the_clean_solve_is_that_without_the_injected_detours(meet: bool) -> None:
    clean, noisy = solve(meet=meet), solve(meet=meet, injected=detours())
    found = what_if(noisy, Change(uninjected=True))
    clean_s = what_if(clean, Change()).recorded.total_s
    assert found.recorded.total_s > 1.3 * clean_s
    # Under the other rule, waiting would be taken for a slow transfer, and stay. Of halos that are
    # there early, the latency hides.
    most_s = 1e-12 if meet else LATENCY_S * BODIES
    assert found.predicted_s == pytest.approx(clean_s, abs=most_s)


def test_a_slower_rank_keeps_its_neighbour_until_its_receipt() -> None:
    found = what_if(solve(meet=True), Change(speed={0: 0.5}))
    block = solve(meet=True).block
    by_rank = block.work * np.array([2.0, 1.0])[None, :, None]
    body_s = by_rank[:, :, 0].copy()
    body_s[1:] += block.rest[:-1] * np.array([2.0, 1.0])
    by_hand = body_s.max(axis=1).sum() + by_rank[:, :, 1:].sum(axis=2).max(axis=1).sum()
    # Half of the time, a rank that comes last to a receipt pays no latency there.
    assert found.predicted_s == pytest.approx(by_hand, abs=2.1 * LATENCY_S * BODIES)


def test_few_receipts_decide_nothing() -> None:
    program = solve(meet=True)
    block = program.block.part(slice(0, 8))
    few = recorded_program(
        np.zeros((8, 2)) + np.arange(8)[:, None] * 1e-3,
        block,
        np.arange(8, dtype=np.int32),
        np.zeros(2),
        *PAIR,
    )
    assert not few.exchanges_meet
