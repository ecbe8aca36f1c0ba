"""A large change that was found for seven nights stays, whatever the later nights look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.changepoint import Watch, detect
from hindmost.models.changepoint.robust import held_changes, search

CHANGE = 30
NEVER: dict[str, Any] = {"held_least": 9.0}
"""Settings with which no change is held."""


def stairs() -> NDArray[np.float64]:
    """Return a step that is the first of several, which together look like a line."""
    logs = np.random.default_rng(0).normal(0.0, 0.05, 120)
    for place in range(45, 120, 15):
        logs[place:] += 0.2
    logs[CHANGE:] += 0.22
    return np.asarray(np.exp(logs))


def noisy_later() -> NDArray[np.float64]:
    """Return a step after which the noise becomes ten times as large."""
    random = np.random.default_rng(3)
    logs = random.normal(0.0, 0.03, 120)
    logs[CHANGE:] += 0.25
    logs[50:] += random.normal(0.0, 0.3, 70) - 0.15
    return np.asarray(np.exp(logs))


def nights_without(values: NDArray[np.float64], **settings: Any) -> int:
    """Count the later nights on which the change is missing."""
    return sum(
        not any(
            abs(change.index - CHANGE) <= 2 for change in detect(values[:size], **settings).changes
        )
        for size in range(CHANGE + 12, values.size + 1, 4)
    )


@pytest.mark.parametrize("series", [stairs, noisy_later])
def test_a_large_change_stays(series: Callable[[], NDArray[np.float64]]) -> None:
    values = series()
    assert nights_without(values, **NEVER) > 0
    assert nights_without(values) == 0


def test_a_held_change_is_confirmed() -> None:
    found = detect(noisy_later()).changes
    assert all(change.confirmed for change in found if abs(change.index - CHANGE) <= 2)


def test_what_is_held_does_not_depend_on_a_saved_state() -> None:
    values = noisy_later()
    watch = Watch.start(values[:60])
    for value in values[60:]:
        watch, _ = watch.add(float(value))
    assert [verdict.index for verdict in watch.verdicts] == [
        change.index for change in detect(values).changes
    ]


def noisy_before(seed: int) -> NDArray[np.float64]:
    """Return a fall in loud noise, and louder noise later."""
    random = np.random.default_rng(seed)
    logs = random.normal(0.0, random.uniform(0.05, 0.35), 110)
    logs[CHANGE:] -= random.uniform(0.3, 0.6)
    logs[60:] += random.normal(0.0, 0.3, 50) * random.choice([0, 1], 50)
    return np.asarray(np.exp(logs))


@pytest.mark.parametrize("seed", [1, 14])
def test_a_verdict_does_not_flip_again_and_again(seed: int) -> None:
    values = noisy_before(seed)
    present = [
        any(
            abs(change.index - CHANGE) <= 4 and change.effect < 0.0
            for change in detect(values[:size]).changes
        )
        for size in range(CHANGE + 12, values.size + 1)
    ]
    assert any(present)
    assert np.count_nonzero(np.diff(present)) <= 2


def test_a_change_that_is_found_late_is_suspected_until_it_is_held() -> None:
    values = noisy_before(14)
    late = [detect(values[:size]) for size in range(CHANGE + 12, values.size + 1)]
    suspected = [place for found in late for place in found.suspects]
    assert suspected
    for found in late:
        assert not set(found.suspects) & {change.index for change in found.changes}


def test_a_series_that_grew_is_not_read_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes = 0
    once = search.segments_with

    def counted(*arguments: Any) -> Any:
        nonlocal passes
        passes += 1
        return once(*arguments)

    values = noisy_before(21)
    held_changes.review.cache_clear()
    monkeypatch.setattr(held_changes, "segments_with", counted)
    detect(values[:-1])
    first, passes = passes, 0
    grown = detect(values)
    assert passes <= 6 < first
    held_changes.review.cache_clear()
    assert detect(values) == grown
