"""Thresholds are asked for only where a verdict depends on them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.pmnf import detect_segments
from hindmost.models.pmnf.segments import change_evidence
from hindmost.models.pmnf.segments import thresholds as module
from hindmost.models.pmnf.segments.change_evidence import NEAR
from hindmost.models.pmnf.segments.likelihood import Segmentations
from hindmost.models.pmnf.segments.one_behaviour import measured, two_terms
from hindmost.models.pmnf.segments.thresholds import (
    least_thresholds,
    simulate_thresholds,
    thresholds,
)
from hindmost.models.synthetic.scaling import two_functions

LINE, POWERS = np.arange(1.0, 21.0), 2.0 ** np.arange(1, 21)


class Asked:
    """Made-up thresholds, a third above the least, that remember for which points they were."""

    def __init__(self) -> None:
        self.points: set[bytes] = set()

    def __call__(self, points: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
        self.points.add(points.tobytes())
        return 4.0 / 3.0 * least_thresholds(points.size)


def found(
    points: NDArray[np.float64], noise: str, monkeypatch: pytest.MonkeyPatch, *, all_asked: bool
) -> tuple[Segmentations, int]:
    """Return verdicts on kernels, and for how many sets of points thresholds were asked."""
    random = np.random.default_rng(0)
    parts = [two_terms(random, points, 30)]
    parts += [two_functions(random, points, 4, first=first) for first in range(4, 17, 3)]
    values = measured(random, np.concatenate(parts), noise=0.15)
    asked = Asked()
    monkeypatch.setattr(change_evidence, "thresholds", asked)
    if all_asked:
        none = np.full((1, 1), -np.inf)
        monkeypatch.setattr(change_evidence, "least_thresholds", lambda points: none)
    verdicts = detect_segments(points, values, noise=noise)
    assert isinstance(verdicts, Segmentations)
    return verdicts, len(asked.points)


@pytest.mark.parametrize("points", [LINE, POWERS], ids=["lines", "powers"])
@pytest.mark.parametrize("noise", ["additive", "multiplicative"])
def test_few_thresholds_are_asked_for_and_verdicts_are_those_of_all(
    points: NDArray[np.float64], noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, few = found(points, noise, monkeypatch, all_asked=False)
    every, many = found(points, noise, monkeypatch, all_asked=True)
    np.testing.assert_array_equal(some.begins, every.begins)
    np.testing.assert_array_equal(some.likely, every.likely)
    np.testing.assert_array_equal(np.maximum(some.excess, -NEAR), np.maximum(every.excess, -NEAR))
    assert every.segmented.sum() > 10
    assert (every.excess[~every.segmented] > -NEAR).any()
    assert few < 0.75 * many


def test_no_threshold_is_less_than_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    high = np.array([[20.0, 2.0], [2.0, 20.0], [2.0, 2.0]])
    usual = simulate_thresholds(LINE[:6], 1.0)
    monkeypatch.setattr(module, "least_thresholds", lambda points: high)
    np.testing.assert_array_equal(simulate_thresholds(LINE[:6], 1.0), np.maximum(usual, high))


@pytest.mark.parametrize("points", [LINE[:10], POWERS[:10]], ids=["lines", "powers"])
def test_the_least_are_less_than_what_is_simulated(points: NDArray[np.float64]) -> None:
    for count in (6, 8, 10):
        assert (thresholds(points[:count], 1.0) > least_thresholds(count)).all()


def test_the_least_are_alike_from_both_ends_and_fall_with_the_points() -> None:
    for count in range(6, 40):
        least = least_thresholds(count)
        assert least.shape == (count - 3, 2)
        np.testing.assert_array_equal(least, least[::-1])
        assert (least_thresholds(count + 1)[: count // 2 - 1] <= least[: count // 2 - 1]).all()
