"""Two modes of a machine are one regime, and what is new beside them is a change."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.synthetic.nightly import draw_nightly
from benchmarks.synthetic.scores import Score, score_changes
from numpy.typing import NDArray

from hindmost.models.changepoint import detect
from hindmost.models.changepoint.robust import segments
from hindmost.records import to_document

DWELL = 25
HEIGHT = 0.15


def alternating(switches: int, seed: int = 0, more: int = 0) -> NDArray[np.float64]:
    """Return times that switch between two levels, and more nights of the last one."""
    nights = DWELL * (switches + 1)
    modes = HEIGHT * (np.arange(nights) // DWELL % 2)
    logs = np.append(modes, np.full(more, modes[-1]))
    noise = np.random.default_rng(seed).normal(0.0, 0.02, logs.size)
    return np.asarray(np.exp(logs + noise), np.float64)


def false_in_1000() -> float:
    total = Score()
    for seed in range(90_000, 90_060):
        values = draw_nightly("two modes", seed).values
        found = [change.index for change in detect(values).changes]
        total += score_changes(found, [], nights=values.size)
    return total.false_per_1000


def test_two_modes_raise_few_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    found = false_in_1000()
    monkeypatch.setattr(segments, "SWITCHES", 1000)
    assert found < 0.25 * false_in_1000()


def test_the_modes_are_one_regime_and_it_is_said() -> None:
    values = alternating(6)
    found = detect(values)
    assert not found.changes
    (regime,) = found.regimes
    assert regime.switching
    # Half of the nights on either level.
    expected = np.hypot(0.5 * HEIGHT, 0.02)
    assert abs(regime.deviation - expected) < 0.25 * expected
    assert "switch between two levels" in found.explain()
    assert to_document(regime)["switching"]


def test_a_slowdown_that_is_undone_and_comes_back_is_three_changes() -> None:
    found = detect(alternating(3))
    assert len(found.changes) == 3
    assert not any(regime.switching for regime in found.regimes)


def test_a_new_level_beside_the_modes_is_a_change() -> None:
    values = alternating(6, more=40)
    values[-40:] *= 1.6
    (change,) = detect(values).changes
    assert abs(change.index - (values.size - 40)) <= 2


def test_a_new_level_with_one_night_in_four_at_the_old_one_is_a_change() -> None:
    logs = np.random.default_rng(5).normal(0.0, 0.006, 88)
    logs[[80, 81, 83, 84, 85, 87]] -= 0.12
    (change,) = detect(np.exp(logs)).changes
    assert change.index == 80
