"""Joint changes of many series: found where none shows it alone, not from noise that is shared."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.changepoint import detect
from hindmost.models.changepoint.joint import JointChange, find_joint_changes, leftover

SERIES, NIGHTS, STEP = 20, 120, 70


def noise(seed: int, shared: float) -> NDArray[np.float64]:
    """Return noise of 2 %, a share of whose variance all series of a night have in common."""
    random = np.random.default_rng(seed)
    own = random.normal(0.0, 0.02, (SERIES, NIGHTS))
    common = random.normal(0.0, 0.02, NIGHTS)
    both: NDArray[np.float64] = np.sqrt(1.0 - shared) * own + np.sqrt(shared) * common
    return both


def found(logs: NDArray[np.float64], missing: float = 0.1) -> tuple[JointChange, ...]:
    """Return the joint changes of series of which some nights are missing."""
    random = np.random.default_rng(1)
    panel = []
    for row in logs:
        nights = np.flatnonzero(random.random(NIGHTS) >= missing)
        panel.append(leftover(row[nights], nights, detect(np.exp(row[nights]))))
    return find_joint_changes(panel)


@pytest.mark.parametrize("rises", [True, False])
def test_a_step_that_no_series_shows_alone_is_found_in_many(rises: bool) -> None:
    logs = noise(4, shared=0.0)
    logs[:10, STEP:] += 0.02 if rises else -0.02
    assert not any(detect(np.exp(row)).changes for row in logs)
    (joint,) = found(logs)
    assert abs(joint.night - STEP) <= 2
    assert joint.interval[0] <= STEP <= joint.interval[1]
    assert (joint.effect > 0.0) == rises
    assert joint.effect_interval[0] <= (0.01 if rises else -0.01) <= joint.effect_interval[1]
    assert len(set(joint.members) & set(range(10))) >= 8
    assert len(joint.members) <= 12
    assert joint.measured == SERIES
    assert not joint.own
    assert joint.confirmed


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
def test_noise_that_all_series_share_is_no_joint_change(shared: float) -> None:
    assert not any(found(noise(seed, shared)) for seed in range(20, 24))


def test_a_step_in_some_series_is_found_through_noise_that_all_share() -> None:
    logs = noise(9, shared=0.6)
    logs[:8, STEP:] += 0.03
    (joint,) = found(logs)
    assert abs(joint.night - STEP) <= 2
    assert joint.rises
    assert len(set(joint.members) & set(range(8))) >= 6
    assert np.median(joint.shifts) == pytest.approx(0.03, abs=0.012)
    assert joint.p_value < 1e-3


def test_one_large_change_is_none_of_many_series() -> None:
    logs = noise(5, shared=0.0)
    logs[0, STEP:] += 1.0
    logs[1, STEP:] -= 20.0
    assert not found(logs)


def test_small_changes_of_their_own_are_part_of_it_and_counted() -> None:
    logs = noise(6, shared=0.0)
    logs[:12, STEP:] += 0.03
    own = sum(bool(detect(np.exp(row)).changes) for row in logs[:12])
    assert 0 < own < 12
    (joint,) = found(logs)
    assert len(joint.members) >= 10
    assert 0 < len(joint.own) <= own + 1
    assert np.median(joint.shifts) == pytest.approx(0.03, abs=0.008)


def test_what_has_recovered_says_so() -> None:
    logs = noise(7, shared=0.0)
    logs[:, 40:STEP] += 0.02
    first, second = found(logs)
    assert first.undone
    assert first.effect > 0.0 > second.effect


def test_few_series_or_nights_are_no_panel() -> None:
    logs = noise(8, shared=0.0)
    logs[:, STEP:] += 0.02
    assert not found(logs[:4])
    short = [
        leftover(row, np.arange(15), detect(np.exp(row))) for row in logs[:, STEP - 8 : STEP + 7]
    ]
    assert not find_joint_changes(short)
    assert not find_joint_changes(())
