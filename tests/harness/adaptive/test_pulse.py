"""A pulse is fixed work: its time comes from a clock that the tests set."""

import pytest

from hindmost.harness.adaptive import pulse
from hindmost.harness.adaptive.kernel import pulse_reader
from hindmost.harness.adaptive.pulse import TRIALS, PulseReader


def test_the_fastest_trial_counts_and_the_whole_reading_is_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[None] = []
    reader = PulseReader(lambda: done.append(None))
    before, count = reader.spent_s, len(done)
    clock = iter([0.0, 0.0, 5.0, 5.0, 8.0, 8.0, 12.0, 12.0])
    monkeypatch.setattr(pulse, "perf_counter", lambda: next(clock))
    assert TRIALS == 3
    assert reader.read() == 3.0
    assert len(done) == count + TRIALS
    assert reader.spent_s - before == pytest.approx(12.0)
    assert next(clock, None) is None


def test_settling_is_free_of_charge() -> None:
    reader = pulse_reader()
    reader.read()
    assert reader.spent_s > 0.0
    assert 0.0 < reader.settled() < 1.0
    assert reader.spent_s == 0.0
