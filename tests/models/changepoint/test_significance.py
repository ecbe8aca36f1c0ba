"""What is reported is significant: its p-value is small, and its interval does not contain zero."""

from functools import cache

import numpy as np
import pytest
from benchmarks.synthetic.nightly import KINDS, draw_nightly
from numpy.typing import NDArray

from hindmost.models.changepoint import Detection, detect

SERIES = 20


def contains_zero(interval: tuple[float, float]) -> bool:
    return interval[0] <= 0.0 <= interval[1]


def figures(found: Detection) -> list[tuple[float, tuple[float, float]]]:
    changes = [(change.p_value, change.effect_interval) for change in found.changes]
    return changes + [(trend.p_value, trend.effect_interval) for trend in found.trends]


@cache
def detections(kind: str) -> tuple[Detection, ...]:
    return tuple(detect(draw_nightly(kind, seed).values) for seed in range(SERIES))


@pytest.mark.parametrize("kind", KINDS)
def test_every_change_and_trend_is_significant(kind: str) -> None:
    for found in detections(kind):
        for p_value, interval in figures(found):
            assert p_value <= 0.05
            assert not contains_zero(interval)


def flat_line_of_steps() -> NDArray[np.float64]:
    """Return a series in which a line costs less than steps, and has no slope to speak of."""
    return draw_nightly("shifts", 101).values


def test_a_line_without_a_slope_is_a_level() -> None:
    found = detect(flat_line_of_steps())
    assert not any(contains_zero(trend.effect_interval) for trend in found.trends)
    assert not any(regime.trend for regime in found.regimes if regime.start == 121)


@pytest.mark.parametrize("level", [0.95, 0.999999])
@pytest.mark.parametrize("alpha", [0.5, 1e-3])
def test_intervals_exclude_zero_at_any_level(alpha: float, level: float) -> None:
    for seed in range(SERIES):
        found = detect(draw_nightly("small shifts", seed).values, alpha=alpha, level=level)
        assert not any(contains_zero(interval) for _, interval in figures(found))
