"""A pulse is fixed work: its time comes from a clock that the tests set."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from hindmost.harness.probes import pulse
from hindmost.harness.probes.pulse import STRETCH, STRETCHES, TRIALS, PulseReader


def ticks(lengths: list[float]) -> Iterator[float]:
    """Yield the clock before and after each of these lengths, and once more."""
    now = 0.0
    for length in lengths:
        yield now
        now += length
        yield now
    yield now


def test_the_fastest_trial_counts_and_the_whole_reading_is_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = PulseReader()
    before = reader.spent_s
    clock = ticks([7.0, 5.0, 3.0, 4.0])
    monkeypatch.setattr(pulse, "perf_counter", lambda: next(clock))
    assert TRIALS == 3
    assert reader.read() == (3.0, 7.0)
    assert reader.spent_s - before == pytest.approx(19.0)
    assert next(clock, None) is None


def test_a_stretch_of_memory_comes_again_only_after_all_others() -> None:
    reader = PulseReader()
    begins = [(passed[5].ctypes.data, passed[6].ctypes.data) for passed in reader._passes]
    assert len(set(begins)) == STRETCHES
    assert {passed[5].size for passed in reader._passes} == {STRETCH}
    first = reader._next
    for _ in range(STRETCHES):
        reader.read()
    assert reader._next == first


def test_every_reading_does_the_same_work_and_settling_is_free_of_charge() -> None:
    reader = PulseReader()
    reader.read()
    once = reader._change.copy()
    reader.read()
    np.testing.assert_array_equal(reader._change, once)
    settled = reader.settled()
    assert 0.0 < settled.core_s < 1.0
    assert 0.0 < settled.memory_s < 1.0
    assert reader.spent_s == 0.0
