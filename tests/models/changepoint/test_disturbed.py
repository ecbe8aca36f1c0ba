"""Long runs of outliers, and slowdowns that begin with a spike, leave a trace in the verdict."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint import detect


def noise(nights: int, seed: int = 0) -> NDArray[np.float64]:
    """Return quiet nights at a level of 1."""
    return np.asarray(np.exp(np.random.default_rng(seed).normal(0.0, 0.03, nights)))


def test_a_spike_that_went_back_to_the_level_before_passes() -> None:
    values = noise(72)
    values[60:64] *= 9.0
    assert detect(values).status() == "pass"


def test_a_slowdown_that_left_little_is_undone() -> None:
    values = noise(90)
    values[40:60] *= 1.5
    values[60:] *= 1.05
    found = detect(values)
    assert found.is_undone(found.changes[0])
    values[60:] *= 1.1
    found = detect(values)
    assert not found.is_undone(found.changes[0])


def test_a_long_run_that_scatters_is_no_pass() -> None:
    values = noise(80)
    values[70:] *= np.exp(np.random.default_rng(1).uniform(0.3, 3.0, 10))
    assert detect(values).status() in ("fail", "unknown")
