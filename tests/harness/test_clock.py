import ctypes
import time
from collections.abc import Iterator

import numpy as np
import pytest

from hindmost.harness.recorder.clock import ClockReading, CommonClock
from hindmost.harness.recorder.library import loaded

SECOND = 1_000_000_000


def reading(offset: int, at: int, uncertainty: int = 300) -> ClockReading:
    return ClockReading(offset_ns=offset, uncertainty_ns=uncertainty, at_ns=at)


def test_an_offset_and_an_even_drift_are_removed() -> None:
    # This rank's clock is 5 s ahead and gains 20 us a second.
    true = np.linspace(0, 10 * SECOND, 11)
    here = true + 5 * SECOND + true * 20e-6
    clock = CommonClock(
        before=reading(round(true[0] - here[0]), round(here[0])),
        after=reading(round(true[-1] - here[-1]), round(here[-1])),
        zero_ns=0,
    )
    np.testing.assert_allclose(clock.since_zero(here.round().astype(int)), true * 1e-9, atol=3e-9)
    assert clock.offset_s == pytest.approx(-5.0)


def test_an_offset_within_its_uncertainty_is_none() -> None:
    clock = CommonClock(before=reading(250, 0), after=reading(-200, SECOND), zero_ns=100)
    np.testing.assert_allclose(clock.since_zero(np.array([100, 1100])), [0.0, 1e-6], atol=1e-15)
    assert clock.offset_s == 0.0
    assert clock.uncertainty_s == pytest.approx(3e-7)


@pytest.fixture
def recorder() -> Iterator[ctypes.CDLL]:
    """Give the recorder's library with its clock as this machine allows it."""
    library = loaded()
    library.hindmost_now.restype = ctypes.c_int64
    library.hindmost_falsify_counter.argtypes = [ctypes.c_int64]
    library.hindmost_use_system_clock(0)
    yield library
    library.hindmost_use_system_clock(0)


def errors_ns(recorder: ctypes.CDLL, duration_ns: int) -> list[int]:
    """Return how far readings lie outside the kernel's clock just before and after them."""
    errors, last, until = [], 0, time.monotonic_ns() + duration_ns
    while time.monotonic_ns() < until:
        before = time.monotonic_ns()
        reading = recorder.hindmost_now()
        after = time.monotonic_ns()
        assert reading >= last
        last = reading
        errors.append(max(before - reading, reading - after, 0))
    return errors


@pytest.mark.parametrize("system", [0, 1], ids=["as found", "system clock"])
def test_the_recorder_keeps_the_kernels_time(recorder: ctypes.CDLL, system: int) -> None:
    recorder.hindmost_use_system_clock(system)
    # 60 ms span several comparisons of the counter with the kernel's clock.
    assert max(errors_ns(recorder, 60_000_000)) < 10_000


def test_a_counter_that_jumps_is_not_used_again(recorder: ctypes.CDLL) -> None:
    if not recorder.hindmost_counter_used():
        pytest.skip("this machine's counter is not used")
    recorder.hindmost_falsify_counter(1 << 40)
    assert max(errors_ns(recorder, 1_000_000)) < 10_000
    assert not recorder.hindmost_counter_used()
