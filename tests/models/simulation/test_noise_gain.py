"""What pipelining gains under noise, against what is known in closed form."""

from __future__ import annotations

import pytest

from hindmost.models.simulation.change import ExponentialDetours, FixedDetours
from hindmost.models.simulation.noise_gain import noise_gain


def test_a_blocking_solve_takes_the_slowest_of_every_iteration() -> None:
    gain = noise_gain(ExponentialDetours(mean=1.0), ranks=8, iterations=4000, work_s=2.0)
    harmonic = sum(1.0 / k for k in range(1, 9))  # the mean of the largest of 8
    assert gain.blocking_s / 4000 == pytest.approx(2.0 + harmonic, rel=0.02)
    assert gain.unlimited_s / 4000 == pytest.approx(3.0, rel=0.05)
    assert 1.0 < gain.speedup < gain.most


def test_one_reduction_in_flight_gains_less_than_twice() -> None:
    law = ExponentialDetours(mean=1.0)
    one, four = (noise_gain(law, ranks=512, iterations=400, work_s=0.0, lag=lag) for lag in (1, 4))
    assert 1.7 < one.speedup < 2.0
    assert four.speedup > 2.0
    assert four.blocking_s == one.blocking_s  # of the same draws


def test_two_ranks_with_a_halo_gain_nothing() -> None:
    law = ExponentialDetours(mean=1.0)
    gain = noise_gain(law, ranks=2, iterations=200, work_s=1.0, lag=4, halo=True)
    assert gain.speedup == pytest.approx(1.0, rel=1e-9)


def test_latency_is_hidden_without_noise() -> None:
    quiet = FixedDetours(length=0.0, probability=1.0)
    gain = noise_gain(quiet, ranks=4, iterations=100, work_s=2.0, latency_s=1.0)
    assert gain.speedup == pytest.approx(1.5, rel=0.01)
