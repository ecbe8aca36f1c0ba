"""In which step of an iteration injected detours were taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import EventBlock
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.injected import (
    detours_of_steps,
    step_of_detours,
    without_injected,
)
from hindmost.models.simulation.program import Program, recorded_program
from hindmost.models.simulation.rerun import what_if

Times = NDArray[np.float64]
BODIES, RANKS = 200, 2


def steps(*typical_s: float) -> Times:
    """Return work of steps that varies by a fifth: float64, shape (iteration, rank, step)."""
    random = np.random.default_rng(3)
    return np.asarray(typical_s * random.uniform(0.9, 1.1, (BODIES, RANKS, len(typical_s))))


LAWS = pytest.mark.parametrize("law", ["exponential", "some"])


def detours(law: str) -> Times:
    """Return detours of 50 us in the mean: float64, shape (iteration, rank), seconds."""
    random = np.random.default_rng(4)
    if law == "exponential":
        return random.exponential(50e-6, (BODIES, RANKS))
    return np.where(random.random((BODIES, RANKS)) < 0.1, 500e-6, 0.0)


@LAWS
@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_the_step_is_found_among_longer_ones(law: str, step: int) -> None:
    work = steps(2e-6, 40e-6, 300e-6, 100e-6)
    work[:, :, step] += detours(law)
    assert step_of_detours(work, detours(law)) == step


@LAWS
def test_work_that_grows_over_a_cycle_does_not_hide_it(law: str) -> None:
    work = steps(2e-6, 40e-6, 300e-6)
    work[:, :, 2] += 20e-6 * (np.arange(BODIES) % 30)[:, None]
    work[:, :, 1] += detours(law)
    assert step_of_detours(work, detours(law)) == 1


def test_a_rank_that_lost_its_core_does_not_decide() -> None:
    work = steps(2e-6, 40e-6, 300e-6)
    work[:, :, 0] += detours("exponential")
    longest = int(detours("exponential")[:, 0].argmax())
    work[longest, 0, 2] += 20e-3
    assert step_of_detours(work, detours("exponential")) == 0


def test_of_one_body_it_is_the_first_step_that_is_long_enough() -> None:
    work = np.array([[[2e-6, 90e-6, 300e-6]]])
    assert step_of_detours(work, np.array([[50e-6]])) == 1


STEPS_S = (2e-6, 40e-6, 300e-6, 100e-6)


def detours_at_calls(probability: float) -> Times:
    """Return detours of 50 us in the mean before each step: (iteration, rank, step), seconds."""
    random = np.random.default_rng(5)
    shape = (BODIES, RANKS, len(STEPS_S))
    some = random.random(shape) < probability
    return np.where(some, random.exponential(50e-6, shape), 0.0)


@pytest.mark.parametrize("probability", [0.05, 0.3, 1.0])
def test_detours_at_calls_are_removed_from_the_steps_that_had_them(probability: float) -> None:
    quiet, had = steps(*STEPS_S), detours_at_calls(probability)
    sums = had.sum(axis=2)
    found = detours_of_steps(quiet + had, sums)
    # Detours of all steps together are known, and none is divided where there was none.
    assert found.sum(axis=2) == pytest.approx(sums, rel=1e-9, abs=1e-15)
    assert not found[sums == 0.0].any()
    assert (found >= 0.0).all()
    # In the mean over bodies every step has its own.
    mean = had.mean(axis=(0, 1))
    assert found.mean(axis=(0, 1)) == pytest.approx(mean, abs=0.1 * mean.max())
    # In single bodies as well, although the longest step varies by 17 us. With all of a body's
    # detours in one step, as if there were one point, the error is many times as large.
    one = np.zeros_like(had)
    one[:, :, step_of_detours(quiet + had, sums)] = sums
    missed, missed_by_one = (np.abs(each - had)[sums > 0.0].mean() for each in (found, one))
    assert missed < 0.1 * missed_by_one


def test_a_step_that_took_longer_by_itself_keeps_its_time() -> None:
    quiet, had = steps(*STEPS_S), np.zeros((BODIES, RANKS, 4))
    had[::3, :, 0] = 60e-6
    quiet[30, 0, 2] += 20e-3  # the rank lost its core in the step that varies most
    found = detours_of_steps(quiet + had, had.sum(axis=2))
    assert found[3::3, :, 0] == pytest.approx(60e-6, rel=0.2)
    assert found[30, 0].sum() == pytest.approx(60e-6)


def solve_of(work: Times) -> Program:
    """Return the recorded program of a solve whose ranks reduce after every step."""
    latest = work.max(axis=1)
    body_s = latest.sum(axis=1)
    block = EventBlock(
        kind=np.full((BODIES, work.shape[2]), EventKind.REDUCE, np.uint8),
        work=work,
        duration=latest[:, None, :] - work,
        rest=np.zeros((BODIES, RANKS)),
        cycle_begins=np.zeros(BODIES, bool),
    )
    start = (np.cumsum(body_s) - body_s)[:, None] * np.ones(RANKS)
    nobody = np.empty(0, np.int32)
    place = np.zeros(BODIES, np.int32)
    return recorded_program(start, block, place, np.zeros(RANKS), nobody, nobody)


def walk(program: Program) -> float:
    return what_if(program, Change()).predicted_s


def test_a_solve_without_its_detours_at_calls_is_the_quiet_one() -> None:
    # A detour may come before either of two reductions.
    random = np.random.default_rng(6)
    quiet = np.asarray(np.array([30e-6, 200e-6]) * random.uniform(0.98, 1.02, (BODIES, RANKS, 2)))
    had = np.where(random.random(quiet.shape) < 0.2, random.exponential(80e-6, quiet.shape), 0.0)
    programs = [solve_of(work) for work in (quiet, quiet + had)]
    noisy = replace(programs[1], injected=had.sum(axis=2), injected_at_calls=True)
    found = without_injected(noisy)
    assert found.injected is None
    assert not found.injected_at_calls
    times = [walk(each) for each in (programs[0], programs[1], found)]
    assert times[1] > 1.1 * times[0]
    assert times[2] == pytest.approx(times[0], rel=0.005)
    once = without_injected(replace(noisy, injected_at_calls=False))
    assert abs(walk(once) - times[0]) > 4.0 * abs(times[2] - times[0])
